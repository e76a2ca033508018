//! Changes files: text by passages, code by definitions, new files as a whole.

mod docs;
mod text;

use crate::agent::budget::Guided;
use crate::agent::evidence::Evidence;
use crate::agent::player::{Form, Player, Query};
use crate::agent::toolkit::TurnError;
use crate::agent::{self, conversation, whole};
use crate::context::{Pack, Purpose};
use crate::edit::{Edit, has_grammar, testing};
use crate::engine::Sampling;
use crate::engine::slot::Reuse;
use crate::index::language_of;
use crate::models::dialect::Message;
use crate::request::mentions::Mentions;
use crate::request::named::{self, Found, Role};

use super::{Done, Job, code, grammar, passage, pick, refusal, reply};

const CREATE: &str = include_str!("../prompts/create.md");
/// The message to the model about an answer without text.
const NO_TEXT: &str = "There is no text in the answer.";
/// From this round on, answers are sampled, because greedy decoding would repeat the refused
/// answer.
const DRAWN_FROM: usize = 2;

/// Carries out an edit step: decides which files are changed as text, which as code, and which are
/// created.
pub async fn change(job: Job<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let intended = Intended::of(job);
    if let Intended::Again(path) = &intended {
        return Ok(Done::refused(&format!("`{path}` already exists; say what to change in it, and to what")));
    }
    let (pack, mut mentions) = super::pack(job, &job.step.text, Purpose::Change).await?;
    if matches!(intended, Intended::Change) && !mentions.new_paths.is_empty() {
        // A missing file cannot be changed, and is not created instead.
        if mentions.paths.is_empty() && mentions.symbols.is_empty() {
            let (path, known) = (&mentions.new_paths[0], job.index.paths()?);
            return Ok(Done::refused(&named::why_missing(path, &named::nearest(path, &known))));
        }
        mentions.new_paths.clear();
    }
    let makes_file = matches!(intended, Intended::NewFile) && mentions.new_paths.len() == 1;
    if makes_file && !has_grammar(&mentions.new_paths[0]) && !job.exists(&mentions.new_paths[0]) {
        return create(job, &mentions.new_paths[0], &pack, evidence).await;
    }
    let mut texts = job.step.text.files_to_change(mentions.paths.iter().filter(|path| !has_grammar(path)).collect());
    texts.retain(|_| !makes_file);
    let names_code = mentions.paths.iter().any(|path| has_grammar(path));
    let mut all = Done::default();
    if !names_code && mentions.new_paths.len() == 1 && texts.is_empty() && only_creates(&mentions, &pack) {
        let path = &mentions.new_paths[0];
        if job.exists(path) {
            return Ok(Done::note(format!(
                "not done: {path} exists but is not in the index (ignored, or not text); say what to change in it, and to what"
            )));
        }
        return create(job, path, &pack, evidence).await;
    }
    let top_is_text = pack.files.first().is_some_and(|file| !has_grammar(&file.path));
    if texts.is_empty() && !names_code && mentions.symbols.is_empty() && top_is_text && mentions.new_paths.is_empty() {
        return text::change(job, &pack.files[0].path, evidence).await;
    }
    if let Some(done) = docs::change(job, &mentions, evidence).await? {
        return Ok(done);
    }
    if texts.is_empty()
        && let Some(done) = pick::change(job, &pack, &mentions, evidence).await?
    {
        return Ok(done);
    }
    if texts.is_empty() || names_code {
        tracing::debug!(way = "definitions", "written by the model");
        let order = code::Order { pack: &pack, mentions: &mentions, task: task(job), command: None };
        all = code::code(job, order, evidence).await?;
    }
    for path in texts {
        let done = text::change(job, path, evidence).await?;
        all.notes.extend(done.notes);
    }
    Ok(all)
}

/// The intended effect of a step on files.
enum Intended {
    /// The step changes or removes existing text or code.
    Change,
    /// The step creates the file that it names, possibly from other files.
    NewFile,
    /// The step creates a file that already exists.
    Again(String),
    Any,
}

impl Intended {
    fn of(job: Job<'_>) -> Intended {
        let names = agent::names(job.scene.toolkit, &job.step.text);
        let (text, all) = (names.masked(), names.all);
        match all.first().filter(|_| text.creates_file()).map(|one| &one.found) {
            Some(Found::File(path)) => return Intended::Again(path.clone()),
            // `create NOTES.md from what is in package.json` changes no other file.
            Some(Found::Missing(_)) => return Intended::NewFile,
            _ => {}
        }
        if text.changes_what_is_there() {
            Intended::Change
        } else if text.makes_file() && !all.iter().any(|one| one.role == Role::Place && one.file().is_some()) {
            Intended::NewFile
        } else {
            Intended::Any
        }
    }
}

/// Whether the step only creates the new file that it names. A new code file for a named symbol,
/// and one with tests, which have to run, count as changes of code.
fn only_creates(mentions: &Mentions, pack: &Pack) -> bool {
    let path = &mentions.new_paths[0];
    let is_alone = mentions.symbols.is_empty() || pack.files.is_empty();
    !has_grammar(path) || is_alone && !testing::is_test(path)
}

/// The request as written in the prompt, with the part that this step carries out if there are
/// several steps.
pub fn task(job: Job<'_>) -> String {
    if job.of_several {
        format!("The developer asked: {}\nDo only this now: {}", job.scene.request, job.step.text)
    } else {
        format!("Request: {}", job.scene.request)
    }
}

/// How an answer of the model is generated.
pub struct Ask {
    pub form: Form,
    /// Maximum length of the answer, in tokens.
    pub tokens: usize,
    /// Seed for sampling; `None` for greedy decoding.
    pub seed: Option<usize>,
    pub phase: &'static str,
}

/// An answer from the model, which may be cut off.
#[derive(Debug)]
pub struct Answer {
    pub text: String,
    /// The reason why the answer is incomplete, as a message to the model.
    cut: Option<String>,
}

impl Answer {
    /// The complete text: nothing less may be written to a file or run. The error states what the
    /// model has to do.
    pub fn whole(&self) -> Result<&str, String> {
        match &self.cut {
            None => Ok(&self.text),
            Some(why) => Err(format!("{}: {why}. Write it shorter.", refusal::CUT)),
        }
    }

    /// The complete lines, for an answer that only makes a choice.
    pub fn whole_lines(&self) -> &str {
        if self.cut.is_none() { &self.text } else { whole::lines(&self.text) }
    }
}

/// Generates an answer to `messages` in the form that `ask` gives.
pub async fn ask(job: Job<'_>, messages: &[Message], ask: Ask) -> Result<Answer, TurnError> {
    let model = job.model().await?;
    let sampling = match ask.seed {
        None => Sampling::greedy(),
        Some(seed) => Sampling { seed: seed as u64, temperature: 0.8, min_p: 0.05, ..Sampling::greedy() },
    };
    let query =
        Query { form: ask.form, sampling, reuse: Reuse::Continue, repeats: true, ..Query::of(messages, ask.tokens) };
    let output = job.scene.toolkit.ask(&model, query, ask.phase, job.scene.host).await?;
    let cut = whole::why_cut(&output);
    Ok(Answer { text: output.text, cut })
}

/// The first messages of a prompt: the system message and the earlier exchanges of the conversation.
pub fn opening(job: Job<'_>, model: &Player, system: &str) -> Vec<Message> {
    let mut messages = vec![Message::system(system.trim())];
    messages.extend(conversation::messages(&job.scene.toolkit.earlier, model));
    messages
}

/// Asks for one fenced block of text; with `has_fences` it may contain fenced blocks, and may end
/// like one, because models do not always close a fence as they opened it.
fn text_ask(has_fences: bool, tokens: usize, round: usize, phase: &'static str) -> Ask {
    let line = if has_fences { "(`{0,3}[^`\\n][^\\n]*|`{1,3})?\\n" } else { "([^`\\n][^\\n]*|`[^`\\n][^\\n]*)?\\n" };
    let end = if has_fences { "(\"````\" | \"```\")" } else { "\"````\"" };
    let form = Form::Lark(format!("start: \"````\\n\" LINE+ {end}\nLINE: /{line}/\n"));
    Ask { form, tokens, seed: (round >= DRAWN_FROM).then_some(round), phase }
}

/// Has the model answer until `take` accepts a complete answer, once in each of `forms`. The next
/// prompt contains the problem that `take` found and its advice; the inner error is the last
/// problem.
pub async fn until_right<T>(
    job: Job<'_>,
    mut messages: Vec<Message>,
    forms: impl Iterator<Item = Ask>,
    mut take: impl FnMut(&str) -> Result<T, (String, &'static str)>,
) -> Result<Result<T, String>, TurnError> {
    let mut trouble = String::new();
    for form in forms {
        let answer = ask(job, &messages, form).await?;
        tracing::debug!(answer.text, "written");
        let taken = match answer.whole() {
            Ok(text) => take(text),
            Err(why) => Err((why, "Write it again, whole.")),
        };
        match taken {
            Ok(right) => return Ok(Ok(right)),
            Err((problem, again)) => {
                messages.extend([Message::assistant(answer.text), Message::user(format!("{problem}\n{again}"))]);
                trouble = problem;
            }
        }
    }
    Ok(Err(trouble))
}

/// Has the model write the new file `path`, with the findings of the checks in the next prompt.
/// Refused code is not written. For other texts, the last complete attempt is written with a note
/// about its problem, but an empty one only if the step asks for an empty file.
async fn create(job: Job<'_>, path: &str, pack: &Pack, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let before = job.text(path);
    let mut messages = opening(job, &job.model().await?, CREATE);
    messages.push(Message::user(format!("{}{}\nWrite the file {path}.", pack.text, task(job))));
    let tokens = job.limits().text;
    let forms = (0..Guided::TEXT_ROUNDS).map(|round| {
        // Only documentation contains fenced blocks.
        let form = text_ask(language_of(path) == "markdown", tokens, round, "writing a file");
        let is_text = matches!(language_of(path), "markdown" | "text");
        if is_text { form } else { Ask { form: Form::Lark(grammar::of_any_code(path, "")), ..form } }
    });
    let may_be_empty = job.step.text.asks_for_empty_file();
    let (mut content, mut found) = (String::new(), None);
    let take = |answer: &str| {
        content = reply::first(answer).map(|code| code + "\n").unwrap_or_default();
        let lacks_text = content.is_empty() && !may_be_empty;
        let problem = || job.edited(path, "", &Edit::Whole(&content), &[]).err();
        let problem = if lacks_text { Some(NO_TEXT.to_owned()) } else { problem() };
        found.clone_from(&problem);
        problem.map_or(Ok(()), |problem| Err((problem, "Write the file again, whole.")))
    };
    let trouble = until_right(job, messages, forms, take).await?.err();
    if let Some(trouble) = trouble.filter(|_| content.is_empty() || has_grammar(path)) {
        return Ok(Done::note(format!("not done: {}", refusal::of_file(path, &trouble))));
    }
    let is_written = job.write(path, before.as_deref(), &content, evidence).await?;
    let note = found.filter(|_| is_written);
    let note = note.map(|problem| format!("{path} is written, but a check finds: {problem}"));
    Ok(Done { notes: note.into_iter().collect(), ..Done::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_answer_without_its_end_only_whole_lines_choose_something() {
        let cut = Answer { text: "change a\nadd b_o".into(), cut: Some("it was cut at 9 tokens".into()) };
        assert_eq!(cut.whole_lines(), "change a");
        assert!(cut.whole().is_err_and(|why| why.contains("9 tokens")));
        assert_eq!(Answer { text: "change a".into(), cut: None }.whole(), Ok("change a"));
    }
}
