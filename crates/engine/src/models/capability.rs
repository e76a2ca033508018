//! Decides what a model can be trusted with, from models.toml, from probe results or from its size.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::gguf::Header;
use crate::base::file;

/// Number of parameters from which an unmeasured model is assumed to be able to plan and reason by
/// itself. Published scores drop sharply below this: 1.2B models complete 8 % of multi-step
/// requests, 24B models 26 to 66 % (LocalCowork's benchmark).
const CAPABLE_PARAMETERS: u64 = 3_000_000_000;
/// Version of the probes. Raise it when their prompts change, so that every model is measured
/// again.
const PROBES: u32 = 2;

/// Which tasks a model may do by itself: free agent loops and free reasoning. Planning by code
/// works with every model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ModelCapability {
    pub supports_advanced_orchestration: bool,
    pub supports_complex_reasoning: bool,
    pub max_context_tokens: usize,
    pub recommended_max_iterations: usize,
}

impl ModelCapability {
    pub fn capable(context: usize) -> ModelCapability {
        ModelCapability {
            supports_advanced_orchestration: true,
            supports_complex_reasoning: true,
            max_context_tokens: context.min(128_000),
            recommended_max_iterations: 12,
        }
    }

    pub fn weak() -> ModelCapability {
        ModelCapability {
            supports_advanced_orchestration: false,
            supports_complex_reasoning: false,
            max_context_tokens: 4096,
            recommended_max_iterations: 3,
        }
    }

    /// From models.toml (`said`), or else from measurements or the size. `context` is the context
    /// window in tokens.
    pub fn of(said: Option<bool>, measured: Option<&Measured>, header: &Header, context: usize) -> ModelCapability {
        let by_size = || header.parameters >= CAPABLE_PARAMETERS;
        if said.or_else(|| measured.and_then(Measured::capable)).unwrap_or_else(by_size) {
            ModelCapability::capable(context)
        } else {
            ModelCapability::weak()
        }
    }
}

/// How much of a turn a model does itself; measured when it is first used, see
/// `agent/probe/tier.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Code looks things up and makes explicit edits; the model only words answers.
    Reads,
    /// The model reads requests, answers from code and writes changes, all of which code checks.
    Writes,
    /// The model may also run free loops with tools.
    Acts,
}

impl Tier {
    pub fn name(self) -> &'static str {
        ["reads", "writes", "acts"][self as usize]
    }
}

/// The number of correct answers and the number of questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub right: usize,
    pub of: usize,
}

impl Share {
    pub fn add(&mut self, right: bool) {
        self.right += usize::from(right);
        self.of += 1;
    }

    /// 0 to 1; 0 if nothing was asked.
    pub fn rate(self) -> f64 {
        self.right as f64 / self.of.max(1) as f64
    }

    /// Whether the rate will be at least `least` once `all` questions are answered; `None` while
    /// that depends on the open answers.
    pub fn reaches(self, least: f64, all: usize) -> Option<bool> {
        let open = all.saturating_sub(self.of);
        let with = |right: usize| (self.right + right) as f64 >= least * (self.of + open) as f64;
        (with(0) == with(open)).then(|| with(0))
    }
}

/// How often a model called the right tool, freely and inside a grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choosing {
    pub free: Choices,
    pub grammar: Choices,
}

/// Correct choices by a model that writes its calls in one of these ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// Among five tools.
    pub few: Share,
    /// Among fifteen tools.
    pub many: Share,
    /// The smallest margin of a right choice over any other; `None` if the model does not report
    /// margins.
    pub margin_min: Option<f32>,
}

impl Choices {
    pub fn all(self) -> Share {
        sum([self.few, self.many])
    }

    /// Whether it chooses as well among many tools as among few.
    pub fn bears_many(self) -> bool {
        self.few.of > 0 && self.many.of > 0 && self.many.rate() >= self.few.rate()
    }

    /// Whether it was less certain of a choice with this margin than of any right one.
    pub fn is_unsure(self, margin: f32) -> bool {
        self.margin_min.is_some_and(|least| margin < least)
    }
}

impl Choosing {
    /// Whether every task was asked in both ways. Measurements from before 28 November 2026 do not
    /// record the number of tools.
    pub fn is_known(self) -> bool {
        self.free.all().of >= CHOICES && self.grammar.all().of >= CHOICES
    }

    /// Whether its calls are written inside a grammar: yes, unless it calls better without one. A
    /// few tasks are weak evidence, and inside a grammar every reply is a call.
    pub fn constrained(self) -> bool {
        self.grammar.all().rate() >= self.free.all().rate()
    }

    /// The choices made in the better way, which is the one used.
    pub fn better(self) -> Choices {
        if self.constrained() { self.grammar } else { self.free }
    }
}

/// A model's results on the prompts of the probe (`agent/probe/`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Number of prompts asked so far for the rates from `format` to `grammar`, and the time they
    /// took.
    pub prompts: usize,
    pub wall_ms: u64,
    /// Replies that call an existing tool in the notation of the model's family.
    pub format: Share,
    /// Calls of the right tool, by the number of tools offered.
    pub selection: BTreeMap<usize, Share>,
    /// Replies without a call to prompts that need none.
    pub restraint: Share,
    /// Plans with the right number of steps, by that number.
    pub plans: BTreeMap<usize, Share>,
    /// Correct calls inside a grammar, for the tasks with up to [`TOOLS_MANY`] tools.
    pub grammar: Share,
    /// Calls of the right tool if a call is requested, in a separate prompt with few tools.
    #[serde(default)]
    pub choosing: Choosing,
    /// Requests split into the right steps, and questions answered from a passage.
    #[serde(default)]
    pub reading: Share,
    /// Code changes that could be applied and met the request.
    #[serde(default)]
    pub writing: Share,
}

/// Rates that a model needs for free loops. Of 12 calls, 2 may be unreadable and 3 wrong, which a
/// loop of 12 iterations survives. A model that calls tools for small talk, or plans one step
/// instead of four, must not run freely.
const FORMAT_MIN: f64 = 0.8;
pub const SELECTION_MIN: f64 = 0.7;
const RESTRAINT_MIN: f64 = 0.5;
const PLANS_MIN: f64 = 0.5;
/// Rates that a model needs to write changes.
const READING_MIN: f64 = 0.6;
const WRITING_MIN: f64 = 0.6;
/// Number of prompts that decide a probe: calls, small talk, plans with the most steps, readings,
/// and changes.
pub const CALLS: usize = 12;
pub const TALKS: usize = 4;
pub const LONG_PLANS: usize = 2;
pub const READINGS: usize = 3;
pub const CHANGES: usize = 3;
/// Number of steps in a long plan. A model that plans four steps also plans one.
pub const LONG_PLAN: usize = 4;
/// Number of tasks with few or many tools, and the number of tools that counts as many.
pub const CHOICES: usize = 8;
pub const TOOLS_MANY: usize = 15;

impl Measured {
    pub fn selected(&self) -> Share {
        sum(self.selection.values().copied())
    }

    pub fn planned(&self) -> Share {
        sum(self.plans.values().copied())
    }

    /// Calls of the right tool without a grammar, on the tasks of `grammar`.
    pub fn free(&self) -> Share {
        sum(self.selection.range(..=TOOLS_MANY).map(|(_, share)| *share))
    }

    /// Whether enough calls are readable and use the right tool; `None` while this depends on the
    /// open answers.
    pub fn calls(&self) -> Option<bool> {
        all([self.format.reaches(FORMAT_MIN, CALLS), self.selected().reaches(SELECTION_MIN, CALLS)])
    }

    /// Whether it rarely calls a tool for small talk.
    pub fn restrains(&self) -> Option<bool> {
        self.restraint.reaches(RESTRAINT_MIN, TALKS)
    }

    /// Whether it plans as many steps as a request needs.
    pub fn plans(&self) -> Option<bool> {
        self.plans.get(&LONG_PLAN).copied().unwrap_or_default().reaches(PLANS_MIN, LONG_PLANS)
    }

    /// Whether the model may run free loops; `None` while that depends on the open answers. Time
    /// does not count: a slow model is not a weak one.
    pub fn capable(&self) -> Option<bool> {
        all([self.calls(), self.restrains(), self.plans()])
    }

    /// Whether it reads requests and passages; `None` while that depends on the open answers.
    pub fn reads(&self) -> Option<bool> {
        self.reading.reaches(READING_MIN, READINGS)
    }

    /// The model's tier; `None` while the open answers decide between reading and writing.
    pub fn tier(&self) -> Option<Tier> {
        let writes = all([self.reads(), self.writing.reaches(WRITING_MIN, CHANGES)])?;
        Some(match (writes, self.capable()) {
            (false, _) => Tier::Reads,
            (true, Some(true)) => Tier::Acts,
            (true, _) => Tier::Writes,
        })
    }

    /// Whether a grammar improves its calls. This is measured, because a grammar can also spoil
    /// half of a model's calls.
    pub fn grammar_helps(&self) -> bool {
        self.grammar.of >= CHOICES && self.grammar.rate() > self.free().rate()
    }

    /// The saved results of the model file with this fingerprint.
    pub fn remembered(folder: &Path, fingerprint: &str) -> Option<Measured> {
        file::read_json(&folder.join(saved(fingerprint)))
    }

    pub fn remember(&self, folder: &Path, fingerprint: &str) -> io::Result<()> {
        file::replace_json(&folder.join(saved(fingerprint)), self)
    }
}

/// The name of the file with a model file's results.
fn saved(fingerprint: &str) -> String {
    format!("{fingerprint}.{PROBES}.json")
}

/// False if any is false, true if all are true, otherwise `None`.
fn all<const N: usize>(verdicts: [Option<bool>; N]) -> Option<bool> {
    let is_lost = verdicts.contains(&Some(false));
    (is_lost || !verdicts.contains(&None)).then_some(!is_lost)
}

fn sum(shares: impl IntoIterator<Item = Share>) -> Share {
    let add = |sum: Share, one: Share| Share { right: sum.right + one.right, of: sum.of + one.of };
    shares.into_iter().fold(Share::default(), add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(format: usize, selected: usize, restraint: usize, plans: usize) -> Measured {
        Measured {
            format: Share { right: format, of: 12 },
            selection: BTreeMap::from([(15, Share { right: selected, of: 12 })]),
            restraint: Share { right: restraint, of: 4 },
            plans: BTreeMap::from([(4, Share { right: plans, of: 4 })]),
            ..Measured::default()
        }
    }

    #[test]
    fn a_model_is_capable_when_all_of_it_is_good_enough() {
        assert_eq!(measured(12, 12, 4, 4).capable(), Some(true));
        assert_eq!(measured(10, 9, 2, 2).capable(), Some(true));
        for weak in [measured(9, 9, 4, 4), measured(12, 8, 4, 4), measured(12, 12, 1, 4), measured(12, 12, 4, 1)] {
            assert_eq!(weak.capable(), Some(false), "{weak:?}");
        }
        assert_eq!(Measured::default().capable(), None);
    }

    #[test]
    fn a_verdict_is_given_as_soon_as_no_open_answer_can_change_it() {
        let check = |right: usize, of: usize, expected: Option<bool>| {
            assert_eq!(Share { right, of }.reaches(0.7, 12), expected, "{right} of {of}");
        };
        check(8, 8, None);
        check(9, 9, Some(true));
        check(5, 8, None);
        check(5, 9, Some(false));
        check(0, 4, Some(false));
        let of = |right, of| Share { right, of };
        let mut found = Measured { format: of(0, 3), ..Measured::default() };
        assert_eq!(found.capable(), Some(false), "nine more readable calls of twelve are not enough");
        found = Measured { restraint: of(0, 3), ..Measured::default() };
        assert_eq!(found.capable(), Some(false));
        found = Measured { format: of(10, 10), selection: BTreeMap::from([(24, of(9, 10))]), ..Measured::default() };
        assert_eq!((found.calls(), found.capable()), (Some(true), None));
        found.restraint = of(2, 2);
        found.plans.insert(LONG_PLAN, of(1, 1));
        assert_eq!(found.capable(), Some(true));
    }

    #[test]
    fn time_decides_nothing() {
        assert_eq!(measured(2, 2, 0, 0).capable(), Some(false));
        let cut = Measured { format: Share { right: 2, of: 4 }, ..Measured::default() };
        assert_eq!((cut.capable(), Measured::default().tier()), (None, None));
    }

    #[test]
    fn a_tier_is_settled_once_no_open_answer_can_move_it() {
        let tier = |read: (usize, usize), written: (usize, usize)| {
            let of = |(right, of)| Share { right, of };
            Measured { reading: of(read), writing: of(written), ..Measured::default() }.tier()
        };
        assert_eq!((tier((2, 2), (2, 2)), tier((3, 3), (2, 3))), (Some(Tier::Writes), Some(Tier::Writes)));
        assert_eq!((tier((2, 2), (0, 2)), tier((2, 3), (1, 3))), (Some(Tier::Reads), Some(Tier::Reads)));
        // One more change decides the result.
        assert_eq!((tier((2, 2), (1, 2)), tier((3, 3), (0, 1))), (None, None));
        // A model that cannot read requests cannot write changes.
        assert_eq!(tier((0, 2), (0, 0)), Some(Tier::Reads));
    }

    #[test]
    fn a_grammar_is_used_only_where_it_was_better() {
        let tried = |free, grammar| {
            let (free, grammar) = (Share { right: free, of: 8 }, Share { right: grammar, of: 8 });
            Measured { selection: BTreeMap::from([(5, free)]), grammar, ..Measured::default() }.grammar_helps()
        };
        assert!(tried(4, 5) && !tried(5, 5) && !tried(6, 3) && !Measured::default().grammar_helps());
        let chosen = |free, grammar| {
            let of = |right| Choices { few: Share { right, of: 8 }, ..Choices::default() };
            Choosing { free: of(free), grammar: of(grammar) }.constrained()
        };
        assert!(chosen(5, 6) && chosen(6, 6) && !chosen(7, 6) && Choosing::default().constrained());
    }

    #[test]
    fn saved_results_are_found_by_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let of = |right| Choices { few: Share { right, of: 4 }, margin_min: Some(0.25), ..Choices::default() };
        let probe = Measured { choosing: Choosing { free: of(4), grammar: of(3) }, ..measured(12, 11, 3, 2) };
        probe.remember(&folder.path().join("new"), "abc").unwrap();
        assert_eq!(Measured::remembered(&folder.path().join("new"), "abc"), Some(probe));
        assert_eq!(Measured::remembered(folder.path(), "other"), None);
    }

    #[test]
    fn an_earlier_measurement_keeps_all_but_the_choice_of_tools() {
        let folder = tempfile::tempdir().unwrap();
        let kept = measured(12, 11, 3, 2);
        let mut earlier = serde_json::to_value(&kept).unwrap();
        earlier["choosing"] = serde_json::json!({ "right": 6, "of": 8 });
        earlier["choosing_free"] = serde_json::json!({ "right": 7, "of": 8 });
        std::fs::write(folder.path().join(saved("abc")), earlier.to_string()).unwrap();
        let read = Measured::remembered(folder.path(), "abc").unwrap();
        assert_eq!(read, kept);
        assert!(!read.choosing.is_known());
    }

    #[test]
    fn many_tools_are_borne_where_as_many_choices_are_right() {
        let of = |few, many| {
            let (few, many) = (Share { right: few, of: 4 }, Share { right: many, of: 4 });
            Choices { few, many, margin_min: Some(0.5) }
        };
        assert!(of(3, 3).bears_many() && of(3, 4).bears_many() && !of(4, 3).bears_many());
        // Time ran out before any choice among few tools.
        assert!(!Choices { few: Share::default(), ..of(0, 4) }.bears_many());
        assert!(of(4, 4).is_unsure(0.4) && !of(4, 4).is_unsure(0.5) && !Choices::default().is_unsure(0.0));
    }
}
