//! Looks whether a change that no example and no test shows makes a difference: the model writes a call for the request, and code compares what it
//! gives before and after the change.
//!
//! A small model writes a changed function that does what the old one did, or that fails, as often as a right one. Which result would be right it
//! tells no better than the change; which call the request is about, it tells well.

use crate::agent::budget::Guided;
use crate::agent::evidence::{Check, Evidence};
use crate::agent::player::Form;
use crate::agent::toolkit::TurnError;
use crate::edit::program::{self, Gave};
use crate::edit::{comments, examples, testing};
use crate::index::parts::{self, Sort, Span};
use crate::language::grounding;
use crate::models::dialect::Message;
use crate::request::kind;

use super::change::{Ask, ask};
use super::copy::{self, Copy};
use super::files::Files;
use super::{Job, command, reply};

/// Most lines before the call.
const LINES_MAX: usize = 6;

/// A changed function that can be called.
struct Target {
    path: String,
    name: String,
    is_new: bool,
}

/// Why the change looks wrong, for the model: with every call that the model writes, the function fails or gives what it gave before. `None` if one
/// call says otherwise, or nothing can be tried. `opening` is the prompt with the code and the request.
pub async fn missing(
    job: Job<'_>,
    files: &Files,
    opening: &[Message],
    evidence: &mut Evidence,
) -> Result<Option<String>, TurnError> {
    let Some(target) = target(job, files) else { return Ok(None) };
    let Some(copy) = Copy::one(job).await? else { return Ok(None) };
    if !files.as_they_were().all(|(path, text)| copy.put(path, text)) {
        return Ok(None);
    }
    let mut problem = None;
    for draw in 0..Guided::DRAFTS {
        let Some(code) = written(job, opening, &target, draw).await? else { return Ok(None) };
        let Some(line) = program::command(&target.path, &target.name, &code) else { return Ok(None) };
        let entry = command::perform(job, &line, Some(Guided::EXAMPLE_TIME), evidence).await?;
        let (id, is_refused, now) = (entry.id, entry.status.is_refused(), Gave::read(&entry.outcome.text));
        let right = copy::right(job, &line, Guided::EXAMPLE_TIME).filter(|_| !is_refused);
        let Some(right) = right else { return Ok(None) };
        evidence.note_check(id, Check::Looks);
        let before = Gave::read(&copy.run(right).await.text);
        let Some(said) = objection(target.is_new, before.as_ref(), now.as_ref(), job.scene.request) else {
            return Ok(None);
        };
        problem = Some(format!("`{}` {said}", code.trim().replace('\n', "; ")));
    }
    Ok(problem.map(|said| format!("It is written. This is not what the request asks for: {said}")))
}

/// The objection to a change if a program gave `before` it and gives `now` after it; `None` if nothing does, or the program may be wrong itself.
fn objection(is_new: bool, before: Option<&Gave>, now: Option<&Gave>, request: &str) -> Option<String> {
    const ERRORS: &str = "\
        raise raises throw throws error errors exception exceptions fail fails reject rejects refuse refuses forbid \
        forbids invalid crash crashes panic fehler wirft erreur";
    let speaks_of_errors = kind::has_word(request, ERRORS);
    let is_as_before = !is_new && before == now;
    match now? {
        Gave::Printed(said) => is_as_before.then(|| format!("still gives {said}")),
        Gave::Failed { is_inside: false, .. } => None,
        Gave::Failed { said, .. } if speaks_of_errors => is_as_before.then(|| format!("still fails: {said}")),
        Gave::Failed { said, .. } => (is_new || !is_as_before).then(|| format!("fails: {said}")),
    }
}

/// The function whose change is tried: the last one that was changed. `None` if the request says itself what a call gives, or is about words, or the
/// file cannot be loaded without running a program.
fn target(job: Job<'_>, files: &Files) -> Option<Target> {
    let is_new = |name: &str| !files.had(name);
    let has_examples = files.given.is_some() || !examples::of(job.scene.request, &files.new_names, &is_new).is_empty();
    let is_of_words =
        kind::speaks_of_docs(&job.step.text) || kind::has_word(&job.step.text, "comment comments typo wording");
    if has_examples || files.only_tests || is_of_words {
        return None;
    }
    let graph = job.index.graph().ok()?;
    let is_imported = |path: &str| !graph.dependents(path).is_empty();
    let changed = files.texts().filter(|(path, _)| !testing::is_test(path));
    let functions = changed.flat_map(|(path, text)| {
        let old = parts::definitions(path, files.text(path));
        let new = parts::definitions(path, text).into_iter().filter(|one| one.sort == Sort::Function);
        let was = move |one: &Span| {
            old.iter().find(|old| (&old.container, &old.name) == (&one.container, &one.name)).cloned()
        };
        let of = move |one: Span| {
            let code = comments::without_words(&text[one.bytes.clone()]);
            let was = was(&one);
            let differs =
                was.as_ref().is_none_or(|was| comments::without_words(&files.text(path)[was.bytes.clone()]) != code);
            differs.then(|| Target { path: path.to_owned(), name: one.name, is_new: was.is_none() })
        };
        new.filter_map(of)
    });
    let last = functions.last()?;
    let text = files.texts().find(|(path, _)| *path == last.path).map(|(_, text)| text)?;
    testing::is_module(&last.path, text, is_imported(&last.path)).then_some(last)
}

/// A program of the model that calls the function and prints what that gives; `None` if it is none.
async fn written(job: Job<'_>, opening: &[Message], target: &Target, draw: usize) -> Result<Option<String>, TurnError> {
    let Target { path, name, .. } = target;
    let (print, fence, declares) = if path.ends_with(".py") {
        ("print", "python", "")
    } else {
        ("console.log", "javascript", "((const|let|var) )?")
    };
    let order = format!(
        "Before that, write a short program that shows the difference: a few lines that make what is needed, with small values, then one \
         `{print}(…)` of what `{name}` gives or changes. It must print something else, or work at all, only when the request is done. One code \
         block and nothing else."
    );
    let mut messages = opening.to_vec();
    let Some(last) = messages.last_mut() else { return Ok(None) };
    // The code and the request stay the same, so they need not be read again.
    last.content.truncate(last.content.rfind("\n\n").unwrap_or(last.content.len()));
    last.content.push_str(&format!("\n\n{order}"));
    // Without a form a small model writes the change itself. The names of the module are there, so nothing is imported.
    let call = print.replace('.', "\\.");
    let grammar = format!(
        "start: \"```{fence}\\n\" LINE{{0,{LINES_MAX}}} PRINT \"```\"\n\
         LINE: /{declares}[A-Za-z_][A-Za-z0-9_.]*( = |\\()[^`\\n]{{1,120}}\\n/\n\
         PRINT: /{call}\\([^`\\n]{{1,140}}\\n/\n"
    );
    let form = Ask {
        form: Form::Lark(grammar),
        tokens: job.limits().calls,
        lines: usize::MAX,
        seed: (draw > 0).then_some(draw),
        phase: "trying it",
    };
    let answer = ask(job, &messages, form).await?;
    tracing::debug!(draw, answer.text, "a call");
    let code = answer.whole().ok().and_then(reply::first);
    Ok(code
        .filter(|code| grounding::is_backed(code, name) || name.starts_with('_'))
        .filter(|code| program::is_harmless(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_gives_what_it_gave_speaks_against_a_change() {
        let printed = |said: &str| Some(Gave::Printed(said.to_owned()));
        let failed = |said: &str, is_inside| Some(Gave::Failed { said: said.to_owned(), is_inside });
        let check = |is_new, before: Option<Gave>, now: Option<Gave>, request: &str, expected: Option<&str>| {
            let said = objection(is_new, before.as_ref(), now.as_ref(), request);
            assert_eq!(said.as_deref(), expected, "{before:?} {now:?} {request}");
        };
        let asked = "f should sort its names";
        check(false, printed("b a"), printed("b a"), asked, Some("still gives b a"));
        check(false, printed("b a"), printed("a b"), asked, None);
        check(true, failed("no f", false), printed("a b"), asked, None);
        check(true, failed("no f", false), failed("NameError: x", true), asked, Some("fails: NameError: x"));
        check(false, printed("b a"), failed("NameError: x", true), asked, Some("fails: NameError: x"));
        check(false, printed("b a"), failed("NameError: b", false), asked, None);
        check(false, failed("KeyError: a", true), failed("KeyError: a", true), asked, None);
        let error = "f should raise a ValueError for no names";
        check(false, printed("b a"), failed("ValueError: x", true), error, None);
        check(false, failed("KeyError: a", true), failed("KeyError: a", true), error, Some("still fails: KeyError: a"));
        check(false, printed("b a"), None, error, None);
    }
}
