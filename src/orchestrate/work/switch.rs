//! Flips a boolean option by code: `verboseLogs should be off by default`.

use std::sync::LazyLock;

use regex::Regex;

use crate::index::spans;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;

use super::change::{code_of, put};
use super::{Done, Job};
use crate::context::{Pack, Shown};
use crate::request::Step;

/// Flips the option that `step` names. `None` if it names none, or the wrong value is set in no place of the code shown, or in several.
pub async fn change(
    job: Job<'_>,
    step: &Step,
    pack: &Pack,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let Some((name, on)) = switch(&step.text) else { return Ok(None) };
    let found = code_of(pack).filter_map(|file| Some((file, flipped(&file.path, &file.text, &name, on)?)));
    let found: Vec<(&Shown, String)> = found.collect();
    match found.as_slice() {
        [(file, after)] => put(job, step, file, after, evidence).await,
        _ => Ok(None),
    }
}

/// `text` with the right value in the one place where `name` gets the wrong one.
fn flipped(path: &str, text: &str, name: &str, on: bool) -> Option<String> {
    let values = if on { "false|False" } else { "true|True" };
    let name = regex::escape(name);
    let place =
        Regex::new(&format!(r#"(?:^|[^\w.])["']?{name}["']?\s*(?::\s*bool(?:ean)?\s*)?[:=]\s*({values})\b"#)).ok()?;
    let comments = spans(path, text).and_then(Result::ok).map(|found| found.comments).unwrap_or_default();
    let is_comment = |at: usize| comments.iter().any(|comment| comment.contains(&at));
    let values = place.captures_iter(text).filter_map(|found| found.get(1));
    let mut found = values.filter(|value| !is_comment(value.start()));
    let value = found.next().filter(|_| found.next().is_none())?;
    let new = match (on, value.as_str().starts_with(char::is_uppercase)) {
        (true, true) => "True",
        (true, false) => "true",
        (false, true) => "False",
        (false, false) => "false",
    };
    Some(format!("{}{new}{}", &text[..value.start()], &text[value.end()..]))
}

/// The one option that a request names, and whether it should be on by default.
fn switch(task: &str) -> Option<(String, bool)> {
    static DEFAULT: LazyLock<Regex> = LazyLock::new(|| {
        let state = r"(on|off|true|false|enabled|disabled|active|inactive)";
        Regex::new(&format!(
            r"(?i)\b{state}\b[^.;]{{0,12}}\b(?:by default|per default|out of the box|standardmäßig|par défaut|por defecto)|\bdefault(?:s)?(?:\s+to|\s+value\s+(?:to|is)|\s+should\s+be)?\s+{state}\b"
        ))
        .expect("a pattern")
    });
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"`(\w+)`|\b([a-z]+[A-Z]\w*|[A-Za-z]\w*_\w+)\b").expect("a pattern"));
    let said = DEFAULT.captures(task)?;
    let state = said.get(1).or(said.get(2))?.as_str().to_lowercase();
    let mut names: Vec<&str> =
        NAME.captures_iter(task).filter_map(|found| Some(found.get(1).or(found.get(2))?.as_str())).collect();
    names.dedup();
    let [name] = names.as_slice() else { return None };
    Some(((*name).to_owned(), matches!(state.as_str(), "on" | "true" | "enabled" | "active")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_read_with_its_default() {
        let check = |task: &str, expected: Option<(&str, bool)>| {
            let found = switch(task);
            assert_eq!(found.as_ref().map(|(name, on)| (name.as_str(), *on)), expected, "{task}");
        };
        check("capitalizeAfterNumber should be off by default", Some(("capitalizeAfterNumber", false)));
        check("make `strict` default to true", Some(("strict", true)));
        check("strict_mode is to be enabled out of the box", Some(("strict_mode", true)));
        check("turn it on by default", None);
        check("a_b and c_d should be on by default", None);
        check("set max_size to 5", None);
    }

    #[test]
    fn a_wrong_value_that_is_set_once_is_flipped() {
        let check = |text: &str, on: bool, expected: Option<&str>| {
            let path = if text.starts_with("def") { "a.py" } else { "a.js" };
            assert_eq!(flipped(path, text, "is_on", on).as_deref(), expected, "{text}");
        };
        check("// is_on: true\no = { is_on: true }", false, Some("// is_on: true\no = { is_on: false }"));
        check("o = { is_on: true, b: true }", false, Some("o = { is_on: false, b: true }"));
        check("def f(a, is_on=False):", true, Some("def f(a, is_on=True):"));
        check("def f(a, is_on: bool = False):", true, Some("def f(a, is_on: bool = True):"));
        check("let is_on = true;", true, None);
        check("this.is_on = true; x = { is_on: true, is_on: true }", false, None);
    }
}
