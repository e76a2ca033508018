//! The notation in which the model names the items of a change: the grammar of its answer and the
//! parser.
//!
//! A sample, with several files: `change A.size in a.py`, `add clear in a.py`, `add lines in b.py`, `remove f in a.py`, `new file c.py`.

use serde_json::Value;

use crate::agent::budget::Guided;
use crate::edit::testing;

use super::{Choices, Item, RUST_TESTS, What, removed};

impl Choices {
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

    /// An item in the form in which the model names it.
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

    /// Parses the items in an answer, without duplicates.
    pub fn read(&self, answer: &str) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        for item in answer.lines().filter_map(|line| self.item(line.trim())) {
            if !items.contains(&item) {
                items.push(item);
            }
        }
        items.truncate(Guided::ITEMS);
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
            // An existing definition is changed even if the model writes `add`.
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
