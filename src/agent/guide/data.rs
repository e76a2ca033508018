//! Changes entries of JSON, TOML and YAML files: the model states which keys get which values, code writes them.

use serde_json::{Deserializer, Value};

use crate::agent::budget::Guided;
use crate::agent::evidence::Evidence;
use crate::agent::player::Form;
use crate::agent::toolkit::TurnError;
use crate::base::pattern::static_regex;
use crate::edit::Edit;
use crate::edit::keyed::{self, Change, Keys, Sort};
use crate::language::words;
use crate::models::dialect::Message;
use crate::request::Text;
use crate::request::named::is_file_name;
use crate::retrieve;

use super::change::{Ask, opening, task, until_right};
use super::passage::{self, Passage};
use super::{Done, Job};

const PROMPT: &str = include_str!("../prompts/entries.md");
/// A sample request and its answer, which show the model the form.
const EXAMPLE: [&str; 2] = [
    "a.json:\n````\n{\n  \"name\": \"x\",\n  \"scripts\": {\n    \"test\": \"node a.js\"\n  },\n  \"files\": [\"a\"]\n}\n````\n\nRequest: rename the \
     package to y, add a lint script that runs eslint, publish b instead of a, make cli the only keyword, node 18 is the oldest that we run on, drop the test script",
    "name = \"y\"\nscripts > lint = \"eslint .\"\nfiles + \"b\"\nfiles - \"a\"\nkeywords = [\"cli\"]\nengines > node = \">=18\"\nscripts > test = remove",
];
/// Separates two keys of a path.
const BELOW: &str = " > ";
/// Maximum number of entries of a file in the grammar.
const ENTRIES_MAX: usize = 200;
/// Maximum number of entries that one step changes.
const CHANGES_MAX: usize = 6;
/// The pattern of a new key.
const KEY_PATTERN: &str = "[A-Za-z0-9_@./:*-]{1,60}";

/// Changes the entries that `step` asks for; `None` if the file has no entries with keys.
pub async fn change(
    job: Job<'_>,
    path: &str,
    before: &str,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let Some(mut entries) = keyed::entries(path, before) else { return Ok(None) };
    let whole = Passage { lines: (1, before.lines().count()), title: String::new() };
    let shown = if retrieve::tokens(before) > job.limits().data {
        passage::lines_of(before, &passage::narrowed(before, &whole, job.step.text.content()))
    } else {
        before.trim_end().to_owned()
    };
    entries.retain(|(keys, _)| keys.last().is_some_and(|key| shown.contains(key.as_str())));
    entries.truncate(ENTRIES_MAX);
    let mut messages = opening(job, &job.model().await?, PROMPT);
    messages.extend([Message::user(EXAMPLE[0].to_owned()), Message::assistant(EXAMPLE[1].to_owned())]);
    messages.push(Message::user(format!("{path}:\n````\n{shown}\n````\n\n{}", task(job))));
    let form = Form::Lark(grammar(&entries));
    let tokens = job.limits().entry;
    let forms =
        (0..Guided::DATA_ROUNDS).map(|_| Ask { form: form.clone(), tokens, seed: None, phase: "changing entries" });
    let take = |answer: &str| {
        let (changes, refused) = accepted(answer, &entries, job.scene.request);
        let after = match refused.first() {
            Some(refused) if changes.is_empty() => Err(refused.clone()),
            _ => job.edited(path, before, &Edit::Entries(&changes), &[]),
        };
        match after {
            Ok(after) if after != before || job.of_several => Ok((after, refused)),
            Ok(_) => Err(("Nothing would change.".to_owned(), "Write the entries again.")),
            Err(problem) => Err((problem, "Write the entries again.")),
        }
    };
    Ok(Some(match until_right(job, messages, forms, take).await? {
        // An earlier step has already made this change.
        Ok((after, _)) if after == before => Done::default(),
        Ok((after, refused)) => {
            // The model tried to change more than the request asks for.
            refused.iter().for_each(|why| job.scene.host.notice(why));
            job.replace(path, before, &after, evidence).await?
        }
        Err(trouble) => Done::note(format!("not done: {path}: {trouble}")),
    }))
}

/// The changes in an answer that share a word with the request, and the reasons why the others are
/// refused.
fn accepted(answer: &str, entries: &[(Keys, Sort)], request: &Text) -> (Vec<Change>, Vec<String>) {
    let (mut changes, mut refused) = (Vec::new(), Vec::new());
    for change in read(answer).into_iter().map(|change| placed(change, entries)) {
        match refusal(&change, entries, request) {
            Some(why) => refused.push(why),
            None => changes.push(change),
        }
    }
    (changes, refused)
}

/// Completes the path of a change that gives only its last keys, if exactly one entry has them.
fn placed(mut change: Change, entries: &[(Keys, Sort)]) -> Change {
    let keys = change.keys_mut();
    if !entries.iter().any(|(known, _)| known == keys) {
        let mut same = entries.iter().filter(|(known, _)| known.ends_with(keys));
        if let (Some((known, _)), None) = (same.next(), same.next()) {
            keys.clone_from(known);
        }
    }
    change
}

/// The reason why a change is refused: it shares no word with the request, it removes or replaces
/// something that the request leaves, or it replaces a complete list.
fn refusal(change: &Change, entries: &[(Keys, Sort)], request: &Text) -> Option<String> {
    let asked = request.content();
    let key = change.keys().join(BELOW);
    let last = change.keys().last().map(String::as_str).unwrap_or_default();
    let is_known = entries.iter().any(|(known, _)| known == change.keys());
    let names_key = !words::content(last).is_disjoint(asked);
    let stays = match change {
        Change::Remove(_) | Change::Drop(..) => !request.may_replace(),
        // `add X` gives an existing entry no new value, unless the request names it.
        Change::Set(..) if is_known => !names_key,
        // A file name in the request is not a key.
        Change::Set(..) => is_file_name(last) && request.as_asked().spells(last),
        Change::Add(..) => false,
    };
    if !is_known && !can_be_new(change.keys(), entries) {
        return Some(
            "A new key has no blanks and no quotes, and is in an entry that is there or in a new one.".to_owned(),
        );
    }
    if stays {
        return Some(format!("The request does not ask for this change of {key}, so it stays as it is."));
    }
    let is_list = entries.iter().any(|(known, sort)| known == change.keys() && *sort == Sort::List);
    let about = match change {
        Change::Set(..) if is_list => {
            return Some(format!("`{key}` is a list: `{key} + …` adds to it, `{key} - …` takes something out of it."));
        }
        Change::Set(_, value) => format!("{key} {value}"),
        // The name of the list carries no information about the value.
        Change::Add(_, value) | Change::Drop(_, value) if is_list => value.to_string(),
        Change::Add(_, value) | Change::Drop(_, value) => format!("{key} {value}"),
        Change::Remove(_) => key.clone(),
    };
    let is_asked = !words::content(&about).is_disjoint(asked);
    (!is_asked).then(|| format!("The request says nothing of {about}, so it stays as it is."))
}

/// Whether the grammar allows a new entry with these keys. A server that gets the grammar only in
/// words may answer anything.
fn can_be_new(keys: &Keys, entries: &[(Keys, Sort)]) -> bool {
    static_regex!(KEY = format!("^{KEY_PATTERN}$"));
    let Some((last, outer)) = keys.split_last() else { return false };
    let is_there = entries.iter().any(|(known, sort)| known == outer && *sort == Sort::Object);
    KEY.is_match(last) && (outer.is_empty() || is_there || outer.len() == 1 && KEY.is_match(&outer[0]))
}

/// The grammar of an answer: existing entries can be changed or removed, and new ones added. Each
/// key is a separate token: a single token `a > b` would exclude every other `a > …`, because the
/// lexer takes the longest possible token.
fn grammar(entries: &[(Keys, Sort)]) -> String {
    let quoted = |text: &str| Value::String(text.to_owned()).to_string();
    let below = quoted(BELOW);
    let paths = |sort: Sort| -> String {
        let all = entries.iter().filter(|(_, one)| *one == sort);
        let path = |(keys, _): &(Keys, Sort)| {
            keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(&format!(" {below} "))
        };
        all.map(path).collect::<Vec<_>>().join(" | ")
    };
    let mut forms = vec!["new \" = \" json"];
    let mut rules = String::new();
    for (name, sort, form) in [
        ("object", Sort::Object, "object \" = remove\""),
        ("list", Sort::List, "list (\" + \" | \" - \") json | list \" = remove\""),
        ("value", Sort::Value, "value \" = \" (json | \"remove\")"),
    ] {
        let names = paths(sort);
        if !names.is_empty() {
            forms.push(form);
            rules.push_str(&format!("{name}: {names}\n"));
        }
    }
    let outer = if rules.contains("object: ") { "(object | KEY)" } else { "KEY" };
    format!(
        "start: change (\"\\n\" change){{0,{}}}\nchange: {}\nnew: ({outer} {below})? KEY\nKEY: /{}/\njson: %json {{}}\n{rules}",
        CHANGES_MAX - 1,
        forms.join(" | "),
        KEY_PATTERN.replace('/', "\\/")
    )
}

/// Parses the changes in an answer, up to the first invalid one.
fn read(answer: &str) -> Vec<Change> {
    let mut found = Vec::new();
    let mut rest = answer;
    while found.len() < CHANGES_MAX {
        rest = rest.trim_start();
        let marks = [" = ", " + ", " - "].into_iter().filter_map(|mark| Some((rest.find(mark)?, mark)));
        let Some((at, mark)) = marks.min() else { break };
        let keys: Keys = rest[..at].split(BELOW).map(str::to_owned).collect();
        rest = &rest[at + mark.len()..];
        if let Some(behind) = rest.strip_prefix("remove") {
            found.push(Change::Remove(keys));
            rest = behind;
            continue;
        }
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { break };
        rest = &rest[values.byte_offset()..];
        found.push(match mark {
            " + " => Change::Add(keys, value),
            " - " => Change::Drop(keys, value),
            _ => Change::Set(keys, value),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(all: &str) -> Keys {
        all.split(BELOW).map(str::to_owned).collect()
    }

    #[test]
    fn an_answer_is_read_entry_by_entry() {
        assert_eq!(
            read("a > b-c = \"x = 1\"\nl + {\n  \"k\": 1\n}\nl - 2\nd = remove"),
            [
                Change::Set(keys("a > b-c"), json!("x = 1")),
                Change::Add(keys("l"), json!({"k": 1})),
                Change::Drop(keys("l"), json!(2)),
                Change::Remove(keys("d")),
            ]
        );
        assert_eq!((read("nothing"), read("a = b")), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_change_without_a_word_of_the_request_is_refused() {
        let asked = &Text::of("raise requires-python to 3.11, and drop aud");
        let set = |all: &str, value: &str| Change::Set(keys(all), json!(value));
        let entries = [(keys("keywords"), Sort::List)];
        let is_refused = |change: Change| refusal(&change, &entries, asked).is_some();
        assert!(!is_refused(set("project > requires-python", ">=3.11")));
        // A server that does not enforce the grammar may write anything.
        assert!(is_refused(set("change: new \"raise requires-python\"", "3.11")));
        assert!(is_refused(set("a > b > requires-python", "3.11")));
        assert!(!is_refused(Change::Remove(keys("devDependencies > aud"))));
        assert!(!is_refused(Change::Drop(keys("keywords"), json!("aud"))));
        assert!(is_refused(set("testling > files", "test/*.js")));
        assert!(is_refused(Change::Add(keys("keywords"), json!("testing"))));
        assert!(is_refused(Change::Set(keys("keywords"), json!(["aud"]))));
        let entries = [(keys("a"), Sort::Object), (keys("a > b"), Sort::Value), (keys("c"), Sort::Value)];
        assert_eq!(placed(set("b", "x"), &entries), set("a > b", "x"));
        assert_eq!(placed(set("d", "x"), &entries), set("d", "x"));
        assert_eq!(placed(set("c", "x"), &entries), set("c", "x"));
    }

    #[test]
    fn what_is_added_removes_and_replaces_nothing() {
        let entries = [(keys("deps > left"), Sort::Value), (keys("scripts > check"), Sort::Value)];
        let is_refused = |request: &str, change: Change| refusal(&change, &entries, &Text::of(request)).is_some();
        let set = |all: &str, value: &str| Change::Set(keys(all), json!(value));
        let add = "Add the dependency right 2.0 next to left";
        assert!(!is_refused(add, set("deps > right", "2.0")));
        assert!(is_refused(add, Change::Remove(keys("deps > left"))));
        assert!(is_refused(add, set("scripts > check", "right")));
        assert!(!is_refused("Uninstall left", Change::Remove(keys("deps > left"))));
        assert!(is_refused("Write PLAN.md with the deps", set("PLAN.md", "the deps")));
        assert!(!is_refused("let check run right", set("scripts > check", "right")));
    }

    #[test]
    fn only_existing_entries_can_be_removed() {
        let entries = [(keys("a"), Sort::Object), (keys("a > b"), Sort::Value)];
        let grammar = grammar(&entries);
        assert!(grammar.contains("object: \"a\"\nvalue: \"a\" \" > \" \"b\"\n"), "{grammar}");
        assert!(!grammar.contains("list"), "{grammar}");
    }
}
