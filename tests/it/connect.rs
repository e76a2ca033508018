//! `monobloc connect`: its output and files for each client, the settings that it leaves alone, and
//! how it is undone.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::{Project, Run};

const CLIENTS: [&str; 11] = [
    "zed",
    "jetbrains",
    "neovim",
    "cursor",
    "claude-desktop",
    "opencode",
    "codex",
    "qwen",
    "claude",
    "aider",
    "continue",
];

/// The command for a user with an empty home folder who has not set any client's variables.
fn connect(project: &Project, arguments: &[&str]) -> Run {
    let arguments = [&["connect"][..], arguments].concat();
    let mut run = Run::new(project, &arguments).env("HOME", project.folder("home"));
    for name in ["CODEX_HOME", "OPENCODE_CONFIG", "QWEN_HOME", "CONTINUE_GLOBAL_DIR", "FLATPAK_XDG_CONFIG_HOME"] {
        run.command.env_remove(name);
    }
    run
}

/// Standard output of a successful run.
fn out(project: &Project, arguments: &[&str]) -> String {
    connect(project, arguments).end().succeeded().out
}

/// Standard error of a failed run.
fn refused(project: &Project, arguments: &[&str]) -> String {
    let ended = connect(project, arguments).end();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    ended.err
}

/// Creates a file with this text in the user's home folder.
fn file(project: &Project, name: &str, text: &str) -> PathBuf {
    let file = project.folder("home").join(name);
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(&file, text).expect("a file");
    file
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).expect("a file")
}

/// The names in the folder that contains a file.
fn beside(file: &Path) -> Vec<String> {
    let folder = fs::read_dir(file.parent().expect("a folder")).expect("a folder");
    let mut names: Vec<String> =
        folder.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn clients_are_listed_with_their_files() {
    let project = Project::todo();
    let file = file(&project, ".jetbrains/acp.json", "{\"agent_servers\": {\"monobloc\": {}}}");
    let list = out(&project, &[]);
    let line = |name: &str| list.lines().find(|line| line.starts_with(&format!("{name} "))).expect(name);
    for name in CLIENTS {
        assert!(line(name).contains("over "), "{list}");
    }
    assert!(line("jetbrains").ends_with(&format!("{}: has monobloc", file.display())), "{list}");
    assert!(line("cursor").ends_with("mcp.json: not there"), "{list}");
    assert!(line("claude").contains("printed"), "{list}");
}

#[test]
fn every_configuration_is_printed_without_the_token() {
    let project = Project::todo();
    let token = project.beside("serve-token");
    fs::write(&token, "a-token-that-nobody-prints").expect("a file");
    let token = token.display().to_string();
    for client in CLIENTS {
        let run = connect(&project, &[client, "--listen", "127.0.0.1:9876", "--token-file", &token]);
        let ended = run.end().succeeded();
        let all = format!("{}{}", ended.out, ended.err);
        assert!(ended.out.contains("monobloc") || client == "aider", "{ended:#?}");
        assert!(!all.contains("a-token-that-nobody-prints"), "{ended:#?}");
        assert_eq!(ended.out.contains("127.0.0.1:9876"), all.contains(&token), "{ended:#?}");
    }
    assert_eq!(fs::read_dir(project.folder("home")).expect("a folder").count(), 0, "printing writes nothing");
}

#[test]
fn what_is_printed_is_what_the_client_reads() {
    let project = Project::todo();
    let read = |client: &str| -> Value { serde_json::from_str(&out(&project, &[client])).expect("JSON") };
    let zed = &read("zed")["agent_servers"]["monobloc"];
    assert_eq!((&zed["type"], &zed["args"]), (&json!("custom"), &json!(["acp"])));
    assert!(zed["command"].as_str().is_some_and(|program| program.ends_with("/monobloc")), "{zed}");
    let desktop = &read("claude-desktop")["mcpServers"]["monobloc"]["args"];
    assert_eq!((&desktop[0], &desktop[1], &desktop[2]), (&json!("mcp"), &json!("serve"), &json!("--project")));
    assert!(desktop[3].as_str().is_some_and(|folder| folder.starts_with('/')), "{desktop}");
    let opencode = &read("opencode")["provider"]["monobloc"];
    assert_eq!(opencode["options"]["baseURL"], "http://127.0.0.1:8765/v1");
    let key = opencode["options"]["apiKey"].as_str().expect("a key");
    assert!(key.starts_with("{file:/") && key.ends_with("/serve-token}"), "{key}");
    let limit = &opencode["models"]["planner"]["limit"];
    assert_eq!(limit["context"].as_u64().expect("a number") / 4, limit["output"].as_u64().expect("a number"));
    let codex: toml::Table = out(&project, &["codex"]).parse().expect("TOML");
    assert_eq!(codex["model_providers"]["monobloc"]["auth"]["command"].as_str(), Some("cat"));
    assert_eq!(codex["model_provider"].as_str(), Some("monobloc"));
}

#[test]
fn the_variables_of_clients_are_honoured() {
    let project = Project::todo();
    let elsewhere = project.folder("elsewhere");
    let run = connect(&project, &["codex", "--write"]).env("CODEX_HOME", &elsewhere);
    run.end().succeeded();
    assert!(elsewhere.join("monobloc.config.toml").exists());
    out(&project, &["opencode", "--write"]);
    assert!(project.beside("config/opencode/opencode.json").exists(), "XDG_CONFIG_HOME");
}

const ACP: &str = r#"{
  // mine
  "agent_servers": {
    "other": { "command": "x" } // keep
  },
  "z": [1, 2]
}
"#;

#[test]
fn an_entry_is_written_into_json_and_taken_out_to_the_byte() {
    let project = Project::todo();
    let file = file(&project, ".jetbrains/acp.json", ACP);
    let said = out(&project, &["jetbrains", "--write"]);
    assert!(said.contains("+    \"monobloc\": {") && said.contains("acp.json.before-monobloc"), "{said}");
    let written = text(&file);
    for kept in ["// mine", "\"other\": { \"command\": \"x\" }", "// keep", "\"z\": [1, 2]", "\"monobloc\""] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    assert_eq!(beside(&file), ["acp.json", "acp.json.before-monobloc"]);

    assert!(out(&project, &["jetbrains", "--write"]).contains("has this already"));
    assert_eq!(text(&file), written, "a second time changes nothing");
    assert_eq!(beside(&file).len(), 2);

    assert!(out(&project, &["jetbrains", "--undo", "--dry-run"]).contains("-    \"monobloc\": {"));
    assert_eq!(text(&file), written);
    out(&project, &["jetbrains", "--undo"]);
    assert_eq!(text(&file), ACP);
    assert_eq!(beside(&file), ["acp.json"]);
    assert!(out(&project, &["jetbrains", "--undo"]).contains("nothing to remove"));
}

#[test]
fn what_others_wrote_since_survives_the_way_back() {
    let project = Project::todo();
    let file = file(&project, ".jetbrains/acp.json", ACP);
    out(&project, &["jetbrains", "--write"]);
    fs::write(&file, text(&file).replace("[1, 2]", "[1, 2, 3]")).expect("a file");
    out(&project, &["jetbrains", "--undo"]);
    let left = text(&file);
    assert!(left.contains("[1, 2, 3]") && left.contains("// keep") && !left.contains("monobloc"), "{left}");
    assert_eq!(beside(&file), ["acp.json", "acp.json.before-monobloc"], "the copy stays: it is not what is there now");
}

#[test]
fn an_entry_is_written_into_toml_and_changes_with_the_address() {
    let project = Project::todo();
    let mine = "# mine\napproval_policy = \"on-request\" # why\n\n[features]\nx = true\n";
    let file = file(&project, ".codex/monobloc.config.toml", mine);
    out(&project, &["codex", "--write"]);
    out(&project, &["codex", "--write", "--listen", "127.0.0.1:9876"]);
    let written = text(&file);
    for kept in ["# mine\n", "approval_policy = \"on-request\" # why\n", "[features]\nx = true\n", "127.0.0.1:9876"] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    assert!(!written.contains("8765"), "{written}");
    let copies = ["monobloc.config.toml.before-monobloc", "monobloc.config.toml.before-monobloc.1"];
    assert_eq!(beside(&file)[1..], copies);
    assert!(out(&project, &["codex", "--write", "--listen", "127.0.0.1:9876"]).contains("has this already"));
    out(&project, &["codex", "--undo"]);
    assert_eq!(text(&file), mine);
}

#[test]
fn a_file_that_monobloc_made_goes_again() {
    let project = Project::todo();
    for (client, name) in [("cursor", ".cursor/mcp.json"), ("continue", ".continue/config.yaml")] {
        let file = project.folder("home").join(name);
        out(&project, &[client, "--write", "--dry-run"]);
        assert!(!file.exists(), "{client}");
        out(&project, &[client, "--write"]);
        assert!(out(&project, &[client, "--write"]).contains("has this already"));
        out(&project, &[client, "--undo"]);
        assert!(!file.exists(), "{client}");
    }
}

#[test]
fn yaml_that_is_there_is_not_touched() {
    let project = Project::todo();
    let file = file(&project, ".aider.conf.yml", "model: mine\n");
    let why = refused(&project, &["aider", "--write"]);
    assert!(why.contains(".aider.conf.yml already exists") && why.contains("`monobloc connect aider` prints"), "{why}");
    assert!(out(&project, &["aider", "--undo"]).contains("nothing to remove"));
    assert_eq!(text(&file), "model: mine\n");
}

#[test]
fn a_damaged_file_is_refused_by_name_and_place() {
    let project = Project::todo();
    let damaged = [
        ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": "),
        ("codex", ".codex/monobloc.config.toml", "a = 1\nb = \n"),
    ];
    for (client, name, damage) in damaged {
        let file = file(&project, name, damage);
        for verb in ["--write", "--undo"] {
            let why = refused(&project, &[client, verb]);
            let named = why.contains(&file.display().to_string()) && why.contains("on line");
            assert!(named && why.contains("nothing was written"), "{why}");
        }
        assert_eq!((text(&file).as_str(), beside(&file).len()), (damage, 1));
    }
}

#[test]
fn what_is_only_printed_is_never_written() {
    let project = Project::todo();
    for client in ["neovim", "qwen", "claude"] {
        let why = refused(&project, &[client, "--write"]);
        assert!(why.contains("nothing is written"), "{why}");
    }
    assert_eq!(fs::read_dir(project.folder("home")).expect("a folder").count(), 0);
}

#[test]
fn an_unknown_client_lists_the_known() {
    let why = refused(&Project::todo(), &["jetbrain"]);
    assert!(why.contains("did you mean jetbrains?"), "{why}");
    CLIENTS.iter().for_each(|name| assert!(why.contains(name), "{name}: {why}"));
}
