//! Finds the files that a request names: on disk, the longest existing name first, then in the
//! index.
//!
//! `In my file.ini change …` names `my file.ini` if that file exists, whatever characters its name
//! contains and whether it is indexed or not.

mod disk;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use disk::is_file_name;
use disk::{Disk, Form};

use crate::base::near;
use crate::confine::Root;
use crate::language::clauses::names;
use crate::language::clauses::scan::{Kind, scan};
use crate::language::clauses::words::{is_determiner, is_polite, listed};
use crate::language::clauses::{self, Part};

use super::{Step, Text, steps};

/// Stands for a file name in a text that is parsed for other things: a single word that looks like
/// a path.
pub const MARK: &str = "./file";
/// Maximum number of words in an unquoted name, and in a text that is searched for such names.
const NAME_WORDS_MAX: usize = 8;
const WORDS_MAX: usize = 600;
/// Maximum number of suggestions for a name that does not exist.
const PROPOSED_MAX: usize = 3;
/// Prepositions before the file to change, in several languages.
const WITHIN: &str = "in, inside, within, dans, im, en, в";
/// Words between such a preposition and the name.
const NOUNS: &str =
    "file, files, script, module, document, config, configuration, named, called, datei, fichier, archivo, файле";
const ADJECTIVES: &str = "existing, local, new, ignored, own, project's, whole";
/// Prepositions that precede files and other things equally often.
const BESIDE: &str = "from, of, on, at, aus, von, de, из";
/// Words between an old and a new value.
const JOINS: &str = "to, with, by, into, ->, →, =>, на, auf, à, par, por";
/// Punctuation that may follow a name in a sentence.
const BEHIND: &[char] = &[',', ';', ':', '!', '?', '.', ')', ']', '}', '…', '\'', '’', '"', '”', '»', '`'];
const BEFORE: &[char] = &['(', '[', '{', '@', '"', '“', '«', '\'', '‘', '`'];

/// A file mentioned in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Its byte range in the text, including quotation marks around the name.
    pub range: Range<usize>,
    /// The name as written, without the quotation marks.
    pub said: String,
    /// The file, or why none was found.
    pub found: Found,
    /// The part that the file plays in the text.
    pub role: Role,
}

/// The result of looking up a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A file, relative to the project and without links.
    File(String),
    Folder(String),
    /// Several files match the name.
    Several(Vec<String>),
    /// No file matches; lists the nearest existing ones.
    Missing(Vec<String>),
    /// The reason why the path cannot be used: it leads out of the project.
    Barred(String),
}

/// The role of a name in its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The place of the change: `in F`, `F: …`.
    Place,
    /// Either the place or the object: `from F`, `update F`.
    Object,
    /// One of two values: `from F to G`.
    Value,
    /// Part of a quotation or of a longer word, such as an argument of a command.
    Part,
}

impl Named {
    /// The path of the file; `None` if the name does not match exactly one file.
    pub fn file(&self) -> Option<&str> {
        match &self.found {
            Found::File(path) => Some(path),
            _ => None,
        }
    }

    /// The reason why the name does not identify a file that can be changed; `None` if it does.
    pub fn trouble(&self) -> Option<String> {
        let said = &self.said;
        Some(match &self.found {
            Found::File(_) => return None,
            Found::Folder(path) => why_folder(path),
            Found::Several(all) => format!("`{said}` may be {}; name it with its folder", listed_as_code(all)),
            Found::Missing(near) => why_missing(said, near),
            Found::Barred(why) => why.clone(),
        })
    }

    /// Whether the name's position in the sentence shows that it is a file: `in F`, `from F`,
    /// `F: …`.
    pub fn is_clear(&self, text: &Text) -> bool {
        self.role == Role::Place
            || self.role == Role::Object && listed(BESIDE, &lead(text.raw(), self.range.start))
            || self.role == Role::Object && text.raw()[self.range.end..].starts_with(':')
    }
}

/// The reason why a path to a folder cannot be changed.
pub fn why_folder(path: &str) -> String {
    format!("`{path}` is a folder; name the file in it")
}

/// The reason why a name without a matching file cannot be changed; `near` are the nearest existing
/// paths.
pub fn why_missing(said: &str, near: &[String]) -> String {
    let may_be = if near.is_empty() { String::new() } else { format!("; {} may be meant", listed_as_code(near)) };
    format!("`{said}` does not exist in the project{may_be}")
}

fn listed_as_code(paths: &[String]) -> String {
    paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(" or ")
}

/// A text with the files that it names, in order.
pub struct Names<'t> {
    pub(super) text: &'t Text,
    /// Every file that is named, in the order of the text.
    pub all: Vec<Named>,
}

impl<'t> Names<'t> {
    /// The files named in `text`; `known` are the paths in the index.
    pub fn of(text: &'t Text, root: Option<&Root>, known: &[String]) -> Names<'t> {
        Names { text, all: all(text.raw(), root, known) }
    }

    /// The locations of the change that the text asks for: the files after a preposition like `in`,
    /// else all files that are not values.
    pub fn places(&self) -> Vec<&Named> {
        let of = |role: Role| self.all.iter().filter(move |named| named.role == role);
        let places: Vec<&Named> = of(Role::Place).collect();
        if places.is_empty() { of(Role::Object).collect() } else { places }
    }

    /// The text with [`MARK`] in place of all file names.
    pub fn masked(&self) -> Text {
        self.masked_at(&self.all.iter().collect::<Vec<_>>())
    }

    /// The text with [`MARK`] in place of the names in `places`.
    pub fn masked_at(&self, places: &[&Named]) -> Text {
        let mut done = self.text.raw().to_owned();
        for named in places.iter().rev() {
            done.replace_range(named.range.clone(), MARK);
        }
        done.into()
    }

    /// The text with private-use characters in place of the spaces and punctuation in file names,
    /// so that no rule splits them: `salt and pepper.txt`.
    pub(super) fn shielded(&self) -> String {
        let text = self.text.raw();
        if text.chars().any(|c| (SHIELDS..SHIELDS + 128).contains(&(c as u32))) {
            return text.to_owned();
        }
        let is_open = |c: char| {
            c.is_ascii_whitespace() || matches!(c, ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '\'')
        };
        let shield = |c: char| if is_open(c) { char::from_u32(SHIELDS + c as u32).unwrap_or(c) } else { c };
        let mut done = text.to_owned();
        let is_as_said = |named: &&Named| named.file().is_some() && text[named.range.clone()] == named.said;
        for named in self.all.iter().rev().filter(is_as_said) {
            done.replace_range(named.range.clone(), &named.said.chars().map(shield).collect::<String>());
        }
        done
    }

    /// The clauses of the text, each with the files that it names; no clause ends inside a file
    /// name.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = clauses::parts(&self.shielded());
        self.restore(&mut parts);
        parts
    }

    /// The steps of a text that rules can read; `None` for other texts.
    pub fn steps_by_rules(&self) -> Option<Vec<Step>> {
        steps::by_rules(&self.shielded())
    }

    /// Undoes [`Names::shielded`] in steps, and adds the files that each step names.
    pub fn restore_steps(&self, steps: &mut [Step]) {
        for step in steps {
            step.text = unshielded(step.text.raw()).into();
            self.restore(std::slice::from_mut(&mut step.part));
        }
    }

    /// Undoes [`Names::shielded`] in the parts of a request, and adds the files that each part
    /// names.
    fn restore(&self, parts: &mut [Part]) {
        for part in parts {
            for text in [&mut part.text, &mut part.context].into_iter().chain(&mut part.paths).chain(&mut part.quoted) {
                *text = unshielded(text);
            }
            let whole = part.full_text();
            let files = self.all.iter().filter(|named| named.role != Role::Part && whole.contains(&named.said));
            for (said, path) in files.filter_map(|named| Some((&named.said, named.file()?))) {
                match part.paths.iter().position(|one| one == said || one == path) {
                    Some(at) => path.clone_into(&mut part.paths[at]),
                    None => part.paths.push(path.to_owned()),
                }
            }
        }
    }
}

fn all(text: &str, root: Option<&Root>, known: &[String]) -> Vec<Named> {
    let disk = Disk::new(root, known);
    let mut all: Vec<Named> = Vec::new();
    let tokens = scan(text);
    let opaque = || tokens.iter().filter(|token| token.kind == Kind::Opaque);
    let quoted: Vec<Range<usize>> = opaque().map(|token| token.start..token.end).collect();
    for token in opaque().filter(|token| !token.text.contains('\n')) {
        let range = token.start..token.end;
        let inner = names::unquoted(token).trim();
        let form = Form { is_quoted: true, leads: leads(text, range.start) };
        if let Some(found) = disk.existing(inner, form).or_else(|| disk.missing(inner, form)) {
            all.push(Named { role: Role::Object, said: inner.to_owned(), range, found });
        }
    }
    let words = words(text);
    let mut at = 0;
    while at < words.len().min(WORDS_MAX) {
        let start = words[at].start;
        let is_quoted = quoted.iter().any(|range| range.contains(&start));
        let known = all.iter().any(|named| named.range.contains(&start));
        let found = if is_quoted || known { None } else { longest(text, &words, at, &disk) };
        match found {
            Some((named, behind)) => {
                all.push(named);
                at = behind;
                continue;
            }
            None if known => {}
            None => all.extend(parts(text, &words[at], &disk)),
        }
        at += 1;
    }
    all.sort_by_key(|named| named.range.start);
    with_roles(text, all)
}

/// First of the private-use characters that replace ASCII in a shielded name.
const SHIELDS: u32 = 0xe000;

/// Restores a text, or part of it, as it was before [`Names::shielded`].
fn unshielded(text: &str) -> String {
    let bare =
        |c: char| (c as u32).checked_sub(SHIELDS).filter(|code| *code < 128).and_then(char::from_u32).unwrap_or(c);
    text.chars().map(bare).collect()
}

/// Existing paths whose names are most similar to `said`.
pub fn nearest(said: &str, known: &[String]) -> Vec<String> {
    let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let wanted = name(said);
    let far = |path: &String| near::distance(&wanted, &name(path));
    let mut all: Vec<(usize, &String)> = known.iter().take(20_000).map(|path| (far(path), path)).collect();
    all.retain(|(far, path)| *far <= (name(path).chars().count() / 3).max(2));
    all.sort_by_key(|(far, path)| (*far, path.len()));
    all.into_iter().take(PROPOSED_MAX).map(|(_, path)| path.clone()).collect()
}

/// The words separated by white space.
fn words(text: &str) -> Vec<Range<usize>> {
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace().map(|word| start(word)..start(word) + word.len()).collect()
}

/// The names inside a word that is not itself a name: `(a.py,b.py)`.
fn parts(text: &str, word: &Range<usize>, disk: &Disk<'_>) -> Vec<Named> {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '$' | ':' | '@' | '~');
    let form = Form { is_quoted: false, leads: false };
    let one = |part: &str| {
        let said = part.trim_matches(['.', ':', '-']);
        let found = disk.existing(said, form).or_else(|| disk.missing(said, form))?;
        let from = said.as_ptr() as usize - text.as_ptr() as usize;
        Some(Named { range: from..from + said.len(), said: said.to_owned(), found, role: Role::Part })
    };
    text[word.clone()].split(|c| !is_inside(c)).filter_map(one).collect()
}

/// The longest name that begins with the word at `at`, and the index of the word after it.
fn longest(text: &str, words: &[Range<usize>], at: usize, disk: &Disk<'_>) -> Option<(Named, usize)> {
    let start = words[at].start;
    let form = Form { is_quoted: false, leads: leads(text, start) };
    let goes_on = |to: &usize| {
        let between = &text[words[*to - 1].end..words[*to].start];
        between.chars().all(|c| c.is_whitespace() && c != '\n')
    };
    let more = if disk.may_go_on(text[words[at].clone()].trim_start_matches(BEFORE)) { NAME_WORDS_MAX - 1 } else { 0 };
    let most = (at + 1..words.len()).take(more).take_while(goes_on).last().unwrap_or(at);
    let named = |said: &str, found: Found, behind: usize| {
        let from = said.as_ptr() as usize - text.as_ptr() as usize;
        let named = Named { range: from..from + said.len(), said: said.to_owned(), found, role: Role::Object };
        Some((named, behind))
    };
    for last in (at..=most).rev() {
        for said in forms(&text[start..words[last].end]) {
            match disk.existing(said, form) {
                Some(found) if last == at || matches!(found, Found::File(_)) => return named(said, found, last + 1),
                _ => {}
            }
        }
    }
    let forms = forms(&text[words[at].clone()]);
    let (said, found) = forms.iter().rev().find_map(|said| Some((*said, disk.missing(said, form)?)))?;
    named(said, found, at + 1)
}

/// One or more words as written, then with progressively less surrounding punctuation, without a
/// possessive or a line number.
fn forms(whole: &str) -> Vec<&str> {
    let opened = |rest: &str, close: char| match close {
        ')' => rest.contains('('),
        ']' => rest.contains('['),
        '}' => rest.contains('{'),
        _ => false,
    };
    let mut forms = vec![whole];
    let mut rest = whole;
    while let Some(close) = rest.chars().next_back().filter(|last| BEHIND.contains(last)) {
        rest = &rest[..rest.len() - close.len_utf8()];
        if rest.is_empty() || opened(rest, close) {
            break;
        }
        forms.push(rest);
    }
    for form in forms.clone() {
        forms.extend(["'s", "’s"].iter().filter_map(|end| form.strip_suffix(end)));
        let number = form.rsplit_once(':').filter(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()));
        forms.extend(number.map(|(path, _)| path));
    }
    for form in forms.clone() {
        let is_alone = |rest: &&str| !rest.contains([')', ']', '}']);
        forms.extend(form.strip_prefix(BEFORE).filter(is_alone));
    }
    forms.retain(|form| form.chars().any(|c| !matches!(c, '.' | '/' | '\\' | '~') && !BEHIND.contains(&c)));
    forms
}

/// The last word before an offset, in lower case, ignoring articles, adjectives and nouns for a
/// file.
fn lead(text: &str, start: usize) -> String {
    let before = text[..start].trim_end_matches(BEFORE).trim_end();
    let words = before.split_whitespace().rev().map(|word| word.to_lowercase());
    words
        .skip_while(|word| is_determiner(word) || listed(NOUNS, word) || listed(ADJECTIVES, word))
        .find(|word| !word.is_empty())
        .unwrap_or_default()
}

/// Whether the name at `start` is the location of a change.
fn leads(text: &str, start: usize) -> bool {
    let before = text[..start].trim_end_matches(BEFORE).trim_end();
    let names_file = before.split_whitespace().next_back().is_some_and(|word| listed(NOUNS, &word.to_lowercase()));
    listed(WITHIN, &lead(text, start)) || names_file
}

fn with_roles(text: &str, mut all: Vec<Named>) -> Vec<Named> {
    for at in 0..all.len() {
        let (start, end) = (all[at].range.start, all[at].range.end);
        let opens = text[..start].split_whitespace().all(|word| is_polite(&word.to_lowercase().replace(',', "")));
        let next = text[end..].split_whitespace().next().unwrap_or_default().to_lowercase();
        let follows = at > 0 && listed(JOINS, text[all[at - 1].range.end..start].trim());
        let joined = at > 0 && listed("and, or, &, und, et, y, и, ,", text[all[at - 1].range.end..start].trim());
        all[at].role = if all[at].role == Role::Part {
            Role::Part
        } else if leads(text, start) || joined && all[at - 1].role == Role::Place {
            Role::Place
        } else if listed(JOINS, &next) || follows {
            Role::Value
        } else if opens {
            Role::Place
        } else {
            Role::Object
        };
    }
    all
}
