//! Changes files: an explicit change by code, text by passages, new files whole, and code as whole definitions that are put in place by name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::edit::{self, Hints};
use crate::engine::slot::Reuse;
use crate::engine::{Grammar, Request, Sampling};
use crate::index::{Index, language_of};
use crate::models::dialect::Message;
use crate::orchestrate::arguments::settle_edit;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::execute::{self, Scene};
use crate::orchestrate::toolkit::TurnError;
use crate::orchestrate::{conversation, words};
use crate::protocol::StepStatus;
use crate::tools::builtin::Builtin;
use crate::tools::confine::Access;
use crate::tools::{Context, ToolCall};

use super::context::{Found, Pack, Purpose, text_of};
use super::mentions::{self, Mentions};
use super::passage::{self, Passage, Place};
use super::read::Step;
use super::written::{self, Block};
use super::{Done, Job, Touched, verify};

const WRITE: &str = include_str!("../prompts/write.md");
const PASSAGE: &str = include_str!("../prompts/passage.md");
const CREATE: &str = include_str!("../prompts/create.md");
/// Longest answer with code, in tokens.
const CODE_TOKENS: usize = 700;
/// Longest passage or new file, in tokens.
const TEXT_TOKENS: usize = 900;
/// How often a model may write one change: what a check said goes back to it.
const ROUNDS_MAX: usize = 3;
/// From this round on answers are drawn: greedily the model would only repeat itself.
const DRAWN_FROM: usize = 2;
/// Characters of a message that goes back to the model.
const SAID_CHARS: usize = 900;

/// Changes what `step` asks for.
pub async fn change(job: Job<'_>, step: &Step, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let (pack, mentions) = super::pack(job, &step.text, Purpose::Change).await?;
    let texts: Vec<&String> = mentions.paths.iter().filter(|path| !has_grammar(path)).collect();
    let names_code = mentions.paths.iter().any(|path| has_grammar(path));
    let mut all = Done::default();
    if !names_code && mentions.new_paths.len() == 1 && texts.is_empty() && creates(&mentions, &pack) {
        let path = &mentions.new_paths[0];
        if exists(job.scene.context, path) {
            let note = format!(
                "not done: {path} is there and not in the index (ignored, or no text); say what to change in it, from what to what"
            );
            return Ok(Done { notes: vec![note], ..Done::default() });
        }
        return create(job, step, path, &pack, evidence).await;
    }
    let top_is_text = pack.files.first().is_some_and(|file| !has_grammar(&file.path));
    if texts.is_empty() && !names_code && mentions.symbols.is_empty() && top_is_text && mentions.new_paths.is_empty() {
        return text(job, step, &pack.files[0].path, evidence).await;
    }
    if texts.is_empty() || names_code {
        let order = Order { pack: &pack, mentions: &mentions, task: task(job, step), command: None };
        all = code(job, step, order, evidence).await?;
    }
    for path in texts {
        let done = text(job, step, path, evidence).await?;
        all.notes.extend(done.notes);
    }
    Ok(all)
}

/// Whether anything is at `path`, whether or not it is in the index.
fn exists(context: &Context, path: &str) -> bool {
    context.root.resolve(path, Access::Read).is_ok_and(|file| file.exists())
}

/// A file is written whole, so what somebody else wrote into it meanwhile would be lost.
fn changed_meanwhile(path: &str) -> String {
    format!("not done: {path} was changed by somebody else meanwhile; ask again")
}

fn has_grammar(path: &str) -> bool {
    edit::has_grammar(path)
}

/// Whether a file that is named and does not exist is all that is to be made. A new test file stands beside code that is named.
fn creates(mentions: &Mentions, pack: &Pack) -> bool {
    let path = &mentions.new_paths[0];
    !has_grammar(path) || mentions.symbols.is_empty() || pack.files.is_empty()
}

/// From what to what, in a file that is named: found by code, if it then still parses.
pub async fn explicit(
    scene: Scene<'_>,
    index: &Index,
    step: &Step,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let mentions = mentions::of(&step.text, index).map_err(|error| TurnError::Lost(error.to_string()))?;
    let [path] = mentions.paths.as_slice() else { return Ok(None) };
    let Some(before) = text_of(scene.context, path) else { return Ok(None) };
    let Some(edit) = settle_edit(&step.text, &before).filter(|edit| before.matches(&edit.old).count() == 1) else {
        return Ok(None);
    };
    let after = before.replacen(&edit.old, &edit.new, 1);
    if !verify::problems(index, path, &before, &after, &[]).is_empty() {
        return Ok(None);
    }
    let arguments = json!({ "path": path, "old": edit.old, "new": edit.new });
    perform(scene, step, Builtin::ReplaceInFile, arguments, evidence).await?;
    Ok(Some(Done::default()))
}

pub async fn perform(
    scene: Scene<'_>,
    step: &Step,
    tool: Builtin,
    arguments: Value,
    evidence: &mut Evidence,
) -> Result<StepStatus, TurnError> {
    let Some(spec) = scene.toolkit.catalog.get(tool.name()) else {
        return Err(TurnError::Lost(format!("`{}` is not among the tools; this is a bug in tools", tool.name())));
    };
    let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    let call = ToolCall { tool: tool.name().to_owned(), arguments };
    execute::perform(scene, step.id, call, spec, evidence).await
}

/// The request as the model reads it: whole, and which part of it is to be done now.
fn task(job: Job<'_>, step: &Step) -> String {
    match job.of_several {
        true => format!("The developer asked: {}\nDo only this now: {}", job.scene.request, step.text),
        false => format!("Request: {}", job.scene.request),
    }
}

/// What the model has to say to `messages`, in the form of `grammar`.
async fn ask(
    job: Job<'_>,
    messages: &[Message],
    grammar: Option<String>,
    tokens: usize,
    round: usize,
    phase: &str,
) -> Result<String, TurnError> {
    let Job { scene, model, .. } = job;
    let sampling = match round < DRAWN_FROM {
        true => Sampling::greedy(),
        false => Sampling { seed: round as u64, ..Sampling::prose() },
    };
    let generation = Request {
        grammar: grammar.map(Grammar::Lark),
        sampling,
        reuse: Reuse::Continue,
        ..model.engine.request(&model.dialect.render(messages), tokens)
    };
    Ok(scene.toolkit.generate(model, generation, phase, scene.host).await?.text)
}

fn opening(job: Job<'_>, system: &str) -> Vec<Message> {
    let mut messages = vec![Message::system(system.trim())];
    messages.extend(conversation::messages(&job.scene.toolkit.earlier, &job.model.engine));
    messages
}

/// A change of code that is to be written.
pub struct Order<'a> {
    pub pack: &'a Pack,
    pub mentions: &'a Mentions,
    /// What the model is to do.
    pub task: String,
    /// The command that has to pass then; without one the tests that cover the change are run.
    pub command: Option<&'a str>,
}

/// Changes code: rounds of writing and checking, then the files are written and the project's checks are run.
pub async fn code(job: Job<'_>, step: &Step, order: Order<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let Order { pack, mentions, task, command } = order;
    let mut messages = opening(job, WRITE);
    messages.push(Message::user(format!("{}{task}", pack.text)));
    let asked = format!("{} {}", job.scene.request, step.text);
    let mut files = Files::of(job, pack, mentions);
    let grammar = code_grammar(&files.offered());
    let mut trouble = String::new();
    let mut written = false;
    for round in 0..ROUNDS_MAX {
        let answer = ask(job, &messages, Some(grammar.clone()), CODE_TOKENS, round, "writing code").await?;
        tracing::debug!(round, answer, "written");
        let problem = match files.take(job.index, &written::blocks(&answer), mentions, &asked) {
            Err(problem) => Some(problem),
            Ok(()) => {
                if let Some(notes) = files.write(job, step, evidence).await? {
                    return Ok(files.done(notes));
                }
                written = true;
                match command {
                    Some(line) => verify::trouble_of(job, step, line, evidence).await?,
                    None => verify::trouble(job, step, &files.changed(), evidence).await?,
                }
            }
        };
        let Some(problem) = problem else { return Ok(files.done(Vec::new())) };
        trouble = words::shorten(&problem, SAID_CHARS);
        messages.push(Message::assistant(answer));
        messages.push(Message::user(format!("{trouble}\nWrite what has to be different, whole definitions again.")));
    }
    let first = trouble.lines().next().unwrap_or_default();
    if written && (command.is_some() || verify::is_fatal(&trouble)) {
        files.restore(job, step, evidence).await?;
        return Ok(Done { notes: vec![format!("not done, the files are as they were: {first}")], ..Done::default() });
    }
    let note = match written {
        true => format!("changed, but a check does not pass: {first}"),
        false => format!("not done: {first}"),
    };
    Ok(files.done(vec![note]))
}

/// Most files of one answer.
const BLOCKS_MAX: usize = 3;

/// `PATH`, a fence, lines, a fence; at most once a file. Paths are those of the files shown, or new ones.
fn code_grammar(paths: &[String]) -> String {
    let quoted: Vec<String> = paths.iter().map(|path| Value::String(path.clone()).to_string()).collect();
    let path = if quoted.is_empty() { "/[A-Za-z0-9_.\\/-]{1,80}/".to_owned() } else { quoted.join(" | ") };
    let more = paths.len().clamp(1, BLOCKS_MAX) - 1;
    let rest = if more == 0 { String::new() } else { format!(" (\"\\n\" block){{0,{more}}}") };
    format!(
        "start: block{rest}\n\
         block: path \"\\n```\" LANGUAGE \"\\n\" LINE{{1,260}} \"```\\n\"\n\
         path: {path}\n\
         LANGUAGE: /[a-z]{{0,12}}/\n\
         LINE: /([^`\\n][^\\n]*)?\\n/\n"
    )
}

/// A code block of any text.
fn block_grammar() -> String {
    "start: \"````\" LANGUAGE \"\\n\" LINE{1,260} \"````\"\nLANGUAGE: /[a-z]{0,12}/\nLINE: /(`{0,3}[^`\\n][^\\n]*|`{1,3})?\\n/\n".to_owned()
}

/// The files of a change: as they were, and as they are to be.
struct Files {
    shown: Vec<(String, Vec<Found>)>,
    new: Vec<String>,
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
    /// What was written last.
    written: BTreeMap<String, String>,
    touched: Vec<Touched>,
}

impl Files {
    fn of(job: Job<'_>, pack: &Pack, mentions: &Mentions) -> Files {
        let code = pack.files.iter().filter(|file| has_grammar(&file.path));
        let shown: Vec<_> = code.clone().map(|file| (file.path.clone(), file.found.clone())).collect();
        let before = code.map(|file| (file.path.clone(), file.text.clone())).collect();
        let mut new: Vec<String> = mentions.new_paths.iter().filter(|path| has_grammar(path)).cloned().collect();
        let has_test = shown.iter().any(|(path, _)| verify::is_test(path));
        if mentions.speaks_of_tests && !has_test && new.is_empty() {
            new.extend(shown.first().and_then(|(path, _)| test_path(path)));
        }
        new.retain(|path| !exists(job.scene.context, path));
        Files { shown, new, before, after: BTreeMap::new(), written: BTreeMap::new(), touched: Vec::new() }
    }

    /// Paths that a block may be for.
    fn offered(&self) -> Vec<String> {
        self.shown.iter().map(|(path, _)| path.clone()).chain(self.new.iter().cloned()).collect()
    }

    fn changed(&self) -> Vec<String> {
        self.after.keys().cloned().collect()
    }

    /// Puts blocks in place. An error is a message for the model; then nothing of this answer counts.
    fn take(&mut self, index: &Index, blocks: &[Block], mentions: &Mentions, asked: &str) -> Result<(), String> {
        if blocks.is_empty() {
            return Err("There is no code in the answer.".to_owned());
        }
        let mut after = self.after.clone();
        let mut touched = Vec::new();
        let mut nothing = None;
        for block in blocks {
            let path = self.path_of(block)?;
            let Some(before) = after.get(&path).or(self.before.get(&path)).cloned() else {
                after.insert(path, format!("{}\n", block.code.trim_end()));
                continue;
            };
            let found = self.shown.iter().find(|(shown, _)| *shown == path).and_then(|(_, found)| found.first());
            let hints = Hints {
                container: None,
                line: found.map(|(line, ..)| *line),
                after: found.map(|(_, _, name)| name.clone()).filter(|name| !name.is_empty()),
            };
            match edit::merge(&path, &before, &block.code, &hints) {
                Ok(merged) => {
                    let changed = merged.changed.iter().filter(|change| change.what != edit::What::Import);
                    touched.extend(changed.map(|change| Touched {
                        path: path.clone(),
                        name: change.name.clone(),
                        lines: (change.line, change.line),
                    }));
                    let asked = |name: &str| asked.contains(name);
                    let text = edit::losses::taken_back(&path, &before, &merged.text, &asked);
                    after.insert(path, text);
                }
                Err(edit::MergeError::NothingChanged) => nothing = Some(path),
                Err(error) => return Err(format!("{path}: {error}")),
            }
        }
        if let (Some(path), true) = (&nothing, after == self.after) {
            return Err(format!(
                "{path}: what you wrote is what is there already. Write the definition as it has to become."
            ));
        }
        for (path, text) in &after {
            let before = self.before.get(path).map(String::as_str).unwrap_or_default();
            let may_go: Vec<String> = mentions.symbols.iter().map(|symbol| symbol.name.clone()).collect();
            let problems = verify::problems(index, path, before, text, &may_go);
            if let Some(problem) = problems.first() {
                return Err(format!("{path}: {problem}"));
            }
        }
        (self.after, self.touched) = (after, touched);
        Ok(())
    }

    /// The file a block is for: as it says, else the only one shown, else the one that is shown first.
    fn path_of(&self, block: &Block) -> Result<String, String> {
        let offered = self.offered();
        let said = block.path.as_deref();
        let same =
            said.and_then(|said| offered.iter().find(|path| *path == said || path.ends_with(&format!("/{said}"))));
        match (same, offered.first()) {
            (Some(path), _) => Ok(path.clone()),
            (None, Some(first)) if said.is_none() => Ok(first.clone()),
            _ => Err(format!("Name one of these files before each code block: {}.", offered.join(", "))),
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
    async fn write(
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

    /// Puts every file back as it was.
    async fn restore(&self, job: Job<'_>, step: &Step, evidence: &mut Evidence) -> Result<(), TurnError> {
        for path in self.written.keys().filter(|path| self.is_as_known(job, path)) {
            match self.before.get(path) {
                Some(text) => {
                    let arguments = json!({ "path": path, "content": text });
                    perform(job.scene, step, Builtin::WriteFile, arguments, evidence).await?;
                }
                None => {
                    perform(job.scene, step, Builtin::DeleteFile, json!({ "path": path }), evidence).await?;
                }
            }
        }
        Ok(())
    }

    fn done(self, notes: Vec<String>) -> Done {
        Done { touched: self.touched, notes, ..Done::default() }
    }
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

/// Writes a new file.
async fn create(
    job: Job<'_>,
    step: &Step,
    path: &str,
    pack: &Pack,
    evidence: &mut Evidence,
) -> Result<Done, TurnError> {
    let mut messages = opening(job, CREATE);
    messages.push(Message::user(format!("{}{}\nWrite the file {path}.", pack.text, task(job, step))));
    for round in 0..ROUNDS_MAX {
        let answer = ask(job, &messages, Some(block_grammar()), TEXT_TOKENS, round, "writing a file").await?;
        let content = written::blocks(&answer).into_iter().next().map(|block| block.code + "\n").unwrap_or_default();
        let problems = verify::problems(job.index, path, "", &content, &[]);
        let Some(problem) = problems.first().filter(|_| round + 1 < ROUNDS_MAX) else {
            perform(job.scene, step, Builtin::WriteFile, json!({ "path": path, "content": content }), evidence).await?;
            return Ok(Done::default());
        };
        messages.push(Message::assistant(answer));
        messages.push(Message::user(format!("{problem}\nWrite the file again, whole.")));
    }
    Ok(Done::default())
}

/// Changes a file without definitions: the passage that is meant is written anew.
async fn text(job: Job<'_>, step: &Step, path: &str, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let Some(before) = text_of(job.scene.context, path) else {
        return Ok(Done { notes: vec![format!("not done: {path} cannot be read as text")], ..Done::default() });
    };
    let all = passage::passages(path, &before);
    if all.is_empty() {
        let pack = Pack::default();
        return create(job, step, path, &pack, evidence).await;
    }
    let place = place(job, step, path, &all).await?;
    let (Place::Change(at) | Place::After(at)) = place;
    let chosen = match place {
        Place::Change(_) => passage::narrowed(&before, &all[at], &step.text),
        Place::After(_) => all[at].clone(),
    };
    let mut trouble = String::new();
    let mut messages = opening(job, PASSAGE);
    messages.push(Message::user(passage_task(job, step, path, &before, &chosen, place)));
    for round in 0..ROUNDS_MAX {
        let answer = ask(job, &messages, Some(block_grammar()), TEXT_TOKENS, round, "writing text").await?;
        let code = written::blocks(&answer).into_iter().next().map(|block| block.code).unwrap_or_default();
        let after = passage::put(path, &before, &chosen, place, &code);
        let problem = match () {
            () if code.trim().is_empty() => Some("There is no text in the answer.".to_owned()),
            () if after == before => Some("Nothing is changed by what you wrote.".to_owned()),
            () => verify::problems(job.index, path, &before, &after, &[]).into_iter().next(),
        };
        let Some(problem) = problem else {
            if text_of(job.scene.context, path).as_ref() != Some(&before) {
                return Ok(Done { notes: vec![changed_meanwhile(path)], ..Done::default() });
            }
            perform(job.scene, step, Builtin::WriteFile, json!({ "path": path, "content": after }), evidence).await?;
            return Ok(Done::default());
        };
        trouble = problem;
        messages.push(Message::assistant(answer));
        messages.push(Message::user(format!("{trouble}\nWrite the passage again as the request asks.")));
    }
    Ok(Done { notes: vec![format!("not done: {path}: {trouble}")], ..Done::default() })
}

fn passage_task(job: Job<'_>, step: &Step, path: &str, before: &str, chosen: &Passage, place: Place) -> String {
    let shown = passage::lines_of(before, chosen);
    let task = task(job, step);
    match place {
        Place::Change(_) => {
            format!("A passage of {path}:\n````\n{shown}\n````\n\n{task}\nWrite the passage as it shall be.")
        }
        Place::After(_) => format!(
            "A passage of {path}:\n````\n{shown}\n````\n\n{task}\nWrite only the new passage that comes behind this one, in its style."
        ),
    }
}

/// Which passage is meant, as the model says; a file of one passage needs no question.
async fn place(job: Job<'_>, step: &Step, path: &str, all: &[Passage]) -> Result<Place, TurnError> {
    if all.len() == 1 {
        return Ok(Place::Change(0));
    }
    let listed: Vec<String> = all.iter().enumerate().map(|(at, one)| format!("{}. {}", at + 1, one.title)).collect();
    let messages = [
        Message::system(
            "A request changes a file that has several passages. Say which passage has to change, as `change N`. If a passage of its own \
             is to be added, say behind which one, as `new after N`. Answer with that alone.",
        ),
        Message::user(format!("Passages of {path}:\n{}\n\n{}", listed.join("\n"), task(job, step))),
    ];
    let numbers: Vec<String> = (1..=all.len()).map(|number| format!("\"{number}\"")).collect();
    let grammar = format!("start: (\"change \" | \"new after \") N\nN: {}\n", numbers.join(" | "));
    let answer = ask(job, &messages, Some(grammar), 8, 0, "finding the passage").await?;
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| (1..=all.len()).contains(n)).map(|n| n - 1);
    let place = match answer.strip_prefix("new after ") {
        Some(rest) => number(rest).map(Place::After),
        None => answer.strip_prefix("change ").and_then(number).map(Place::Change),
    };
    Ok(place.unwrap_or(Place::Change(0)))
}
