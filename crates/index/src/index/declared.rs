//! Finds declarations in languages without a grammar by the words at the beginning of lines.
//!
//! Only searches use this: no graph, rename or check does, because it guesses where a grammar would
//! be exact.

use super::words;
use crate::base::is_listed;

/// A name declared on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// As written. A path (`Oban.Cron`, `file_helper::open`) gives its last segment and, as a
    /// second entry, the complete path.
    pub name: String,
    pub kind: &'static str,
    /// The line of the declaration, counted from 1.
    pub line: usize,
    /// The first line of its comments and attributes.
    pub from: usize,
}

/// Words that may precede the declaring keyword.
const MODIFIERS: &str = "\
    abstract actual annotation async case companion const constexpr convenience crossinline data declare default \
    dynamic expect explicit export extern external fileprivate final friend global implicit indirect infix inline inner \
    internal isolated lateinit lazy local mutating native noinline nonisolated open operator override package_private \
    partial private protected pub public readonly required sealed static strictfp suspend synchronized template threadlocal \
    transient unsafe value virtual volatile";
/// Declaring keywords, by the kind of thing they declare.
const KEYWORDS: &[(&str, &str)] = &[
    (
        "class",
        "class struct interface trait protocol enum union record object actor contract message service defmodule \
         defprotocol deftype defrecord mixin newtype typealias typedef type",
    ),
    (
        "function",
        "def defp defmacro defmacrop defguard defguardp defdelegate defn defmethod defun defmulti fn fun func function \
         procedure proc sub subroutine method macro rpc task",
    ),
    ("impl", "extension defimpl instance"),
    ("module", "module"),
];
/// Words that begin a statement whose shape resembles a declaration.
const STATEMENTS: &str = "\
    if else elseif elsif for foreach while until switch catch return throw new delete case do try using with await yield \
    when unless assert print puts echo require include import not and or in is as go defer goto sizeof typeof raise \
    select from lock fixed";
/// Languages that declare functions without a keyword: `int main(…) {`.
const TYPE_FIRST: &str = "dart groovy objective-c d glsl";
/// Maximum number of lines searched above a declaration for its comments and attributes.
const ABOVE_MAX: usize = 80;

/// The declarations of a source file, in order.
pub fn declared(language: &str, source: &str) -> Vec<Declared> {
    let lines: Vec<&str> = source.lines().collect();
    let mut all: Vec<Declared> = Vec::new();
    // The token that ends the multi-line comment or string at the current line.
    let mut until: Option<&str> = None;
    for at in 0..lines.len() {
        if let Some(end) = until {
            until = (!lines[at].contains(end)).then_some(end);
            continue;
        }
        until = opened(lines[at]);
        let next = lines.get(at + 1).copied().unwrap_or_default();
        let Some((path, kind)) = declaration(language, lines[at], next) else { continue };
        let above = all.last().map_or(0, |last| last.line);
        let from = begin(&lines, above, at);
        all.extend(names(path).into_iter().map(|name| Declared { name, kind, line: at + 1, from }));
    }
    all
}

/// The token that ends a comment or string that begins on this line and does not end on it.
fn opened(line: &str) -> Option<&'static str> {
    const BLOCKS: &[(&str, &str)] =
        &[("\"\"\"", "\"\"\""), ("/*", "*/"), ("--[[", "]]"), ("--[==[", "]==]"), ("=begin", "=end"), ("{-", "-}")];
    let left_open = |(open, close): &&(&str, &'static str)| {
        line.find(open).is_some_and(|at| {
            let stands_alone = open.starts_with('"') || line[..at].chars().next_back().is_none_or(char::is_whitespace);
            stands_alone && !line[..at].contains("//") && !line[at + open.len()..].contains(close)
        })
    };
    BLOCKS.iter().find(left_open).map(|(_, close)| *close)
}

/// The line (from 1) on which the comments and attributes of the declaration in `lines[at]` begin:
/// after the line that closes the block above, or else where the comments begin. Nothing above line
/// `above` belongs to it.
fn begin(lines: &[&str], above: usize, at: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[at]);
    let lowest = above.max(at.saturating_sub(ABOVE_MAX));
    let closes = |line: &&str| {
        let text = line.trim();
        (text == "end" || text.starts_with('}')) && indent(line) <= own
    };
    if let Some(closed) = (lowest..at).rev().find(|up| closes(&lines[*up])) {
        let first = (closed + 1..at).find(|up| !lines[*up].trim().is_empty()).unwrap_or(at);
        return first + 1;
    }
    let comments = (lowest..at).rev().take_while(|up| is_comment(lines[*up]));
    comments.last().unwrap_or(at) + 1
}

fn is_comment(line: &str) -> bool {
    let text = line.trim_start();
    let preprocesses = ["#include", "#define", "#if", "#end", "#else", "#pragma"].iter().any(|p| text.starts_with(p));
    !preprocesses
        && ["//", "/*", "*", "#", "--", ";", "%", "@", "[", "'''", "\"\"\""].iter().any(|m| text.starts_with(m))
}

/// The path and kind that a line declares.
fn declaration<'l>(language: &str, line: &'l str, next: &str) -> Option<(&'l str, &'static str)> {
    let text = line.trim();
    if let Some(defined) = text.strip_prefix("#define ") {
        return Some((path(defined.trim_start())?, "macro"));
    }
    if let Some(named) = text.strip_prefix("} ").and_then(|rest| rest.strip_suffix(';')) {
        // The end of `typedef struct { … } name;`.
        return whole_path(named).filter(|_| line.starts_with('}')).map(|name| (name, "class"));
    }
    if language == "objective-c" && line.starts_with(['-', '+']) {
        let method = text.split_once(')')?.1;
        return Some((path(method.trim_start())?, "function"));
    }
    if let Some((kind, marked)) = text.strip_prefix('@').and_then(marked) {
        return Some((path(marked)?, kind));
    }
    let (text, modified) = unmodified(text.strip_prefix('(').unwrap_or(text));
    let (first, after) = word(text);
    if first.is_empty() {
        return None;
    }
    let c_like = language == "objective-c";
    let kind = KEYWORDS.iter().find(|(_, words)| is_listed(words, first)).map(|(kind, _)| *kind);
    let type_of_c_like = c_like && is_listed("class struct enum union typedef", first);
    let opens_body = !text.contains('(') || text.find('{') < text.find('(') && text.contains('{');
    match kind {
        Some(kind) if type_of_c_like && opens_body => return type_of_c(after, next).map(|name| (name, kind)),
        Some(kind) if !type_of_c_like && after.starts_with([' ', '\t', '<']) => {
            let named = generic(after).trim_start();
            // `enum class Coin`, `companion object Till`.
            let (second, rest) = word(named);
            let again = is_listed("class struct object interface", second) && rest.starts_with(' ');
            return Some((path(if again { rest.trim_start() } else { named })?, kind));
        }
        _ => {}
    }
    let by_shape = assigned(text).or_else(|| signature(language, line));
    if by_shape.is_none() && is_listed(TYPE_FIRST, language) {
        return function_of_c(line, text, modified, next);
    }
    by_shape
}

/// The kind and name after an `@`: an interface in Objective-C and Java, a callback in Elixir.
fn marked(text: &str) -> Option<(&'static str, &str)> {
    let (first, after) = word(text);
    let kind = match first {
        "interface" | "implementation" | "protocol" => "class",
        "callback" | "macrocallback" => "function",
        _ => return None,
    };
    after.starts_with(' ').then(|| (kind, after.trim_start()))
}

/// The text after its modifiers and annotations, and whether it had any.
fn unmodified(text: &str) -> (&str, bool) {
    let (mut rest, mut modified) = (text, false);
    // A line has a handful of modifiers.
    for _ in 0..12 {
        if let Some(annotation) = rest.strip_prefix('@') {
            rest = bracketed(word(annotation).1).trim_start();
            continue;
        }
        let (first, after) = word(rest);
        if !is_listed(MODIFIERS, first) || !after.starts_with([' ', '\t', '<', '(', '"']) {
            break;
        }
        // `const X = struct` has its name after the modifier; this finds it too.
        (rest, modified) = (bracketed(generic(after.trim_start_matches("\"C\""))).trim_start(), true);
    }
    (rest, modified)
}

/// The first word of a text, which may be empty, and the rest.
fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len()))
}

/// The text after its leading type parameters.
fn generic(text: &str) -> &str {
    let trimmed = text.trim_start();
    if trimmed.starts_with('<') { trimmed.find("> ").map_or(text, |end| &trimmed[end + 1..]) } else { text }
}

/// The text after its leading brackets.
fn bracketed(text: &str) -> &str {
    if text.starts_with('(') { text.find(')').map_or(text, |end| &text[end + 1..]) } else { text }
}

/// The path at the beginning of a text: letters, digits, and `.`, `::` or `:` between them.
fn path(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['&', '*', '\'']);
    let end = text.find(|c: char| !c.is_alphanumeric() && !"_.:?!$~\\".contains(c)).unwrap_or(text.len());
    let path = text[..end].trim_end_matches(['.', ':', '\\', '?', '!']);
    path.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$' || c == '~').then_some(path)
}

/// The text, if it is only a path.
fn whole_path(text: &str) -> Option<&str> {
    path(text).filter(|path| *path == text)
}

/// The name of a type in C and C++ after `class` or `struct`: the last word before the body or the
/// bases. A forward declaration has none.
fn type_of_c<'l>(after: &'l str, next: &str) -> Option<&'l str> {
    let head = after.split(['{', ':', '<']).next()?;
    let has_body = after.contains('{') || next.trim_start().starts_with(['{', ':']) || after.trim_end().ends_with(':');
    let names: Vec<&str> = head.split_whitespace().filter(|w| !is_listed("final class struct", w)).collect();
    let name = path(names.last().copied()?)?;
    (!head.contains([';', ')', '=', '*']) && has_body).then_some(name)
}

/// `name = function(…`, `name <- function(…`, `Name = struct {`.
fn assigned(text: &str) -> Option<(&str, &'static str)> {
    let (left, right) = [" = ", " <- "].iter().find_map(|sign| text.split_once(sign))?;
    let right = right.trim_start();
    let (first, after) = word(right);
    let kind = match first {
        "function" | "fn" | "func" => "function",
        "struct" | "enum" | "union" | "opaque" | "packed" | "extern" | "error"
            if after.starts_with([' ', '{', '(']) =>
        {
            "class"
        }
        "Struct" | "Class" | "Data" if after.starts_with(".new") || after.starts_with(".define") => "class",
        _ => return None,
    };
    let name = left.split_whitespace().next_back()?;
    Some((whole_path(name)?, kind))
}

/// Declarations recognised by their shape: `name :: Type` in Haskell.
fn signature<'l>(language: &str, line: &'l str) -> Option<(&'l str, &'static str)> {
    let (name, _) = line.split_once(" :: ").filter(|_| language == "haskell")?;
    Some((whole_path(name)?, "function"))
}

/// The path of a function in languages that write its type first. `line` is the complete line,
/// `text` the part after its modifiers.
fn function_of_c<'l>(line: &str, text: &'l str, modified: bool, next: &str) -> Option<(&'l str, &'static str)> {
    let open = text.find('(')?;
    let before = text[..open].trim_end();
    let ends = text.trim_end();
    if ends.ends_with(';')
        || before.contains(['=', '"', '\'', ';', '{', '}', '?', '+', '.', '#', '|'])
        || before.contains("<<")
        || before.contains("->")
    {
        return None;
    }
    let words: Vec<&str> = before.split_whitespace().collect();
    let (first, name) = (*words.first()?, words.last()?.trim_start_matches(['*', '&']));
    let opens = ends.ends_with('{') || next.starts_with('{');
    let shaped = words.len() >= 2 || modified || name.contains("::") || (!line.starts_with([' ', '\t']) && opens);
    // `TEST_CASE("adds") {` invokes a macro.
    let is_macro = words.len() == 1 && !modified && !name.contains(|c: char| c.is_lowercase() || c == ':');
    let is_statement = is_macro || is_listed(STATEMENTS, first) || is_listed(STATEMENTS, name);
    (shaped && !is_statement).then_some((whole_path(name)?, "function"))
}

/// The names for a path: its last segment, and the complete path if it has several.
fn names(path: &str) -> Vec<String> {
    let segments: Vec<&str> = path.split(['.', ':', '\\']).filter(|s| !s.is_empty() && *s != "self").collect();
    let Some(last) = segments.last().filter(|last| !words::parts(last).is_empty()) else { return Vec::new() };
    let mut names = vec![(*last).to_owned()];
    if segments.len() > 1 {
        names.push(segments.join("."));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, source: &str, expected: &str) {
        let found = declared(language, source);
        let found: Vec<String> = found.iter().map(|d| format!("{} {} {}-{}", d.kind, d.name, d.from, d.line)).collect();
        assert_eq!(found.join("; "), expected, "{source}");
    }

    #[test]
    fn declarations_of_many_languages_are_found_by_their_first_words() {
        check(
            "ruby",
            "class Till < Drawer\n  # Adds.\n  def self.add(coin)\n  end\n\n  def open?\n  end\nend\n",
            "class Till 1-1; function add 2-3; function open 6-6",
        );
        check(
            "elixir",
            "defmodule Shop.Till do\n  @doc \"Adds.\"\n  def add(till, coin), do: till ++ coin\nend\n",
            "class Till 1-1; class Shop.Till 1-1; function add 2-3",
        );
        check(
            "kotlin",
            "internal data class Till(val coins: Int)\nsuspend fun <T> Till.add(coin: T) {\n}\n",
            "class Till 1-1; function add 2-2; function Till.add 2-2",
        );
        check(
            "lua",
            "local function add(till)\nend\nM.close = function(till)\nend\n",
            "function add 1-1; function close 3-3; function M.close 3-3",
        );
        check(
            "zig",
            "pub const Till = struct {\n    pub fn add(self: *Till) void {}\n};\nconst std = @import(\"std\");\n",
            "class Till 1-1; function add 2-2",
        );
        check(
            "php",
            "final class Till implements Drawer\n{\n    public function &add(int $coin)\n    {\n",
            "class Till 1-1; function add 3-3",
        );
        check(
            "swift",
            "@available(iOS 13, *)\npublic extension Till {\n    mutating func add(_ coin: Int) {\n",
            "impl Till 1-2; function add 3-3",
        );
        check("haskell", "openTill :: Till -> Till\nopenTill till = till\n", "function openTill 1-1");
    }

    #[test]
    fn functions_whose_type_stands_first_are_told_from_calls_and_announcements() {
        check(
            "objective-c",
            "#define COINS 9\nstruct till;\nstruct till *till_new(int coins) {\n  till_add(coins);\n  return f(coins);\n}\n",
            "macro COINS 1-1; function till_new 3-3",
        );
        check(
            "objective-c",
            "typedef struct {\n  int coins;\n} till;\n\nint till_count(till *t);\nstatic int\ntill_open(till *t)\n{\n",
            "class till 3-3; function till_open 7-7",
        );
        check(
            "objective-c",
            "class API till final : public drawer {\n  if (open(a) && b) {\n  }\n};\nINLINE void till::add(int coin) {\n",
            "class till 1-1; function add 5-5; function till.add 5-5",
        );
        check(
            "dart",
            "/** A till. */\npublic class Till {\n    public Till(int coins) {\n    }\n    List<Coin> coins() {\n        return new Till(3);\n",
            "class Till 1-2; function Till 3-3; function coins 5-5",
        );
    }
}
