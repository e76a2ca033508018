//! Measures what a model can do by itself, once per model file: understand requests, answer from a
//! passage, and write small changes.

use crate::agent::Host;
use crate::agent::guide::{self, read};
use crate::agent::player::{Form, Player};
use crate::agent::question::Question;
use crate::agent::toolkit::{Toolkit, TurnError};
use crate::models::Role;
use crate::models::capability::{CHANGES, Measured, READINGS, Tier};
use crate::models::dialect::Message;
use crate::request::{Kind, Text, steps};

/// Maximum length of the answer to a reading case and to a change, in tokens.
const READING_TOKENS: usize = 48;
const CHANGE_TOKENS: usize = 120;
const ANSWER_PROMPT: &str = include_str!("../prompts/ask.md");

/// Requests, with the expected kinds of their steps.
const REQUESTS: [(&str, &[Kind]); READINGS - 1] = [
    ("Set LIMIT to 9 in limits.py and then run the tests", &[Kind::Edit, Kind::Run]),
    ("Where is the session closed?", &[Kind::Ask]),
];

/// A passage with a question, and a text that the answer must contain.
const QUESTION: (&str, &str) = (
    "net/retry.py\n```python\nATTEMPTS = 7\n\ndef fetch(url):\n    for _ in range(ATTEMPTS):\n        reply = get(url)\n        if reply.ok:\n            \
     return reply\n    return None\n```\n\nQuestion: What does fetch return when every attempt fails?",
    "None",
);

/// A file and a change to make. The changed file must contain one text from each list in
/// `expected`.
struct Change {
    path: &'static str,
    text: &'static str,
    request: &'static str,
    expected: &'static [&'static [&'static str]],
}

const FILES: [Change; CHANGES] = [
    Change {
        path: "counter.py",
        text: "class Counter:\n    def __init__(self):\n        self.value = 0\n\n    def add(self, n):\n        self.value += n\n        return self.value\n",
        request: "Add a method `reset` to Counter that sets the value to 0.",
        expected: &[&["def reset(self"], &["def add(self"]],
    },
    Change {
        path: "lists.js",
        text: "function first(list) {\n  return list[0];\n}\n\nmodule.exports = { first };\n",
        request: "Add a function `last` that returns the last item of a list.",
        expected: &[&["function last(", "last = ("], &["length - 1", "at(-1)", "slice(-1)"], &["function first("]],
    },
    Change {
        path: "clamp.py",
        text: "def clamp(x, low, high):\n    return max(low, min(x, high))\n",
        request: "clamp should raise a ValueError when low is greater than high.",
        expected: &[&["raise ValueError"], &["low > high", "high < low"], &["max(low", "min(high"]],
    },
];

/// The planner's tier without loading the model: from models.toml, else from a stored measurement;
/// `None` if it was never measured.
pub fn known(toolkit: &Toolkit) -> Option<Tier> {
    if toolkit.is_away(Role::Planner) {
        let said = toolkit.pool.wishes(toolkit.planner()).tier;
        return said.or_else(|| measured_before(toolkit));
    }
    if let Some(said) = toolkit.pool.tier_of(toolkit.planner()) {
        return Some(said);
    }
    match toolkit.pool.file_of(toolkit.planner()) {
        Some(_) => measured_before(toolkit),
        // A scripted model has no file; its script contains the measurement.
        None => {
            let measured = toolkit.pool.resident(toolkit.planner()).and_then(|model| model.measured.clone());
            Some(measured.and_then(|measured| measured.tier()).unwrap_or(Tier::Reads))
        }
    }
}

fn measured_before(toolkit: &Toolkit) -> Option<Tier> {
    super::remembered(toolkit, Role::Planner)?.tier()
}

/// The planner's tier: the known one, else from a probe now; `Reads` until turns have had enough
/// time for the probe.
pub async fn tier(toolkit: &Toolkit, host: &dyn Host) -> Result<Tier, TurnError> {
    if let Some(known) = known(toolkit) {
        return Ok(known);
    }
    let model = toolkit.model(Role::Planner, host).await?;
    // The abilities of a server's model are known only after connecting.
    if let Some(known) = known(toolkit) {
        return Ok(known);
    }
    if !super::has_time(toolkit, &model) {
        return Ok(Tier::Reads);
    }
    host.notice(&format!("measuring once what {} can do", model.name()));
    let measured = measure(toolkit, &model, super::known(toolkit, &model), host).await?;
    let Some(tier) = measured.tier() else { return Ok(Tier::Reads) };
    let (reading, writing) = (measured.reading, measured.writing);
    host.notice(&format!(
        "{} {}: {} of {} requests and questions read, {} of {} changes written",
        model.name(),
        tier.name(),
        reading.right,
        reading.of,
        writing.right,
        writing.of
    ));
    Ok(tier)
}

/// Whether the planner leads its turns, that is, whether its tier is `Acts`. A model of sufficient
/// size is measured for this once.
pub async fn leads(toolkit: &Toolkit, host: &dyn Host) -> Result<bool, TurnError> {
    if known(toolkit) == Some(Tier::Acts) && toolkit.is_away(Role::Planner) {
        // If a server cannot be reached, a local model takes over its role; that model has its own
        // tier.
        toolkit.model(Role::Planner, host).await?;
    }
    if known(toolkit) == Some(Tier::Acts) {
        return Ok(true);
    }
    // A scripted model has the tier in its script, and a tier in models.toml overrides
    // measurements.
    let said = if toolkit.is_away(Role::Planner) {
        toolkit.pool.wishes(toolkit.planner()).tier
    } else {
        toolkit.pool.tier_of(toolkit.planner())
    };
    if said.is_some() || toolkit.pool.file_of(toolkit.planner()).is_none() && !toolkit.is_away(Role::Planner) {
        return Ok(false);
    }
    let model = toolkit.model(Role::Planner, host).await?;
    if known(toolkit) == Some(Tier::Acts) {
        return Ok(true);
    }
    let capable = super::remembered(toolkit, Role::Planner).and_then(|measured| measured.capable());
    let may_act = capable.unwrap_or(model.capability().supports_advanced_orchestration);
    if !may_act || tier(toolkit, host).await? < Tier::Writes {
        return Ok(false);
    }
    if capable.is_none() {
        super::measure(toolkit, &model, super::Depth::Gate, super::known(toolkit, &model), host).await?;
    }
    Ok(known(toolkit) == Some(Tier::Acts))
}

/// Asks the cases that are still open in `found` until the tier is known or the turn's time for
/// measurements is over, and stores each answer for the model file. Reading cases come first: they
/// are short, and a model that cannot read cannot write.
pub(super) async fn measure(
    toolkit: &Toolkit,
    model: &Player,
    mut found: Measured,
    host: &dyn Host,
) -> Result<Measured, TurnError> {
    let question = Question { toolkit, model, host, phase: super::PHASE, priority: super::PRIORITY };
    while found.tier().is_none() {
        if !super::has_time(toolkit, model) {
            super::tell_undecided(model, host);
            break;
        }
        if found.reads().is_none() {
            let is_read = reads(question, found.reading.of).await?;
            found.reading.add(is_read);
        } else {
            let Some(change) = FILES.get(found.writing.of) else { break };
            let after = guide::sample(question, (change.path, change.text), change.request, CHANGE_TOKENS).await?;
            found.writing.add(after.is_some_and(|after| change.is_made(&after)));
        }
        super::keep(toolkit, model, &found);
    }
    Ok(found)
}

/// Whether the model reads the request with this number correctly; the last number is a question
/// about a passage.
async fn reads(question: Question<'_>, number: usize) -> Result<bool, TurnError> {
    let Some((request, kinds)) = REQUESTS.get(number) else {
        let messages = [Message::system(ANSWER_PROMPT.trim()), Message::user(QUESTION.0)];
        let answer = question.output(&messages, READING_TOKENS, Form::Free).await?.text;
        return Ok(answer.contains(QUESTION.1));
    };
    let output = read::reading(question, &Text::of(*request), &[], READING_TOKENS).await?;
    Ok(steps::kinds(&output.text) == *kinds)
}

impl Change {
    /// Whether the changed file contains every expected text.
    fn is_made(&self, after: &str) -> bool {
        self.expected.iter().all(|any| any.iter().any(|text| after.contains(text)))
    }
}
