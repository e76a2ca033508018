//! Parses code that a model wrote, including methods without their class and code with an extra
//! closing brace.

use crate::base::is_listed;
use crate::index::parts::{Part, Parts, Sort, parts};
use crate::index::{is_queried, language_of};

use super::{MergeError, shown};
use crate::check::new_fault;
use crate::indent::{Unit, dedented, unit_of};

/// Maximum number of lone closing braces that are omitted, one at a time, until an answer parses.
const BRACES_MAX: usize = 12;
/// The text written by the model, and its parts.
pub struct Written {
    pub text: String,
    /// Its lines as written, with all their leading white space.
    pub own: Vec<String>,
    pub items: Vec<Part>,
    /// Strings that span several lines, whose leading white space is significant.
    pub texts: Vec<std::ops::Range<usize>>,
    /// Whether members were written without their class and one was put around them.
    pub has_shell: bool,
}

/// Parses `written` in the language of `path`. Syntax errors on lines that do not parse in `before`
/// either are ignored.
pub fn read(path: &str, language: &str, written: &str, before: (&str, &Parts)) -> Result<Written, MergeError> {
    let unit = unit_of(before.0).unwrap_or_else(|| Unit::usual(language));
    let (mut text, mut own) = cleaned(written, unit, language);
    // Text that begins with a tag has its own.
    if language == "php" && !text.starts_with('<') {
        text.insert_str(0, "<?php\n");
        own.insert(0, "<?php".to_owned());
    }
    let plain = parts(path, &text).ok_or_else(|| MergeError::NoGrammar { path: path.to_owned() })?;
    let lines = own.as_slice();
    let found = match new_fault((before.0, &before.1.faults), (&text, &plain.faults)) {
        None => {
            let as_members = members(path, language, (&text, lines), &plain.items);
            as_members.unwrap_or(Written { text, own, items: plain.items, texts: plain.texts, has_shell: false })
        }
        Some(line) => repaired(path, language, (&text, lines))
            .ok_or_else(|| MergeError::Unreadable { line, text: shown(&text, line) })?,
    };
    if found.items.is_empty() { Err(MergeError::NothingChanged) } else { Ok(found) }
}

/// The text without carriage returns and common white space, and its lines before that space was
/// removed.
fn cleaned(written: &str, unit: Unit, language: &str) -> (String, Vec<String>) {
    let text = written.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let text = text.trim_end();
    let dedented = dedented(text, unit, language);
    let cleaned = dedented.trim_start_matches('\n');
    let above = dedented.len() - cleaned.len();
    (cleaned.trim_end().to_owned() + "\n", text.lines().skip(above).map(str::to_owned).collect())
}

/// Whether anything written is a member: in some languages, only types are at the top level of a
/// file.
fn is_of_types(language: &str, items: &[Part]) -> bool {
    let is_initializer = |part: &Part| is_listed("init deinit subscript", &part.name);
    is_listed("java csharp", language) || language == "swift" && items.iter().any(is_initializer)
}

/// Fields and methods written without their class, if more of them are definitions, or fewer are statements, when read
/// inside one.
fn members(path: &str, language: &str, text: (&str, &[String]), items: &[Part]) -> Option<Written> {
    let is_type = |part: &Part| matches!(part.sort, Sort::Class | Sort::Record);
    let count = |items: &[Part]| items.iter().filter(|part| part.is_definition()).count();
    let loose = |items: &[Part]| items.iter().filter(|part| part.sort == Sort::Statement).count();
    let has_loose = is_queried(language) && loose(items) > 0 && count(items) > 0;
    let may_be = is_of_types(language, items) || has_loose;
    if !may_be || items.iter().any(is_type) || items.iter().all(|part| part.sort == Sort::Import) {
        return None;
    }
    let is_better = |found: &Written| {
        count(&found.items) >= count(items) && (is_of_types(language, items) || loose(&found.items) < loose(items))
    };
    in_shells(path, language, text).filter(is_better)
}

/// Text put around methods or entries written without their class or object.
type Shell = (&'static str, &'static str);
const CLASS: Shell = ("class Shell {\n", "\n}");

fn shells(language: &str) -> &'static [Shell] {
    match language {
        "javascript" | "jsx" | "typescript" | "tsx" => &[CLASS, ("const shell = {\n", "\n};")],
        "java" | "csharp" | "kotlin" | "scala" | "php" => &[CLASS],
        "swift" => &[CLASS, ("protocol Shell {\n", "\n}")],
        "cpp" => &[("class Shell {\n", "\n};")],
        _ => &[],
    }
}

fn in_shells(path: &str, language: &str, text: (&str, &[String])) -> Option<Written> {
    shells(language).iter().find_map(|shell| in_shell(path, text, shell))
}

/// Parses the text in other ways: as members of a class or object, or without an extra brace.
fn repaired(path: &str, language: &str, text: (&str, &[String])) -> Option<Written> {
    in_shells(path, language, text).or_else(|| without_a_brace(path, language, text))
}

/// Parses methods without their class inside a made-up one; imports above them stay outside.
fn in_shell(path: &str, (text, own): (&str, &[String]), (open, close): &Shell) -> Option<Written> {
    const HEADS: &[&str] = &["import ", "using ", "use ", "package ", "namespace ", "#include", "<?php"];
    let is_import = |line: &&str| {
        HEADS.iter().any(|head| line.starts_with(head)) || line.contains("= require(") || line.trim().is_empty()
    };
    let imports = text.lines().take_while(is_import).map(|line| line.len() + 1).sum::<usize>().min(text.len());
    let (head, body) = text.split_at(imports);
    let mut own = own.to_vec();
    own.insert(head.lines().count().min(own.len()), open.trim_end().to_owned());
    own.push(close.trim_start().to_owned());
    let text = format!("{head}{open}{}{close}\n", body.trim_end());
    let mut found = parts(path, &text).filter(|found| found.faults.is_empty())?;
    let shell = found.items.pop().filter(|shell| shell.body.is_some())?;
    let members = shell.members.into_iter().map(|member| Part { has_receiver: true, ..member });
    let mut items: Vec<Part> = found.items.into_iter().filter(|item| item.sort == Sort::Import).collect();
    let is_queried = is_queried(language_of(path));
    items.extend(members.filter(|member| member.is_definition() || is_queried));
    Some(Written { text, own, items, texts: found.texts, has_shell: true })
}

/// Parses the text without one line that is only a closing brace: a class was closed early, or
/// there is one brace too many.
fn without_a_brace(path: &str, language: &str, (text, own): (&str, &[String])) -> Option<Written> {
    let lines: Vec<&str> = text.lines().collect();
    let lone = (0..lines.len()).rev().filter(|at| matches!(lines[*at].trim(), "}" | "};" | "})" | "});"));
    lone.take(BRACES_MAX).find_map(|at| {
        let fewer = lines.iter().enumerate().filter(|(line, _)| *line != at).map(|(_, line)| *line);
        let text = fewer.collect::<Vec<_>>().join("\n") + "\n";
        let found = parts(path, &text)?;
        let mut own = own.to_vec();
        own.remove(at.min(own.len() - 1));
        if found.faults.is_empty() {
            return Some(Written { text, own, items: found.items, texts: found.texts, has_shell: false });
        }
        shells(language).first().and_then(|shell| in_shell(path, (&text, &own), shell))
    })
}
