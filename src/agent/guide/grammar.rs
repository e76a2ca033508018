//! Builds the grammars for code. Each begins with the head of a definition, so that a small model
//! writes only that definition.

use crate::edit::testing;
use serde_json::Value;

use crate::edit::is_comment;
use crate::index::parts::{Sort, Span};
use crate::index::{is_queried, language_of};

use super::items::{Item, What};

/// Minimum length, in lines, of a docstring that may be left out; a model rewrites a shorter one
/// without loss.
const DOCSTRING_LINES_MIN: usize = 4;

/// The form of the lines below the head of a definition.
#[derive(Clone, Copy, Default)]
pub struct Body {
    /// Whether the docstring, which is already long, may be rewritten.
    pub has_docstring: bool,
    /// Whether comments are forbidden: a model that wrote a comment in place of code must write the
    /// code.
    pub without_comments: bool,
}

/// The grammar for the code of an item: imports and comments, the head, then lines that belong to
/// the item.
pub fn of_code(item: &Item, text: &str, body: Body) -> String {
    let (lead, head) = match &item.what {
        What::Change(span) => {
            let head = head_of(span, text, is_queried(language_of(&item.path)));
            (if span.sort == Sort::Value { "" } else { "IMPORT{0,3}" }, Value::String(head).to_string())
        }
        What::Add => {
            let lead = if is_inner_test(item) { "" } else { "IMPORT{0,3} LEAD{0,8}" };
            (lead, format!("/{}/", new_head(item, text)))
        }
        _ => return of_any_code(&item.path, ""),
    };
    let fence = fence_of(&item.path);
    // Lines above a head: decorators, and outside Python also attributes and comments.
    let above = match language_of(&item.path) {
        "python" => "@",
        "ruby" | "shell" => "#",
        "lua" => "--",
        "c" | "cpp" => "([@\\/]|\\[\\[| \\*)",
        language if is_queried(language) => "([@\\/]|#?\\[| \\*)",
        _ => "([@#\\/]| \\*)",
    };
    // Imports in the form that the file uses.
    let import = match language_of(&item.path) {
        "c" | "cpp" => "#include [^\\n`]*",
        "csharp" => "using [^\\n`]*",
        "php" => "use [^\\n`]*",
        "ruby" => "require(_relative)? [^\\n`]*",
        "lua" => "local [A-Za-z_]+ = require[^\\n`]*",
        "shell" => "source [^\\n`]*",
        "python" => "(import|from) [^\\n`]*",
        "rust" => "use [^\\n`]*",
        "javascript" | "jsx" if text.contains("require(") => "(const|var|let) [^\\n=`]* = require\\([^\\n`]*",
        _ => "import [^\\n`]*",
    };
    let has_docstring = match &item.what {
        What::Change(span) => {
            let docs = span.docstring.clone().and_then(|range| text.get(range));
            docs.is_some_and(|docs| docs.lines().count() >= DOCSTRING_LINES_MIN)
        }
        _ => false,
    };
    let is_python = language_of(&item.path) == "python";
    let inner = match body {
        Body { without_comments: true, .. } if is_python => NO_HASH,
        Body { without_comments: true, .. } => NO_SLASH,
        Body { has_docstring: false, .. } if has_docstring => NO_DOCSTRING,
        _ => LINE,
    };
    // Lines without indentation: closing brackets, and in some languages others too.
    let outer =
        if is_queried(language_of(&item.path)) { format!("[{{}}#:]{LINE}|end{LINE}") } else { format!("where{LINE}") };
    format!(
        "start: {fence} {lead} HEAD REST BODY* \"```\"\n\
         IMPORT: /({import})?\\n/\n\
         LEAD: /({above}[^\\n`]*)\\n/\n\
         HEAD: {head}\n\
         REST: /([^A-Za-z0-9_$`\\n]{LINE})?\\n/\n\
         BODY: /([ \\t)\\]}}>]{inner}|{outer})?\\n/\n"
    )
}

/// A line of code without a fence in it, as a regular expression.
const LINE: &str = "([^`\\n]|`[^`\\n]|``[^`\\n])*`{0,2}";

/// Like [`LINE`], but not beginning with three quotation marks.
const NO_DOCSTRING: &str = "[ \\t]*([^\"' \\t`\\n][^`\\n]*|\"[^\"`\\n][^`\\n]*|\"\"([^\"`\\n][^`\\n]*)?|'[^'`\\n][^`\\n]*|''([^'`\\n][^`\\n]*)?)?";

/// Like [`LINE`], but without comments: first for Python, then for other languages.
const NO_HASH: &str = "[ \\t]*([^# \\t`\\n]([^`\\n]|`[^`\\n]|``[^`\\n])*`{0,2})?";
const NO_SLASH: &str = "[ \\t]*([^\\/ \\t`\\n]([^`\\n]|`[^`\\n]|``[^`\\n])*`{0,2})?";

/// The opening fence of a block of code, quoted for a grammar.
fn fence_of(path: &str) -> String {
    let language = language_of(path);
    Value::String(format!("```{}\n", if language == "text" { "" } else { language })).to_string()
}

/// The grammar for a block of any code that begins with the lines in `head`.
pub fn of_any_code(path: &str, head: &str) -> String {
    let head = if head.is_empty() { String::new() } else { Value::String(head.to_owned()).to_string() };
    format!("start: {} {head} LINE+ \"```\"\nLINE: /{LINE}\\n/\n", fence_of(path))
}

/// The grammar for a block of lines, all indented by at least `indent`.
pub fn of_lines(path: &str, indent: &str) -> String {
    let (fence, indent) = (fence_of(path), indent.replace('\t', "\\t"));
    format!("start: {fence} FIRST MORE* \"```\"\nFIRST: /{indent}[^ \\t`\\n]{LINE}\\n/\nMORE: /({indent}{LINE})?\\n/\n")
}

/// The text of a definition from its decorators to its name, without the indentation.
fn head_of(span: &Span, text: &str, by_query: bool) -> String {
    let whole = &text[span.bytes.clone()];
    let mut head: Vec<&str> = Vec::new();
    for line in whole.lines() {
        let bare = line.trim();
        let is_comment = is_comment(bare);
        let is_mark = bare.starts_with('@') || by_query && bare.starts_with('[');
        let is_lead = is_comment || is_mark && !bare.contains(&span.name) || bare.starts_with("#[");
        if is_lead || bare.is_empty() {
            if !is_comment && !bare.is_empty() {
                head.push(bare);
            }
            continue;
        }
        match name_in(bare, &span.name) {
            Some(end) => head.push(&bare[..end]),
            // The return type may be on a separate line.
            None if by_query => {
                head.push(bare);
                continue;
            }
            None => head.push(bare.get(..1).unwrap_or(bare)),
        }
        break;
    }
    head.join("\n")
}

/// The end of a name in a line: of its first occurrence as a complete word, else of its first
/// occurrence.
fn name_in(line: &str, name: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    let is_whole = |at: &usize| !line[..*at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part);
    let places = || line.match_indices(name).map(|(at, _)| at);
    places().find(is_whole).or_else(|| places().next()).map(|at| at + name.len())
}

/// Whether an item is a new test in the test module of a Rust file.
fn is_inner_test(item: &Item) -> bool {
    item.is_new_test() && language_of(&item.path) == "rust" && item.name.contains('.')
}

/// The possible beginnings of a new definition in a file with this text, as a regular expression.
fn new_head(item: &Item, text: &str) -> String {
    let (container, name) = match item.name.rsplit_once('.') {
        Some((container, name)) => (Some(container), name),
        None => (None, item.name.as_str()),
    };
    let name = name.replace('$', "\\$");
    let language = language_of(&item.path);
    // A module has only one default export.
    let default = if text.contains("export default") { "" } else { "(default )?" };
    let keyed = match language {
        // Modifiers and the return type precede a name.
        _ if is_queried(language) => return format!("([^\\n`(=]*[^A-Za-z0-9_$\\n`(=])?{name}"),
        "python" => format!("((async )?def|class) {name}|{name}( =|:)"),
        "go" => format!("func (\\([^)\\n]*\\) )?{name}|(type|var|const) {name}"),
        "rust" => format!(
            "(pub(\\([a-z]+\\))? )?((default|const|async|unsafe) )*(fn|struct|enum|trait|type|const|static|mod|union) {name}|macro_rules! {name}|impl[^\\n]*{name}"
        ),
        _ => format!(
            "(export )?{default}(async )?(function\\*?|class|const|let|var|interface|type|enum) {name}|(module\\.)?exports\\.{name}|(test|it|describe)(\\.[a-z]+)?\\("
        ),
    };
    match (container, language) {
        (_, "python") if testing::is_test(&item.path) && name.starts_with("test_") => {
            format!("(async )?def {name}")
        }
        (Some(_), "python") => format!("(async )?def {name}|{name}( =|:)"),
        (Some(_), "rust") if is_inner_test(item) => format!("#\\[test\\]\\nfn {name}"),
        (Some(_), "rust") => {
            let qualifiers = "(pub(\\([a-z]+\\))? )?((default|const|async|unsafe) )*";
            format!("(impl[^\\n{{]*\\{{\\n[ \\t]+)?{qualifiers}(fn|const|type) {name}")
        }
        (Some(_), "go") => keyed,
        (Some(_), _) => format!("((static|async|get|set|public|private|protected|readonly) )*\\*?#?{name}"),
        (None, _) => keyed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::parts;

    #[test]
    fn the_head_of_a_definition_ends_with_its_name() {
        let text = "class A:\n    @property\n    def size(self):\n        return MAX\n";
        let all = parts::definitions("a.py", text);
        let size = all.iter().find(|one| one.name == "size").unwrap();
        assert_eq!(head_of(size, text, false), "@property\ndef size");
        let text = "class Kiln {\n    [Fact]\n    static List<Tile>\n    tile(int tiles)\n    {\n        return null;\n    }\n}\n";
        let all = parts::definitions("Kiln.cs", text);
        let tile = all.iter().find(|one| one.name == "tile").unwrap();
        assert_eq!(head_of(tile, text, true), "[Fact]\nstatic List<Tile>\ntile");
    }

    #[test]
    fn a_long_docstring_need_not_be_written_again() {
        let head = "def brew(\n        leaves,\n    ):\n";
        let long = format!("{head}    r\"\"\"Brews.\n\n    >>> brew(1)\n    \"\"\"\n    return leaves\n");
        let short = format!("{head}    \"\"\"Brews.\"\"\"\n    return leaves\n");
        for (text, path, may_be_left_out) in [(&long, "tea.py", true), (&short, "tea.py", false)] {
            let span = parts::definitions(path, text).remove(0);
            let item = Item { path: path.to_owned(), name: "brew".to_owned(), what: What::Change(span) };
            let lines = |body: Body| of_code(&item, text, body).contains(NO_DOCSTRING);
            assert_eq!(lines(Body::default()), may_be_left_out, "{text}");
            assert!(!lines(Body { has_docstring: true, ..Body::default() }), "{text}");
        }
    }

    #[test]
    fn a_line_of_code_may_have_to_be_no_comment() {
        let fits = |line: &str, of: &str| regex::Regex::new(&format!("^{of}$")).unwrap().is_match(line);
        for (line, in_python, elsewhere) in
            [("    return 1", true, true), ("", true, true), ("    # here", false, true), ("\t// here", true, false)]
        {
            assert_eq!((fits(line, NO_HASH), fits(line, NO_SLASH)), (in_python, elsewhere), "{line}");
        }
    }

    #[test]
    fn only_the_named_definition_can_be_written() {
        let check = |path: &str, name: &str, line: &str, fits: bool| {
            let item = Item { path: path.into(), name: name.into(), what: What::Add };
            let regex = regex::Regex::new(&format!("^({})", new_head(&item, ""))).unwrap();
            assert_eq!(regex.is_match(line), fits, "{line}");
        };
        check("a.py", "f", "def f(x):", true);
        check("a.py", "A.f", "def f(self):", true);
        check("a.py", "f", "def g(x):", false);
        check("test_a.py", "A.test_f", "test_f = [", false);
        check("a.go", "F", "func (q *Queue) F() {", true);
        check("a.rs", "f", "pub(crate) fn f() {", true);
        check("a.rs", "A.f", "pub const fn f(&self) {", true);
        check("a.rs", "A.f", "impl A {\n    pub fn f(&self) {", true);
        check("a.rs", "A.f", "impl A { fn f(&self) {", false);
        check("a.ts", "f", "export default function f(x) {", true);
        check("a.ts", "Store.f", "f(x) {", true);
        check("a.ts", "f", "test('f', () => {", true);
        check("a.ts", "f", "return f;", false);
        check("Kiln.java", "Kiln.fire", "public static List<Tile> fire(int cone) {", true);
        check("kiln.rb", "Kiln.fire", "def fire(cone)", true);
        check("kiln.lua", "fire", "local function fire(cone)", true);
        check("kiln.sh", "fire", "fire() {", true);
        check("kiln.c", "fire", "int misfire(int cone)", false);
        check("kiln.c", "fire", "int heat(fire)", false);
    }
}
