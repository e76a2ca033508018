//! Finds the definitions that a name refers to: `f`, `A.f`, or a head such as `int f(int x)`.

use super::heads::squeezed;
use super::text::{is_comment, line_of};
use crate::index::parts::{self, Sort, Span};
use crate::index::{is_queried, language_of};

/// The definitions that `name` refers to: matched by name, else by name and container, else, if
/// several in one place may share a name, by head.
pub(super) fn named<'s>(spans: &'s [Span], (path, text): (&str, &str), name: &str) -> Vec<&'s Span> {
    let by_name: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    if !by_name.is_empty() {
        return by_name;
    }
    let queried = is_queried(language_of(path));
    let (around, last) = split(name, queried);
    let around = around.and_then(|around| around.rsplit(['.', ':']).next()).unwrap_or_default();
    let is_member = |span: &&Span| span.name == last && span.container.last().is_some_and(|own| own == around);
    let by_container: Vec<&Span> = spans.iter().filter(is_member).collect();
    if by_container.is_empty() && queried {
        return by_head(spans, text, name);
    }
    by_container
}

/// Splits a name from its container. Lua's `M:f` and Ruby's `A#f` occur in languages that a query
/// describes; elsewhere a single colon may be part of a test's name.
fn split(name: &str, queried: bool) -> (Option<&str>, &str) {
    let parted = match queried {
        true => name.rsplit_once(['.', ':', '#']),
        false => name.rsplit_once("::").or_else(|| name.rsplit_once('.')),
    };
    parted.map_or((None, name), |(around, last)| (Some(around.trim_end_matches(':')), last))
}

/// The definitions with that head, compared up to the end of the parameters or the start of the
/// body. A head that ends in a semicolon belongs to a declaration without a body.
fn by_head<'s>(spans: &'s [Span], text: &str, name: &str) -> Vec<&'s Span> {
    let (is_declaration, head) = (name.trim_end().ends_with(';'), name.trim_end_matches([';', '{', '=', ' ']));
    let has = |head: &str, span: &&Span| {
        let fits = !is_declaration || span.body.is_none();
        fits && head.contains(span.name.as_str()) && is_head(&head_of(span, text), &squeezed(head))
    };
    let mut found: Vec<&Span> = spans.iter().filter(|span| has(head, span)).collect();
    // `A.f(int x)` is `f(int x)` in `A`.
    let list = head.find('(').unwrap_or(head.len());
    let word = head[..list].rfind(char::is_whitespace).map_or(0, |space| space + 1);
    if let (true, (Some(around), last)) = (found.is_empty(), split(&head[word..list], true)) {
        let plain = format!("{}{last}{}", &head[..word], &head[list..]);
        let around = around.rsplit(['.', ':']).next().unwrap_or_default();
        let is_in = |span: &&Span| span.container.last().is_some_and(|own| own == around);
        found = spans.iter().filter(is_in).filter(|span| has(&plain, span)).collect();
    }
    if !is_declaration && found.len() > 1 && found.iter().any(|span| span.body.is_some()) {
        found.retain(|span| span.body.is_some());
    }
    found
}

/// The words of a definition before its body or value, without comments.
fn head_of<'t>(span: &Span, text: &'t str) -> Vec<&'t str> {
    let end = span.body.as_ref().map_or(span.bytes.end, |body| body.start);
    let whole = text.get(span.bytes.start..end).unwrap_or_default();
    let lines = whole.lines().filter(|line| !is_comment(line));
    let mut words: Vec<&str> = Vec::new();
    for word in lines.flat_map(str::split_whitespace) {
        let value = word.find('=').filter(|_| span.sort == Sort::Value);
        words.extend(Some(&word[..value.unwrap_or(word.len())]).filter(|word| !word.is_empty()));
        if value.is_some() {
            break;
        }
    }
    words
}

/// Whether these words end with the head, or continue after its parameters.
fn is_head(words: &[&str], head: &str) -> bool {
    let all = words.concat();
    let all = all.trim_end_matches(['{', '=', ';']);
    let mut start = 0;
    !head.is_empty()
        && words.iter().any(|word| {
            let rest = all.get(start..).and_then(|rest| rest.strip_prefix(head));
            start += word.len();
            rest.is_some_and(|rest| rest.is_empty() || head.ends_with(')'))
        })
}

/// Whether `name` is the name of a definition, or that name after the one of its container.
fn is_path_of(span: &Span, name: &str) -> bool {
    let Some(around) = name.strip_suffix(span.name.as_str()) else { return false };
    let own = around.trim_end_matches(['.', ':', '#']);
    let is_last = |container: &String| {
        own.strip_suffix(container.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', ':', '#']))
    };
    around.is_empty() || own.len() < around.len() && span.container.last().is_some_and(is_last)
}

/// The definition that a name given with new code refers to.
#[derive(Debug, Default)]
pub(super) struct Meant {
    pub name: String,
    pub container: Option<String>,
    /// The line of the definition in the file, if its head was given.
    pub line: Option<usize>,
    /// Only the new code has this head, so the definition is new.
    pub is_overload: bool,
}

/// Resolves `name` for a file and the code to be put into it.
///
/// # Errors
/// Several definitions have that head.
pub(super) fn meant(path: &str, text: &str, code: &str, name: &str) -> Result<Meant, String> {
    let queried = is_queried(language_of(path));
    let plain = |name: &str| {
        let (around, last) = split(name, queried);
        let last_of = |around: &str| around.rsplit(['.', ':']).next().unwrap_or(around).to_owned();
        let container = around.map(|around| if queried { around.to_owned() } else { last_of(around) });
        Meant { name: last.to_owned(), container, ..Meant::default() }
    };
    let is_path = name.contains(['.', ':', '#']);
    let spans =
        if is_path || queried && name.contains(['(', ' ']) { parts::definitions(path, text) } else { Vec::new() };
    if let Some(one) = spans.iter().find(|span| is_path_of(span, name)) {
        // Such a name may contain dots: a namespace, a test.
        let container = name.len() - one.name.len();
        let around = name[..container].trim_end_matches(['.', ':', '#']);
        let container = if queried { around } else { around.rsplit(['.', ':']).next().unwrap_or(around) };
        let container = (!container.is_empty()).then(|| container.to_owned());
        return Ok(Meant { name: one.name.clone(), container, ..Meant::default() });
    }
    if !queried || !name.contains(['(', ' ']) {
        return Ok(plain(name));
    }
    match by_head(&spans, text, name).as_slice() {
        [one] => Ok(Meant {
            name: one.name.clone(),
            container: (!one.container.is_empty()).then(|| one.container.join(".")),
            line: Some(line_of(text, one.bytes.start)),
            is_overload: false,
        }),
        [] => {
            let list = name.find('(').unwrap_or(name.len());
            let word = name[..list].trim_end().rsplit(char::is_whitespace).next().unwrap_or_default();
            let own = parts::definitions(path, code);
            let (last, parameters) = (split(word, true).1, name.get(list..).unwrap_or_default());
            let is_written = |head: &str| !by_head(&own, code, head).is_empty();
            let is_own = own.iter().any(|span| span.name == last)
                && !parameters.is_empty()
                && (is_written(name) || is_written(&format!("{last}{parameters}")));
            Ok(Meant { is_overload: is_own, ..plain(word) })
        }
        several => {
            let lines = several.iter().map(|one| line_of(text, one.bytes.start).to_string()).collect::<Vec<_>>();
            Err(format!("{path}: several definitions have the head `{name}`, at lines {}", lines.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_list_has_no_values_and_no_comments() {
        let rows = "    1, 2, 3, 4,\n".repeat(1_000);
        let c = format!(
            "/* cones(1) = 2 */\nstatic const int cones[] = {{\n{rows}}};\n\nint heat(int by)\n{{\n    return 1;\n}}\n"
        );
        let heads: Vec<String> =
            parts::definitions("kiln.c", &c).iter().map(|span| head_of(span, &c).join(" ")).collect();
        assert_eq!(heads, ["static const int cones[]", "int heat(int by) {"]);
    }

    #[test]
    fn a_name_or_a_head_means_a_definition() {
        let java = "class A {\n    static int f(int x) throws B { return 1; }\n    int f(long x) { return 2; }\n    A(int x) { }\n}\n";
        let spans = parts::definitions("A.java", java);
        let lines = |name: &str| -> Vec<usize> {
            named(&spans, ("A.java", java), name).iter().map(|span| span.lines.0).collect()
        };
        for (name, expected) in [
            ("f", &[2, 3][..]),
            ("A.f", &[2, 3]),
            ("int f(int x)", &[2]),
            ("static int f(int x) throws B {", &[2]),
            ("f(long x)", &[3]),
            ("A.f(int x)", &[2]),
            ("B.f(int x)", &[]),
            ("f(int", &[]),
            ("A(int x)", &[4]),
            ("int f(int x);", &[]),
        ] {
            assert_eq!(lines(name), expected, "{name}");
        }
    }

    #[test]
    fn a_head_that_only_the_written_code_has_is_an_overload() {
        let java = "class A {\n    int f(int x) { return 1; }\n}\n";
        let meant = |name: &str| {
            let found = meant("A.java", java, "int f(long y) { return 2; }", name).unwrap();
            (found.name, found.container, found.line, found.is_overload)
        };
        let in_a = Some("A".to_owned());
        assert_eq!(meant("A.f"), ("f".into(), in_a.clone(), None, false));
        assert_eq!(meant("int f(int x)"), ("f".into(), in_a.clone(), Some(2), false));
        assert_eq!(meant("int f(long y)"), ("f".into(), None, None, true));
        assert_eq!(meant("A.f(long y)"), ("f".into(), in_a, None, true));
        assert_eq!(meant("f(short z)"), ("f".into(), None, None, false));
    }
}
