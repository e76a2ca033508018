//! Lists the items of a code change: the model names the definitions to change and to add, then
//! writes each separately.
//!
//! A 1.5B model that may write anything repeats the code shown to it; if it must begin with the
//! head of a definition, it writes that definition.

mod listing;
mod notation;

use crate::agent::budget::Guided;
use crate::context::Shown;
use crate::edit::Hints;
use crate::edit::executed::Executed;
use crate::edit::testing;
use crate::index::language_of;
use crate::index::parts::{Sort, Span};
use crate::request::Text;
use crate::request::mentions::{Mentions, TYPES};

use super::files::Files;
use super::passage;

/// The test module of a Rust file.
const RUST_TESTS: &str = "tests";

/// One part of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub path: String,
    /// The name by which the model chooses this part.
    pub name: String,
    pub what: What,
}

/// The kind of change to an item.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A definition is rewritten.
    Change(Span),
    /// A statement outside definitions, with this text, is rewritten.
    Statement(String),
    /// A definition with this name, or a statement with this text, is removed.
    Remove(String),
    /// A new definition is added.
    Add,
    /// Code without a name is added: an import, an export, a call.
    Lines,
    /// A new file is written.
    File,
}

impl Item {
    /// The place for the item's code: instead of the definition, or inside the container given by
    /// its name.
    pub fn hints(&self) -> Hints {
        match &self.what {
            What::Change(span) => {
                Hints { container: span.container.last().cloned(), line: Some(span.lines.0), ..Hints::default() }
            }
            _ => Hints { container: self.name.rsplit('.').nth(1).map(str::to_owned), ..Hints::default() },
        }
    }

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
    /// Files to be created.
    new: Vec<String>,
    /// Definitions and statements of the existing files.
    old: Vec<Item>,
    may_remove: bool,
    /// The prefix that new names must have, as for tests in some languages; empty if any name is
    /// allowed.
    prefix: String,
    /// Whether new definitions may be named.
    may_add: bool,
    /// The class to which a new test is added.
    test_class: Option<String>,
}

impl Choices {
    /// All items of some files, and the files to be created.
    pub fn of(files: &[Shown], new: &[String], may_remove: bool) -> Choices {
        let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        let old = files.iter().flat_map(|file| listing::named(file, may_remove)).collect();
        Choices { paths, new: new.to_vec(), old, may_remove, prefix: String::new(), may_add: true, test_class: None }
    }

    /// Restricts the choice to new tests: in the new test file if one is to be created, else in the
    /// test file, else in the file of `subject`, the tested name and its file.
    pub fn of_tests(mut self, subject: Option<&(String, String)>) -> Choices {
        self.test_class = self.class_of_tests();
        self.old.clear();
        let is_test = |path: &String| testing::is_test(path);
        if self.new.iter().any(is_test) {
            self.paths.clear();
        } else if self.paths.iter().any(is_test) {
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

    /// Restricts the choice to existing definitions: when asked to repair one, a 1.5B model would
    /// otherwise add a copy.
    pub fn of_what_is_there(&mut self) {
        self.may_add = self.old.is_empty();
    }

    /// Restricts the choice to the files that `is_meant` accepts, if it accepts any.
    fn only_in(&mut self, is_meant: impl Fn(&String) -> bool) {
        if self.paths.iter().any(&is_meant) {
            self.paths.retain(&is_meant);
            self.old.retain(|item| is_meant(&item.path));
        }
    }

    /// Restricts the choice to the named files, if there are any, unless the request hints at
    /// changes in other files.
    pub fn in_named(&mut self, mentions: &Mentions, asked: &Text) {
        if !asked.hints_at_more() {
            self.only_in(|path| mentions.paths.contains(path));
        }
    }

    /// Removes `__all__` from the choice, because code updates lists of exports.
    pub fn without_exports(&mut self) {
        self.old.retain(|item| item.name != "__all__");
    }

    /// Removes test files from the choice, unless there are no other files.
    pub fn without_tests(&mut self) {
        self.only_in(|path| !testing::is_test(path));
    }

    /// Removes functions that the request does not name, for requests that add a definition.
    pub fn beside_new(&mut self, mentions: &Mentions) {
        let named: Vec<&str> =
            mentions.symbols.iter().chain(&mentions.likely).map(|symbol| last_part(&symbol.name)).collect();
        self.old.retain(|item| !is_function(item) || named.contains(&last_part(&item.name)));
    }

    /// Removes functions that a failing example does not execute, if it executes any of them.
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

    /// A function that `item` calls and that can still be chosen.
    pub fn called_by(&self, item: &Item, files: &Files) -> Option<Item> {
        let What::Change(span) = &item.what else { return None };
        let body = files.code_of(item);
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

    /// The definitions that a request names, with their code.
    pub fn pieces(&self, mentions: &Mentions, files: &Files) -> Vec<(Item, String)> {
        let named = || mentions.symbols.iter().chain(&mentions.likely);
        let is_meant = |item: &&Item| {
            matches!(item.what, What::Change(_))
                && named().any(|symbol| last_part(&symbol.name) == last_part(&item.name))
        };
        self.old.iter().filter(is_meant).map(|item| (item.clone(), files.code_of(item).to_owned())).collect()
    }

    /// Restricts the choice to constants and lists that the written code uses; false if there are none.
    pub fn narrow_to_data_of(&mut self, pieces: &[(Item, String)]) -> bool {
        let has_data = self.old.iter().any(|item| is_data(item) && users(item, pieces) > 0);
        if has_data {
            self.old.retain(|item| is_data(item) && users(item, pieces) > 0);
        }
        has_data
    }

    /// The only constant or list that all written pieces use; `None` if there are none or several.
    pub fn data_of(&self, pieces: &[(Item, String)]) -> Option<Item> {
        let mut all = self.old.iter().filter(|item| is_data(item) && users(item, pieces) == pieces.len());
        all.next().filter(|_| all.next().is_none() && !pieces.is_empty()).cloned()
    }

    /// The statement or one-line value to remove: the one that clearly shares the most words with
    /// the request.
    pub fn that_goes(&self, files: &Files) -> Option<Item> {
        let is_data = |item: &&Item| match &item.what {
            What::Statement(_) => true,
            What::Change(span) => span.sort == Sort::Value && span.lines.0 == span.lines.1,
            _ => false,
        };
        let items: Vec<&Item> = self.old.iter().filter(is_data).collect();
        let all: Vec<&str> = items.iter().map(|item| files.code_of(item)).collect();
        let item = items[passage::clearly_meant(&all, files.asked.content())?];
        Some(Item { what: What::Remove(removed(&item.what)), ..item.clone() })
    }

    /// The items that the request itself names: the new names or, if nothing new is requested, the
    /// only named function. The flag states whether these may be all. `None` if the model has to
    /// choose.
    pub fn said(&self, mentions: &Mentions, asked: &Text) -> Option<(Vec<Item>, bool)> {
        if !mentions.new_names.is_empty() && mentions.adds {
            let is_so = |name: &String| name.starts_with(self.prefix.as_str());
            if !mentions.new_names.iter().all(is_so) || !self.new.is_empty() || mentions.new_names.len() > Guided::ITEMS
            {
                return None;
            }
            let items = mentions.new_names.iter().map(|name| self.added(name, mentions));
            let items = items.collect::<Option<Vec<Item>>>()?;
            return Some((items, !asked.hints_at_more()));
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

    /// A new definition, in the class that the request names, if any.
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
}

/// The name or text by which an item is removed.
fn removed(what: &What) -> String {
    match what {
        What::Statement(text) | What::Remove(text) => text.clone(),
        What::Change(span) => span.name.clone(),
        What::Add | What::Lines | What::File => String::new(),
    }
}

/// The last part of a dotted name: `f` for `A.f`.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn is_function(item: &Item) -> bool {
    matches!(&item.what, What::Change(span) if span.sort == Sort::Function)
}

fn is_data(item: &Item) -> bool {
    matches!(&item.what, What::Change(span) if matches!(span.sort, Sort::Value | Sort::Record))
}

/// The number of pieces that use an item.
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
        let files = [Shown { path: "a.py".into(), text: TEXT.into(), lines: vec![(1, 12)], found: Vec::new() }];
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
