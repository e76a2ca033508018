//! The files of a change of code: as they were, as they are to be, and as they were written last.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::json;

use crate::edit::checks::Style;
use crate::edit::own::{self, Own};
use crate::edit::{self, Hints};
use crate::index::parts::{Sort, Span};
use crate::index::{Index, language_of};
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;
use crate::orchestrate::words;
use crate::protocol::StepStatus;
use crate::tools::builtin::Builtin;

use super::change::{changed_meanwhile, exists, perform};
use super::context::{Found, Pack, Shown, text_of};
use super::items::{Choices, Item, Offered, What};
use super::leftover;
use super::mentions::Mentions;
use super::read::Step;
use super::{Done, Job, Touched, entries, new_test, verify};

pub struct Files {
    shown: Vec<Shown>,
    new: Vec<String>,
    /// Functions and the like that the request names and that are to be written.
    pub new_names: Vec<String>,
    may_remove: bool,
    /// Nothing but tests is asked for.
    only_tests: bool,
    /// Files that are to hand out what is new.
    exporting: Vec<String>,
    /// What new tests in JavaScript and TypeScript are written for, and the names and files that they test.
    style: Option<Style>,
    tested: Vec<(String, String)>,
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
    /// A change that is only made if there is no better one.
    aside: Option<(BTreeMap<String, String>, Vec<Touched>)>,
    /// The change that was written first.
    first: BTreeMap<String, String>,
    /// What was written last.
    written: BTreeMap<String, String>,
    touched: Vec<Touched>,
    /// The function that the package is.
    own: Option<Own>,
}

/// Why an answer of a model does not count.
pub struct Refusal {
    /// For the model.
    pub message: String,
    /// What it wrote as it is there already.
    pub unchanged: Vec<Item>,
}

/// A question about a change before it is made.
pub struct Doubt {
    pub question: String,
    /// It is about the definitions that were written.
    pub same_place: bool,
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal { message, unchanged: Vec::new() }
    }
}

impl Files {
    pub fn of(job: Job<'_>, pack: &Pack, mentions: &Mentions, may_remove: bool) -> Files {
        let shown: Vec<Shown> = pack.files.iter().filter(|file| edit::has_grammar(&file.path)).cloned().collect();
        let mut before: BTreeMap<String, String> =
            shown.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
        let exporting = exporting(job, mentions, &shown);
        for path in &exporting {
            if let Some(text) = text_of(job.scene.context, path).filter(|_| !before.contains_key(path)) {
                before.insert(path.clone(), text);
            }
        }
        let mut new: Vec<String> = mentions.new_paths.iter().filter(|path| edit::has_grammar(path)).cloned().collect();
        let has_test = shown.iter().any(|file| verify::is_test(&file.path));
        if mentions.speaks_of_tests && !has_test && new.is_empty() {
            new.extend(shown.first().and_then(|file| test_path(&file.path)));
        }
        new.retain(|path| !exists(job.scene.context, path));
        let only_tests = mentions.speaks_of_tests && mentions.adds_tests;
        let new_names = mentions.new_names.clone();
        let style = new.iter().any(|path| verify::is_test(path)).then(|| new_test::style(job)).flatten();
        let named = mentions.symbols.iter().filter_map(|symbol| {
            let node = symbol.nodes.iter().find(|node| !verify::is_test(&node.path))?;
            Some((node.name.clone(), node.path.clone()))
        });
        let touched = job.touched.iter().map(|one| (one.name.clone(), one.path.clone()));
        let tested = named.chain(touched).collect();
        Files {
            exporting,
            style,
            tested,
            only_tests,
            new_names,
            shown,
            new,
            may_remove,
            before,
            after: BTreeMap::new(),
            aside: None,
            first: BTreeMap::new(),
            written: BTreeMap::new(),
            touched: Vec::new(),
            own: own::function_of(job.scene.context.root.path()),
        }
    }

    /// What the model may name.
    pub fn choices(&self) -> Choices {
        let files = self.shown.iter().map(|file| Offered { path: &file.path, text: &file.text, shown: &file.lines });
        let files: Vec<Offered<'_>> = files.collect();
        let choices = Choices::of(&files, &self.new, self.may_remove);
        if self.only_tests { choices.of_tests(self.tested.last()) } else { choices }
    }

    /// The first lines of a new file of tests, where code knows them.
    pub fn head_of_tests(&self, path: &str) -> Option<String> {
        let style = self.style.filter(|_| verify::is_test(path))?;
        let subjects = self.tested.iter().filter_map(|(name, path)| {
            let text = self.shown.iter().find(|file| file.path == *path)?.text.as_str();
            Some(new_test::Subject { name, path, text })
        });
        new_test::head(path, style, &subjects.collect::<Vec<_>>())
    }

    /// How a new test is written.
    pub fn form_of_tests(&self) -> Option<&'static str> {
        self.style.map(new_test::form)
    }

    /// A file as it was.
    pub fn text(&self, path: &str) -> &str {
        self.before.get(path).map_or("", String::as_str)
    }

    /// Whether the model was shown all of these lines.
    pub fn is_shown(&self, path: &str, lines: (usize, usize)) -> bool {
        let file = self.shown.iter().find(|file| file.path == path);
        file.is_some_and(|file| file.lines.iter().any(|(from, to)| *from <= lines.0 && lines.1 <= *to))
    }

    /// Whether a file has the code of an item already, whatever its white space.
    pub fn has(&self, item: &Item, code: &str) -> bool {
        let texts = [self.before.get(&item.path), self.after.get(&item.path)];
        texts.into_iter().flatten().any(|text| has_code(text, code))
    }

    /// Puts what was found into the line of a new test that expected something else; says whether there is such a line.
    pub fn expect_what_is(&mut self, trouble: &str) -> bool {
        static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\(([^()\s]+):(\d+)\)").expect("a pattern"));
        static DIFFERS: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?m)^\s*(?:AssertionError:? ?)?(\S.*?) !==? (.*\S)\s*$").expect("a pattern"));
        static SAID: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?m)^\s*expected: (.*\S)\s*\n\s*actual: (.*\S)\s*$").expect("a pattern"));
        let said = SAID.captures(trouble).map(|found| (found[2].to_owned(), found[1].to_owned()));
        let said = said.or_else(|| DIFFERS.captures(trouble).map(|found| (found[1].to_owned(), found[2].to_owned())));
        let found = PLACE.captures(trouble).zip(said).filter(|_| self.only_tests);
        let Some((place, (is, expected))) = found else { return false };
        let (path, is, expected) = (&place[1], is.as_str(), expected.as_str());
        let Some(text) = self.after.get_mut(path) else { return false };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let number = place[2].parse::<usize>().unwrap_or(0);
        let Some(line) = number.checked_sub(1).and_then(|at| lines.get_mut(at)) else { return false };
        let Some(at) = line.rfind(expected).filter(|_| is != expected) else { return false };
        line.replace_range(at..at + expected.len(), is);
        *text = lines.join("\n") + "\n";
        true
    }

    /// Whether what a failed check says is what was asked for: it got a value that the request names and that the change brought in.
    pub fn is_wanted(&self, asked: &str, trouble: &str) -> bool {
        let numbers = asked.split(|c: char| !c.is_alphanumeric()).filter(|word| word.parse::<f64>().is_ok());
        let values = numbers.map(str::to_owned).chain(quoted(asked)).filter(|value| value.len() > 1);
        let count = |files: &BTreeMap<String, String>, value: &str| -> usize {
            self.after.keys().filter_map(|path| files.get(path)).map(|text| text.matches(value).count()).sum()
        };
        let is_new = |value: &String| count(&self.after, value) > count(&self.before, value);
        values.into_iter().any(|value| is_new(&value) && trouble.contains(&value))
    }

    /// Whether a function of that name was there before.
    pub fn had(&self, name: &str) -> bool {
        self.before.iter().any(|(path, text)| self.defines(path, text, name))
    }

    /// The file that has a function of that name now, outside of any class.
    pub fn place_of(&self, name: &str) -> Option<String> {
        let now = self.after.iter().chain(self.before.iter().filter(|(path, _)| !self.after.contains_key(*path)));
        now.into_iter().find(|(path, text)| self.defines(path, text, name)).map(|(path, _)| path.clone())
    }

    /// Whether a text defines a name outside of any class or function, or is what the package of that name is.
    fn defines(&self, path: &str, text: &str, name: &str) -> bool {
        let is_own = |own: &Own| own.name == name && own.path == path && own::handed_out(path, text).is_some();
        let spans = crate::index::parts::definitions(path, text);
        spans.iter().any(|span| span.name == name && span.container.is_empty()) || self.own.as_ref().is_some_and(is_own)
    }

    pub fn changed(&self) -> Vec<String> {
        self.after.keys().cloned().collect()
    }

    /// Names of what was changed, and of what that stands in.
    pub fn names(&self) -> Vec<String> {
        let parts = self.touched.iter().flat_map(|one| one.name.split(['.', ':']));
        let mut names: Vec<String> = parts.filter(|part| !part.is_empty()).map(str::to_owned).collect();
        names.dedup();
        names
    }

    /// Words that the request puts in quotation marks and that stand nowhere, also not in what was written.
    pub fn missing_text(&self, asked: &str) -> Option<String> {
        let is_there = |text: &str| {
            self.before.values().any(|file| file.contains(text))
                || self.after.values().any(|file| leftover::has_in_code(file, text))
        };
        // What an example gives is made by code and stands nowhere in it.
        let given = edit::examples::of(asked, &self.new_names, &|_| true);
        let is_given = |text: &String| {
            let before = asked[..asked.find(text.as_str()).unwrap_or(0)].trim_end_matches(['"', '\'', '“', '`', ' ']);
            let shows =
                ["like", "e.g.", "such as", "wie", "z.B.", "comme", "como"].iter().any(|word| before.ends_with(word));
            let is_of = |one: &edit::examples::Example| {
                one.expected.contains(text.as_str()) || one.call.contains(text.as_str())
            };
            shows || given.iter().any(is_of)
        };
        let mut missing = quoted(asked).into_iter().filter(|text| !is_given(text));
        missing.find(|text| !is_there(text))
    }

    /// What looks unfinished about the change, as a question to the model: words that the request puts in quotation marks and that stand
    /// nowhere, or a value that was changed in one place of a definition and not in another.
    pub fn doubt(&self, asked: &str) -> Option<Doubt> {
        let missing = self.missing_text(asked);
        if let Some(text) = missing {
            let question = format!(
                "The request is about '{text}', but what you wrote does not have it. Something else has to change."
            );
            return Some(Doubt { question, same_place: false });
        }
        let (path, after) = self.after.iter().next()?;
        let leftover::Value { old, new, line } = leftover::value(self.before.get(path)?, after)?;
        let question = format!(
            "`{old}` became `{new}`, but `{line}` still has `{old}`. If the request means it there too, write the definition again with both \
             changed; else write it as before."
        );
        Some(Doubt { question, same_place: true })
    }

    /// Puts what was written in place. Nothing of a refused answer counts.
    pub fn take(
        &mut self,
        index: &Index,
        pieces: &[(Item, String)],
        mentions: &Mentions,
        asked: &str,
    ) -> Result<(), Refusal> {
        if pieces.is_empty() {
            return Err("There is no code in the answer.".to_owned().into());
        }
        let mut after = self.after.clone();
        let mut touched = Vec::new();
        let mut unchanged = Vec::new();
        let mut may_go: Vec<String> = mentions.symbols.iter().map(|symbol| symbol.name.clone()).collect();
        for (item, code) in pieces {
            let path = &item.path;
            let known = after.get(path).or(self.before.get(path)).cloned();
            let only_words = |span: &Span| {
                let was = self.text(path).get(span.bytes.clone()).unwrap_or_default();
                !leftover::speaks_of_words(asked) && leftover::without_words(was) == leftover::without_words(code)
            };
            if matches!(&item.what, What::Change(span) if has_code(self.text(path), code) || only_words(span)) {
                unchanged.push(item.clone());
                continue;
            }
            if let What::Change(span) = &item.what
                && !self.may_remove
                && is_gutted(self.text(path).get(span.bytes.clone()).unwrap_or_default(), code, asked)
            {
                let name = &item.name;
                return Err(format!(
                    "Most of `{name}` is missing in what you wrote. Keep what the request does not change."
                )
                .into());
            }
            if let What::Change(span) = &item.what
                && let Some(lost) = self.lost_of_value(span, path, code, asked)
            {
                return Err(
                    format!("`{}` has lost {lost}; write all that is there, and what is new.", item.name).into()
                );
            }
            let text = match (&item.what, known) {
                (What::File, None) => Ok(format!("{}\n", code.trim_end())),
                (_, None) => Err(format!("{path} is none of the files shown.")),
                (What::File, Some(_)) => Err(format!("{path} is there already.")),
                (What::Statement(old), Some(now)) => replaced(path, &now, old, &with_names(old, code, self.may_remove)),
                (What::Remove(name), Some(now)) => {
                    may_go.push(name.clone());
                    edit::remove::definition_or_statement(path, &now, name)
                }
                (_, Some(now)) => self.merged(item, &now, code, &mut touched, asked),
            }?;
            match after.get(path).or(self.before.get(path)) == Some(&text) {
                true => unchanged.push(item.clone()),
                false => drop(after.insert(path.clone(), text)),
            }
        }
        if after == self.after {
            let names: Vec<String> = unchanged.iter().map(|item| format!("`{}`", item.name)).collect();
            let message = format!(
                "What you wrote for {} is what is there already, so nothing would change. The mistake or the change is somewhere else.",
                names.join(", ")
            );
            return Err(Refusal { message, unchanged });
        }
        for (item, _) in pieces.iter().filter(|(item, _)| {
            matches!(item.what, What::Add) && !item.name.contains('.') && !verify::is_test(&item.path)
        }) {
            for path in &self.exporting {
                let Some(text) = after.get(path).or(self.before.get(path)) else { continue };
                if let Some(text) = edit::export::add(path, text, &item.name, &item.path) {
                    after.insert(path.clone(), text);
                }
            }
        }
        let graph = index.graph().ok();
        let place = |name: &str| {
            // What this step or an earlier one has written is not in the index yet.
            if let Some((item, _)) = pieces.iter().find(|(item, _)| matches!(item.what, What::Add) && item.name == name)
            {
                return Some(item.path.clone());
            }
            if let Some((_, path)) = self.tested.iter().find(|(tested, _)| tested == name) {
                return Some(path.clone());
            }
            let nodes = graph.as_ref().map(|graph| graph.named(name)).unwrap_or_default();
            let mut free =
                nodes.iter().filter(|node| node.name == name && !verify::is_test(&node.path) && node.kind != "method");
            free.next().filter(|_| free.next().is_none()).map(|node| node.path.clone())
        };
        for (path, text) in &mut after {
            let before = self.before.get(path).map_or("", String::as_str);
            *text = edit::imports::brought_in(path, before, text, &place);
        }
        for (path, text) in &after {
            let before = self.before.get(path).map(String::as_str).unwrap_or_default();
            let problems = verify::problems(index, path, before, text, &may_go);
            if let Some(problem) = problems.first() {
                return Err(format!("{path}: {problem}").into());
            }
        }
        (self.after, self.touched) = (after, touched);
        Ok(())
    }

    /// What a short value has lost where a request only adds to it.
    fn lost_of_value(&self, span: &Span, path: &str, code: &str, asked: &str) -> Option<String> {
        const ADDS: &[&str] = &["also", "too", "additionally", "well", "auch", "aussi", "también"];
        let adds = words::split(asked).iter().any(|word| ADDS.contains(&word.to_lowercase().as_str()));
        let old = self.text(path).get(span.bytes.clone()).filter(|_| adds && span.sort == Sort::Value)?;
        let (_, old) = old.trim_end().split_once('=').filter(|_| old.trim_end().lines().count() == 1)?;
        let mut left = code.split_once('=').map_or("", |(_, value)| value).chars();
        let lost: String = old.chars().filter(|c| !c.is_whitespace() && !left.any(|other| other == *c)).collect();
        (!lost.is_empty()).then(|| format!("`{lost}`"))
    }

    /// `now` with a written definition in its place.
    fn merged(
        &self,
        item: &Item,
        now: &str,
        code: &str,
        touched: &mut Vec<Touched>,
        asked: &str,
    ) -> Result<String, String> {
        let path = &item.path;
        let hints = match &item.what {
            What::Change(span) => {
                Hints { container: span.container.last().cloned(), line: Some(span.lines.0), after: None }
            }
            _ => self.hints(item),
        };
        let mut code = match hints.container {
            None if !item.name.contains('.') => without_receiver(path, code),
            _ => code.to_owned(),
        };
        if let What::Change(span) = &item.what
            && matches!(span.sort, Sort::Value | Sort::Record)
            && !self.may_remove
            && let Some(old) = self.text(path).get(span.bytes.clone())
            && let Some(kept) = entries::kept(old, &code, asked)
        {
            code = kept.map_err(|lost| format!("{path}: `{}`: {lost}", item.name))?;
        }
        if item.is_new_test() && !verify::is_test(path) && !now.contains("mod tests") {
            code = new_test::in_new_module(&code);
        }
        let merged = match edit::merge(path, now, &code, &hints) {
            Ok(merged) => merged,
            Err(edit::MergeError::NothingChanged) => return Ok(now.to_owned()),
            Err(error) => return Err(format!("{path}: {error}")),
        };
        let changed = merged.changed.iter().filter(|change| change.what != edit::What::Import);
        touched.extend(changed.map(|change| Touched {
            path: path.clone(),
            name: change.container.iter().chain([&change.name]).cloned().collect::<Vec<_>>().join("."),
            lines: (change.line, change.line),
        }));
        let may_lose = |name: &str| self.may_remove && asked.contains(name);
        edit::losses::taken_back(path, now, &merged.text, &may_lose).map_err(|error| format!("{path}: {error}"))
    }

    /// Where something new goes: into the container that its name says, beside what was found.
    fn hints(&self, item: &Item) -> Hints {
        let file = self.shown.iter().find(|file| file.path == item.path);
        let found: Option<&Found> = file.and_then(|file| file.found.first());
        let container = item.name.rsplit_once('.').map(|(container, _)| container.to_owned());
        Hints {
            line: found.filter(|_| container.is_none()).map(|(line, ..)| *line),
            after: found.map(|(_, _, name)| name.clone()).filter(|name| !name.is_empty()),
            container,
        }
    }

    /// Whether a file is as this change last saw it.
    fn is_as_known(&self, job: Job<'_>, path: &str) -> bool {
        let known = self.written.get(path).or(self.before.get(path));
        match known {
            Some(known) => text_of(job.scene.context, path).as_ref() == Some(known),
            None => !exists(job.scene.context, path),
        }
    }

    /// Writes what differs. Gives what the user should know when it ends early: they said no, or a file could not be written.
    pub async fn write(
        &mut self,
        job: Job<'_>,
        step: &Step,
        evidence: &mut Evidence,
    ) -> Result<Option<Vec<String>>, TurnError> {
        for (path, text) in &self.after {
            if text_of(job.scene.context, path).as_deref() == Some(text) {
                continue;
            }
            if !self.is_as_known(job, path) {
                return Ok(Some(vec![changed_meanwhile(path)]));
            }
            let arguments = json!({ "path": path, "content": text });
            if perform(job.scene, step, Builtin::WriteFile, arguments, evidence).await? != StepStatus::Succeeded {
                return Ok(Some(Vec::new()));
            }
            self.written.insert(path.clone(), text.clone());
        }
        Ok(None)
    }

    /// Begins anew, with the change so far to fall back to.
    pub fn set_aside(&mut self) {
        self.aside = Some((std::mem::take(&mut self.after), std::mem::take(&mut self.touched)));
    }

    pub fn take_from_aside(&mut self) {
        if let Some(aside) = self.aside.take() {
            (self.after, self.touched) = aside;
        }
    }

    pub fn keep_first(&mut self) {
        self.first = self.after.clone();
    }

    /// Goes back to the change that was written first: what came later only tried to please a check.
    pub fn back_to_first(&mut self) {
        let later = self.after.keys().filter(|path| !self.first.contains_key(*path)).cloned();
        let undone: Vec<(String, String)> =
            later.filter_map(|path| Some((path.clone(), self.before.get(&path)?.clone()))).collect();
        self.after = self.first.clone();
        self.after.extend(undone);
    }

    /// Puts every file back as it was.
    pub async fn restore(&mut self, job: Job<'_>, step: &Step, evidence: &mut Evidence) -> Result<(), TurnError> {
        for path in self.changed().iter().filter(|path| self.written.contains_key(*path) && self.is_as_known(job, path))
        {
            let (tool, arguments) = match self.before.get(path) {
                Some(text) => (Builtin::WriteFile, json!({ "path": path, "content": text })),
                None => (Builtin::DeleteFile, json!({ "path": path })),
            };
            perform(job.scene, step, tool, arguments, evidence).await?;
        }
        self.written.clear();
        Ok(())
    }

    pub fn done(self, notes: Vec<String>) -> Done {
        Done { touched: self.touched, notes, ..Done::default() }
    }
}

/// Files that a request wants to hand out what is new: the ones it names, else the one that is changed, and the root of a crate.
fn exporting(job: Job<'_>, mentions: &Mentions, shown: &[Shown]) -> Vec<String> {
    if !edit::export::is_asked(job.scene.request) {
        return Vec::new();
    }
    let mut paths: Vec<String> = mentions.paths.iter().filter(|path| edit::has_grammar(path)).cloned().collect();
    paths.extend(shown.first().map(|file| file.path.clone()));
    let root = |path: &String| {
        let (begin, _) = path.rsplit_once("src/").filter(|_| path.ends_with(".rs"))?;
        Some(format!("{begin}src/lib.rs")).filter(|root| exists(job.scene.context, root))
    };
    paths.extend(paths.iter().find_map(root));
    paths.retain(|path| !verify::is_test(path));
    paths.sort();
    paths.dedup();
    paths
}

/// Words in quotation marks, outside of the arguments of calls.
fn quoted(text: &str) -> Vec<String> {
    const LONGEST: usize = 80;
    let mut found = Vec::new();
    let mut before = ' ';
    let mut depth = 0i32;
    let mut rest = text.char_indices();
    while let Some((at, letter)) = rest.next() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '"' | '\'' | '“' if !before.is_alphanumeric() => {
                let close = if letter == '“' { '”' } else { letter };
                let inside = &text[at + letter.len_utf8()..];
                let Some(end) = inside.find(close) else { break };
                let words = &inside[..end];
                if depth == 0 && words.trim().len() > 1 && words.len() <= LONGEST {
                    found.push(words.to_owned());
                }
                let behind = at + letter.len_utf8() + end + close.len_utf8();
                rest.by_ref().take_while(|(at, letter)| at + letter.len_utf8() < behind).for_each(drop);
            }
            _ => {}
        }
        before = letter;
    }
    found
}

/// `now` with other lines in the place of a statement.
fn replaced(path: &str, now: &str, old: &str, code: &str) -> Result<String, String> {
    match now.contains(old) {
        true => Ok(now.replacen(old, code.trim_end(), 1)),
        false => Err(format!("{path}: `{}` does not stand there any more.", old.lines().next().unwrap_or_default())),
    }
}

/// `new` with the names that `old` hands out or brings in, unless something is to go: `export { a, b } from './c'`.
fn with_names(old: &str, new: &str, may_remove: bool) -> String {
    static LIST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^((?:export|import)\s+(?:type\s+)?)\{([^}]*)\}(.*)$").expect("a pattern"));
    let (Some(was), Some(is)) = (LIST.captures(old.trim()), LIST.captures(new.trim())) else { return new.to_owned() };
    if may_remove || was[3].trim_end_matches(';') != is[3].trim_end_matches(';') {
        return new.to_owned();
    }
    let names = |list: &str| -> Vec<String> {
        list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    let mut all = names(&was[2]);
    all.extend(names(&is[2]).into_iter().filter(|name| !was[2].split(',').any(|other| other.trim() == name)));
    format!("{}{{ {} }}{}", &is[1], all.join(", "), &is[3])
}

/// Lines of a definition of which not most may go unasked.
const KEPT_LINES_MIN: usize = 10;
/// Stems of words that ask for less code.
const LESS: &[&str] =
    &["simpl", "refactor", "short", "rewrit", "reduc", "instead", "replac", "verein", "kürz", "réécri", "упрост"];

/// Whether most lines of a long definition are gone, though nobody asked for less.
fn is_gutted(old: &str, new: &str, asked: &str) -> bool {
    let lines = |text: &str| text.lines().filter(|line| line.chars().any(char::is_alphanumeric)).count();
    let asked = asked.to_lowercase();
    lines(old) >= KEPT_LINES_MIN && 3 * lines(new) < lines(old) && !LESS.iter().any(|stem| asked.contains(stem))
}

/// A function of Python outside of any class without the `self` that a model gives it.
fn without_receiver(path: &str, code: &str) -> String {
    static HEAD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^((?:async )?def \w+\()self(?:,\s*|(\)))").expect("a pattern"));
    match language_of(path) == "python" && !code.contains("self.") {
        true => HEAD.replace(code, "$1$2").into_owned(),
        false => code.to_owned(),
    }
}

/// Whether a text has some code already, whatever its white space and the imports in front of it.
fn has_code(text: &str, code: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_import =
        |line: &&str| line.trim().is_empty() || ["import ", "from ", "use "].iter().any(|word| line.starts_with(word));
    let own: Vec<&str> = code.lines().skip_while(is_import).collect();
    let own = if own.is_empty() { plain(code) } else { plain(&own.join("\n")) };
    plain(text).contains(&own)
}

/// Where the tests of a file without any are put, by the habit of its language; Rust's stand in the file itself.
fn test_path(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, ending) = name.rsplit_once('.')?;
    let beside = |name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
    match language_of(path) {
        "python" => Some(format!("tests/test_{stem}.py")),
        "javascript" | "typescript" | "tsx" | "jsx" => Some(beside(format!("{stem}.test.{ending}"))),
        "go" => Some(beside(format!("{stem}_test.go"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_quotes_is_read_outside_of_calls() {
        let text = "It's 'a b' and \"c d\", so f('e f') is \u{201c}gh\u{201d}. don't";
        assert_eq!(quoted(text), ["a b", "c d", "gh"]);
    }

    #[test]
    fn a_function_has_no_receiver() {
        assert_eq!(without_receiver("a.py", "def f(self, x):\n    return x\n"), "def f(x):\n    return x\n");
        assert_eq!(without_receiver("a.py", "def f(self):\n    return 1\n"), "def f():\n    return 1\n");
        let method = "def f(self):\n    return self.x\n";
        assert_eq!(without_receiver("a.py", method), method);
    }

    #[test]
    fn a_long_definition_is_not_gutted_unasked() {
        let old = "def f(x):\n".to_owned() + &"    x = g(x)\n".repeat(12);
        assert!(is_gutted(&old, "def f(x):\n    return g(x)\n", "f fails for 3"));
        assert!(!is_gutted(&old, "def f(x):\n    return g(x)\n", "Simplify f"));
        assert!(!is_gutted(&old, &old[..old.len() - 30], "f fails for 3"));
    }

    #[test]
    fn names_that_are_handed_out_stay() {
        let (old, new) = ("export { a, b } from './c.js';", "export { d } from './c.js';");
        assert_eq!(with_names(old, new, false), "export { a, b, d } from './c.js';");
        assert_eq!(with_names(old, new, true), new);
        assert_eq!(with_names(old, "export { d } from './e.js';", false), "export { d } from './e.js';");
    }
}
