//! Tests precedence and origin of settings, refused values, and the rights of a project's own file.

use super::*;
use crate::config::{AlternateScreen, ApproveMode, Bounds};

/// A user file, a project with a file, and the inputs of a run.
struct World {
    dir: tempfile::TempDir,
    given: Given,
}

impl World {
    fn new(user: &str, project: &str) -> World {
        let dir = tempfile::tempdir().unwrap();
        let given = Given {
            flags: BTreeMap::from([("project", dir.path().join("project").into_os_string())]),
            user_file: dir.path().join("config.toml"),
            consents: dir.path().join("consents"),
            ..Given::default()
        };
        std::fs::create_dir_all(dir.path().join("project/.monobloc")).unwrap();
        std::fs::write(&given.user_file, user).unwrap();
        std::fs::write(dir.path().join("project/.monobloc/config.toml"), project).unwrap();
        World { dir, given }
    }

    fn flag(mut self, key: &'static str, value: &str) -> World {
        self.given.flags.insert(key, value.into());
        self
    }

    fn variable(mut self, name: &str, value: &str) -> World {
        self.given.variables.insert(name.to_owned(), value.into());
        self
    }

    fn consent(self, text: &str) -> World {
        consent::give(&self.given.consents, &self.dir.path().join("project"), text).unwrap();
        self
    }

    /// Checks the value and origin of a setting; an origin in a file includes the line.
    fn check(&self, key: &str, expected: &str) {
        let settings = resolve(&self.given).unwrap();
        let one = settings.values.iter().find(|one| one.setting.key == key).unwrap();
        let from = match &one.origin {
            Origin::Default => "default".to_owned(),
            Origin::UserFile(place) => format!("user:{}", place.line),
            Origin::ProjectFile(place) => format!("project:{}", place.line),
            Origin::Variable => "variable".to_owned(),
            Origin::Flag => "flag".to_owned(),
        };
        assert_eq!(
            format!("{} {from}", one.value.as_deref().map_or("-".into(), OsStr::to_string_lossy)),
            expected,
            "{key}"
        );
    }
}

#[test]
fn a_share_is_written_as_a_fraction_or_in_per_cent() {
    let check = |value: &str, expected: &str| {
        let world = World::new("", "").variable("MONOBLOC_VERIFICATION_THRESHOLD", value);
        world.check("verification_threshold", &format!("{expected} variable"));
    };
    for (value, expected) in
        [("0.85", "0.85"), ("85", "0.85"), ("62.5 %", "0.625"), ("1", "1"), ("0", "0"), ("1%", "0.01")]
    {
        check(value, expected);
    }
    World::new("verification_threshold = 0.7\n", "").check("verification_threshold", "0.7 user:1");
    for wrong in ["101", "-0.5", "high", "nan"] {
        let world = World::new("", "").variable("MONOBLOC_VERIFICATION_THRESHOLD", wrong);
        let error = resolve(&world.given).unwrap_err().to_string();
        assert!(error.contains(wrong) && error.contains("percentage"), "{error}");
    }
}

#[test]
fn flag_before_variable_before_file_before_default() {
    let file = "# mine\nparallel = 3\n[orchestrator]\nenabled = false\n";
    World::new("", "").check("parallel", "2 default");
    World::new("", "").check("budget", "- default");
    World::new(file, "").check("parallel", "3 user:2");
    World::new(file, "").check("orchestrator.enabled", "false user:4");
    let world = World::new(file, "").variable("MONOBLOC_NUM_PARALLEL", "4").variable("MONOBLOC_NO_ORCHESTRATOR", "0");
    world.check("parallel", "4 variable");
    world.check("orchestrator.enabled", "true variable");
    world.flag("parallel", "1").check("parallel", "1 flag");
    // A switch's flag inverts its default; a variable does what its name suggests.
    World::new("", "").flag("repack", "true").check("repack", "false flag");
    World::new("", "").flag("enable_cot", "true").check("enable_cot", "false flag");
    World::new("", "").variable("MONOBLOC_ENABLE_COT", "true").check("enable_cot", "true variable");
    World::new("", "").variable("MONOBLOC_ENABLE_COT_STREAMING", "0").check("enable_cot_streaming", "false variable");
    World::new("", "").flag("mask_private", "true").check("mask_private", "true flag");
}

#[test]
fn resolved_settings_become_the_configuration() {
    let world = World::new("budget = \"1GiB\"\napprove = \"always\"\nrepack = false\nmodel_dir = \"models\"", "");
    let config = resolve(&world.given).unwrap().config();
    assert_eq!(config.budget, Some(Bytes::gib(1)));
    assert_eq!((config.approve, config.repack), (ApproveMode::Always, false));
    assert_eq!(config.model_dir, Some(world.dir.path().join("models")));
    let alternate = |world: World| resolve(&world.given).unwrap().config().alternate_screen;
    assert_eq!(alternate(World::new("alternate_screen = \"never\"", "")), AlternateScreen::Never);
    assert_eq!(alternate(World::new("", "").flag("alternate_screen", "always")), AlternateScreen::Always);
    assert_eq!(alternate(World::new("", "")), AlternateScreen::Auto);
    let world = World::new("pack_tokens = 3000\nchange_rounds = 2\nmax_transitions = 12", "");
    let bounds = Bounds { pack: Some(3_000), rounds: 2, transitions: Some(12) };
    assert_eq!(resolve(&world.given).unwrap().config().bounds, bounds);
    let default = Config::default();
    assert_eq!(default.bounds, Bounds::default());
    assert_eq!((default.slots, default.context, default.commands.timeout_s), (2, 8_192, 60));
    assert_eq!((default.approve, default.repack, default.cognitive.cot), (ApproveMode::OnMutation, true, true));
}

/// Checks that a user file is refused with a message that gives the line and contains `parts`.
fn refused(file: &str, line: usize, parts: &[&str]) {
    let world = World::new(file, "");
    let error = resolve(&world.given).unwrap_err().to_string();
    assert!(error.contains(&format!("config.toml:{line}: ")), "{error}");
    parts.iter().for_each(|part| assert!(error.contains(part), "{part}: {error}"));
}

#[test]
fn a_wrong_key_and_a_wrong_value_are_named_with_their_line() {
    refused("threads = 1\nparalel = 2\n", 2, &["`paralel`", "nearest is `parallel`"]);
    refused("colour = 1", 1, &["`colour` is not a setting", "config show"]);
    refused("[orchestrator]\nenable = true", 2, &["`orchestrator.enable`", "`orchestrator.enabled`"]);
    refused("parallel = \"2\"", 1, &["`parallel` is \"2\"", "whole number from 1 to 16"]);
    refused("\nparallel = 99", 2, &["`parallel` is 99"]);
    refused("repack = 1", 1, &["true or false"]);
    refused("command_reads = 3", 1, &["`command_reads` is 3; it must be a string or a list"]);
    refused("approve = \"sometimes\"", 1, &["on-mutation"]);
    refused("alternate_screen = \"maybe\"", 1, &["auto, always, never"]);
    refused("project = \"x\"", 1, &["--project"]);
    refused("a = [", 1, &["not TOML"]);
    refused("rules = 1", 1, &["[[rules]]"]);
    refused("[[rules]]\ntool = \"x\"", 1, &["missing field `decision`"]);
    refused("[[rules]]\ntool = \"x\"\ndecision = \"allow\"", 1, &["no example"]);
    let example = "[[rules]]\ntool = \"x\"\ndecision = \"deny\"\nmatches = [{ tool = 3 }]";
    refused(example, 4, &["expected a string, in `matches.tool`"]);
    refused("[[rules]]\ntoll = \"x\"", 2, &["`toll`", "`tool`"]);
    refused("[mcp.a]\nargs = []", 1, &["no `command`"]);
    refused("[mcp.\"a b\"]\ncommand = \"x\"", 1, &["letters, digits"]);
    refused("[mcp.a]\ncommand = \"x\"\ntimeout_s = 0", 3, &["from 1 to 600, in `timeout_s`"]);
    refused("[mcp.a]\nurl = \"http://box/mcp\"", 2, &["use https://", "in `url`"]);
    refused("[mcp.a]\nurl = \"https://box/mcp\"\nargs = \"x\"", 1, &["has `args`", "leave it out"]);
    refused("[mcp.a]\nurl = \"https://box/mcp\"\ncommand = \"x\"", 1, &["leave out one of them"]);
    refused("[mcp.a]\ntype = \"http\"\ncommand = \"x\"", 1, &["no `url`"]);
    refused("[mcp.a]\ntype = \"sse\"\nurl = \"https://box/sse\"", 2, &["`sse`", "in `type`"]);
    refused("[mcp.a]\ncommand = \"x\"\nheaders = { A = \"b\" }", 1, &["use `env` for a program"]);
    refused("[mcp.a]\nurl = \"https://box\"\nheaders = { Host = \"b\" }", 3, &["Host", "in `headers`"]);
    refused("[mcp.a]\ncommand = 3", 2, &["expected a string, in `command`"]);
    refused("[[rules]]\ntool = \"x\"\npaths = 3", 3, &["a list of strings, in `paths`"]);
}

#[test]
fn a_wrong_variable_and_a_wrong_flag_are_named() {
    let error = resolve(&World::new("", "").variable("MONOBLOC_NUM_PARALLEL", "many").given).unwrap_err().to_string();
    assert!(error.contains("MONOBLOC_NUM_PARALLEL is `many`") && error.contains("1 to 16"), "{error}");
    let error = resolve(&World::new("", "").flag("approve", "maybe").given).unwrap_err().to_string();
    assert!(error.contains("--approve is `maybe`"), "{error}");
    let settings = resolve(&World::new("", "").variable("MONOBLOC_PARALLEL", "3").given).unwrap();
    assert_eq!(settings.unknown_variables.len(), 1, "{:?}", settings.unknown_variables);
}

const LOOSE: &str = r#"approve = "never"
parallel = 4
model_dir = "/tmp/models"
tools_offered = 20
[[rules]]
tool = "run_command"
decision = "allow"
matches = [{ command = "anything" }]
[[rules]]
tool = "write_file"
decision = "deny"
matches = [{ path = "a" }]
[mcp.evil]
command = "evil"
"#;

#[test]
fn a_projects_file_loosens_nothing_until_the_user_consents() {
    let world = World::new("", LOOSE);
    let settings = resolve(&world.given).unwrap();
    assert_eq!(settings.left_out.len(), 5, "{:#?}", settings.left_out);
    assert_eq!((settings.rules.len(), settings.rules[0].decision), (1, Consent::Deny));
    assert!(settings.servers.is_empty() && !settings.consented);
    world.check("approve", "on-mutation default");
    world.check("parallel", "2 default");
    world.check("tools_offered", "20 project:4");
    let world = world.consent(LOOSE);
    let settings = resolve(&world.given).unwrap();
    assert_eq!((settings.rules.len(), settings.servers.len(), settings.left_out.len()), (2, 1, 0));
    world.check("approve", "never project:1");
    world.flag("approve", "always").check("approve", "always flag");
}

#[test]
fn consent_to_another_text_does_not_count() {
    let world = World::new("", LOOSE).consent("tools_offered = 20");
    assert!(!resolve(&world.given).unwrap().consented);
}

#[test]
fn a_projects_file_may_be_stricter() {
    let world = World::new("parallel = 3", "approve = \"always\"\nparallel = 1");
    world.check("approve", "always project:1");
    world.check("parallel", "1 project:2");
}

#[test]
fn a_file_that_was_named_and_is_not_there_is_an_error() {
    let world = World::new("", "").flag("config", "/no/such/config.toml");
    let error = resolve(&world.given).unwrap_err().to_string();
    assert!(error.contains("/no/such/config.toml") && error.contains("--config"), "{error}");
}

#[test]
fn settings_of_commands_and_models_are_resolved() {
    let file = "command_network = true\ncommand_reads = [\"data\", \"/srv\"]\ncommand_memory = \"1GiB\"\nkv_cache_type = \"f16\"\n";
    let world = World::new(file, "command_memory = \"512MiB\"\ncommand_writes = \"/\"\ncommand_confined = false\n");
    let world = world.variable("MONOBLOC_CONTEXT_TOKENS", "4096").flag("keep_alive_s", "0").flag("max_iterations", "5");
    let settings = resolve(&world.given).unwrap();
    let config = settings.config();
    assert!(config.commands.network && config.commands.confined);
    assert_eq!(config.commands.reads, [world.dir.path().join("data"), PathBuf::from("/srv")]);
    assert_eq!((config.commands.memory, config.commands.writes.len()), (Bytes(512 << 20), 0));
    assert_eq!((config.context, config.kv_type.as_deref(), config.keep_alive_s), (4_096, Some("f16"), 0));
    assert_eq!(config.iterations_max, Some(5));
    assert_eq!(settings.left_out.len(), 2, "{:?}", settings.left_out);
    let two = resolve(&World::new("command_reads = [\"a:/etc\"]\n", "").given).unwrap_err().to_string();
    assert!(two.contains("contains `:`"), "{two}");
}

#[test]
fn a_rule_of_a_project_grants_no_network() {
    let rule =
        "[[rules]]\ntool = \"run_command\"\ndecision = \"ask\"\nnetwork = true\nmatches = [{ command = \"x\" }]\n";
    assert_eq!(resolve(&World::new("", rule).given).unwrap().rules.len(), 0);
    assert_eq!(resolve(&World::new("", rule).consent(rule).given).unwrap().rules.len(), 1);
}

#[test]
fn a_path_keeps_bytes_that_are_not_utf8_and_other_values_must_be_text() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let mut world = World::new("model_dir = \"models\"", "");
    world.given.flags.insert("project", bytes(b"/p/gr\xfcn"));
    world.given.variables.insert("MONOBLOC_COMMAND_READS".to_owned(), bytes(b"/a\xff:/b"));
    // The user file's folder may have such a name too.
    let folder = world.dir.path().join(OsStr::from_bytes(b"conf\xe9"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::rename(&world.given.user_file, folder.join("config.toml")).unwrap();
    world.given.user_file = folder.join("config.toml");
    let config = resolve(&world.given).unwrap().config();
    assert_eq!(config.project.as_os_str().as_bytes(), b"/p/gr\xfcn");
    assert_eq!(config.model_dir, Some(folder.join("models")));
    assert_eq!(config.commands.reads[0].as_os_str().as_bytes(), b"/a\xff");
    world.given.flags.insert("parallel", bytes(b"2\xff"));
    assert!(resolve(&world.given).unwrap_err().to_string().contains("a whole number from 1 to 16"));
}
