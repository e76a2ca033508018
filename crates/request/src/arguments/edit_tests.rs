//! Tests the edits that code derives for Rust, TypeScript, JSON, TOML and Python files.

use proptest::prelude::*;

use super::{Unsettled, settle_edit};

/// Checks that the first changed line becomes `expected`; an empty `expected` means that no edit is
/// made.
fn check(step: &str, file: &str, expected: &str) {
    let edit = settle_edit(step, file);
    let Ok(edit) = edit else {
        assert_eq!("", expected, "no edit for: {step}");
        return;
    };
    assert_eq!(file.matches(edit.old.as_str()).count(), 1, "{step}: not unique: {}", edit.old);
    let after = file.replacen(&edit.old, &edit.new, 1);
    let changed: Vec<&str> = file.lines().zip(after.lines()).filter(|(a, b)| a != b).map(|(_, b)| b.trim()).collect();
    assert_eq!(changed[0], expected, "{step}");
    assert!(changed.len() == 1 || step.contains("rename"), "{step}: {changed:?}");
}

const PULL: &str = "//! Fetches models.

/// Longest wait for a header, in seconds.
pub const TIMEOUT_S: u64 = 5;

/// How many attempts a download gets by default.
pub const ATTEMPTS_DEFAULT: u32 = 5;

fn attempts(n: u32) -> u32 {
    n.min(5)
}
";

const SETTINGS: &str = "export interface Settings {
  retries: number;
}

// How long a request may take, in ms.
export const REQUEST_TIMEOUT = 30_000;
const maxRetries = 3;
let theme = 'light';
export function getUser(id: string) {
  return fetchUser(id);
}
export const admin = getUser('root');
";

const PACKAGE: &str = "{
  \"name\": \"demo\",
  \"version\": \"1.2.0\",
  \"private\": true,
  \"server\": { \"port\": 3000 },
  \"dependencies\": {
    \"left-pad\": \"1.2.0\"
  }
}
";

const MODELS: &str = "# what runs where
[planner]
slots = 1
context = 4096

[router]
slots = 1
greedy = true
";

const WORKER: &str = "import time

BATCH_SIZE = 32
DEBUG = False

class Pool:
    def __init__(self, size=4, name=\"default\"):
        self.size = size

    # seconds between two looks
    interval = 0.5
    def run(self):
        print('Helo world')
";

#[test]
fn a_constant_is_found_by_its_description() {
    check(
        "In src/pull.rs lower the default for the attempts from 5 to 2",
        PULL,
        "pub const ATTEMPTS_DEFAULT: u32 = 2;",
    );
    check("change the timeout from 5 to 10 seconds", PULL, "pub const TIMEOUT_S: u64 = 10;");
    check("Set the timeout to 8 in src/pull.rs", PULL, "pub const TIMEOUT_S: u64 = 8;");
    check("change the port from 80 to 81", "\u{feff}port = 80\nhost = a\n", "\u{feff}port = 81");
    check("change ATTEMPTS_DEFAULT to 7", PULL, "pub const ATTEMPTS_DEFAULT: u32 = 7;");
}

#[test]
fn values_keep_their_typescript_style() {
    check("Change the request timeout from 30000 to 60000", SETTINGS, "export const REQUEST_TIMEOUT = 60_000;");
    check("set maxRetries to 5", SETTINGS, "const maxRetries = 5;");
    check("Increase the max retries from 3 to 4 in settings.ts", SETTINGS, "const maxRetries = 4;");
    check("change the theme from light to dark", SETTINGS, "let theme = 'dark';");
    check("Set the theme to \"dark\"", SETTINGS, "let theme = 'dark';");
    check("In settings.ts rename getUser to loadUser", SETTINGS, "export function loadUser(id: string) {");
}

#[test]
fn json_and_toml_fields_are_set() {
    check("Bump the version to 1.3.0 in package.json", PACKAGE, "\"version\": \"1.3.0\",");
    check("change the port from 3000 to 8080", PACKAGE, "\"server\": { \"port\": 8080 },");
    check("change the version from 1.2.0 to 1.2.1", PACKAGE, "\"version\": \"1.2.1\",");
    check("set the router slots to 2 in models.toml", MODELS, "slots = 2");
    check("In models.toml set slots of the planner to 4", MODELS, "slots = 4");
    check("disable greedy for the router", MODELS, "greedy = false");
    check("turn off verbose", "VERBOSE = TRUE\n", "VERBOSE = FALSE");
    check("change the context from 4096 to 8192", MODELS, "context = 8192");
}

#[test]
fn values_keep_their_python_style() {
    check("Set the batch size to 64", WORKER, "BATCH_SIZE = 64");
    check("turn on debug in worker.py", WORKER, "DEBUG = True");
    check("replace 'Helo ' with '' in worker.py", WORKER, "print('world')");
    check("replace 'Helo' with 'Hello'", WORKER, "print('Hello world')");
    check("Change the interval from 0.5 to 1.5 seconds", WORKER, "interval = 1.5");
    check("In worker.py, replace Helo with Hello.", WORKER, "print('Hello world')");
}

#[test]
fn an_unclear_request_changes_nothing() {
    check("change 5 to 3", PULL, "");
    check("set slots to 2", MODELS, "");
    check("change the colour from red to blue", SETTINGS, "");
    check("set the timeout to soon", PULL, "");
    check("change the number of threads from 5 to 3", "const A: u32 = 5;\nconst B: u32 = 5;\n", "");
    check("explain the timeout", PULL, "");
    check("update these: 1) the name to a 4) the word to b", MODELS, "");
    check("change the context from 4096 to 4096", MODELS, "");
    check("set the volume to 3", PULL, "");
}

#[test]
fn signs_phrases_and_empty_values_are_values() {
    check("change 🐟 to 🐬", "pet = 🐟\n", "pet = 🐬");
    check("change 🐟 to 🐬", "pet = 🐟\u{200d}🐟\n", "");
    check("replace && with ||", "if (a && b) {}\n", "if (a || b) {}");
    check("replace = with :=", "if (a == b) {}\n", "");
    check("change the sign from -4 to 4", "sign = -4\nother = 4\n", "sign = 4");
    check("change the sign from 4 to -4", "sign = -4\nother = 14\n", "");
    check("set the sign to -4", "sign = 4\n", "sign = -4");
    check("change the sign from 3e-4 to 0.5", "sign = 3e-4\n", "sign = 0.5");
    check("change the sign from 0x3A to 12", "sign = 0x3A\n", "sign = 12");
    check("set the sign to 1.3.0", "sign = 1.2.0-beta2\n", "sign = 1.3.0");
    check("change the motto from live and learn to learn and live", "motto: live and learn\n", "motto: learn and live");
    check("change the motto from \"\" to \"x\"", "motto = ''\nother = 1\n", "motto = \"x\"");
    check("set the motto to carpe diem", "motto = live and learn\n", "motto = carpe diem");
    check("change a1 to b1", "x = a1-c\ny = a1\n", "y = b1");
    check("change the size from 3 to 4 MB", "size = 3MB\n", "size = 4MB");
    check("change the size from 3 to 4", "size = 3MB\n", "");
    check("change the size from 3 to 4", "size: u8 = 3u8;\n", "size: u8 = 4u8;");
    check("change beta to gamma", "beta = 1\n", "");
    check("change the beta to gamma", "alpha\nbeta\n", "");
}

#[test]
fn a_refusal_says_what_is_there() {
    let why = |step: &str, file: &str| match settle_edit(step, file) {
        Err(Unsettled::Refused { why, .. } | Unsettled::Several(why)) => why,
        other => panic!("{step}: {other:?}"),
    };
    let check = |step: &str, file: &str, expected: &str| assert_eq!(why(step, file), expected, "{step}");
    check(
        "change the lid from 4 to 5",
        "a = 1\nlid = -4\n",
        "`4` does not occur in it by itself; line 2 is `lid = -4`",
    );
    check("change the lid from 4 to 5", "lid = 9\n", "`4` does not occur in it by itself; line 1 is `lid = 9`");
    check("replace 'lids' with 'cap'", "cap = 9\n", "`lids` does not occur in it by itself");
    check("change lid from 4 to 4", "lid = 4\n", "the old and the new value are both `4`");
    let several = "`4` is on lines 2 and 4; specify one by a word from its line or section";
    check("change the lid from 4 to 5", "[a]\nlid = 4\n[b]\nlid = 4\n", several);
    check("set the lid to soon", "lid = 4\n", "line 1 is `lid = 4`, where `soon` does not fit");
    check("set the cap to 5", "lid = 4\n", "no line gives `cap` a value that can become `5`");
}

#[test]
fn an_edit_of_a_line_that_occurs_twice_includes_the_lines_above_it() {
    let edit = settle_edit("set the router slots to 2", MODELS).expect("an edit");
    assert!(edit.old.contains("[router]\nslots = 1"), "{}", edit.old);
}

proptest! {
    #[test]
    fn no_step_and_no_file_cause_a_panic(step in "\\PC{0,60}", file in "\\PC{0,120}") {
        let step = format!("change {step} from {step} to b");
        if let Ok(edit) = settle_edit(&step, &file) {
            prop_assert_eq!(file.matches(edit.old.as_str()).count(), 1);
        }
    }

    #[test]
    fn the_old_text_of_an_edit_is_in_the_file(old in 0..20u32, new in 0..20u32) {
        let step = format!("change the attempts from {old} to {new}");
        if let Ok(edit) = settle_edit(&step, PULL) {
            prop_assert!(PULL.contains(&edit.old) && edit.old != edit.new && old == 5);
        }
    }
}
