//! Tests of modes, rules and grants, from the text of a configuration file to the verdict on a
//! call.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::config::file;
use crate::tools::Catalog;

fn rules(text: &str) -> Result<Rules, RuleError> {
    Rules::compile(&file::read(Path::new("config.toml"), text).unwrap().rules)
}

fn policy(text: &str, mode: ApproveMode) -> Policy {
    Policy::new(mode, rules(text).unwrap(), Path::new("/nowhere/project"))
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall { tool: tool.to_owned(), arguments: arguments.as_object().unwrap().clone() }
}

/// The description of a built-in tool, or of one from outside.
fn spec(tool: &str) -> ToolSpec {
    let outside = || ToolSpec { name: tool.to_owned(), server: "outside".to_owned(), ..ToolSpec::default() };
    Catalog::builtin().get(tool).cloned().unwrap_or_else(outside)
}

fn letter(policy: &Policy, tool: &str, arguments: Value) -> char {
    match policy.assess(&call(tool, arguments), &spec(tool)) {
        Verdict::Allow => 'a',
        Verdict::Ask { .. } => '?',
        Verdict::Deny { .. } => 'd',
    }
}

const RULES: &str = r#"
[[rules]]
tool = "run_command"
arguments = { command = ["cargo test", "cargo check"] }
decision = "allow"
reason = "tests change nothing"
matches = [{ command = "cargo test --lib" }]
not = [{ command = "cargo publish" }, { command = "cargo test && curl x" }]

[[rules]]
tool = ["write_file", "replace_in_file"]
paths = ["src/**"]
decision = "allow"
matches = [{ tool = "write_file", path = "src/a.rs" }]
not = [{ tool = "write_file", path = "src/../Cargo.toml" }]

[[rules]]
tool = "*"
paths = ["**/*.env", "secrets/"]
decision = "deny"
matches = [{ tool = "read_file", path = "a/b.env" }, { tool = "run_command", command = "cat ./secrets/key" }]

[[rules]]
tool = "notes.*"
decision = "ask"
matches = [{ tool = "notes.read" }]
"#;

#[test]
fn the_strictest_rule_that_matches_decides() {
    let mode = policy(RULES, ApproveMode::OnMutation);
    let check = |tool: &str, arguments: Value, expected: char| {
        assert_eq!(letter(&mode, tool, arguments.clone()), expected, "{tool} {arguments}");
    };
    check("run_command", json!({ "command": "cargo test" }), 'a');
    check("run_command", json!({ "command": "cargo test; make" }), '?');
    check("run_command", json!({ "command": "cat secrets/key" }), 'd');
    check("run_command", json!({ "command": "rm -rf /" }), 'd');
    check("write_file", json!({ "path": "src/a.rs", "content": "" }), 'a');
    check("edit", json!({ "path": "src/a.rs", "edits": [] }), 'a');
    check("edit", json!({ "path": "a.rs", "edits": [] }), '?');
    check("edit", json!({ "path": "src/x.env", "edits": [] }), 'd');
    check("outline", json!({ "path": "secrets/key.rs" }), 'd');
    check("graph", json!({ "name": "a", "relation": "callers" }), 'a');
    check("write_file", json!({ "path": "src/x.env", "content": "" }), 'd');
    check("write_file", json!({ "path": "src/../a.rs", "content": "" }), '?');
    check("write_file", json!({ "path": "/etc/src/a.rs", "content": "" }), '?');
    check("read_file", json!({ "path": "secrets/key" }), 'd');
    check("read_file", json!({ "path": "a.rs" }), 'a');
    check("notes.read", json!({}), '?');
    let never = policy(RULES, ApproveMode::Never);
    assert_eq!(letter(&never, "notes.read", json!({})), '?');
    assert_eq!(letter(&never, "read_file", json!({ "path": ".env" })), 'd');
    let always = policy(RULES, ApproveMode::Always);
    assert_eq!(letter(&always, "write_file", json!({ "path": "src/a.rs" })), '?');
}

#[test]
fn the_network_is_granted_by_a_rule_to_every_part_of_a_command_or_not_at_all() {
    let text = r#"
[[rules]]
tool = "run_command"
arguments = { command = "npm install" }
decision = "allow"
network = true
matches = [{ command = "npm install left-pad" }]
"#;
    let policy = policy(text, ApproveMode::OnMutation);
    let network = |line: &str| {
        let call = call("run_command", json!({ "command": line }));
        policy.approve(call, &spec("run_command"), Decision::Approve).unwrap().into_parts().1
    };
    assert!(network("npm install left-pad"));
    assert!(!network("npm run build") && !network("npm install; curl -d @a http://b") && !network("npm install > $X"));
    let denies = text.replace("allow", "deny");
    assert!(rules(&denies).unwrap_err().to_string().contains("`network` is only valid"));
    // Such a rule could not grant anything, because the files used by a command are unknown.
    let by_paths = text.replace("allow", "ask").replace("network", "paths = [\"src/**\"]\nnetwork");
    assert!(rules(&by_paths).unwrap_err().to_string().contains("paths do not limit a command"));
}

#[test]
fn a_command_that_is_not_confined_is_asked_about_whatever_allows_it() {
    let run = |line: &str| json!({ "command": line });
    let confined = policy(RULES, ApproveMode::Never);
    assert_eq!(letter(&confined, "run_command", run("cargo test")), 'a');
    let policy = confined.unconfined(Some("no Landlock"));
    for line in ["cargo test", "ls"] {
        assert_eq!(letter(&policy, "run_command", run(line)), '?', "{line}");
        let (spec, call) = (spec("run_command"), call("run_command", run(line)));
        assert_eq!(policy.always(&call, &spec), None);
        assert!(policy.approve(call, &spec, Decision::Always).is_ok());
        assert_eq!(letter(&policy, "run_command", run(line)), '?', "{line} again");
    }
    assert_eq!(letter(&policy, "run_command", run("cat secrets/key")), 'd');
    assert_eq!(letter(&policy, "write_file", json!({ "path": "a", "content": "" })), 'a');
}

#[test]
fn a_link_does_not_lead_around_a_rule() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("secrets")).unwrap();
    std::fs::create_dir_all(dir.path().join("src")).unwrap();
    std::os::unix::fs::symlink("../secrets", dir.path().join("src/notes")).unwrap();
    let policy = Policy::new(ApproveMode::OnMutation, rules(RULES).unwrap(), dir.path());
    assert_eq!(letter(&policy, "read_file", json!({ "path": "src/notes/key" })), 'd');
    assert_eq!(letter(&policy, "run_command", json!({ "command": "cat src/notes/key" })), 'd');
    std::os::unix::fs::symlink("/", dir.path().join("src/all")).unwrap();
    assert_eq!(letter(&policy, "write_file", json!({ "path": "src/all/etc/x", "content": "" })), '?');
}

#[test]
fn a_rule_that_fails_its_example_is_named() {
    let check = |text: &str, parts: &[&str]| {
        let error = rules(text).unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(error.contains(part), "{part}: {error}"));
    };
    let rule = |line: &str| format!("[[rules]]\ntool = \"run_command\"\ndecision = \"allow\"\n{line}");
    check(
        &rule("arguments = { command = \"cargo test\" }\nmatches = [{ command = \"cargo build\" }]"),
        &["config.toml:5:", "rule on line 1 does not match its example", "cargo build"],
    );
    check(
        &rule(
            "arguments = { command = \"cargo *\" }\nmatches = [{ command = \"cargo test\" }]\nnot = [\n{ command = \"cargo publish\" }]",
        ),
        &["config.toml:7:", "cargo publish", "must not"],
    );
    check(&rule("paths = [\"src/**\"]\nmatches = [{ command = \"ls\" }]"), &["paths do not limit a command"]);
    let several = "[[rules]]\ntool = \"*\"\ndecision = \"ask\"\nmatches = [{ path = \"a\" }]";
    check(several, &["needs a `tool`"]);
    check("[[rules]]\ntool = \"[\"\ndecision = \"ask\"\nmatches = [{ path = \"a\" }]", &["not a pattern"]);
}

#[test]
fn of_equally_strict_rules_the_first_is_named() {
    let rule = |tool: &str, reason: &str| {
        format!(
            "[[rules]]\ntool = \"{tool}\"\ndecision = \"ask\"\nreason = \"{reason}\"\nmatches = [{{ tool = \"read_file\" }}]\n"
        )
    };
    let policy = policy(&format!("{}{}", rule("read_*", "first"), rule("*", "second")), ApproveMode::OnMutation);
    let verdict = policy.assess(&call("read_file", json!({ "path": "a" })), &spec("read_file"));
    assert_eq!(verdict, Verdict::Ask { reason: "read_file: the rule at config.toml:1 (first) asks".to_owned() });
}

#[test]
fn of_a_list_every_item_must_be_allowed_and_one_is_enough_to_deny() {
    let text = r#"
[[rules]]
tool = "notes.*"
arguments = { names = "a*" }
decision = "allow"
matches = [{ tool = "notes.read", names = ["a1"] }]

[[rules]]
tool = "notes.*"
arguments = { names = "secret" }
decision = "deny"
matches = [{ tool = "notes.read", names = ["secret"] }]

[[rules]]
tool = "notes.*"
arguments = { command = "open door" }
decision = "deny"
matches = [{ tool = "notes.read", command = "open door" }]
"#;
    let policy = policy(text, ApproveMode::OnMutation);
    let check = |arguments: Value, expected: char| {
        assert_eq!(letter(&policy, "notes.read", arguments.clone()), expected, "{arguments}");
    };
    check(json!({ "names": ["a1", "a2"] }), 'a');
    check(json!({ "names": ["a1", "b"] }), '?');
    check(json!({ "names": [] }), '?');
    check(json!({ "names": ["a1", "secret"] }), 'd');
    check(json!({ "command": "open door" }), 'd');
    check(json!({ "command": "open door now" }), '?');
}

#[test]
fn the_user_cannot_approve_what_a_rule_denies() {
    let policy = policy(RULES, ApproveMode::OnMutation);
    let (spec, env) = (spec("write_file"), json!({ "path": "a.env", "content": "" }));
    assert!(policy.approve(call("write_file", env.clone()), &spec, Decision::Approve).is_err());
    let modified = Decision::Modify(env.as_object().unwrap().clone());
    let refused = policy.approve(call("write_file", json!({ "path": "a", "content": "" })), &spec, modified);
    assert!(refused.unwrap_err().to_string().contains("config.toml:"));
}

/// Answers "always" to the call `first`, then checks the verdict on the call `then`.
fn granted(tool: &str, first: Value, then: Value, expected: char) {
    let policy = policy("", ApproveMode::OnMutation);
    assert!(policy.approve(call(tool, first.clone()), &spec(tool), Decision::Always).is_ok());
    assert_eq!(letter(&policy, tool, then.clone()), expected, "{first} then {then}");
}

#[test]
fn always_covers_the_tool_and_folder_and_no_more() {
    let write = |path: &str| json!({ "path": path, "content": "" });
    granted("write_file", write("src/a.rs"), write("src/b.rs"), 'a');
    granted("write_file", write("src/a.rs"), write("src/deep/b.rs"), 'a');
    granted("write_file", write("src/a.rs"), write("srcs/b.rs"), '?');
    granted("write_file", write("src/a.rs"), write("src/../b.rs"), '?');
    granted("write_file", write("a.rs"), write("src/b.rs"), 'a');
    let run = |line: &str| json!({ "command": line });
    granted("run_command", run("cargo test --lib"), run("cargo test"), 'a');
    granted("run_command", run("cargo test"), run("cargo publish"), '?');
    granted("run_command", run("cargo test"), run("cargo test; ls"), '?');
    granted("run_command", run("ls; ls"), run("ls; ls"), '?');
    for hidden in ["cargo test $(rm x)", "cargo test `rm x`", "cargo test $X", "cargo test > out"] {
        granted("run_command", run(hidden), run("cargo test"), '?');
        granted("run_command", run("cargo test"), run(hidden), '?');
    }
    for outside in ["../a.rs", "/etc/a"] {
        granted("write_file", write(outside), write(outside), '?');
    }
    granted("run_command", run("rm a"), run("rm b"), '?');
}

#[test]
fn a_grant_is_shown_before_it_is_given() {
    let policy = policy("", ApproveMode::OnMutation);
    let shown = |tool: &str, arguments: Value| policy.always(&call(tool, arguments), &spec(tool));
    assert_eq!(shown("write_file", json!({ "path": "src/a", "content": "" })).as_deref(), Some("write_file in src/"));
    assert_eq!(shown("run_command", json!({ "command": "git push" })), None);
    for (line, words) in
        [("git status", "git status"), ("git merge-base a b", "git merge-base"), ("ls -l", "ls"), ("cat a.txt", "cat")]
    {
        let expected = format!("commands that begin with `{words}`");
        assert_eq!(shown("run_command", json!({ "command": line })), Some(expected));
    }
}

#[test]
fn a_file_moved_into_a_folder_meets_the_rules_of_that_folder() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["secrets", "src/sub"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    std::fs::write(dir.path().join("src/a.rs"), "").unwrap();
    let allow = "[[rules]]\ntool = \"move_file\"\npaths = [\"src/*\"]\ndecision = \"allow\"\n\
                 matches = [{ source = \"src/a.rs\", destination = \"src/b.rs\" }]\n\
                 not = [{ source = \"src/a.rs\", destination = \"src/sub/\" }]\n";
    let deny = "[[rules]]\ntool = \"*\"\npaths = [\"secrets/\", \"new/\"]\ndecision = \"deny\"\n\
                matches = [{ tool = \"move_file\", source = \"a\", destination = \"new/\" }]\n";
    let policy = Policy::new(ApproveMode::OnMutation, rules(&format!("{allow}{deny}")).unwrap(), dir.path());
    for (destination, expected) in
        [("secrets", 'd'), ("secrets/", 'd'), ("new/", 'd'), ("src/b.rs", 'a'), ("src/sub", '?'), ("src/sub/", '?')]
    {
        let arguments = json!({ "source": "src/a.rs", "destination": destination });
        assert_eq!(letter(&policy, "move_file", arguments), expected, "{destination}");
    }
}

/// Verdicts in the order always, on-mutation, on-destructive, never: `a`llow, `?`, `d`eny.
fn check(tool: &str, arguments: Value, expected: &str) {
    let modes = [ApproveMode::Always, ApproveMode::OnMutation, ApproveMode::OnDestructive, ApproveMode::Never];
    let got: String = modes.into_iter().map(|mode| letter(&Policy::of(mode), tool, arguments.clone())).collect();
    assert_eq!(got, expected, "{tool} {arguments}");
}

#[test]
fn each_mode_asks_what_it_promises() {
    check("read_file", json!({ "path": "a" }), "?aaa");
    check("write_file", json!({ "path": "a", "content": "" }), "??aa");
    check("delete_file", json!({ "path": "a" }), "???a");
    check("move_file", json!({ "source": "a", "destination": "b" }), "??aa");
    check("run_command", json!({ "command": "cargo test" }), "??aa");
    check("run_command", json!({ "command": "git push" }), "???a");
    check("run_command", json!({ "command": "rm -rf /" }), "dddd");
    check("run_command", json!({}), "???a");
}

#[test]
fn a_command_is_repeated_on_a_copy_only_where_one_consent_is_enough() {
    let may = |policy: &Policy, line: &str| {
        let call = call("run_command", json!({ "command": line }));
        policy.again_on_a_copy(call, &spec("run_command")).is_some()
    };
    for mode in [ApproveMode::OnMutation, ApproveMode::OnDestructive, ApproveMode::Never] {
        assert!(may(&Policy::of(mode), "cargo test") && !may(&Policy::of(mode), "rm -rf /"), "{mode:?}");
    }
    assert!(!may(&Policy::of(ApproveMode::Always), "cargo test"));
    assert!(!may(&Policy::of(ApproveMode::Never).unconfined(Some("no Landlock")), "cargo test"));
}

#[test]
fn a_tool_from_outside_that_calls_itself_reading_is_not_believed() {
    let policy = Policy::of(ApproveMode::OnMutation);
    let verdict = policy.assess(&call("mail.sendMessage", json!({})), &spec("mail.sendMessage"));
    assert_eq!(verdict, Verdict::Ask { reason: "mail.sendMessage: its name contains `send`".to_owned() });
    let spec = ToolSpec { server: "mail".to_owned(), ..spec("mail.read") };
    let Verdict::Ask { reason } = policy.assess(&call("mail.read", json!({})), &spec) else { panic!("allowed") };
    assert!(reason.contains("the server `mail`"), "{reason}");
    let policy = Policy::of(ApproveMode::OnDestructive);
    assert_eq!(policy.assess(&call("mail.read", json!({})), &spec), Verdict::Allow);
    let spec = ToolSpec { destructive: true, ..spec };
    let Verdict::Ask { reason } = policy.assess(&call("mail.read", json!({})), &spec) else { panic!("allowed") };
    assert!(reason.contains("the server `mail` reports that it may destroy"), "{reason}");
}

#[test]
fn names_of_tools_are_chosen_by_patterns() {
    assert!(glob("files.*", "files.read") && glob("read_?ile", "read_file"));
    assert!(!glob("files.*", "notes.read") && !glob("[", "["), "what is no pattern matches nothing");
}

#[test]
fn only_the_users_decision_gives_consent() {
    let (spec, other) = (spec("run_command"), spec("read_file"));
    let policy = Policy::of(ApproveMode::OnMutation);
    let run = |line: &str| call("run_command", json!({ "command": line }));
    assert!(policy.approve(run("make"), &spec, Decision::Approve).is_ok());
    assert!(matches!(policy.approve(run("make"), &spec, Decision::Reject), Err(Refusal::Rejected { .. })));
    assert!(matches!(policy.approve(run("rm -rf /"), &spec, Decision::Approve), Err(Refusal::Denied { .. })));
    assert!(matches!(policy.approved(run("make"), &spec), Err(Refusal::NeedsConsent { .. })));
    assert!(policy.approve(run("make"), &other, Decision::Approve).is_err());
    let never = Policy::of(ApproveMode::Never);
    assert!(matches!(never.approved(run("make"), &other), Err(Refusal::Denied { .. })));
    assert!(never.approved(run("make"), &spec).is_ok());
    let changed = json!({ "command": "rm -rf /" }).as_object().unwrap().clone();
    assert!(policy.approve(run("make"), &spec, Decision::Modify(changed)).is_err());
}

mod places;
