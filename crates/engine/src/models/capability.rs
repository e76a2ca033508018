//! Decides what a model can be trusted with, from models.toml, from probe results or from its size.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::gguf::Header;
use crate::base::file;

/// Parameters from which a model that was not measured counts as able to plan and reason on its own. Published scores drop
/// sharply below: 1.2B models complete 8 % of multi-step requests, 24B ones 26 to 66 % (LocalCowork's benchmark).
const CAPABLE_PARAMETERS: u64 = 3_000_000_000;
/// The version of what the probes ask. A change of their prompts raises it, so that every model is measured again.
const PROBES: u32 = 2;

/// The rights of a model on its own: free agent loops and free reasoning. Planning by code runs with every model.
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

    /// By models.toml (`said`), else by what was measured, else by size. `context` is the context window in tokens.
    pub fn of(said: Option<bool>, measured: Option<&Measured>, header: &Header, context: usize) -> ModelCapability {
        let by_size = || header.parameters >= CAPABLE_PARAMETERS;
        if said.or_else(|| measured.and_then(Measured::capable)).unwrap_or_else(by_size) {
            ModelCapability::capable(context)
        } else {
            ModelCapability::weak()
        }
    }
}

/// How much of a turn a model does itself: measured at its first use, see `agent/probe/tier.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Code looks things up and makes explicit edits; the model words answers.
    Reads,
    /// The model reads requests, answers from code and writes changes, which code checks.
    Writes,
    /// It may also run free loops with tools.
    Acts,
}

impl Tier {
    pub fn name(self) -> &'static str {
        ["reads", "writes", "acts"][self as usize]
    }
}

/// A number of right answers out of a number of questions.
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

    /// Whether the rate can still reach `least` if `more` further answers are right.
    fn can_reach(self, least: f64, more: usize) -> bool {
        (self.right + more) as f64 >= least * (self.of + more) as f64
    }
}

/// How often a model called the right tool, as it writes by itself and inside a grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choosing {
    pub free: Choices,
    pub grammar: Choices,
}

/// Right choices of a model that writes its calls in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// Of five tools.
    pub few: Share,
    /// Of fifteen tools.
    pub many: Share,
    /// The least margin of a right choice over any other; `None` if the model does not say.
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

    /// Whether it was less sure of a choice with this margin than of each that was right.
    pub fn is_unsure(self, margin: f32) -> bool {
        self.margin_min.is_some_and(|least| margin < least)
    }
}

impl Choosing {
    /// Whether both were asked for. Measurements of before 28 November 2026 do not say of how many
    /// tools.
    pub fn is_known(self) -> bool {
        self.free.all().of > 0 && self.grammar.all().of > 0
    }

    /// Whether its calls are written inside a grammar: unless it calls better by itself. A few tasks tell little, and inside a grammar every
    /// reply is a call.
    pub fn constrained(self) -> bool {
        self.grammar.all().rate() >= self.free.all().rate()
    }

    /// The choices of the better way, in which it is asked.
    pub fn better(self) -> Choices {
        if self.constrained() { self.grammar } else { self.free }
    }
}

/// The results of a model on the prompts of the probe (`agent/probe/`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// True if every prompt was asked, false if the probe ended as soon as the verdict was certain.
    pub complete: bool,
    /// True if time ran out before the verdict was certain: a slow model is not a weak one. The gate goes on from there at the next turn.
    #[serde(default)]
    pub undecided: bool,
    /// Prompts asked so far.
    pub prompts: usize,
    pub wall_ms: u64,
    /// Replies that are a call of an existing tool in the notation of the model's family.
    pub format: Share,
    /// Calls of the right tool, by the number of tools offered.
    pub selection: BTreeMap<usize, Share>,
    /// Replies without a call to prompts that need none.
    pub restraint: Share,
    /// Plans with the right number of steps, by that number.
    pub plans: BTreeMap<usize, Share>,
    /// Right calls without a grammar, on the prompts of `grammar`.
    pub free: Share,
    /// Right calls with a grammar.
    pub grammar: Share,
    /// Calls of the right tool where a call is asked for, in a prompt of its own over a few tools.
    #[serde(default)]
    pub choosing: Choosing,
    /// Requests split into the right steps, and questions answered from a passage.
    #[serde(default)]
    pub reading: Share,
    /// Code changes that could be applied and do what was asked.
    #[serde(default)]
    pub writing: Share,
}

/// Rates that a model needs for free loops. 2 of 12 calls may be unreadable and 3 wrong, which a loop of 12 iterations
/// survives. A model that calls tools for small talk, or plans one step where there are four, must not run free.
const FORMAT_MIN: f64 = 0.8;
pub const SELECTION_MIN: f64 = 0.7;
const RESTRAINT_MIN: f64 = 0.5;
const PLANS_MIN: f64 = 0.5;
/// Rates that a model needs to write changes.
const READING_MIN: f64 = 0.6;
const WRITING_MIN: f64 = 0.6;
/// Fewer answers decide nothing.
const ASKED_MIN: usize = 3;

impl Measured {
    pub fn selected(&self) -> Share {
        sum(self.selection.values().copied())
    }

    pub fn planned(&self) -> Share {
        sum(self.plans.values().copied())
    }

    /// Whether the model may run free loops; `None` if too few questions were asked.
    pub fn capable(&self) -> Option<bool> {
        let enough = |share: Share, least: f64| share.of == 0 || share.rate() >= least;
        (self.format.of >= ASKED_MIN && !self.undecided).then(|| {
            enough(self.format, FORMAT_MIN)
                && enough(self.selected(), SELECTION_MIN)
                && enough(self.restraint, RESTRAINT_MIN)
                && enough(self.planned(), PLANS_MIN)
        })
    }

    /// The model's tier; `None` if no changes were asked for.
    pub fn tier(&self) -> Option<Tier> {
        let writes = self.reading.rate() >= READING_MIN && self.writing.rate() >= WRITING_MIN;
        (self.writing.of > 0).then(|| match (writes, self.capable()) {
            (false, _) => Tier::Reads,
            (true, Some(true)) => Tier::Acts,
            (true, _) => Tier::Writes,
        })
    }

    /// Whether the tier is known and stays as it is, however `left` further changes turn out.
    pub fn is_settled(&self, left: usize) -> bool {
        let with = |right: usize| {
            let writing = Share { right: self.writing.right + right, of: self.writing.of + left };
            Measured { writing, ..self.clone() }.tier()
        };
        self.writing.of > 0 && with(0) == with(left)
    }

    /// Whether it stays weak even if `more` further calls are right.
    pub fn is_lost(&self, more: usize) -> bool {
        self.format.of >= ASKED_MIN
            && !(self.format.can_reach(FORMAT_MIN, more) && self.selected().can_reach(SELECTION_MIN, more))
    }

    /// Whether a grammar improves its calls. This is measured, because a grammar can also spoil half of a model's calls.
    pub fn grammar_helps(&self) -> bool {
        self.grammar.of > 0 && self.grammar.rate() > self.free.rate()
    }

    /// The saved results of the model file with this fingerprint.
    pub fn remembered(folder: &Path, fingerprint: &str) -> Option<Measured> {
        file::read_json(&folder.join(saved(fingerprint)))
    }

    pub fn remember(&self, folder: &Path, fingerprint: &str) -> io::Result<()> {
        file::replace_json(&folder.join(saved(fingerprint)), self)
    }
}

/// The file with the results of one model file.
fn saved(fingerprint: &str) -> String {
    format!("{fingerprint}.{PROBES}.json")
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
    fn three_unreadable_replies_of_twelve_end_the_probe() {
        let mut probe = Measured::default();
        let mut asked = 0;
        while !probe.is_lost(12 - asked) {
            probe.format.add(false);
            asked += 1;
        }
        assert_eq!(asked, 3);
    }

    #[test]
    fn time_decides_nothing() {
        let weak_so_far = measured(2, 2, 0, 0);
        assert_eq!(weak_so_far.capable(), Some(false));
        assert_eq!(Measured { undecided: true, ..weak_so_far }.capable(), None);
        assert_eq!(Measured { undecided: true, ..measured(12, 12, 4, 4) }.capable(), None);
    }

    #[test]
    fn a_tier_is_settled_once_no_further_change_can_move_it() {
        let settled = |read: usize, right: usize, of: usize, left: usize| {
            let (reading, writing) = (Share { right: read, of: 3 }, Share { right, of });
            Measured { reading, writing, ..Measured::default() }.is_settled(left)
        };
        assert!(settled(3, 3, 3, 0) && settled(3, 0, 3, 0) && settled(3, 2, 2, 1) && settled(3, 0, 2, 1));
        // Cut by time: one more change decides, or all of them.
        assert!(!settled(3, 1, 2, 1) && !settled(3, 0, 1, 2) && !settled(3, 1, 1, 2) && !settled(3, 0, 0, 3));
        // A model that cannot read requests writes none.
        assert!(settled(1, 1, 1, 2));
    }

    #[test]
    fn a_grammar_is_used_only_where_it_was_better() {
        let tried = |free, grammar| {
            let (free, grammar) = (Share { right: free, of: 8 }, Share { right: grammar, of: 8 });
            Measured { free, grammar, ..Measured::default() }.grammar_helps()
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
        // Time ended it before any choice among few.
        assert!(!Choices { few: Share::default(), ..of(0, 4) }.bears_many());
        assert!(of(4, 4).is_unsure(0.4) && !of(4, 4).is_unsure(0.5) && !Choices::default().is_unsure(0.0));
    }
}
