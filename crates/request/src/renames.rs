//! Reads renames and moves without a model: `Rename a to b`, `Move f from x/a.ts to y/b.ts`, `a_b -> c_d`.

use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Kind;
use crate::base::pattern::pattern;
use crate::language::shape::may_be_path;
use crate::language::words;

/// The renames and moves in `request`, as `FROM -> TO`; `None` if it asks for anything else.
pub fn all(request: &str) -> Option<Vec<(Kind, String)>> {
    static RENAME: LazyLock<Regex> = LazyLock::new(|| {
        let begin = r"(?:^|[.;!:,]\s+|\b(?:and|then|please|you)\s+)";
        let kinds = "function|method|class|variable|constant|type|interface|struct|enum|trait|file|module|helper";
        let what = format!(r"(?:the\s+)?(?:(?:{kinds})\s+)?");
        let name = |group: &str| format!(r#"[`"']?(?<{group}>[\w$./-]*[\w$/])(?:\(\))?[`"']?"#);
        let (from, file, to) = (name("from"), name("file"), name("to"));
        let place = format!(r"(?:\s+(?:from|out\s+of|in)\s+(?:the\s+file\s+)?{file})?");
        let end = format!(r"\s+(?:to|into|as|->|→)\s+(?:the\s+file\s+)?{to}");
        pattern(format!(r"(?i){begin}(?<verb>rename|move)\s+{what}{from}{place}{end}"))
    });
    // `bakeBread -> bakeLoaf please, everywhere`
    static ARROW: LazyLock<Regex> = LazyLock::new(|| {
        let name =
            |group: &str| format!(r#"[`"']?\b(?<{group}>[A-Za-z_$]*(?:_[A-Za-z0-9]|[a-z][A-Z])[\w$]*)(?:\(\))?[`"']?"#);
        pattern(format!(r"^\s*(?:please\s+)?{}\s*(?:->|=>|→)\s*{}", name("from"), name("to")))
    });
    // Every rename and move updates all uses, so a request for that adds no step.
    static UPDATES: LazyLock<Regex> = LazyLock::new(|| {
        let what = r"(?:imports?|callers?|references?|usages?|uses|call sites?|places|tests?)";
        pattern(format!(r"(?i)\b(?:adjust|update|fix|change|adapt|correct)\s+(?:(?:all|the|its|every)\s+)*{what}\b"))
    });
    let step = |found: Captures<'_>| {
        let (from, to, file) = (&found["from"], &found["to"], found.name("file").map(|file| file.as_str()));
        let moves = found.name("verb").is_some_and(|verb| verb.as_str().eq_ignore_ascii_case("move"));
        match file {
            Some(file) if moves && may_be_path(file) && may_be_path(to) && !may_be_path(from) => {
                Some((Kind::Move, format!("{from} from {file} -> {to}")))
            }
            Some(_) => None,
            None if may_be_path(from) || moves && may_be_path(to) => Some((Kind::Move, format!("{from} -> {to}"))),
            None => Some((Kind::Rename, format!("{from} -> {to}"))),
        }
    };
    let patterns: [&Regex; 2] = [&RENAME, &ARROW];
    let pattern = patterns.into_iter().find(|pattern| pattern.is_match(request))?;
    let steps: Vec<(Kind, String)> = pattern.captures_iter(request).map(step).collect::<Option<_>>()?;
    let rest = pattern.replace_all(request, " ");
    let rest = UPDATES.replace_all(&rest, " ");
    let more = words::split(&rest).iter().any(|word| super::kind::begins_something(word));
    // A file whose name contains the old name should be renamed too.
    let bears = |word: &str, from: &str| {
        let file = Path::new(word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/'));
        file.extension().is_some() && file.file_stem().is_some_and(|stem| stem == from)
    };
    let mut old = steps.iter().filter_map(|(_, step)| step.split(" -> ").next());
    let files = old.any(|from| rest.split_whitespace().any(|word| bears(word, from)));
    (!steps.is_empty() && !more && !files && !rest.contains('?')).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &str, expected: &[(Kind, &str)]) {
        let found = all(request).unwrap_or_default();
        let found: Vec<(Kind, &str)> = found.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
        assert_eq!(found, expected, "{request}");
    }

    #[test]
    fn renames_and_moves_are_read_without_a_model() {
        check("Rename load_all to load_many everywhere.", &[(Kind::Rename, "load_all -> load_many")]);
        check("please rename the function `a_b()` to `c_d` and update all callers", &[(Kind::Rename, "a_b -> c_d")]);
        check(
            "bakeBread has nothing to do with doors. Move src/doors/bakeBread.ts to src/bakeBread.ts and update the imports.",
            &[(Kind::Move, "src/doors/bakeBread.ts -> src/bakeBread.ts")],
        );
        check("bakeBread -> bakeLoaf please, everywhere", &[(Kind::Rename, "bakeBread -> bakeLoaf")]);
        check("rename a.py to b.py", &[(Kind::Move, "a.py -> b.py")]);
    }

    #[test]
    fn a_definition_moves_out_of_a_file_or_from_where_it_is() {
        check(
            "Move `bakeBread()` from src/oven.ts to src/doors/bread.ts and update the imports",
            &[(Kind::Move, "bakeBread from src/oven.ts -> src/doors/bread.ts")],
        );
        check("move the class Oven to kitchen/oven.py", &[(Kind::Move, "Oven -> kitchen/oven.py")]);
        check("Rename n in src/oven.ts to count", &[]);
    }

    #[test]
    fn a_request_for_more_is_left_to_the_model() {
        for request in [
            "Rename a_b to c_d and run the tests",
            "Rename a_b to c_d, then add a test",
            "Why is a_b called so? Rename a_b to c_d",
            "Rename load_all to load_many, its file src/load_all.rs too",
            "Set the timeout to 5",
            "Where is it called?",
        ] {
            check(request, &[]);
        }
    }
}
