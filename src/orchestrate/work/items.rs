//! Lists what a code change may consist of: the model names the definitions to change and to add, then writes each by itself.
//!
//! A 1.5B model that may write anything repeats what it was shown; one that has to begin with the head of a definition writes that definition.

use crate::edit::{line_of, testing};
use serde_json::Value;

use crate::index::language_of;
use crate::index::parts::{self, Part, Sort, Span};
use crate::language::words;

use super::passage;
use crate::context::mentions::{Mentions, TYPES};
use crate::edit::executed::Executed;

/// Most definitions of one change.
pub const ITEMS_MAX: usize = 3;
/// Most definitions of one file that are offered.
const NAMES_MAX: usize = 80;
/// Longest container that is rewritten whole (a longer one is changed member by member), and longest function whose inner definitions are not
/// offered, in lines.
const CONTAINER_LINES_MAX: usize = 25;
const FUNCTION_LINES_MAX: usize = 70;
/// Most characters of the title of a statement, which is its first line.
const TITLE_CHARS: usize = 60;

/// The module of a Rust file that has its tests.
const RUST_TESTS: &str = "tests";
/// Words that hint at changes beside the new definitions.
const MORE: &[&str] = &["too", "also", "use", "uses", "call", "instead", "auch", "aussi", "también", "everywhere"];
/// Words that hint at changes in other files.
const MORE_ELSEWHERE: &[&str] =
    &["too", "also", "use", "uses", "using", "call", "calls", "everywhere", "auch", "aussi", "también"];

/// One part of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub path: String,
    /// The name by which the model chooses it.
    pub name: String,
    pub what: What,
}

/// What happens to an item.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A definition is rewritten.
    Change(Span),
    /// A statement outside of definitions, with this text, is rewritten.
    Statement(String),
    /// A definition of this name, or a statement with this text, is removed.
    Remove(String),
    /// A new definition is added.
    Add,
    /// Code without a name is added: an import, an export, a call.
    Lines,
    /// A new file is written.
    File,
}

/// A file that may be changed.
pub struct Offered<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// First and last lines of the stretches that the model was shown.
    pub shown: &'a [(usize, usize)],
}

impl Item {
    /// Whether the item is a new test.
    pub fn is_new_test(&self) -> bool {
        let is_inner = || language_of(&self.path) == "rust" && self.name.split('.').next() == Some(RUST_TESTS);
        matches!(self.what, What::Add) && (testing::is_test(&self.path) || is_inner())
    }
}

/// The items that the model may choose from.
#[derive(Clone)]
pub struct Choices {
    /// Existing files.
    paths: Vec<String>,
    /// Files that may be created.
    new: Vec<String>,
    /// Definitions and statements of the existing files.
    old: Vec<Item>,
    may_remove: bool,
    /// The prefix that new names must have, as tests need in some languages; empty if any name is allowed.
    prefix: String,
    /// Whether new definitions may be named.
    may_add: bool,
    /// The class that a new test is a member of.
    test_class: Option<String>,
}

impl Choices {
    /// All items of some files, and the files that may be created.
    pub fn of(files: &[Offered<'_>], new: &[String], may_remove: bool) -> Choices {
        let paths: Vec<String> = files.iter().map(|file| file.path.to_owned()).collect();
        let old = files.iter().flat_map(|file| named(file, may_remove)).collect();
        Choices { paths, new: new.to_vec(), old, may_remove, prefix: String::new(), may_add: true, test_class: None }
    }

    /// Restricts the choice to new tests, in the test file if there is one, else in the file of `subject`: the name under test and its file.
    pub fn of_tests(mut self, subject: Option<&(String, String)>) -> Choices {
        self.test_class = self.class_of_tests();
        self.old.clear();
        let is_test = |path: &String| testing::is_test(path);
        if self.paths.iter().chain(&self.new).any(is_test) {
            self.paths.retain(is_test);
        } else if let Some((_, path)) = subject.filter(|(_, path)| self.paths.contains(path)) {
            self.paths = vec![path.clone()];
        }
        let name = || subject.map_or("test", |(name, _)| last_part(name));
        // Test runners find tests by these names.
        self.prefix = match self.paths.first() {
            Some(path) if language_of(path) == "python" => "test_".to_owned(),
            Some(path) if language_of(path) == "go" => "Test".to_owned(),
            Some(path) if language_of(path) == "rust" && !is_test(path) => {
                self.test_class = Some(RUST_TESTS.to_owned());
                format!("{}_", name().to_lowercase())
            }
            _ => String::new(),
        };
        self
    }

    /// The last class with tests, if all tests are methods of classes.
    fn class_of_tests(&self) -> Option<String> {
        let tests = self.old.iter().filter(|item| testing::is_test(&item.path));
        let tests = tests.filter(|item| matches!(&item.what, What::Change(span) if span.name.starts_with("test_")));
        let classes: Option<Vec<&str>> = tests.map(|item| Some(item.name.rsplit_once('.')?.0)).collect();
        classes?.last().map(|class| (*class).to_owned())
    }

    /// Restricts the choice to existing definitions: asked to repair one, a 1.5B model would add a copy of it instead.
    pub fn of_what_is_there(&mut self) {
        self.may_add = self.old.is_empty();
    }

    /// Restricts the choice to the named files if there are any, unless the request hints at changes in other files.
    pub fn in_named(&mut self, mentions: &Mentions, asked: &str) {
        let has_more = words::split(asked).iter().any(|word| MORE_ELSEWHERE.contains(&word.as_str()));
        let named = |path: &String| mentions.paths.contains(path);
        if !has_more && self.paths.iter().any(named) {
            self.paths.retain(named);
            self.old.retain(|item| named(&item.path));
        }
    }

    /// Removes `__all__` from the choice, because code updates lists of exports.
    pub fn without_exports(&mut self) {
        self.old.retain(|item| item.name != "__all__");
    }

    /// Removes test files from the choice, unless there are no other files.
    pub fn without_tests(&mut self) {
        let is_code = |path: &String| !testing::is_test(path);
        if self.paths.iter().any(is_code) {
            self.paths.retain(is_code);
            self.old.retain(|item| is_code(&item.path));
        }
    }

    /// Removes functions that the request does not name; for requests that add a definition.
    pub fn beside_new(&mut self, mentions: &Mentions) {
        let named: Vec<&str> =
            mentions.symbols.iter().chain(&mentions.likely).map(|symbol| last_part(&symbol.name)).collect();
        self.old.retain(|item| !is_function(item) || named.contains(&last_part(&item.name)));
    }

    /// Removes functions that a failing example does not run, if it runs any.
    pub fn of_executed(&mut self, executed: &Executed) {
        let has_run = |item: &Item| match &item.what {
            What::Change(span) => executed.has_run(&item.path, span.lines),
            _ => false,
        };
        if self.old.iter().any(|item| is_function(item) && has_run(item)) {
            self.old.retain(|item| !is_function(item) || has_run(item));
        }
    }

    pub fn has(&self, item: &Item) -> bool {
        self.old.contains(item)
    }

    /// A function that `item` calls, of those that can still be chosen.
    pub fn called_by(&self, item: &Item, text: &str) -> Option<Item> {
        let What::Change(span) = &item.what else { return None };
        let body = text.get(span.bytes.clone())?;
        let calls = |other: &&Item| match &other.what {
            What::Change(of) => {
                of.sort == Sort::Function && of.name != span.name && body.contains(&format!("{}(", of.name))
            }
            _ => false,
        };
        self.old.iter().filter(|other| other.path == item.path).find(calls).cloned()
    }

    /// Removes an item from the choice.
    pub fn without(&mut self, item: &Item) {
        self.old.retain(|other| other != item);
    }

    /// The grammar of an answer: lines of `change NAME`, `add NAME`, `add lines`, `remove NAME` and `new file PATH`, with ` in PATH` if there are
    /// several files. The answer begins with the items `given` and has at most `most` lines.
    pub fn grammar(&self, given: &[Item], most: usize) -> String {
        let quoted = |text: &str| Value::String(text.to_owned()).to_string();
        let mut items = Vec::new();
        let mut rules = String::new();
        let place = |path: &str| if self.paths.len() > 1 { format!(" in {path}") } else { String::new() };
        if !self.old.is_empty() {
            let old: Vec<String> =
                self.old.iter().map(|item| quoted(&format!("{}{}", item.name, place(&item.path)))).collect();
            rules.push_str(&format!("OLD: {}\n", old.join(" | ")));
            items.push("\"change \" OLD");
            if self.may_remove {
                items.push("\"remove \" OLD");
            }
        }
        if self.may_add && !self.paths.is_empty() {
            let ends: Vec<String> = self.paths.iter().map(|path| quoted(&place(path))).collect();
            let end = if self.paths.len() > 1 { format!(" ({})", ends.join(" | ")) } else { String::new() };
            rules.push_str(&format!("new: \"add \" NAME{end}\nlines: \"add lines\"{end}\n"));
            let name = match self.prefix.as_str() {
                "" => "[A-Za-z_$][A-Za-z0-9_$]*(\\.[A-Za-z_$][A-Za-z0-9_$]*)?".to_owned(),
                prefix => format!("{prefix}[A-Za-z0-9_]+"),
            };
            rules.push_str(&format!("NAME: /{name}/\n"));
            items.extend(["new", "lines"]);
        }
        if !self.new.is_empty() {
            let files: Vec<String> = self.new.iter().map(|path| quoted(path)).collect();
            rules.push_str(&format!("FILE: {}\n", files.join(" | ")));
            items.push("\"new file \" FILE");
        }
        let known: Vec<String> = given.iter().map(|item| quoted(&self.line(item))).collect();
        let begin = if known.is_empty() { "item".to_owned() } else { known.join(" \"\\n\" ") };
        let more = most.saturating_sub(given.len().max(1));
        let rest = if more == 0 { String::new() } else { format!(" (\"\\n\" item){{0,{more}}}") };
        format!("start: {begin}{rest}\nitem: {}\n{rules}", items.join(" | "))
    }

    /// The definitions that a request names, with their code.
    pub fn pieces(&self, mentions: &Mentions, text: &dyn Fn(&str) -> String) -> Vec<(Item, String)> {
        let named = || mentions.symbols.iter().chain(&mentions.likely);
        let is_meant = |item: &&Item| named().any(|symbol| last_part(&symbol.name) == last_part(&item.name));
        let code = |item: &Item| match &item.what {
            What::Change(span) => text(&item.path).get(span.bytes.clone()).map(str::to_owned),
            _ => None,
        };
        self.old.iter().filter(is_meant).filter_map(|item| Some((item.clone(), code(item)?))).collect()
    }

    /// Restricts the choice to constants and lists that the written code uses; false if there are none.
    pub fn narrow_to_data_of(&mut self, pieces: &[(Item, String)]) -> bool {
        let has_data = self.old.iter().any(|item| is_data(item) && users(item, pieces) > 0);
        if has_data {
            self.old.retain(|item| is_data(item) && users(item, pieces) > 0);
        }
        has_data
    }

    /// The one constant or list that all written pieces use; `None` if there are none or several.
    pub fn data_of(&self, pieces: &[(Item, String)]) -> Option<Item> {
        let mut all = self.old.iter().filter(|item| is_data(item) && users(item, pieces) == pieces.len());
        all.next().filter(|_| all.next().is_none() && !pieces.is_empty()).cloned()
    }

    /// The statement or one-line value to remove: the one that clearly shares most words with the request.
    pub fn that_goes(&self, texts: &dyn Fn(&str) -> String, asked: &str) -> Option<Item> {
        let data = self.old.iter().filter(|item| match &item.what {
            What::Statement(_) => true,
            What::Change(span) => span.sort == Sort::Value && span.lines.0 == span.lines.1,
            _ => false,
        });
        let items: Vec<&Item> = data.collect();
        let said = |item: &&Item| match &item.what {
            What::Statement(text) => text.clone(),
            What::Change(span) => texts(&item.path).get(span.bytes.clone()).unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let all: Vec<String> = items.iter().map(said).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let item = items[passage::clearly_meant(&all, asked)?];
        Some(Item { what: What::Remove(removed(&item.what)), ..item.clone() })
    }

    /// The items that the request names itself: the new names, or the one existing function if nothing new is asked for. The flag says whether
    /// these may be all. `None` if the model has to choose.
    pub fn said(&self, mentions: &Mentions, asked: &str) -> Option<(Vec<Item>, bool)> {
        if !mentions.new_names.is_empty() && mentions.adds {
            let is_so = |name: &String| name.starts_with(self.prefix.as_str());
            if !mentions.new_names.iter().all(is_so) || !self.new.is_empty() || mentions.new_names.len() > ITEMS_MAX {
                return None;
            }
            let more = words::split(asked).iter().any(|word| MORE.contains(&word.as_str()));
            let items = mentions.new_names.iter().map(|name| self.added(name, mentions));
            let items = items.collect::<Option<Vec<Item>>>()?;
            return Some((items, !more));
        }
        let [symbol] = mentions.symbols.as_slice() else { return None };
        let mut fitting = self.old.iter().filter(|item| last_part(&item.name) == last_part(&symbol.name));
        match (fitting.next(), fitting.next()) {
            (Some(item), None) if is_function(item) && !mentions.adds && !self.may_remove => {
                Some((vec![item.clone()], true))
            }
            _ => None,
        }
    }

    /// A new definition, in the class that the request names if there is one.
    fn added(&self, name: &str, mentions: &Mentions) -> Option<Item> {
        let classes = mentions.symbols.iter().flat_map(|symbol| &symbol.nodes);
        let class =
            classes.into_iter().find(|node| TYPES.contains(&node.kind.as_str()) && self.paths.contains(&node.path));
        let (path, name) = match class {
            Some(class) if !name.contains('.') => (class.path.clone(), format!("{}.{name}", class.name)),
            _ => (self.paths.first()?.clone(), name.to_owned()),
        };
        Some(Item { path, name, what: What::Add })
    }

    /// An item as a model names it.
    pub fn line(&self, item: &Item) -> String {
        let place = if self.paths.len() > 1 { format!(" in {}", item.path) } else { String::new() };
        match &item.what {
            What::Change(_) | What::Statement(_) => format!("change {}{place}", item.name),
            What::Remove(_) => format!("remove {}{place}", item.name),
            What::Add => format!("add {}{place}", item.name),
            What::Lines => format!("add lines{place}"),
            What::File => format!("new file {}", item.path),
        }
    }

    /// Parses the items of an answer, each once.
    pub fn read(&self, answer: &str) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        for item in answer.lines().filter_map(|line| self.item(line.trim())) {
            if !items.contains(&item) {
                items.push(item);
            }
        }
        items.truncate(ITEMS_MAX);
        items
    }

    fn item(&self, line: &str) -> Option<Item> {
        if let Some(path) = line.strip_prefix("new file ") {
            return Some(Item { path: path.to_owned(), name: path.to_owned(), what: What::File });
        }
        let (verb, rest) = line.split_once(' ')?;
        let place = self.paths.iter().find(|path| rest.ends_with(&format!(" in {path}")));
        let path = place.or(self.paths.first())?.clone();
        let name = rest.strip_suffix(&format!(" in {path}")).unwrap_or(rest).to_owned();
        let known = self.old.iter().find(|item| item.name == name && item.path == path);
        match (verb, known) {
            ("change", Some(item)) => Some(item.clone()),
            ("remove", Some(item)) => Some(Item { what: What::Remove(removed(&item.what)), ..item.clone() }),
            ("add", _) if name == "lines" => Some(Item { path, name, what: What::Lines }),
            // What is there already is changed, even if the model says `add`.
            ("add", Some(item)) => Some(item.clone()),
            ("add", None) if self.old.iter().any(|item| item.name == name) => {
                self.old.iter().find(|item| item.name == name).cloned()
            }
            ("add", None) => {
                let class = self.test_class.as_ref().filter(|_| !name.contains('.'));
                let is_home = |class: &&String| *class == RUST_TESTS || testing::is_test(&path);
                let name = class.filter(is_home).map_or(name.clone(), |class| format!("{class}.{name}"));
                Some(Item { path, name, what: What::Add })
            }
            _ => None,
        }
    }
}

/// The name or text by which an item is removed.
fn removed(what: &What) -> String {
    match what {
        What::Statement(text) | What::Remove(text) => text.clone(),
        What::Change(span) => span.name.clone(),
        What::Add | What::Lines | What::File => String::new(),
    }
}

/// The items of a file: its definitions, and the statements outside of them that were shown, or all of these.
fn named(file: &Offered<'_>, all_statements: bool) -> Vec<Item> {
    let spans = parts::definitions(file.path, file.text);
    let is_shown = |span: &Span| file.shown.iter().any(|(from, to)| *from <= span.lines.1 && span.lines.0 <= *to);
    let length = |span: &Span| span.lines.1 + 1 - span.lines.0;
    let outer = |span: &Span| {
        let name = span.container.last()?;
        spans.iter().rfind(|other| other.name == *name && other.bytes.start <= span.bytes.start)
    };
    let is_offered = |span: &&Span| {
        let fits = match span.sort {
            Sort::Class | Sort::Record => length(span) <= CONTAINER_LINES_MAX,
            // Of a long one, the lines that were shown can be changed.
            Sort::Function if is_shown(span) => true,
            // A longer one was not shown whole, so it cannot be rewritten whole.
            _ => length(span) <= crate::context::WHOLE_LINES_MAX,
        };
        let inside = outer(span).filter(|outer| outer.bytes.end >= span.bytes.end);
        let reached = match inside.map(|outer| (outer.sort, length(outer))) {
            Some((Sort::Class, _)) | None => true,
            Some((Sort::Record, lines)) => lines > CONTAINER_LINES_MAX,
            Some((_, lines)) => lines > FUNCTION_LINES_MAX,
        };
        fits && reached
    };
    let mut found: Vec<&Span> = spans.iter().filter(is_offered).collect();
    // Of several definitions with one name, as overloads are, the longest is offered.
    found.sort_by_key(|span| (!is_shown(span), std::cmp::Reverse(length(span))));
    found.truncate(NAMES_MAX);
    let item = |name: String, what: What| Item { path: file.path.to_owned(), name, what };
    let mut items: Vec<Item> = Vec::new();
    for span in found {
        let name = span.container.iter().chain([&span.name]).cloned().collect::<Vec<_>>().join(".");
        if !items.iter().any(|item| item.name == name) && !name.contains('\n') {
            items.push(item(name, What::Change(span.clone())));
        }
    }
    items.sort_by_key(|item| if let What::Change(span) = &item.what { span.bytes.start } else { 0 });
    for (title, text) in statements(file, all_statements) {
        if !items.iter().any(|item| item.name == title) {
            items.push(item(title, What::Statement(text)));
        }
    }
    items
}

/// The statements outside of definitions that were shown, or all of them: title and text.
fn statements(file: &Offered<'_>, all: bool) -> Vec<(String, String)> {
    let Some(parts) = parts::parts(file.path, file.text) else { return Vec::new() };
    let is_shown = |part: &&Part| {
        let line = line_of(file.text, part.core.start);
        all || file.shown.iter().any(|(from, to)| (*from..=*to).contains(&line))
    };
    let is_package = |part: &&Part| file.text[part.core.start..].starts_with("package ");
    let plain = parts.items.iter().filter(|part| part.sort == Sort::Statement && !is_package(part)).filter(is_shown);
    let text = plain.map(|part| file.text[part.core.start..part.end.max(part.core.end)].to_owned());
    let named = text.map(|text| (words::shorten(text.lines().next().unwrap_or_default().trim(), TITLE_CHARS), text));
    named.filter(|(title, _)| title.len() > 3 && !title.starts_with(['"', '\''])).take(NAMES_MAX).collect()
}

/// The last part of a name with dots: `f` of `A.f`.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn is_function(item: &Item) -> bool {
    matches!(&item.what, What::Change(span) if span.sort == Sort::Function)
}

fn is_data(item: &Item) -> bool {
    matches!(&item.what, What::Change(span) if matches!(span.sort, Sort::Value | Sort::Record))
}

/// How many of the pieces name an item.
fn users(item: &Item, pieces: &[(Item, String)]) -> usize {
    let uses = |code: &str| code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == item.name);
    pieces.iter().filter(|(_, code)| uses(code)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "import os\n\nMAX = 3\n\n\nclass A:\n    @property\n    def size(self):\n        return MAX\n\n\nstart(A())\n";

    fn choices() -> Choices {
        let files = [Offered { path: "a.py", text: TEXT, shown: &[(1, 12)] }];
        Choices::of(&files, &["b.py".to_owned()], false)
    }

    #[test]
    fn definitions_and_statements_can_be_named() {
        let names: Vec<String> = choices().old.into_iter().map(|item| item.name).collect();
        assert_eq!(names, ["MAX", "A", "A.size", "start(A())"]);
    }

    #[test]
    fn an_answer_is_read_as_items() {
        let items = choices().read("change A.size\nadd A.clear\nadd MAX\nnew file b.py\nchange none");
        let what: Vec<(&str, bool)> =
            items.iter().map(|item| (item.name.as_str(), matches!(item.what, What::Change(_)))).collect();
        assert_eq!(what, [("A.size", true), ("A.clear", false), ("MAX", true)]);
        assert!(!choices().grammar(&[], 3).contains("remove"));
    }
}
