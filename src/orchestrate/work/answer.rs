//! Answers a question: by a list of the index if it asks for one, else by the model, which reads whole definitions.

use crate::budget::permit::Priority;
use crate::engine::{Finish, Piece, Request, Sampling};
use crate::language::clauses::Part;
use crate::language::grounding;
use crate::language::grounding::Sentences;
use crate::language::words;
use crate::models::dialect::Message;
use crate::orchestrate::conversation;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::execute::{self, StepEnd};
use crate::orchestrate::toolkit::{Toolkit, TurnError};
use crate::protocol::Event;
use crate::request::Step;
use crate::request::forms;
use crate::tools::builtin::Builtin;

use super::Job;
use crate::context::callers;
use crate::context::{Pack, Purpose};

const PROMPT: &str = include_str!("../prompts/ask.md");
/// Longest answer, in tokens: one to three sentences. With more room a model repeats itself.
const TOKENS_MAX: usize = 150;
/// Most characters of a tool's result in the prompt.
const RESULT_CHARS: usize = 2_000;
/// The answer if the code shown backs no sentence of the model.
const NOTHING_BACKED: &str = "The code shown does not tell; these places come closest.";
/// Places that are listed under an answer.
const PLACES_MAX: usize = 3;

/// Tools whose list is the whole answer.
const LISTS: &[Builtin] = &[
    Builtin::IndexCallers,
    Builtin::IndexCallees,
    Builtin::IndexImports,
    Builtin::IndexDependents,
    Builtin::IndexImpact,
];
/// Longest clause that asks for a list alone, in words.
const LIST_WORDS_MAX: usize = 16;
/// Tools whose result the model reads to answer.
const LOOKS: &[Builtin] = &[Builtin::ListDir, Builtin::FindFiles, Builtin::SearchText, Builtin::RunCommand];

/// Words that ask to find files; without one, no files are searched for by name.
const FINDS: &[&str] = &["files", "find", "list", "dateien", "fichiers", "archivos", "файлы"];

/// Whether all that is asked for is a list that the index has.
pub fn is_list(toolkit: &Toolkit, parts: &[Part]) -> bool {
    let [part] = parts else { return false };
    list_of(toolkit, part).is_some()
}

/// The tool whose list answers a clause. `None` if there is none, or the clause also asks what happens, how or why.
fn list_of(toolkit: &Toolkit, part: &Part) -> Option<Builtin> {
    const MORE: &[&str] = &["happens", "happen", "how", "why", "when", "explain", "if"];
    let clause = words::split(&part.text);
    let wants_more = |tool: Builtin| {
        let impact = tool == Builtin::IndexImpact;
        clause.iter().any(|word| MORE.contains(&word.as_str()) && !(impact && *word == "if"))
    };
    let symbol = forms::symbol_of(toolkit.index.as_deref(), part);
    forms::asked(part, symbol.as_deref())
        .filter(|tool| LISTS.contains(tool) && clause.len() <= LIST_WORDS_MAX && !wants_more(*tool))
}

/// Answers one step. Text goes to the host as it is generated, and is returned; it is empty if the result of a tool is the answer.
pub async fn answer(job: Job<'_>, step: &Step, evidence: &mut Evidence) -> Result<String, TurnError> {
    let planned = super::planned(step);
    let symbol = forms::symbol_of(job.scene.toolkit.index.as_deref(), &planned.part);
    let tool = forms::asked(&planned.part, symbol.as_deref());
    let mut result = String::new();
    let finds = words::split(&step.text).iter().any(|word| FINDS.contains(&word.as_str()));
    let looks = |tool: &Builtin| LOOKS.contains(tool) && (*tool != Builtin::FindFiles || finds);
    let list = list_of(job.scene.toolkit, &planned.part);
    if let Some(tool) = list.or(tool.filter(looks)) {
        let known = evidence.entries().len();
        let end = execute::step(job.scene, &planned, evidence).await?;
        let found = evidence.entries().get(known..).unwrap_or_default();
        let found: Vec<String> = found.iter().map(|entry| words::shorten(&entry.outcome.text, RESULT_CHARS)).collect();
        result = found.join("\n");
        if end == StepEnd::Done && LISTS.contains(&tool) {
            // The places are the answer; they are listed with the facts.
            return Ok(String::new());
        }
    }
    let (pack, mentions) = super::pack(job, &step.text, Purpose::Answer).await?;
    let users = callers::of(job.scene.context, job.index, &mentions);
    backed(job, step, &format!("{}{users}", pack.text), &pack, &result).await
}

/// Has the model answer, keeps the sentences that the code shown backs, and adds the places where it was found.
async fn backed(job: Job<'_>, step: &Step, code: &str, pack: &Pack, result: &str) -> Result<String, TurnError> {
    let Job { scene, model, .. } = job;
    let given: Vec<String> = scene.toolkit.given.iter().map(|one| format!("{}\n{}\n\n", one.name, one.text)).collect();
    let result = if result.is_empty() { String::new() } else { format!("A look into the project gave:\n{result}\n\n") };
    let shown = format!("{}{}{result}", given.concat(), code);
    let mut messages = vec![Message::system(PROMPT.trim())];
    messages.extend(conversation::messages(&scene.toolkit.earlier, &model.engine));
    messages.push(Message::user(format!("{shown}Question: {}", step.text)));
    let generation = Request {
        priority: Priority::User,
        sampling: Sampling::greedy(),
        ..model.engine.request(&model.dialect.render(&messages), TOKENS_MAX)
    };
    let mut answer = String::new();
    let sources = [shown.as_str(), scene.request];
    let mut offer = |sentence: String| {
        if grounding::has_known_marks(&sentence, &sources) && !answer.contains(sentence.trim()) {
            scene.host.emit(Event::Token { text: sentence.clone() });
            answer.push_str(&sentence);
        } else {
            tracing::info!(sentence, "left out of the answer: nothing backs it");
        }
    };
    let mut sentences = Sentences::default();
    let ended = scene
        .toolkit
        .stream(model, generation, "answering", scene.host, |piece| {
            if let Piece::Answer(text) = piece {
                sentences.push(text).into_iter().for_each(&mut offer);
            }
        })
        .await?;
    if ended.finish == Finish::End {
        sentences.rest().into_iter().for_each(&mut offer);
    }
    if answer.trim().is_empty() {
        scene.host.emit(Event::Token { text: NOTHING_BACKED.to_owned() });
        answer.push_str(NOTHING_BACKED);
    }
    let places = places(pack, &answer);
    if !places.is_empty() {
        let gap = if answer.is_empty() || answer.ends_with('\n') { "" } else { "\n" };
        let text = format!("{gap}{}\n", places.join("\n"));
        scene.host.emit(Event::Token { text: text.clone() });
        answer.push_str(&text);
    }
    Ok(answer)
}

/// Places of the definitions that were found, those that the answer names first.
fn places(pack: &Pack, answer: &str) -> Vec<String> {
    let all = pack.files.iter().flat_map(|file| file.found.iter().map(move |found| (file, found)));
    let named = all.clone().filter(|(_, (_, _, name))| grounding::is_backed(answer, name));
    let mut places: Vec<String> =
        named.chain(all).map(|(file, (line, ..))| format!("- {}:{line}", file.path)).collect();
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places.truncate(PLACES_MAX);
    places
}
