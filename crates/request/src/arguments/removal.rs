//! Removes text that a step identifies: lines by number, a quotation, a definition by name, or the
//! only line that fits.
//!
//! Any other removal needs a model.

use crate::base::pattern::static_regex;
use crate::edit;
use crate::edit::remove;
use crate::index::language_of;
use crate::language::clauses::names;
use crate::language::clauses::scan::{Kind, Token, scan_line};
use crate::language::clauses::words::{is_determiner, is_polite, listed};
use crate::language::shape::{self, is_coined_word};

use super::edit::{Edit, FILE_BYTES_MAX};
use super::object::object;
use super::places;

const LINES: &str = "line, lines, row, rows, строку, строки";
const RANGES: &str = "to, through, по";
const TEXTS: &str = "word, words, phrase, text, string, term, слово, слова, фразу, текст";
const DEFINITIONS: &str =
    "function, method, test, macro, class, struct, enum, trait, interface, type, функцию, метод, класс";

/// Words that give a reason to remove a definition but do not identify it.
const REASONS: &str = "unused, old, obsolete, deprecated, dead, whole, entire, unnötige, alte";
/// Nouns for something that usually takes one line.
const ENTRIES: &str = "\
    line, row, entry, item, bullet, comment, todo, fixme, import, include, dependency, requirement, classifier, keyword, rule, \
    строку, пункт, комментарий";
/// Words around such a noun that do not describe the line's content.
const FILLERS: &str = "\
    about, containing, contains, that, which, who, says, say, saying, mentioning, mentions, with, for, on, of, to, in, from, named, called, \
    starting, starts, beginning, begins, is, are, there, file, про, о, об, со, с, где";
/// Words that select a line by order, number, form or exclusion, which the file's text cannot
/// resolve: such a step is refused.
const SELECTORS: &str = "\
    not, no, without, except, but, unless, other, than, after, before, above, below, until, between, first, second, third, last, top, \
    bottom, middle, next, previous, some, few, all, every, each, any, both, either, empty, blank, duplicate, duplicated, unused, obsolete, \
    old, new, trailing, leading, and, or, не, кроме, без, после, до, все, и, или";

/// Whether `step` asks to remove something.
pub fn removes(step: &str) -> bool {
    object(&scan_line(step)).is_some()
}

/// Whether a clause of `step` removes something described only as unneeded, or cleans up in
/// general: `delete every file that is not needed`, `tidy up the project`.
pub fn is_vague_removal(step: &str) -> bool {
    const GENERAL: &str = "\
        everything, anything, file, files, thing, things, stuff, code, part, parts, line, lines, folder, folders, файлы";
    const JUDGED: &str = "\
        needed, need, needs, necessary, required, unneeded, unnecessary, unused, used, use, uses, using, useless, obsolete, old, redundant, \
        superfluous, relevant, important, useful, dead, junk, rubbish, нужны, нужно, лишние, лишнее";
    const PLAIN: &str = "\
        what, whatever, we, you, i, us, one, it, nobody, noone, longer, more, anymore, any, be, being, was, were, do, does, don't, doesn't, \
        isn't, aren't, don’t, doesn’t, isn’t, aren’t, really, actually, still, ever, never, just, here, now, today";
    const AT_LARGE: &str = "\
        project, repo, repository, codebase, code, folder, directory, workspace, mess, it, here, everything, things, this, a, bit, little, whole, \
        please, up, our, my";
    let says_nothing =
        |low: &str| is_determiner(low) || [JUDGED, PLAIN, SELECTORS, FILLERS].iter().any(|table| listed(table, low));
    let is_vague = |text: &str| {
        let tokens = scan_line(text);
        let (object, cleans) = match (object(&tokens), cleaned(&tokens)) {
            (Some(object), _) => (object, false),
            (None, Some((object, cleans))) => (object.to_vec(), cleans),
            (None, None) => return false,
        };
        let words: Vec<&Token> = object.iter().filter(|token| token.kind == Kind::Word).collect();
        let is_name = |token: &&Token| shape::is_path(token.text) || is_coined_word(token.text);
        let is_named = object.iter().any(|token| token.kind == Kind::Opaque) || words.iter().any(is_name);
        let head = words.iter().find(|token| listed(GENERAL, &token.low) || !says_nothing(&token.low));
        let is_judged =
            words.iter().any(|token| listed(JUDGED, &token.low)) && head.is_none_or(|head| listed(GENERAL, &head.low));
        let is_at_large =
            || cleans && words.iter().all(|token| listed(AT_LARGE, &token.low) || is_determiner(&token.low));
        !is_named && (is_judged || is_at_large())
    };
    static_regex!(JOINT = r"(?i)[,;.]\s+(?:then\s+)?|\s(?:and|then)\s+");
    is_vague(step) || JOINT.split(step).any(is_vague)
}

/// The object that a clause cleans up or discards: the words after such a verb, and whether the
/// verb itself means cleaning.
fn cleaned<'t, 's>(tokens: &'t [Token<'s>]) -> Option<(&'t [Token<'s>], bool)> {
    const ALONE: &str = "clean, tidy, purge, wipe, prune, discard, trash, declutter";
    const DROPS: &str = "drop, kill";
    const WITH_PARTICLE: &str = "clean, tidy, clear, throw, sort, chuck, weed, root";
    let word = |at: usize| tokens.get(at).map_or("", |token| token.low.as_str());
    let lead = tokens.iter().take_while(|token| is_polite(&token.low) || token.kind == Kind::Comma).count();
    let has_particle = listed(WITH_PARTICLE, word(lead)) && listed("up, out, away", word(lead + 1));
    let cleans = has_particle || listed(ALONE, word(lead));
    let is_verb = cleans || listed(DROPS, word(lead));
    let end = tokens.iter().position(Token::ends_sentence).unwrap_or(tokens.len());
    is_verb.then(|| (tokens.get(lead + 1 + usize::from(has_particle)..end).unwrap_or_default(), cleans))
}

/// The edit of `file` that removes the object of `step`; `None` if the step asks for something
/// else.
///
/// # Errors
/// If it is unclear what to remove; the error says how to name it.
pub fn settle_removal(step: &str, path: &str, file: &str) -> Option<Result<Edit, String>> {
    let tokens = scan_line(step);
    let object = object(&tokens)?;
    let after = if file.len() > FILE_BYTES_MAX {
        Err(format!("it is larger than {FILE_BYTES_MAX} bytes"))
    } else {
        without_lines(&object, file)
            .or_else(|| without_quoted(&object, file))
            .or_else(|| without_definition(&object, path, file))
            .or_else(|| without_described(&object, path, file))
            .unwrap_or_else(|| Err("it is not clear what to remove".to_owned()))
    };
    let edit = after.and_then(|after| {
        Edit::between(file, &after).ok_or_else(|| "the lines to remove cannot be told apart from others".to_owned())
    });
    let otherwise = "quote the text to remove, give its line numbers, or name a definition";
    Some(edit.map_err(|reason| format!("nothing is removed from {path}: {reason}; {otherwise}")))
}

/// The file without `line 3`, `lines 3 to 5`, `lines 3-5`.
fn without_lines(object: &[Token], file: &str) -> Option<Result<String, String>> {
    let mut words = object.iter().filter(|token| !is_determiner(&token.low));
    words.next().filter(|noun| listed(LINES, &noun.low))?;
    let numbers = words.filter(|token| token.kind != Kind::Dash && !listed(RANGES, &token.low));
    let numbers: Option<Vec<usize>> =
        numbers.flat_map(|token| token.text.split(['-', '–'])).map(|number| number.parse().ok()).collect();
    let (from, to) = match numbers?.as_slice() {
        [one] => (*one, *one),
        [from, to] => (*from, *to),
        _ => return None,
    };
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    if from == 0 || from > to || to > lines.len() {
        return Some(Err(format!("it has {} lines", lines.len())));
    }
    Some(Ok(lines[..from - 1].concat() + &lines[to..].concat()))
}

/// The file without a quoted text that occurs once. The complete line is removed if the text fills
/// it or the step contains `line`.
fn without_quoted(object: &[Token], file: &str) -> Option<Result<String, String>> {
    let (quoted, others): (Vec<&Token>, Vec<&Token>) = object.iter().partition(|token| token.kind == Kind::Opaque);
    let [text] = quoted.as_slice() else { return None };
    let counts =
        |token: &&&Token| !is_determiner(&token.low) && !listed("with, that, says, saying, containing", &token.low);
    let nouns: Vec<&&Token> = others.iter().filter(counts).collect();
    if !nouns.iter().all(|noun| listed(LINES, &noun.low) || listed(TEXTS, &noun.low)) {
        return None;
    }
    let text = names::unquoted(text);
    let (start, end) = match places::apart(file, text).as_slice() {
        [at] => (*at, at + text.len()),
        all => return Some(Err(format!("`{text}` occurs {} times", all.len()))),
    };
    let line_start = file[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = file[end..].find('\n').map_or(file.len(), |at| end + at + 1);
    let is_whole = file[line_start..line_end].trim() == text.trim();
    if is_whole || nouns.iter().any(|noun| listed(LINES, &noun.low)) {
        return Some(Ok(format!("{}{}", &file[..line_start], &file[line_end..])));
    }
    // Keep only one of the surrounding spaces.
    let behind = if file[..start].ends_with([' ', '\n']) || start == 0 {
        file[end..].strip_prefix(' ').unwrap_or(&file[end..])
    } else {
        &file[end..]
    };
    Some(Ok(format!("{}{behind}", &file[..start])))
}

/// The file without `the function f`, `method A.b`.
fn without_definition(object: &[Token], path: &str, file: &str) -> Option<Result<String, String>> {
    let mut words = object.iter().filter(|token| !is_determiner(&token.low) && !listed(REASONS, &token.low));
    words.next().filter(|noun| listed(DEFINITIONS, &noun.low))?;
    let name = words.next().filter(|name| matches!(name.kind, Kind::Word | Kind::Opaque))?;
    if words.next().is_some() {
        return None;
    }
    let name = if name.kind == Kind::Opaque { names::unquoted(name) } else { name.text };
    let name = name.trim_end_matches("()").rsplit(['.', ':']).next().unwrap_or_default();
    Some(remove::definition(path, file, name))
}

/// The file without the only line that contains all words of a description:
/// `the line about retries`, `the TODO`, `the tox.ini entry`.
fn without_described(object: &[Token], path: &str, file: &str) -> Option<Result<String, String>> {
    let noun = object.iter().find(|token| listed(ENTRIES, &token.low))?;
    if object.iter().any(|token| listed(SELECTORS, &token.low)) {
        return None;
    }
    let is_mark = listed("todo, fixme", &noun.low);
    let describes = |token: &&Token| {
        (token.start != noun.start || is_mark) && !is_determiner(&token.low) && !listed(FILLERS, &token.low)
    };
    let about: Vec<String> = object.iter().filter(describes).flat_map(|token| places::parts(token.text)).collect();
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let is_meant = |at: &usize| {
        let words = places::parts(lines[*at]);
        let is_comment = !is_mark && noun.low != "comment" || edit::is_comment(lines[*at]);
        let is_import = noun.low != "import" || brings_in(lines[*at]);
        !about.is_empty() && is_comment && is_import && about.iter().all(|word| words.contains(word))
    };
    let found: Vec<usize> = (0..lines.len()).filter(is_meant).collect();
    let [at] = found.as_slice() else { return Some(Err(format!("{} lines match", found.len()))) };
    let line = lines[*at].trim_end();
    let goes_on = |at: Option<usize>| {
        edit::is_comment(line) && at.and_then(|at| lines.get(at)).is_some_and(|line| edit::is_comment(line))
    };
    if line.ends_with(['{', '[', '(', ':', '\\']) || !is_mark && (goes_on(at.checked_sub(1)) || goes_on(Some(at + 1))) {
        return Some(Err(format!("line {} belongs with other lines", at + 1)));
    }
    let mut before = lines[..*at].concat();
    let closes = lines.get(at + 1).is_some_and(|line| line.trim_start().starts_with(['}', ']']));
    if language_of(path) == "json" && closes && !line.ends_with(',') && before.trim_end().ends_with(',') {
        // The entry that becomes the last one loses its comma.
        let end = before.trim_end().len();
        before.replace_range(end - 1..end, "");
    }
    Some(Ok(before + &lines[at + 1..].concat()))
}

/// Whether a line imports something.
fn brings_in(line: &str) -> bool {
    let line = line.trim_start();
    ["import ", "from ", "use ", "pub use ", "#include", "require"].iter().any(|begin| line.starts_with(begin))
        || line.contains("require(")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: &str = "# Notes\n- one\n- two words here\n- one more\n";
    const CODE: &str = "def f():\n    return 1\n\n\ndef g():\n    return 2\n";

    /// The file after the removal, or the reason for refusing it.
    fn after(step: &str, path: &str, file: &str) -> Result<String, String> {
        let edit = settle_removal(step, path, file).unwrap_or_else(|| panic!("no removal: {step}"))?;
        assert_eq!(file.matches(edit.old.as_str()).count(), 1, "{step}: not unique: {}", edit.old);
        Ok(file.replacen(&edit.old, &edit.new, 1))
    }

    #[test]
    fn named_lines_texts_and_definitions_are_removed() {
        let check = |step: &str, path: &str, file: &str, expected: &str| {
            assert_eq!(after(step, path, file).as_deref(), Ok(expected), "{step}");
        };
        check("Delete line 2 of a.md", "a.md", NOTES, "# Notes\n- two words here\n- one more\n");
        check("remove lines 2 to 3 from a.md", "a.md", NOTES, "# Notes\n- one more\n");
        check("remove lines 2-4 from a.md", "a.md", NOTES, "# Notes\n");
        check("delete the line \"two\" from a.md", "a.md", NOTES, "# Notes\n- one\n- one more\n");
        check("remove the word 'words' from a.md", "a.md", NOTES, "# Notes\n- one\n- two here\n- one more\n");
        check("take '- one more' out of a.md", "a.md", NOTES, "# Notes\n- one\n- two words here\n");
        check("delete the function f from a.py", "a.py", CODE, "def g():\n    return 2\n");
        check("Remove the unused function `f()` from a.py", "a.py", CODE, "def g():\n    return 2\n");
        check("delete line 2 of a.md", "a.md", "one\r\ntwo", "one\r\n");
        check("delete line 1 of a.md", "a.md", "x\ny\nx\n", "y\nx\n");
        check("Take the line about two out of a.md", "a.md", NOTES, "# Notes\n- one\n- one more\n");
        check("Delete the TODO from b.py", "b.py", "# TODO: later\nx = 1\n", "x = 1\n");
        let imports = "import re\nfrom foo.bar import baz\n\nbaz(re)\n";
        check("Remove the import of baz from b.py", "b.py", imports, "import re\n\nbaz(re)\n");
        let entries = "{\n  \"a\": 1,\n  \"b-c\": 2\n}\n";
        check("Remove the b-c entry from a.json", "a.json", entries, "{\n  \"a\": 1\n}\n");
    }

    #[test]
    fn an_unclear_removal_is_refused_with_a_reason() {
        for (step, reason) in [
            ("remove 'one' from a.md", "`one` occurs 2 times"),
            ("remove 'three' from a.md", "`three` occurs 0 times"),
            ("delete line 9 of a.md", "it has 4 lines"),
            ("remove the line about three from a.md", "0 lines match"),
            ("remove the item one from a.md", "2 lines match"),
            ("remove the last line about one from a.md", "not clear what to remove"),
            ("remove what is about two from a.md", "not clear what to remove"),
            ("delete the function f from a.md", "it is not clear"),
        ] {
            let refused = after(step, "a.md", NOTES).expect_err(step);
            assert!(refused.contains(reason) && refused.contains("quote the text"), "{step}: {refused}");
        }
        assert_eq!(settle_removal("change one to two in a.md", "a.md", NOTES), None);
    }

    #[test]
    fn a_removal_of_what_is_not_needed_is_vague() {
        for step in [
            "Remove all files that nobody needs, they are not necessary",
            "delete everything unnecessary",
            "Erase any line that is not used",
            "remove the old stuff",
            "Could you tidy up this repository a bit?",
            "Clean the project up, please",
            "Run the tests, then throw out all the code nobody needs",
            "Clean up.",
            "Delete what nobody uses any longer",
            "erase whatever we don't need here",
            "Drop all the things that aren't used anymore",
            "kill the dead code",
            "weed out everything that is not really necessary",
        ] {
            assert!(is_vague_removal(step), "{step}");
        }
        for step in [
            "Remove the unused imports from a.py",
            "delete the old logo.svg",
            "remove the dead function g",
            "add a file",
            "clean up load_all in a.py",
            "Tidy up the imports of a.py",
            "Clean the input of parse() before it is used",
            "throw a KeyError if the key is not needed",
            "wipe the cache when a file is old",
            "drop it",
            "drop the use of eval in a.py",
            "remove what load_all prints",
        ] {
            assert!(!is_vague_removal(step), "{step}");
        }
    }
}
