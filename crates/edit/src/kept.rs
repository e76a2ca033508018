//! Keeps the parts of a rewritten function that the request does not mention: comments, decorators,
//! parameters and their defaults, return and error types, lines.

use similar::{DiffTag, TextDiff};

use super::comments;
use crate::base::pattern::static_regex;
use crate::index;
use crate::index::parts::{self, Sort, Span};
use crate::language::{Asked, words};

/// Returns `after` with the comments that rewritten functions have lost. `before` is the file
/// before the change, `asked` the request. Lines of code may be lost if `may_shorten`.
///
/// # Errors
/// A function has lost something else that the request does not mention. The error names it, for
/// the model that made the change.
pub fn kept(path: &str, before: &str, after: &str, asked: &Asked, may_shorten: bool) -> Result<String, String> {
    let (old, new) = (functions(path, before), functions(path, after));
    let mut text = after.to_owned();
    // From the end backwards, so that the positions of earlier functions stay valid.
    for now in new.iter().rev() {
        let Earlier::Changed(was) = earlier((&old, before), (&new, after), now) else { continue };
        let (was_code, now_code) = (&before[was.bytes.clone()], &after[now.bytes.clone()]);
        let (old_span, was, now_head) = (was, Head::of(was, before), Head::of(now, after));
        // A changed default may be the whole change.
        let body = |span: &Span, text: &str| span.body.clone().and_then(|body| text.get(body).map(str::to_owned));
        let same_body = body(old_span, before) == body(now, after);
        let lost = was.lost(&now_head, asked, same_body);
        if let Some(lost) = lost.or_else(|| other_error(was_code, now_code, asked)) {
            return Err(format!("`{}` of {path} {lost}, which nobody asked for", now.name));
        }
        // `None` if the file does not parse: only the form of a line then decides.
        let known = parts::faults(path, before).is_empty().then(|| index::comments(path, before));
        let is_comment_at = |at: usize| {
            known.as_ref().is_none_or(|all| all.iter().any(|range| range.contains(&(old_span.bytes.start + at))))
        };
        let whole = with_comments(was_code, now_code, asked, &is_comment_at);
        if !may_shorten && let Some(line) = lost_line(was_code, &whole) {
            return Err(format!("`{}` of {path} has lost the line `{line}`, which nobody asked for", now.name));
        }
        if whole != now_code {
            let mut restored = text.clone();
            restored.replace_range(now.bytes.clone(), &whole);
            if parts::faults(path, &restored).len() <= parts::faults(path, &text).len() {
                text = restored;
            }
        }
    }
    Ok(text)
}

/// The first line of a text that `now` lacks and that no similar line has replaced.
pub fn lost_text(was: &str, now: &str) -> Option<String> {
    let new: Vec<&str> = now.lines().map(str::trim).collect();
    let is_gone = |line: &&str| line.chars().any(char::is_alphanumeric) && !new.contains(line);
    let is_like = |line: &str| {
        let own = words::content(line);
        let shared = |other: &&str| own.intersection(&words::content(other)).count();
        // A line is similar if it has at least half of the words.
        new.iter().map(shared).max().is_some_and(|most| 2 * most >= own.len())
    };
    was.lines().map(str::trim).filter(is_gone).find(|line| !is_like(line)).map(str::to_owned)
}

/// The functions of a file that contain no other function.
pub(super) fn functions(path: &str, text: &str) -> Vec<Span> {
    let mut all = parts::definitions(path, text);
    all.retain(|one| one.sort == Sort::Function);
    // Inner functions follow the enclosing one, so the next one shows whether there are any.
    let holds = |one: &Span, next: &Span| next.bytes.start > one.bytes.start && next.bytes.end <= one.bytes.end;
    let is_leaf: Vec<bool> =
        (0..all.len()).map(|at| all.get(at + 1).is_none_or(|next| !holds(&all[at], next))).collect();
    all.into_iter().zip(is_leaf).filter(|(_, is_leaf)| *is_leaf).map(|(one, _)| one).collect()
}

/// The place of a function in the text before a change.
pub(super) enum Earlier<'a> {
    New,
    Changed(&'a Span),
    /// It is unchanged, or several functions share its name, so its old version is unclear.
    Same,
}

/// Finds the old version of `now`. `old` are the functions of the text `before`; `new` are those of
/// `after`, of which `now` is one.
pub(super) fn earlier<'a>((old, before): (&'a [Span], &str), (new, after): (&[Span], &str), now: &Span) -> Earlier<'a> {
    let is_same = |one: &Span| one.container == now.container && one.name == now.name && one.variant == now.variant;
    let same: Vec<&Span> = old.iter().filter(|one| is_same(one)).collect();
    if same.iter().any(|was| before[was.bytes.clone()] == after[now.bytes.clone()]) {
        return Earlier::Same;
    }
    let is_there =
        |was: &Span| new.iter().any(|one| is_same(one) && before[was.bytes.clone()] == after[one.bytes.clone()]);
    match same.as_slice() {
        [] => Earlier::New,
        // The old function still exists unchanged, so this is another one with the same name.
        [was] if is_there(was) => Earlier::New,
        [was] => Earlier::Changed(was),
        _ => Earlier::Same,
    }
}

/// The part of a function before its body.
struct Head {
    decorators: Vec<String>,
    /// Name and default of each parameter.
    parameters: Vec<(String, Option<String>)>,
    returns: String,
}

impl Head {
    fn of(span: &Span, text: &str) -> Head {
        let end = span.body.as_ref().map_or(span.bytes.end, |body| body.start);
        let whole = text.get(span.bytes.start..end).unwrap_or_default();
        let is_decorator = |line: &&str| line.starts_with('@') || line.starts_with("#[");
        let decorators = whole.lines().map(str::trim).filter(is_decorator).map(str::to_owned).collect();
        let named = span.signature.parameters.iter().filter(|one| !one.name.is_empty());
        let parameters = named.map(|one| (one.name.clone(), one.default.clone().map(|range| text[range].to_owned())));
        let returns = span.signature.returns.clone().map_or("", |range| &text[range]);
        Head {
            decorators,
            parameters: parameters.collect(),
            returns: returns.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }

    /// Describes the part of this head that `now` has lost, unless the request mentions it. If the
    /// body is the same, a different default is the requested change.
    fn lost(&self, now: &Head, asked: &Asked, same_body: bool) -> Option<String> {
        if let Some(gone) = self.decorators.iter().find(|one| !now.decorators.contains(one)) {
            let name = gone.trim_start_matches(['@', '#', '[']).split(['(', ']']).next().unwrap_or_default();
            return (!asked.has_all_of(name)).then(|| format!("has lost `{gone}`"));
        }
        if asked.is_about_parameters() {
            return None;
        }
        for (name, default) in &self.parameters {
            let Some((_, new)) = now.parameters.iter().find(|(other, _)| other == name) else {
                // A destructured or renamed parameter counts as a different one.
                return (!asked.has_all_of(name)).then(|| format!("has lost the parameter `{name}`"));
            };
            let is_asked = || same_body && new.is_some() || asked.has_all_of(name) || asked.is_about_defaults();
            if let (Some(was), now) = (default, new)
                && now.as_ref() != Some(was)
                && !is_asked()
                && !asked.has_all_of(now.as_deref().unwrap_or(was))
            {
                return Some(format!("has another default of `{name}`"));
            }
        }
        let has_other = !self.returns.is_empty() && self.returns != now.returns;
        (has_other && !asked.is_about_results() && !asked.has_all_of(&now.returns)).then(|| {
            format!("no longer returns `{}`", self.returns.trim_start_matches("->").trim_start_matches(':').trim())
        })
    }
}

/// Describes an error type that replaces another one, unless the request names the new type.
fn other_error(was: &str, now: &str, asked: &Asked) -> Option<String> {
    static_regex!(RAISED = r"\b(?:raise|throw(?:\s+new)?)\s+([A-Z][\w.]*)");
    let raised = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = comments::code_lines(text).collect();
        RAISED.captures_iter(&lines.join("\n")).map(|found| found[1].to_owned()).collect()
    };
    let (old, new) = (raised(was), raised(now));
    let gone = old.iter().find(|one| !new.contains(one))?;
    let come = new.iter().find(|one| !old.contains(one))?;
    (!asked.contains(come)).then(|| format!("raises `{come}` instead of `{gone}`"))
}

/// Unlike [`super::is_comment`], which is used to rank places, this does not mistake code like
/// `*count += 1` for a comment.
fn is_comment(line: &str) -> bool {
    let bare = line.trim_start();
    ["#", "//", "/*", "*/", "* "].iter().any(|mark| bare.starts_with(mark)) && !bare.starts_with("#[")
}

/// Restores the comment lines of `was` that `now` has lost. `is_comment_at` returns whether a byte
/// of `was` is in a comment, not in a string or in code that looks like a comment.
fn with_comments(was: &str, now: &str, asked: &Asked, is_comment_at: &dyn Fn(usize) -> bool) -> String {
    if asked.is_about_comments() {
        return now.to_owned();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (was.lines().collect(), now.lines().collect());
    let begins = was.split_inclusive('\n').scan(0, |next, line| {
        let start = *next + line.len() - line.trim_start().len();
        *next += line.len();
        Some(start)
    });
    let begins: Vec<usize> = begins.collect();
    let diff = TextDiff::from_slices(&old, &new);
    let mut lines: Vec<&str> = Vec::new();
    for change in diff.ops() {
        let come = &new[change.new_range()];
        let stays = |at: &usize| is_comment(old[*at]) && !now.contains(old[*at].trim()) && is_comment_at(begins[*at]);
        if matches!(change.tag(), DiffTag::Delete | DiffTag::Replace) && !come.iter().any(|line| is_comment(line)) {
            lines.extend(change.old_range().filter(stays).map(|at| old[at]));
        }
        lines.extend(come);
    }
    if lines.len() == new.len() {
        return now.to_owned();
    }
    let end = if now.contains("\r\n") { "\r\n" } else { "\n" };
    format!("{}{}", lines.join(end), if now.ends_with('\n') { end } else { "" })
}

/// The first line of code that `now` has lost: fewer lines replaced the old ones, and none is
/// similar to it.
fn lost_line(was: &str, now: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (was.lines().map(str::trim).collect(), now.lines().map(str::trim).collect());
    let diff = TextDiff::from_slices(&old, &new);
    let is_code = |line: &&str| line.chars().any(char::is_alphanumeric) && !is_comment(line);
    for change in diff.ops().iter().filter(|change| matches!(change.tag(), DiffTag::Delete | DiffTag::Replace)) {
        let mut come: Vec<&str> = new[change.new_range()].iter().copied().filter(is_code).collect();
        let mut lost: Vec<&str> = Vec::new();
        for line in old[change.old_range()].iter().copied().filter(is_code) {
            match come.iter().position(|other| is_like(line, other)) {
                Some(at) => drop(come.remove(at)),
                None if new.contains(&line) => {}
                None => lost.push(line),
            }
        }
        if lost.len() > come.len() {
            let words = |line: &&&str| line.chars().filter(|letter| letter.is_alphanumeric()).count();
            return lost.iter().max_by_key(words).map(|line| (*line).to_owned());
        }
    }
    None
}

/// Whether two lines each share at least half of their words.
fn is_like(one: &str, other: &str) -> bool {
    let (one, other) = (words::split(one), words::split(other));
    let shared = one.iter().filter(|word| other.contains(word)).count();
    2 * shared >= one.len() && 2 * shared >= other.len().min(2 * one.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "@cached\ndef load(path, mode='r', *rest):\n    # Opened once.\n    seen = 0\n    if not path:\n        raise KeyError(path)\n    return open(path, mode)\n";

    fn kept(path: &str, before: &str, after: &str, asked: &str, may_shorten: bool) -> Result<String, String> {
        super::kept(path, before, after, &Asked::of(asked), may_shorten)
    }

    fn check(after: &str, asked: &str, expected: Result<&str, &str>) {
        let found = kept("a.py", BEFORE, after, asked, asked.starts_with("remove"));
        match expected {
            Ok(text) => assert_eq!(found.as_deref(), Ok(text), "{asked}"),
            Err(part) => assert!(found.as_ref().is_err_and(|why| why.contains(part)), "{found:?}"),
        }
    }

    #[test]
    fn a_comment_that_was_left_out_is_back() {
        let written = BEFORE.replace("    # Opened once.\n", "").replace("(path, mode)", "(path, mode, -1)");
        check(&written, "load should not buffer", Ok(&BEFORE.replace("(path, mode)", "(path, mode, -1)")));
    }

    #[test]
    fn a_line_that_only_looks_like_a_comment_may_go() {
        let before = "def report(a):\n    # ünï\n    text = '''\n# Report\n'''\n    return (text\n            * a)\n";
        for (from, to) in [("# Report\n", ""), ("(text\n            * a)", "(text + a)")] {
            let after = before.replace(from, to);
            assert_eq!(kept("a.py", before, &after, "the report should lose this", true).as_deref(), Ok(&*after));
        }
    }

    #[test]
    fn what_nobody_asked_for_is_refused() {
        let asked = "load should take an encoding";
        check(&BEFORE.replace("@cached\n", ""), asked, Err("`@cached`"));
        check(&BEFORE.replace("mode='r', ", "").replace(", mode)", ")"), asked, Err("parameter `mode`"));
        let other = BEFORE.replace("'r'", "'rb'").replace("mode)\n", "mode, -1)\n");
        check(&other, asked, Err("default of `mode`"));
        check(&BEFORE.replace("KeyError", "ValueError"), asked, Err("`ValueError` instead of `KeyError`"));
        check(&BEFORE.replace("    seen = 0\n", ""), asked, Err("the line `seen = 0`"));
        let more = BEFORE.replace("*rest", "*rest, encoding=None");
        check(&more, asked, Ok(&more));
    }

    #[test]
    fn what_the_request_names_may_change() {
        let other = BEFORE.replace("KeyError", "ValueError");
        check(&other, "load should raise a ValueError for an empty path", Ok(&other));
        let binary = BEFORE.replace("'r'", "'rb'");
        check(&binary, "the mode of load should be rb", Ok(&binary));
        let less = BEFORE.replace("    seen = 0\n", "");
        check(&less, "remove the unused variable of load", Ok(&less));
    }

    #[test]
    fn a_way_through_a_function_is_not_lost() {
        let asked = "the error of load should say that the path is empty instead of the path alone";
        let gutted =
            "@cached\ndef load(path, mode='r', *rest):\n    # Opened once.\n    raise KeyError(f'{path} is empty')\n";
        check(gutted, asked, Err("has lost the line"));
        let right = BEFORE.replace("KeyError(path)", "KeyError('the path is empty')");
        check(&right, asked, Ok(&right));
    }

    #[test]
    fn a_line_of_text_may_be_reworded_and_not_lost() {
        let was = "# Usage\n\nCall load with a path.\n\nIt never caches.\n";
        assert_eq!(lost_text(was, "# Usage\n\nCall load with a path or a file.\n\nIt never caches.\n"), None);
        assert_eq!(lost_text(was, "# Usage\n\nCall load with a path.\n").as_deref(), Some("It never caches."));
    }

    #[test]
    fn a_return_type_stays() {
        let before = "fn size(of: &str) -> Option<usize> {\n    Some(of.len())\n}\n";
        let after = "fn size(of: &str) -> usize {\n    of.len()\n}\n";
        let found = kept("a.rs", before, after, "size should count bytes", false);
        assert!(found.as_ref().is_err_and(|why| why.contains("`Option<usize>`")), "{found:?}");
        assert!(kept("a.rs", before, after, "size should return the number itself", false).is_ok());
    }
}
