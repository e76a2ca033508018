//! Applies the model's code to the files of a change, and refuses code that changes nothing, loses
//! something or fails a check.

use std::collections::BTreeMap;

use crate::agent::guide::items::{Item, What};
use crate::agent::guide::{Job, Stretch, new_test, refusal};
use crate::context::Found;
use crate::edit::unasked::Basis;
use crate::edit::{self, Edit, Hints, MergeError, Mismatch, comments, preserve, testing};
use crate::language::grounding;
use crate::request::mentions::Mentions;

use super::{Files, Refusal};

/// A change in progress.
struct Draft {
    /// Texts of the changed files.
    after: BTreeMap<String, String>,
    touched: Vec<Stretch>,
    /// Items that the model wrote unchanged.
    unchanged: Vec<Item>,
    /// Names that may be removed.
    may_go: Vec<String>,
}

impl Files {
    /// Applies the model's code, not yet on disk. After a refusal, nothing has changed.
    pub fn take(&mut self, job: Job<'_>, pieces: &[(Item, String)], mentions: &Mentions) -> Result<(), Refusal> {
        if pieces.is_empty() {
            return Err(refusal::NOTHING_NAMED.to_owned().into());
        }
        let mut draft = Draft {
            after: self.after.clone(),
            touched: Vec::new(),
            unchanged: Vec::new(),
            may_go: mentions.symbols.iter().map(|symbol| symbol.name.clone()).collect(),
        };
        for (item, code) in pieces {
            self.apply(&mut draft, item, code)?;
        }
        let mut has_extras = false;
        for (path, text) in &mut draft.after {
            let less = edit::extras::without_extras(path, self.text(path), text, self.told.as_asked());
            has_extras |= less != *text;
            *text = less;
        }
        if draft.after == self.after || self.differs_in_space_alone(&draft) {
            if draft.unchanged.is_empty() && has_extras {
                let changes = pieces.iter().map(|(item, _)| item).filter(|item| matches!(item.what, What::Change(_)));
                draft.unchanged = changes.cloned().collect();
            }
            return Err(nothing_new(pieces, draft.unchanged));
        }
        self.export_new(pieces, &mut draft.after);
        self.keep_the_rest(&mut draft.after)?;
        self.refuse_unasked(&draft.after, pieces)?;
        self.bring_in_imports(job, pieces, &mut draft.after);
        for (path, text) in &mut draft.after {
            if let Some(before) = self.before.get(path)
                && !self.asked.asks_for_export()
            {
                *text = edit::extras::without_unused_imports(path, before, text, self.told.as_asked());
            }
        }
        self.check(job, &mut draft)?;
        (self.after, self.touched) = (draft.after, draft.touched);
        Ok(())
    }

    /// Applies the code of one item.
    fn apply(&self, draft: &mut Draft, item: &Item, code: &str) -> Result<(), Refusal> {
        let path = &item.path;
        let known = draft.after.get(path).or(self.before.get(path)).cloned();
        let beside = self.only_tests.then(|| preserve::beside(path, self.text(path), code));
        let code = beside.as_deref().unwrap_or(code);
        if self.is_unchanged(item, code) {
            draft.unchanged.push(item.clone());
            return Ok(());
        }
        self.refuse_loss(item, code)?;
        let text = match (&item.what, known) {
            (What::File, None) => Ok(format!("{}\n", code.trim_end())),
            (_, None) => Err(format!("{path} is none of the files shown.")),
            // The file was written in an earlier round.
            (What::File, Some(_)) if !self.before.contains_key(path) => Ok(format!("{}\n", code.trim_end())),
            (What::File, Some(_)) => Err(format!("{path} already exists.")),
            (What::Statement(old), Some(now)) => {
                restated(path, &now, old, preserve::with_names(old, code, self.may_remove).trim_end())
            }
            (What::Remove(name), Some(now)) => {
                draft.may_go.push(name.clone());
                edited(path, &now, &Edit::Remove(name))
            }
            (_, Some(now)) => self.merged(item, &now, code, &mut draft.touched),
        }?;
        if draft.after.get(path).or(self.before.get(path)) == Some(&text) {
            draft.unchanged.push(item.clone());
        } else {
            draft.after.insert(path.clone(), text);
        }
        Ok(())
    }

    /// Whether a definition is the same as before the change, or differs only in comments that the
    /// request does not mention.
    pub fn is_unchanged(&self, item: &Item, code: &str) -> bool {
        let only_docs = || {
            !self.asked.as_asked().is_about_wording()
                && comments::without_words(self.code_of(item)) == comments::without_words(code)
        };
        matches!(item.what, What::Change(_)) && (preserve::has_code(self.text(&item.path), code) || only_docs())
    }

    /// Refuses a definition that has lost most of its lines, unless the request asks to remove something.
    fn refuse_loss(&self, item: &Item, code: &str) -> Result<(), String> {
        let is_gutted = matches!(item.what, What::Change(_))
            && preserve::is_gutted(self.code_of(item), code, self.asked.as_asked());
        if is_gutted && !self.may_remove {
            return Err(format!(
                "Most of `{}` is missing in what you wrote. Keep what the request does not change.",
                item.name
            ));
        }
        Ok(())
    }

    /// Adds new definitions to the exports of the files that must export them.
    fn export_new(&self, pieces: &[(Item, String)], after: &mut BTreeMap<String, String>) {
        for (item, _) in pieces.iter().filter(|(item, _)| {
            matches!(item.what, What::Add) && !item.name.contains('.') && !testing::is_test(&item.path)
        }) {
            for path in &self.exporting {
                let Some(text) = after.get(path).or(self.before.get(path)) else { continue };
                if let Ok(exported) = edit::apply(path, text, &Edit::Export { name: &item.name, from: &item.path }) {
                    after.insert(path.clone(), exported.text);
                }
            }
        }
    }

    /// Whether only white space changes although the request does not mention it.
    fn differs_in_space_alone(&self, draft: &Draft) -> bool {
        let is_same = |(path, text): (&String, &String)| {
            let before = self.before.get(path).map(String::as_str).unwrap_or_default();
            text.split_whitespace().flat_map(str::chars).eq(before.split_whitespace().flat_map(str::chars))
        };
        !self.asked.speaks_of_space() && draft.after.iter().all(is_same)
    }

    /// Restores the comments that rewritten functions have lost, and refuses a change that loses
    /// other parts of them or lacks a requested name.
    fn keep_the_rest(&self, after: &mut BTreeMap<String, String>) -> Result<(), String> {
        let may_shorten = self.may_remove || self.asked.may_shorten();
        for (path, text) in after.iter_mut() {
            if let Some(before) = self.before.get(path) {
                *text = edit::kept::kept(path, before, text, self.asked.as_asked(), may_shorten)?;
            }
        }
        let count = |text: &String, name: &str| -> usize {
            comments::code_lines(text).map(|line| grounding::places(line, name).count()).sum()
        };
        let has = |texts: &BTreeMap<String, String>, name: &str| -> usize {
            texts.values().map(|text| count(text, name)).sum()
        };
        let is_new = |name: &str| {
            let changed: BTreeMap<String, String> =
                after.keys().filter_map(|path| Some((path.clone(), self.before.get(path)?.clone()))).collect();
            has(after, name) > has(&changed, name)
        };
        let names = self.asked_for.iter().map(|name| name.rsplit('.').next().unwrap_or(name));
        if let Some(name) = names.filter(|_| !self.only_tests).find(|name| !is_new(name)) {
            return Err(format!("The request asks for `{name}`, and what was written does not have it."));
        }
        let said = |texts: &mut dyn Iterator<Item = &String>, name: &str| -> usize {
            texts.map(|text| grounding::places(text, name).count()).sum()
        };
        let is_said = |name: &&String| {
            let mut before = after.keys().filter_map(|path| self.before.get(path));
            said(&mut after.values(), name) > said(&mut before, name)
        };
        if !self.to_describe.is_empty() && !self.to_describe.iter().any(|name| is_said(&name)) {
            return Err(format!("What was written does not name `{}`.", self.to_describe.join("`, `")));
        }
        Ok(())
    }

    /// Refuses effects on existing files that the request does not mention.
    fn refuse_unasked(&self, after: &BTreeMap<String, String>, pieces: &[(Item, String)]) -> Result<(), String> {
        let may_state = pieces.iter().any(|(item, _)| matches!(item.what, What::Lines | What::Statement(_)));
        let basis = Basis { by_words: self.by_words && !self.only_tests, may_state };
        let mut known = after.iter().filter_map(|(path, text)| Some((path, self.before.get(path)?, text)));
        match known
            .find_map(|(path, before, text)| edit::unasked::found(path, before, text, self.asked.as_asked(), basis))
        {
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    }

    /// Adds imports for the project names that the changed files now use.
    fn bring_in_imports(&self, job: Job<'_>, pieces: &[(Item, String)], after: &mut BTreeMap<String, String>) {
        let graph = job.index.graph().ok();
        let place = |name: &str| {
            // The index does not yet contain the code of this step or of earlier ones.
            if let Some((item, _)) = pieces.iter().find(|(item, _)| matches!(item.what, What::Add) && item.name == name)
            {
                return Some(item.path.clone());
            }
            if let Some((_, path)) = self.tested.iter().find(|(tested, _)| tested == name) {
                return Some(path.clone());
            }
            let nodes = graph.as_ref().map(|graph| graph.named(name)).unwrap_or_default();
            let mut free =
                nodes.iter().filter(|node| node.name == name && !testing::is_test(&node.path) && node.kind != "method");
            free.next().filter(|_| free.next().is_none()).map(|node| node.path.clone())
        };
        for (path, text) in after {
            let before = self.before.get(path).map_or("", String::as_str);
            *text = edit::imports::brought_in(path, before, text, &place);
        }
    }

    /// Adjusts the line endings of the files, and refuses the change if a check finds a problem.
    fn check(&self, job: Job<'_>, Draft { after, may_go, .. }: &mut Draft) -> Result<(), Refusal> {
        for (path, text) in after {
            let before = self.before.get(path).map(String::as_str).unwrap_or_default();
            let style = self.style.filter(|_| before.is_empty() && testing::is_test(path));
            if let Some(module) = style.and_then(|style| new_test::lacks_runner(path, text, style)) {
                return Err(format!("{path} does not import `{module}`; import it and write its kind of tests").into());
            }
            *text =
                job.edited(path, before, &Edit::Whole(text), may_go).map_err(|problem| format!("{path}: {problem}"))?;
        }
        Ok(())
    }

    /// `now` with the written definition merged in by name.
    fn merged(&self, item: &Item, now: &str, code: &str, touched: &mut Vec<Stretch>) -> Result<String, String> {
        let path = &item.path;
        let hints = match &item.what {
            What::Change(_) => item.hints(),
            _ => self.hints(item),
        };
        let mut code = match hints.container {
            None if !item.name.contains('.') => preserve::without_receiver(path, code),
            _ => code.to_owned(),
        };
        if item.is_new_test() && !testing::is_test(path) && !now.contains("mod tests") {
            code = new_test::in_new_module(&code);
        }
        let merged = match edit::apply(path, now, &Edit::Definition { name: None, code: &code, hints }) {
            Ok(merged) => merged,
            Err(Mismatch::Merge(MergeError::NothingChanged | MergeError::OnlyModifiers { .. })) => {
                return Ok(now.to_owned());
            }
            Err(mismatch) => return Err(format!("{path}: {mismatch}")),
        };
        touched.extend(merged.changed.iter().map(|change| Stretch {
            path: path.clone(),
            name: change.container.iter().chain([&change.name]).cloned().collect::<Vec<_>>().join("."),
            lines: (change.line, change.line),
        }));
        let may_lose = |name: &str| self.may_remove && self.asked.says(name);
        edit::restore::taken_back(path, now, &merged.text, &may_lose).map_err(|error| format!("{path}: {error}"))
    }

    /// The place of a new definition: in the container given by its name, after the definition that
    /// was found for the request.
    fn hints(&self, item: &Item) -> Hints {
        let file = self.shown.iter().find(|file| file.path == item.path);
        let found: Option<&Found> = file.and_then(|file| file.found.first());
        let within = item.hints();
        Hints {
            line: found.filter(|_| within.container.is_none()).map(|(line, ..)| *line),
            after: found.map(|(_, _, name)| name.clone()).filter(|name| !name.is_empty()),
            ..within
        }
    }
}

/// The refusal of an answer that changes only white space; `unchanged` are the items that do not
/// differ.
fn nothing_new(pieces: &[(Item, String)], unchanged: Vec<Item>) -> Refusal {
    let names: Vec<String> = pieces.iter().map(|(item, _)| format!("`{}`", item.name)).collect();
    let message = format!(
        "What you wrote for {} is what is there already, so nothing would change. The mistake or the change is somewhere else.",
        names.join(", ")
    );
    Refusal { message, unchanged }
}

/// The text of a file after an edit; the error is a message to the model.
fn edited(path: &str, now: &str, edit: &Edit<'_>) -> Result<String, String> {
    edit::apply(path, now, edit).map(|applied| applied.text).map_err(|mismatch| match mismatch {
        Mismatch::Unclear(why) => why,
        mismatch => format!("{path}: {mismatch}"),
    })
}

/// `now` with `new` in place of the statement `old`.
fn restated(path: &str, now: &str, old: &str, new: &str) -> Result<String, String> {
    edited(path, now, &Edit::Statement { old, new }).map_err(|_| {
        format!("{path}: `{}` is not there any more, or not once.", old.lines().next().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_is_as_before_even_if_only_its_white_space_differs() {
        let item = |name: &str| Item { path: "shop.py".to_owned(), name: name.to_owned(), what: What::Lines };
        let pieces = [(item("price"), String::new()), (item("total"), String::new())];
        let Refusal { message, .. } = nothing_new(&pieces, Vec::new());
        assert!(message.starts_with("What you wrote for `price`, `total` is what is there already"), "{message}");
    }
}
