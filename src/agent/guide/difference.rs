//! Checks whether a change that no example or test covers makes a difference: the model writes a
//! call for the request, and code compares its results before and after the change.
//!
//! A small model's changed function is as likely to behave like the old one, or to fail, as to be
//! right. The model predicts the right result no better, but it does find the call that the request
//! is about.

use crate::agent::budget::Guided;
use crate::agent::evidence::{Check, Evidence};
use crate::agent::player::Form;
use crate::agent::toolkit::TurnError;
use crate::edit::program::{self, Gave};
use crate::edit::{comments, stated, testing};
use crate::index::parts::{self, Sort, Span};
use crate::language::{grounding, words};
use crate::models::dialect::Message;
use crate::request::Text;

use super::change::{Ask, ask};
use super::copy::{self, Copy};
use super::files::Files;
use super::refusal::TRIED;
use super::{Job, command, reply};

/// Maximum number of lines before the last print, including imports.
const LINES_MAX: usize = 8;
/// Maximum number of characters of a call, and of its result, shown to the user.
const CALL_CHARS: usize = 160;
const SAID_CHARS: usize = 100;

/// A changed function that can be called.
#[derive(Clone, PartialEq)]
struct Target {
    path: String,
    name: String,
    is_new: bool,
    /// Whether the function can be called only through an export of the module.
    is_private: bool,
}

/// The result of calling a changed function.
pub enum Shown {
    /// Nothing can be tried, or the function is new and none of the model's programs ran.
    Nothing,
    /// The result of a call differs from before: the call and its result, for the user.
    Difference(String),
    /// For every call that the model wrote, the function fails or returns the old result: the last
    /// call, for the model.
    Objection(String),
    /// The result of a call differs from the one that the model stated: for the model and the user.
    Contradiction(String),
    /// The function is not new, and none of the model's programs ran.
    Unseen,
    /// The module fails to load before and after the change, with the same error, so nothing can be
    /// tried: the reason, for the user.
    Unloaded(String),
}

/// The programs that the model wrote to try a change, by draw; `None` for one that cannot be run.
/// Every round uses the same programs.
#[derive(Default)]
pub struct Programs {
    /// The function that the programs call.
    target: Option<Target>,
    drawn: Vec<Option<String>>,
    /// The mistake in the last program itself, for the next draw; empty if there is none.
    fault: String,
}

/// Has the model write calls and compares their results before and after the change. `opening` is
/// the prompt with the code and the request.
pub async fn shown(
    job: Job<'_>,
    files: &Files,
    opening: &[Message],
    programs: &mut Programs,
    evidence: &mut Evidence,
) -> Result<Shown, TurnError> {
    let Some(target) = target(job, files) else { return Ok(Shown::Nothing) };
    let Some(copy) = Copy::one(job).await? else { return Ok(Shown::Nothing) };
    if !files.as_they_were().all(|(path, text)| copy.put(path, text)) {
        return Ok(Shown::Nothing);
    }
    if programs.target.as_ref() != Some(&target) {
        *programs = Programs { target: Some(target.clone()), ..Programs::default() };
    }
    let mut problem = None;
    for draw in 0..Guided::SAMPLES {
        if draw == programs.drawn.len() {
            let drawn = written(job, opening, &target, draw, &programs.fault).await?;
            programs.drawn.push(drawn.map_err(|fault| programs.fault = fault).ok());
        }
        let Some(code) = &programs.drawn[draw] else { continue };
        let Some(line) = program::command(&target.path, &target.name, code) else { return Ok(Shown::Nothing) };
        let entry = command::perform(job, &line, Some(Guided::EXAMPLE_TIME), evidence).await?;
        let (id, is_refused, now) = (entry.id, entry.status.is_refused(), Gave::read(&entry.outcome.text));
        let right = copy::right(job, &line, Guided::EXAMPLE_TIME).filter(|_| !is_refused);
        let Some(right) = right else { return Ok(Shown::Nothing) };
        evidence.note_check(id, Check::Looks);
        let before = Gave::read(&copy.run(right).await.text);
        let program = code.trim().replace('\n', "; ");
        tracing::debug!(draw, ?before, ?now, "tried");
        if let Some(Gave::Unloaded(why)) = now.as_ref().filter(|now| now.fails_to_load_like(before.as_ref())) {
            let why = words::shorten(why, SAID_CHARS);
            return Ok(Shown::Unloaded(format!("not tried: {} does not load here, as before: {why}", target.path)));
        }
        match view(target.is_new, before.as_ref(), now.as_ref(), job.scene.request) {
            View::Differs => {
                return Ok(match contradiction(code, now.as_ref()) {
                    Some(said) => Shown::Contradiction(said),
                    None => Shown::Difference(told(&program, before.filter(|_| !target.is_new), now)),
                });
            }
            View::Objects(said) => problem = Some(format!("{TRIED}`{program}` {said}")),
            View::Unclear => programs.fault = now.map(|now| now.said()).unwrap_or_default(),
        }
    }
    Ok(match problem {
        Some(problem) => Shown::Objection(problem),
        None if target.is_new => Shown::Nothing,
        None => Shown::Unseen,
    })
}

/// Compares the result stated in a program with the printed one; `None` if they agree.
fn contradiction(code: &str, now: Option<&Gave>) -> Option<String> {
    let Some(Gave::Printed(lines)) = now else { return None };
    let stated::Contradiction { code, stated, printed } = stated::contradicted(code, lines)?;
    let (program, printed) = (code.replace('\n', "; "), words::shorten(&printed, SAID_CHARS));
    Some(format!("`{program}` gives {printed}, but the model's own example expects {stated}"))
}

/// The output of a program now and `before`, in the form shown to the user.
fn told(program: &str, before: Option<Gave>, now: Option<Gave>) -> String {
    let short = |gave: &Gave| words::shorten(&gave.said(), SAID_CHARS);
    let now = match now {
        Some(now @ Gave::Printed(_)) => format!("gives {}", short(&now)),
        Some(now) => format!("fails: {}", short(&now)),
        None => "prints nothing".to_owned(),
    };
    let before = match before {
        Some(Gave::Unloaded(_)) => "; before the change the module did not load".to_owned(),
        Some(before @ Gave::Printed(_)) => format!("; before the change it gave {}", short(&before)),
        Some(before) => format!("; before the change it failed: {}", short(&before)),
        None => String::new(),
    };
    format!("tried: `{}` {now}{before}", words::shorten(program, CALL_CHARS))
}

/// The verdict of one program on a change.
#[derive(Debug, PartialEq)]
enum View {
    /// The output differs from before.
    Differs,
    /// The reason why the change looks wrong.
    Objects(String),
    /// The program itself may be wrong.
    Unclear,
}

/// The verdict on a change, from the outputs of a program `before` it and after it (`now`).
fn view(is_new: bool, before: Option<&Gave>, now: Option<&Gave>, request: &Text) -> View {
    let speaks_of_errors = request.speaks_of_errors();
    let is_as_before = !is_new && before == now;
    let Some(gave) = now else { return View::Unclear };
    let said = gave.said();
    match gave {
        Gave::Failed { is_inside: false, .. } => View::Unclear,
        Gave::Unloaded(_) => View::Objects(format!("does not load: {said}")),
        Gave::Printed(_) if is_as_before => View::Objects(format!("still gives {said}")),
        Gave::Printed(_) => View::Differs,
        Gave::Failed { .. } if speaks_of_errors && is_as_before => View::Objects(format!("still fails: {said}")),
        Gave::Failed { .. } if speaks_of_errors => View::Differs,
        Gave::Failed { .. } if is_new || !is_as_before => View::Objects(format!("fails: {said}")),
        Gave::Failed { .. } => View::Unclear,
    }
}

/// The function whose change is tried: the last one that was changed. `None` if an example of the
/// request or the tests of a later step show its effect, if the request is about wording, or if
/// the file cannot be loaded without running a program.
fn target(job: Job<'_>, files: &Files) -> Option<Target> {
    let is_new = |name: &str| !files.had(name);
    let has_examples = files.given.is_some()
        || !files.held_before && !job.scene.request.examples(&files.new_names, &is_new).is_empty();
    let is_of_words = job.step.text.speaks_of_wording();
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
            let is_private = is_private(path, text, &one);
            differs.then(|| Target { path: path.to_owned(), name: one.name, is_new: was.is_none(), is_private })
        };
        new.filter_map(of)
    });
    let last = functions.filter(|one| !(one.is_new && job.tests_follow)).last()?;
    let text = files.texts().find(|(path, _)| *path == last.path).map(|(_, text)| text)?;
    testing::is_module(&last.path, text, is_imported(&last.path)).then_some(last)
}

/// Whether the definition is inaccessible to code outside the module.
fn is_private(path: &str, text: &str, one: &Span) -> bool {
    let outer = one.container.first().unwrap_or(&one.name);
    let is_exported = |line: &str| line.contains("export") && grounding::is_backed(line, outer);
    one.name.starts_with('_') || !path.ends_with(".py") && !text.lines().any(is_exported)
}

/// A program written by the model that calls the function and prints the result; the inner error
/// states why it is not run. `fault` is the mistake in an earlier program.
async fn written(
    job: Job<'_>,
    opening: &[Message],
    target: &Target,
    draw: usize,
    fault: &str,
) -> Result<Result<String, String>, TurnError> {
    let Target { path, name, is_private, .. } = target;
    let (print, fence, declares, import) = if path.ends_with(".py") {
        ("print", "python", "", "(import [A-Za-z_.]+|from [A-Za-z_.]+ import [A-Za-z_, ]+)")
    } else {
        ("console.log", "javascript", "((const|let|var) )?", "import [^`\\n]{1,100}")
    };
    let order = format!(
        "Before that, write a short program that shows the difference: a few lines that make what is needed, with small values, then one \
         `{print}(…)` of what `{name}` gives or changes. It must print something else, or work at all, only when the request is done. One code \
         block and nothing else."
    );
    let mut messages = opening.to_vec();
    let Some(last) = messages.last_mut() else { return Ok(Err(String::new())) };
    // The part with the code and the request stays the same, so it need not be processed again.
    last.content.truncate(last.content.rfind("\n\n").unwrap_or(last.content.len()));
    last.content.push_str(&format!("\n\n{order}"));
    if *is_private {
        last.content.push_str(&format!(" `{name}` itself cannot be called from outside; call what uses it."));
    }
    if !fault.is_empty() {
        last.content.push_str(&format!(" A first program was wrong: {fault}"));
    }
    // Without a grammar, a small model writes the change itself. The names of the module are
    // already in scope, but a model that may not import them writes nonsense.
    let call = print.replace('.', "\\.");
    let grammar = format!(
        "start: \"```{fence}\\n\" (IMPORT | LINE){{0,{LINES_MAX}}} PRINT \"```\"\n\
         IMPORT: /{import}\\n/\n\
         LINE: /{declares}[A-Za-z_][A-Za-z0-9_.]*( = |\\()[^`\\n]{{1,120}}\\n/\n\
         PRINT: /{call}\\([^`\\n]{{1,140}}\\n/\n"
    );
    let form = Ask {
        form: Form::Lark(grammar),
        tokens: job.limits().calls,
        seed: (draw > 0).then_some(draw),
        phase: "trying it",
    };
    let answer = ask(job, &messages, form).await?;
    tracing::debug!(draw, answer.text, "a call");
    let code = match answer.whole() {
        Ok(text) => reply::first(text).unwrap_or_default(),
        Err(why) => return Ok(Err(why)),
    };
    Ok(if !is_private && !grounding::is_backed(&code, name) {
        Err(format!("it does not call `{name}`"))
    } else if !program::is_harmless(&code) {
        Err("it may only compute and print, without files, other programs and `while`".to_owned())
    } else {
        Ok(code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(said: &str) -> Option<Gave> {
        Some(Gave::Printed(vec![said.to_owned()]))
    }

    fn failed(said: &str, is_inside: bool) -> Option<Gave> {
        Some(Gave::Failed { said: said.to_owned(), is_inside })
    }

    #[test]
    fn a_call_that_gives_what_it_gave_speaks_against_a_change() {
        let check = |is_new, before: Option<Gave>, now: Option<Gave>, request: &str, expected: View| {
            let seen = view(is_new, before.as_ref(), now.as_ref(), &Text::of(request));
            assert_eq!(seen, expected, "{before:?} {now:?} {request}");
        };
        let objects = |said: &str| View::Objects(said.to_owned());
        let asked = "f should sort its names";
        check(false, printed("b a"), printed("b a"), asked, objects("still gives b a"));
        check(false, printed("b a"), printed("a b"), asked, View::Differs);
        check(true, failed("no f", false), printed("a b"), asked, View::Differs);
        check(true, failed("no f", false), failed("NameError: x", true), asked, objects("fails: NameError: x"));
        check(false, printed("b a"), failed("NameError: x", true), asked, objects("fails: NameError: x"));
        check(false, printed("b a"), failed("NameError: b", false), asked, View::Unclear);
        check(false, failed("KeyError: a", true), failed("KeyError: a", true), asked, View::Unclear);
        let error = "f should raise a ValueError for no names";
        check(false, printed("b a"), failed("ValueError: x", true), error, View::Differs);
        check(
            false,
            failed("KeyError: a", true),
            failed("KeyError: a", true),
            error,
            objects("still fails: KeyError: a"),
        );
        check(false, printed("b a"), None, error, View::Unclear);
    }

    #[test]
    fn the_user_reads_what_a_call_gives() {
        let check = |before: Option<Gave>, now: Option<Gave>, expected: &str| {
            assert_eq!(told("f(1)", before, now), format!("tried: `f(1)` {expected}"));
        };
        check(None, printed("2"), "gives 2");
        check(printed("1"), printed("2"), "gives 2; before the change it gave 1");
        check(failed("KeyError: 1", true), printed("2"), "gives 2; before the change it failed: KeyError: 1");
        check(printed("1"), failed("ValueError: no", true), "fails: ValueError: no; before the change it gave 1");
    }
}
