//! Holds the files of a code change in three versions: before the change, after it, and as last
//! written.

mod doubts;
mod merge;

use std::collections::BTreeMap;

use crate::agent::evidence::Evidence;
use crate::agent::execute::Made;
use crate::agent::toolkit::TurnError;
use crate::base::trial::Trial;
use crate::context::{Pack, Shown};
use crate::edit::testing::Style;
use crate::edit::{self, testing};
use crate::request::Text;
use crate::request::mentions::Mentions;

use super::items::{Choices, Item, What};
use super::together::{FileEdit, changed_meanwhile};
use super::{Done, Job, Stretch, new_test};

/// The files of a code change.
pub struct Files {
    /// The code files shown to the model.
    shown: Vec<Shown>,
    /// Paths of files to be created.
    new: Vec<String>,
    /// Names of definitions that the request asks for and that do not yet exist.
    pub new_names: Vec<String>,
    /// Names that the step asks for: the written code must contain them.
    asked_for: Vec<String>,
    /// New names in the request that a step about documentation must mention.
    to_describe: Vec<String>,
    /// The request and the step.
    pub asked: Text,
    /// The step alone if the request has several steps, else both.
    pub told: Text,
    /// Whether the request asks to remove something.
    may_remove: bool,
    /// Whether the request asks only for tests.
    pub only_tests: bool,
    /// Whether existing lines may change only if the request mentions them, because no failing
    /// check shows the right code.
    pub by_words: bool,
    /// The results of the request's calls before the change, one per line, which the change must
    /// alter; `None` until the calls have run.
    pub given: Option<Vec<String>>,
    /// Whether the examples of the request already passed before the change, so that they prove
    /// nothing about it.
    pub held_before: bool,
    /// Files that must export the new definitions.
    exporting: Vec<String>,
    /// The runner of a new test file in JavaScript or TypeScript.
    style: Option<Style>,
    /// Tested names, each with its file.
    tested: Vec<(String, String)>,
    /// Texts by path before the change.
    before: BTreeMap<String, String>,
    /// Texts of the changed files.
    after: BTreeMap<String, String>,
    /// An earlier change, which is made if no better one follows.
    aside: Option<(BTreeMap<String, String>, Vec<Stretch>)>,
    /// Texts as last written to disk.
    written: BTreeMap<String, String>,
    /// Restores the files unless the change is accepted.
    trial: Trial,
    touched: Vec<Stretch>,
}

/// A saved state of the change, independent of the files on disk.
#[derive(Clone)]
pub struct Version {
    after: BTreeMap<String, String>,
    aside: Option<(BTreeMap<String, String>, Vec<Stretch>)>,
    touched: Vec<Stretch>,
}

/// The reason why an answer from the model is refused.
pub struct Refusal {
    /// For the model.
    pub message: String,
    /// Items that the model wrote unchanged.
    pub unchanged: Vec<Item>,
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal { message, unchanged: Vec::new() }
    }
}

impl Files {
    /// Collects the files that a code change may touch: those in the pack, those that must export
    /// new definitions, and new files.
    pub fn of(job: Job<'_>, pack: &Pack, mentions: &Mentions) -> Files {
        let asked = job.asked();
        let told = if job.of_several { job.step.text.clone() } else { asked.clone() };
        let shown: Vec<Shown> = pack.files.iter().filter(|file| edit::has_grammar(&file.path)).cloned().collect();
        let mut before: BTreeMap<String, String> =
            shown.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
        let exporting = exporting(job, mentions, &shown);
        for path in &exporting {
            if let Some(text) = job.text(path).filter(|_| !before.contains_key(path)) {
                before.insert(path.clone(), text);
            }
        }
        let mut new: Vec<String> = mentions.new_paths.iter().filter(|path| edit::has_grammar(path)).cloned().collect();
        let has_test = shown.iter().any(|file| testing::is_test(&file.path));
        if mentions.speaks_of_tests && !has_test && new.is_empty() {
            new.extend(shown.first().and_then(|file| new_test::test_path(&file.path)));
        }
        new.retain(|path| !job.exists(path));
        let only_tests = mentions.speaks_of_tests && mentions.adds_tests;
        let new_names = mentions.new_names.clone();
        let style = new.iter().any(|path| testing::is_test(path)).then(|| new_test::style(job)).flatten();
        let named = mentions.symbols.iter().filter_map(|symbol| {
            let node = symbol.nodes.iter().find(|node| !testing::is_test(&node.path))?;
            Some((node.name.clone(), node.path.clone()))
        });
        let touched = job.touched.iter().map(|one| (one.name.clone(), one.path.clone()));
        let tested = named.chain(touched).collect();
        let is_docs = job.of_several && job.step.text.speaks_of_docs() && mentions.asked_for.is_empty();
        let whole = if is_docs { job.mentions(job.scene.request).ok() } else { None };
        let names = whole.iter().flat_map(|whole| &whole.asked_for);
        let to_describe = names.filter_map(|name| name.rsplit('.').next().map(str::to_owned)).collect();
        Files {
            asked_for: mentions.asked_for.clone(),
            to_describe,
            exporting,
            style,
            tested,
            only_tests,
            by_words: false,
            given: None,
            held_before: false,
            new_names,
            shown,
            new,
            may_remove: asked.may_remove(),
            asked,
            told,
            before,
            after: BTreeMap::new(),
            aside: None,
            written: BTreeMap::new(),
            trial: Trial::default(),
            touched: Vec::new(),
        }
    }

    /// The definitions that the model may name.
    pub fn choices(&self) -> Choices {
        let choices = Choices::of(&self.shown, &self.new, self.may_remove);
        if self.only_tests { choices.of_tests(self.tested.last()) } else { choices }
    }

    /// The import lines of the new test file `path`; `None` if the runner or the tested code is
    /// unknown.
    pub fn head_of_tests(&self, path: &str) -> Option<String> {
        let style = self.style.filter(|_| testing::is_test(path))?;
        let subjects = self.tested.iter().filter_map(|(name, path)| {
            let text = self.shown.iter().find(|file| file.path == *path)?.text.as_str();
            Some(new_test::Subject { name, path, text })
        });
        new_test::head(path, style, &subjects.collect::<Vec<_>>())
    }

    /// A sample test for the prompt; `None` if the runner is unknown.
    pub fn form_of_tests(&self) -> Option<&'static str> {
        self.style.map(new_test::form)
    }

    /// The text of a file before the change; empty if it is new.
    pub fn text(&self, path: &str) -> &str {
        self.before.get(path).map_or("", String::as_str)
    }

    /// The code of an item before the change; empty if it is new.
    pub fn code_of<'c>(&'c self, item: &'c Item) -> &'c str {
        match &item.what {
            What::Change(span) => self.text(&item.path).get(span.bytes.clone()).unwrap_or_default(),
            What::Statement(text) => text,
            _ => "",
        }
    }

    /// Whether all of these lines were shown to the model.
    pub fn is_shown(&self, path: &str, lines: (usize, usize)) -> bool {
        let file = self.shown.iter().find(|file| file.path == path);
        file.is_some_and(|file| file.lines.iter().any(|(from, to)| *from <= lines.0 && lines.1 <= *to))
    }

    /// The texts of a file, before the change and now.
    pub fn versions(&self, path: &str) -> impl Iterator<Item = &str> {
        [self.before.get(path), self.after.get(path)].into_iter().flatten().map(String::as_str)
    }

    /// Whether a file defined this name at its top level before the change.
    pub fn had(&self, name: &str) -> bool {
        self.before.iter().any(|(path, text)| defines(path, text, name))
    }

    /// The file that defines this name at its top level after the change.
    pub fn place_of(&self, name: &str) -> Option<String> {
        let now = self.after.iter().chain(self.before.iter().filter(|(path, _)| !self.after.contains_key(*path)));
        now.into_iter().find(|(path, text)| defines(path, text, name)).map(|(path, _)| path.clone())
    }

    pub fn changed(&self) -> Vec<String> {
        self.after.keys().cloned().collect()
    }

    /// The changed files with their new texts.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.after.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The changed files with their texts before the change; `None` for new files.
    pub fn as_they_were(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.after.keys().map(|path| (path.as_str(), self.before.get(path).map(String::as_str)))
    }

    /// Names of the changed definitions and of their containers.
    pub fn names(&self) -> Vec<String> {
        let parts = self.touched.iter().flat_map(|one| one.name.split(['.', ':']));
        let mut names: Vec<String> = parts.filter(|part| !part.is_empty()).map(str::to_owned).collect();
        names.dedup();
        names
    }

    /// The text of a file when this change last read or wrote it; `None` if there was no file.
    fn known(&self, path: &str) -> Option<&str> {
        self.written.get(path).or(self.before.get(path)).map(String::as_str)
    }

    /// Writes all changed files or none, and reverts files that only another draft has written. If
    /// it stops early, returns notes for the user: a file was changed in the meantime, or (without
    /// a note) a call was refused or failed.
    pub async fn write(&mut self, job: Job<'_>, evidence: &mut Evidence) -> Result<Option<Vec<String>>, TurnError> {
        let new = self.after.iter().filter(|(path, text)| job.text(path).as_ref() != Some(*text));
        let new: Vec<(String, String)> = new.map(|(path, text)| (path.clone(), text.clone())).collect();
        new.iter().for_each(|(path, text)| job.tries(&self.trial, path, text));
        let gone = self.written.iter().filter(|(path, _)| !self.after.contains_key(*path));
        let gone: BTreeMap<String, String> = gone.map(|(path, text)| (path.clone(), text.clone())).collect();
        let edits = new.iter().map(|(path, text)| FileEdit::text(path, self.known(path), text));
        let edits: Vec<FileEdit> = edits.chain(gone.iter().filter_map(|(path, text)| self.back(path, text))).collect();
        match job.make_all(&edits, &[], evidence).await? {
            Made::All => {
                self.written.retain(|path, _| !gone.contains_key(path));
                self.written.extend(new);
            }
            Made::Stale(path) => return Ok(Some(vec![changed_meanwhile(&path)])),
            Made::Nothing => return Ok(Some(Vec::new())),
        }
        Ok(None)
    }

    /// The edit that restores a file whose current text is `written`; `None` if that is already the
    /// text before the change.
    fn back(&self, path: &str, written: &str) -> Option<FileEdit> {
        match self.before.get(path) {
            Some(before) => (before != written).then(|| FileEdit::text(path, Some(written), before)),
            None => Some(FileEdit::delete(path, written)),
        }
    }

    /// The current state of the change.
    pub fn version(&self) -> Version {
        Version { after: self.after.clone(), aside: self.aside.clone(), touched: self.touched.clone() }
    }

    /// Restores a saved state of the change, not yet on disk.
    pub fn go_back(&mut self, version: &Version) {
        let Version { after, aside, touched } = version.clone();
        (self.after, self.aside, self.touched) = (after, aside, touched);
    }

    /// Sets the current change aside as a fallback and begins a new one.
    pub fn set_aside(&mut self) {
        self.aside = Some((std::mem::take(&mut self.after), std::mem::take(&mut self.touched)));
    }

    /// Returns to the change that was set aside, if there is one.
    pub fn take_from_aside(&mut self) {
        if let Some(aside) = self.aside.take() {
            (self.after, self.touched) = aside;
        }
    }

    /// Whether a text of this change is on disk.
    pub fn are_written(&self) -> bool {
        !self.written.is_empty()
    }

    /// Restores every file that was written and deletes new ones. A file that somebody else changed
    /// in the meantime is left alone. Returns false if the user refused or writing failed.
    pub async fn restore(&mut self, job: Job<'_>, evidence: &mut Evidence) -> Result<bool, TurnError> {
        let mut written = std::mem::take(&mut self.written);
        let made = loop {
            let edits: Vec<FileEdit> = written.iter().filter_map(|(path, text)| self.back(path, text)).collect();
            let made = job.make_all(&edits, &[], evidence).await?;
            let Made::Stale(path) = &made else { break made };
            job.scene.host.notice(&format!("{path} was changed by somebody else in the meantime and is left as it is"));
            if written.remove(path).is_none() {
                break made;
            }
        };
        self.trial.accept();
        Ok(made == Made::All)
    }

    /// Keeps the change as written.
    pub fn done(self, notes: Vec<String>) -> Done {
        self.trial.accept();
        Done { touched: self.touched, notes, ..Done::default() }
    }
}

/// Whether a text defines a name at its top level.
fn defines(path: &str, text: &str, name: &str) -> bool {
    crate::index::parts::definitions(path, text).iter().any(|span| span.name == name && span.container.is_empty())
}

/// The files that must export new definitions, if the request asks for an export: those that it
/// names, the first file shown, and the root of a crate.
fn exporting(job: Job<'_>, mentions: &Mentions, shown: &[Shown]) -> Vec<String> {
    if !job.scene.request.asks_for_export() {
        return Vec::new();
    }
    let mut paths: Vec<String> = mentions.paths.iter().filter(|path| edit::has_grammar(path)).cloned().collect();
    paths.extend(shown.first().map(|file| file.path.clone()));
    let root = |path: &String| {
        let (begin, _) = path.rsplit_once("src/").filter(|_| path.ends_with(".rs"))?;
        Some(format!("{begin}src/lib.rs")).filter(|root| job.exists(root))
    };
    paths.extend(paths.iter().find_map(root));
    let package = |path: &String| {
        let (folder, _) = path.rsplit_once('/').filter(|_| path.ends_with(".py"))?;
        Some(format!("{folder}/__init__.py")).filter(|path| job.exists(path))
    };
    paths.extend(paths.iter().find_map(package));
    paths.retain(|path| !testing::is_test(path));
    paths.sort();
    paths.dedup();
    paths
}
