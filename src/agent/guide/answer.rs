//! Answers a question: from the output of this turn's commands, with a list from the index if the
//! question asks for one, or else by the model, which reads complete definitions.

use std::time::Instant;

use serde_json::{Map, Value};

use crate::agent::Host;
use crate::agent::cognitive::{self, Checked, Quiet, Rounds};
use crate::agent::evidence::{ANSWER, Entry, Evidence};
use crate::agent::execute::{self, Scene};
use crate::agent::player::Query;
use crate::agent::synthesize::{past, stream_backed, tell};
use crate::agent::toolkit::{Toolkit, TurnError};
use crate::budget::permit::Priority;
use crate::context::{Pack, Purpose, beside};
use crate::language::clauses::Part;
use crate::language::{grounding, words};
use crate::models::dialect::Message;
use crate::protocol::Event;
use crate::request::{Text, clause};
use crate::tools::Outcome;
use crate::tools::builtin::Builtin;

use super::{Done, Job, change, results};

const PROMPT: &str = include_str!("../prompts/ask.md");
/// The answer if the code shown supports no sentence from the model.
const NOTHING_BACKED: &str = "The code shown does not answer this; these places come closest.";
/// Maximum number of places listed below an answer, and number of lines that count as part of a
/// place.
const PLACES_MAX: usize = 3;
const PLACE_LINES: usize = 30;

/// Tools whose list is the complete answer.
const LISTS: &[Builtin] = &[
    Builtin::IndexCallers,
    Builtin::IndexCallees,
    Builtin::IndexImports,
    Builtin::IndexDependents,
    Builtin::IndexImpact,
];
/// Tools whose results the model reads before it answers.
const LOOKS: &[Builtin] = &[Builtin::ListDir, Builtin::FindFiles, Builtin::SearchText, Builtin::RunCommand];

/// Whether the request asks only for a list that the index provides.
pub fn is_list(toolkit: &Toolkit, parts: &[Part]) -> bool {
    let [part] = parts else { return false };
    list_of(toolkit, part).is_some()
}

/// The tool whose list answers a clause. `None` if there is none, or if the clause also asks what
/// happens, how or why.
fn list_of(toolkit: &Toolkit, part: &Part) -> Option<Builtin> {
    let is_list =
        |tool: &Builtin| LISTS.contains(tool) && clause::asks_for_list_alone(part, *tool == Builtin::IndexImpact);
    toolkit.tool_for(part).filter(is_list)
}

/// Marks a sentence that the lines shown do not clearly support.
const UNSURE: &str = "(not certain:)";

/// Answers one step. The text is sent to the host as it is generated, and returned; it is empty if
/// the result of a tool is the answer.
pub async fn answer(job: Job<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let (toolkit, step) = (job.scene.toolkit, job.step);
    let started = Instant::now();
    if let Some(said) = results::answer(job, evidence).await? {
        let has_run = evidence.entries().iter().any(|entry| entry.tool == Builtin::RunCommand.name());
        note(job, started, if has_run { "the output of a command" } else { "no run: no command has run" }, evidence);
        return Ok(Done { said, ..Done::default() });
    }
    let finds = step.text.speaks_of_files();
    let looks = |tool: &Builtin| LOOKS.contains(tool) && (*tool != Builtin::FindFiles || finds);
    let tool = list_of(toolkit, &step.part).or_else(|| toolkit.tool_for(&step.part).filter(looks));
    let mut result = String::new();
    if let Some(tool) = tool {
        let known = evidence.entries().len();
        let done = execute::step(job.scene, step, evidence).await?;
        if done.notes.is_empty() && !done.failed && LISTS.contains(&tool) {
            // The places are the answer, and are listed with the facts.
            return Ok(Done::default());
        }
        let bytes = job.limits().result_bytes;
        let text = |entry: &Entry| words::shorten(&entry.outcome.text, bytes);
        let found: Vec<String> = evidence.entries()[known..].iter().map(text).collect();
        result = found.join("\n");
    }
    let (done, places) = backed(job, evidence, &result).await?;
    let places = if places.is_empty() { "no lines of the project".to_owned() } else { places.join(", ") };
    note(job, started, &places, evidence);
    Ok(done)
}

/// Records that the step was answered in words, and the source of the answer.
fn note(job: Job<'_>, started: Instant, from: &str, evidence: &mut Evidence) {
    let arguments = Map::from_iter([("question".to_owned(), Value::from(job.step.text.shown()))]);
    let entry = Entry::looked(job.step.id, ANSWER, arguments, Outcome::ok(format!("answered from {from}")));
    let entry = evidence.add(Entry { wall_ms: started.elapsed().as_millis() as u64, ..entry });
    job.scene.host.emit(Event::StepCompleted(entry.report()));
}

/// The sources that an answer may be based on.
struct Shown {
    /// All sources as shown to the model.
    text: String,
    pack: Pack,
    /// Names in the question that do not occur in `text`.
    unknown: Vec<String>,
}

/// The files that the user attached, the code that `query` finds, and the `result` of a tool.
async fn shown(job: Job<'_>, query: &Text, result: &str) -> Result<Shown, TurnError> {
    let (pack, mentions) = super::pack(job, query, Purpose::Answer).await?;
    let given = job.scene.toolkit.given.iter().map(|one| format!("{}\n{}\n\n", one.name, one.text));
    let mut text: String = given.collect();
    text.push_str(&pack.text);
    text.push_str(&beside::users_of(job.scene.context, job.index, &mentions));
    if !result.is_empty() {
        text.push_str(&format!("A look into the project gave:\n{result}\n\n"));
    }
    let mut unknown = [mentions.asked_for, mentions.new_paths].concat();
    unknown.retain(|name| !grounding::is_backed(&text, name));
    Ok(Shown { text, pack, unknown })
}

/// Has the model answer, keeps the sentences supported by the code shown, marks those not clearly
/// supported, and adds the places where the code was found. Returns the answer and the places of
/// all code shown.
async fn backed(job: Job<'_>, evidence: &Evidence, result: &str) -> Result<(Done, Vec<String>), TurnError> {
    let Scene { toolkit, request, host, .. } = job.scene;
    let mut known = shown(job, &job.step.text, result).await?;
    let model = job.model().await?;
    let opening = change::opening(job, &model, PROMPT);
    let mut answer = String::new();
    for name in &known.unknown {
        answer.push_str(&tell(host, &format!("`{name}` is not in the code found for this.\n")));
    }
    let draft = async |known: &Shown, failures: &[String], host: &dyn Host| {
        let shown = &known.text;
        let backed = |sentence: &str| {
            let is_about_unknown = known.unknown.iter().any(|name| sentence.contains(name.as_str()));
            let is_known = grounding::has_known_marks(sentence, &[shown], request.shown()) && !is_about_unknown;
            let is_said = || {
                grounding::is_said_by(sentence, shown, request.shown())
                    && !grounding::names_no_value(sentence, shown, job.step.text.shown())
            };
            is_known
                .then(|| if is_said() { sentence.to_owned() } else { format!("{UNSURE} {}", sentence.trim_start()) })
        };
        let mut messages = opening.clone();
        let past = past(failures, toolkit.cognitive.technique);
        messages.push(Message::user(format!("{shown}Question: {}{past}", job.step.text)));
        let (priority, sampling) = (Priority::User, toolkit.manner(&model));
        let query = Query { priority, sampling, ..Query::of(&messages, job.limits().answer) };
        stream_backed(toolkit, &model, query, host, &backed).await
    };
    let said = if cognitive::is_wanted(toolkit) {
        let quiet = Quiet::of(host);
        let mut rounds = Rounds::of(toolkit, &quiet, request.shown(), vec![job.step.text.to_string()]);
        rounds.note(evidence);
        loop {
            let drafted = draft(&known, rounds.past_failures(), &quiet).await?;
            let checked = checked(&drafted);
            if rounds.is_enough(drafted, &known.text, checked).await? {
                break tell(host, &rounds.end(quiet.thoughts()));
            }
            // The next draft may need code that the verdict mentions.
            if let Some(failure) = rounds.past_failures().last() {
                known = shown(job, &Text::of(format!("{} {failure}", job.step.text)), result).await?;
            }
        }
    } else {
        draft(&known, &[], host).await?
    };
    answer.push_str(&said);
    if answer.trim().is_empty() {
        answer = tell(host, NOTHING_BACKED);
    }
    let places = places(&known.pack, &said);
    if !places.is_empty() {
        let gap = if answer.ends_with('\n') { "" } else { "\n" };
        answer.push_str(&tell(host, &format!("{gap}{}\n", places.join("\n"))));
    }
    let is_unsure = checked(&said).backed == 0.0;
    Ok((Done { said: answer, is_unsure, ..Done::default() }, known.pack.places()))
}

/// Checks a draft from which unsupported sentences were removed; the score is the share of certain
/// sentences.
fn checked(draft: &str) -> Checked {
    let sentences = grounding::sentences(draft);
    let unsure: Vec<&str> = sentences.iter().filter_map(|one| one.trim().strip_prefix(UNSURE)).map(str::trim).collect();
    let wrong = match (sentences.is_empty(), unsure.is_empty()) {
        (true, _) => "the code shown backs no sentence of it".to_owned(),
        (_, true) => String::new(),
        _ => format!("the code shown does not clearly say: {}", unsure.join(" ")),
    };
    let backed = if sentences.is_empty() { 0.0 } else { 1.0 - unsure.len() as f64 / sentences.len() as f64 };
    Checked { backed, wrong, hopeless: false }
}

/// The places of the found definitions that the answer names, and of those near other names in the
/// answer; if there are none, the shown lines that contain such names.
fn places(pack: &Pack, answer: &str) -> Vec<String> {
    let marks = words::marks(answer);
    let has_mark = |text: &str| marks.iter().any(|mark| grounding::has_known_marks(mark, &[text], ""));
    let is_near = |text: &str, line: usize| {
        let lines: Vec<&str> = text.lines().skip(line.saturating_sub(1)).take(PLACE_LINES).collect();
        marks.is_empty() || has_mark(&lines.join("\n"))
    };
    let all = pack.files.iter().flat_map(|file| file.found.iter().map(move |found| (file, found)));
    let named = all.clone().filter(|(_, (_, _, name))| grounding::is_backed(answer, name));
    let near = all.filter(|(file, (line, ..))| is_near(&file.text, *line));
    let mut places: Vec<String> =
        named.chain(near).map(|(file, (line, ..))| format!("- {}:{line}", file.path)).collect();
    if places.is_empty() {
        let line_with = |text: &str| text.lines().position(&has_mark).map(|at| at + 1);
        let lines = pack.files.iter().filter_map(|file| Some((file, line_with(&file.text)?)));
        places.extend(lines.map(|(file, line)| format!("- {}:{line}", file.path)));
    }
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places.truncate(PLACES_MAX);
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Shown;

    #[test]
    fn a_draft_is_as_good_as_its_certain_sentences() {
        let of = |draft: &str| {
            let Checked { backed, wrong, .. } = checked(draft);
            (backed, wrong)
        };
        assert_eq!(of("It returns `r`. It is called once."), (1.0, String::new()));
        let (backed, wrong) = of("It returns `r`. (not certain:) It is called once.");
        assert!(backed == 0.5 && wrong.ends_with("does not clearly say: It is called once."), "{backed} {wrong}");
        assert_eq!(of("").0, 0.0);
    }

    #[test]
    fn an_answer_cites_places_that_have_what_it_says() {
        let shown = |path: &str, text: &str, found: Vec<(usize, usize, String)>| Shown {
            path: path.into(),
            text: text.into(),
            lines: Vec::new(),
            found,
        };
        let code = shown("a.py", "x = 1\n\ndef load():\n    return 'r'\n", vec![(3, 4, "load".into())]);
        let data = shown("p.toml", "[a]\nversion = \"2.7\"\n", Vec::new());
        let pack = Pack { files: vec![code, data], ..Pack::default() };
        let check = |answer: &str, expected: &[&str]| assert_eq!(places(&pack, answer), expected, "{answer}");
        check("`load` returns it.", &["- a.py:3"]);
        check("The version is 2.7.", &["- p.toml:2"]);
        check("It returns what it was given.", &["- a.py:3"]);
        check("", &["- a.py:3"]);
    }
}
