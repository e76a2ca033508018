//! Changes a file without definitions: through its keys if it has any; else the model rewrites a
//! passage or adds one after it.

use std::collections::HashSet;

use crate::agent::budget::Guided;
use crate::agent::evidence::Evidence;
use crate::agent::guide::passage::{self, Passage, Place};
use crate::agent::guide::{Done, Job, data, is_prose, refusal, reply};
use crate::agent::player::Form;
use crate::agent::toolkit::TurnError;
use crate::context::{Pack, readable};
use crate::edit::{Edit, has_grammar, kept};
use crate::language::{grounding, words};
use crate::models::dialect::Message;

use super::{Ask, DRAWN_FROM, NO_TEXT, ask, create, opening, task, text_ask, until_right};

const PASSAGE: &str = include_str!("../../prompts/passage.md");
const ADDITION: &str = include_str!("../../prompts/addition.md");
/// The messages to the model about an answer that changes nothing, and about one that removes
/// nothing although the request asks for a removal.
const NOTHING_CHANGED: &str = "Nothing is changed by what you wrote.";
const NOTHING_GONE: &str = "The request removes something, and nothing is gone.";
/// Number of tokens that a passage may have in addition to twice its old length.
const TEXT_MORE: usize = 120;

/// Changes the file `path`, whether it has keys or passages or is still empty.
pub(super) async fn change(job: Job<'_>, path: &str, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let before = match readable(job.scene.context, path) {
        Ok(before) => before,
        Err(why) => return Ok(Done::refused(&why)),
    };
    if let Some(done) = data::change(job, path, &before, evidence).await? {
        return Ok(done);
    }
    let all = passage::passages(path, &before);
    if all.is_empty() {
        let pack = Pack::default();
        return create(job, path, &pack, evidence).await;
    }
    let Some(wanted) = wanted(job, path, &before, &all).await? else {
        return Ok(Done::note(format!("not done: it is unclear which passage of {path} is meant; name its heading")));
    };
    let chosen = match wanted {
        Place::Change(at) => passage::narrowed(&before, &all[at], job.step.text.content()),
        Place::After(at) | Place::Into(at) => all[at].clone(),
    };
    write(job, Target { path, before: &before, wanted, chosen }, evidence).await
}

/// The place of the change: the passage that the step names or clearly means, else the one that the
/// model chooses, if any.
async fn wanted(job: Job<'_>, path: &str, before: &str, all: &[Passage]) -> Result<Option<Place>, TurnError> {
    let adds_words = is_prose(path) && job.step.text.adds_words();
    let adds = adds_words || job.step.text.mentions(job.index).is_ok_and(|mentions| mentions.adds);
    let texts: Vec<String> = all.iter().map(|one| passage::lines_of(before, one)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let newest = || passage::newest(path, all, &texts).filter(|_| adds);
    let titles: Vec<&str> = all.iter().map(|one| one.title.as_str()).collect();
    let called = job.step.text.heading_among(&titles).or_else(newest);
    let place = match called.or_else(|| passage::clearly_meant(&texts, job.step.text.content()).filter(|_| !adds)) {
        Some(at) => Some(Place::Change(at)),
        None => place(job, path, all).await?,
    };
    Ok(place.map(|place| match place {
        Place::Change(at) | Place::After(at) if adds_words => Place::Into(at),
        place => place,
    }))
}

/// A passage that the model rewrites, or after which it adds a new passage.
pub(super) struct Target<'a> {
    pub path: &'a str,
    /// The text of the file.
    pub before: &'a str,
    pub wanted: Place,
    /// The passage shown to the model: the complete passage, or the lines that the step is about.
    pub chosen: Passage,
}

/// The text of the file with the model's answer inserted.
struct Draft {
    after: String,
    /// The place of the answer in the file.
    place: Place,
    /// The problem with the answer, if any.
    problem: Option<String>,
}

impl Target<'_> {
    /// Inserts the model's answer into the file, in place of the passage or after it.
    fn put(&self, job: Job<'_>, written: &str) -> Draft {
        let Target { path, before, wanted, chosen } = self;
        let code = match wanted {
            Place::Into(_) => passage::new_lines(&passage::lines_of(before, chosen), written),
            _ => passage::own(before, chosen, written),
        };
        // An answer that begins with the first line of the passage rewrites it.
        let begins =
            passage::lines_of(before, chosen).lines().next().map(str::trim) == code.lines().next().map(str::trim);
        let place = match *wanted {
            Place::After(at) if begins => Place::Change(at),
            place => place,
        };
        let after = passage::put(before, chosen, place, &code);
        let problem = if written.trim().is_empty() {
            Some(NO_TEXT.to_owned())
        } else if code.trim().is_empty() || after == *before {
            Some(NOTHING_CHANGED.to_owned())
        } else if !matches!(wanted, Place::Into(_)) && job.step.text.removes() && after.len() >= before.len() {
            Some(NOTHING_GONE.to_owned())
        } else {
            let lost = kept::lost_text(before, &after).filter(|_| !job.step.text.may_shorten());
            let lost = lost.map(|line| format!("The line `{line}` is gone, which nobody asked for."));
            let echo = || {
                let known: HashSet<&str> = before.lines().map(str::trim).collect();
                let mut new = after.lines().map(str::trim).filter(|line| !known.contains(line));
                let line = new.find(|line| job.step.text.is_repeated_by(line));
                line.map(|line| format!("The line `{line}` only repeats the request."))
            };
            let silent = || self.silent_about(job, &after).or_else(|| self.beside_the_point(job, &after)).or_else(echo);
            let twice = twice(before, &after).map(|line| format!("The line `{line}` stands there twice now."));
            let unrun = || self.unrun_example(job, &after);
            let grown = grown(before, &code).filter(|_| matches!(wanted, Place::Into(_)));
            let grown =
                grown.map(|line| format!("The line `{line}` stands there in part; write only what is to be added."));
            lost.or(twice)
                .or(grown)
                .or_else(silent)
                .or_else(unrun)
                .or_else(|| job.edited(path, before, &Edit::Whole(&after), &[]).err())
        };
        Draft { after, place, problem }
    }

    /// The problem with documentation about something new that does not name it.
    fn silent_about(&self, job: Job<'_>, after: &str) -> Option<String> {
        let new = job.scene.request.mentions(job.index).ok()?.asked_for;
        let names: Vec<&str> = new.iter().map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
        // Code already contains the name, so the number of occurrences is compared.
        let count = |text: &str| names.iter().map(|name| grounding::places(text, name).count()).sum::<usize>();
        let is_of_new = has_grammar(self.path) || is_prose(self.path) && count(self.before) == 0;
        let is_silent = is_of_new && !names.is_empty() && count(after) <= count(self.before);
        is_silent.then(|| format!("What was written does not name `{}`.", names.join("`, `")))
    }

    /// The problem with a docstring with a new example that has not been run, unless the request
    /// asks for examples.
    fn unrun_example(&self, job: Job<'_>, after: &str) -> Option<String> {
        let count = |text: &str| text.lines().filter(|line| line.trim_start().starts_with(">>>")).count();
        let asks = job.step.text.asks_for_examples();
        let is_new = has_grammar(self.path) && !asks && count(after) > count(self.before);
        is_new.then(|| "What was written has an example that nobody asked for; say it in words.".to_owned())
    }

    /// The problem with changed prose whose new words do not occur in the request.
    fn beside_the_point(&self, job: Job<'_>, after: &str) -> Option<String> {
        let asked = job.asked();
        if !is_prose(self.path) || asked.speaks_of_form() {
            return None;
        }
        let lines_without = |text: &str, other: &str| -> HashSet<String> {
            let known: HashSet<&str> = other.lines().collect();
            text.lines().filter(|line| !known.contains(line)).flat_map(words::content).collect()
        };
        let (gone, come) = (lines_without(self.before, after), lines_without(after, self.before));
        let says = come.iter().any(|word| !gone.contains(word) && asked.content().contains(word));
        (!says).then(|| "What was written says nothing of what is asked for.".to_owned())
    }

    /// The next question to the model after `draft` was refused.
    fn again(&mut self, draft: &Draft) -> &'static str {
        // A model that repeats a passage unchanged may still write a good addition to it.
        match draft.place {
            Place::Into(_) => "Write only what is new.",
            Place::Change(at) if draft.after == self.before && is_prose(self.path) => {
                self.wanted = Place::After(at);
                "Write only the new lines that come behind this passage."
            }
            _ => "Write the passage again as the request asks.",
        }
    }
}

/// A line that occurs more often in `after` than in `before`.
fn twice<'t>(before: &str, after: &'t str) -> Option<&'t str> {
    const TELLING_CHARS: usize = 16;
    let count = |text: &str, line: &str| text.lines().filter(|other| other.trim() == line).count();
    let is_telling = |line: &&str| line.chars().filter(|letter| letter.is_alphanumeric()).count() >= TELLING_CHARS;
    let mut lines = after.lines().map(str::trim).filter(is_telling);
    lines.find(|line| count(before, line) > 0 && count(after, line) > count(before, line))
}

/// An added line that extends an old line of the file: the model repeated the passage instead of
/// writing only the new text.
fn grown<'t>(before: &str, added: &'t str) -> Option<&'t str> {
    let old: Vec<&str> = before.lines().map(str::trim).filter(|line| line.contains(' ')).collect();
    let goes_on = |line: &str, old: &str| line.strip_prefix(old).is_some_and(|more| more.starts_with(' '));
    added.lines().map(str::trim).find(|line| old.iter().any(|one| goes_on(line, one)))
}

/// Has the model write the passage until the checks accept the file.
pub(super) async fn write(job: Job<'_>, mut target: Target<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let (path, before) = (target.path, target.before);
    // A passage rarely grows to more than twice its length.
    let adds = matches!(target.wanted, Place::Into(_));
    let length = 2 * crate::retrieve::tokens(&passage::lines_of(before, &target.chosen)) + TEXT_MORE;
    let tokens = length.min(job.limits().text);
    let mut messages = opening(job, &job.model().await?, if adds { ADDITION } else { PASSAGE });
    messages.push(Message::user(passage_task(job, path, before, &target.chosen, target.wanted)));
    let forms = (0..Guided::TEXT_ROUNDS).map(|round| match adds {
        true => addition_ask(tokens, round),
        false => text_ask(before.contains("```"), tokens, round, "writing text"),
    });
    let take = |answer: &str| {
        let draft = target.put(job, &reply::first(answer).unwrap_or_default());
        match draft.problem.clone() {
            Some(problem) => Err((problem, target.again(&draft))),
            None => Ok(draft.after),
        }
    };
    match until_right(job, messages, forms, take).await? {
        Ok(after) => job.replace(path, before, &after, evidence).await,
        Err(trouble) if trouble == NOTHING_CHANGED || trouble == NOTHING_GONE => {
            let why = format!("not changed: no change to {path} was found that does what you ask");
            Ok(Done::note(format!("{why}; give the words to put there")))
        }
        Err(trouble) => Ok(Done::note(format!("not done: {}", refusal::of_file(path, &trouble)))),
    }
}

fn passage_task(job: Job<'_>, path: &str, before: &str, chosen: &Passage, place: Place) -> String {
    let shown = passage::lines_of(before, chosen);
    let task = task(job);
    match place {
        Place::Into(_) => {
            let shown = passage::lines_of(before, &passage::narrowed(before, chosen, job.step.text.content()));
            let form = if passage::ends_with_list(&shown) {
                "the new entry, in the form of the others"
            } else {
                "what is new"
            };
            format!(
                "A passage of {path}:\n````\n{shown}\n````\n\n{task}\nWrite only {form}, and nothing that is there already."
            )
        }
        Place::Change(_) => {
            format!("A passage of {path}:\n````\n{shown}\n````\n\n{task}\nWrite the passage as it shall be.")
        }
        Place::After(_) => format!(
            "A passage of {path}:\n````\n{shown}\n````\n\n{task}\nWrite only the new passage that comes behind this one, in its style."
        ),
    }
}

/// Asks for one fenced block of lines without headings. A model that cannot write the new text
/// alone may repeat the passage with it.
fn addition_ask(tokens: usize, round: usize) -> Ask {
    let form = "start: \"````\\n\" LINE+ \"````\"\nLINE: /([^#`\\n][^\\n]*|`[^`\\n][^\\n]*)\\n/\n";
    let form = Form::Lark(form.to_owned());
    let seed = (round >= DRAWN_FROM).then_some(round);
    Ask { form, tokens, seed, phase: "writing text" }
}

/// Asks the model which passage to change, or where to add a new one. A single passage is changed
/// without asking. `None` if the answer names no place.
async fn place(job: Job<'_>, path: &str, all: &[Passage]) -> Result<Option<Place>, TurnError> {
    if all.len() == 1 {
        return Ok(Some(Place::Change(0)));
    }
    let listed: Vec<String> = all.iter().enumerate().map(|(at, one)| format!("{}. {}", at + 1, one.title)).collect();
    let messages = [
        Message::system(
            "A request changes a file that has several passages. Say which passage has to change, as `change N`. If a passage of its own \
             is to be added, say behind which one, as `new after N`. Answer with that alone.",
        ),
        Message::user(format!("Passages of {path}:\n{}\n\n{}", listed.join("\n"), task(job))),
    ];
    let places = (1..=all.len()).flat_map(|number| ["change", "new after"].map(|what| format!("{what} {number}")));
    let form = Form::Choice(places.collect());
    let form = Ask { form, tokens: 8, seed: None, phase: "finding the passage" };
    let answer = ask(job, &messages, form).await?;
    let Ok(answer) = answer.whole() else { return Ok(None) };
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| (1..=all.len()).contains(n)).map(|n| n - 1);
    let place = match answer.strip_prefix("new after ") {
        Some(rest) => number(rest).map(Place::After),
        None => answer.strip_prefix("change ").and_then(number).map(Place::Change),
    };
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_passage_that_was_written_again_is_no_addition() {
        let before = "See our `list\npage <x>`_\n\nTell us\n";
        assert_eq!(grown(before, "page <x>`_ and our wiki.\nTell us\n"), Some("page <x>`_ and our wiki."));
        assert_eq!(grown(before, "Rust 1.91 is needed.\npage <x>`_s\nTell\n"), None);
    }
}
