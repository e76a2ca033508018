//! Detects, from the calls and replies of a turn that the model leads, whether it still makes
//! progress, and decides what follows. Pure functions only.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::protocol::{Detection, Event, Remedy, Stall};

/// Number of equal results for the same call before the model gets a hint, and before the turn
/// ends.
const SAME_TOLD: usize = 3;
const SAME_MAX: usize = 5;
/// Number of consecutive rounds without a new line in the results before the model gets a hint, and
/// before the turn ends.
const IDLE_TOLD: usize = 4;
const IDLE_MAX: usize = 7;
/// Number of consecutive calls refused by the user before the model gets a hint, and before the
/// turn ends.
const REFUSED_TOLD: usize = 3;
pub const REFUSED_MAX: usize = 5;
/// Number of consecutive unusable replies before the turn ends.
const UNUSABLE_MAX: usize = 4;
/// Maximum number of result lines remembered.
const LINES_MAX: usize = 20_000;

/// The next step of the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// The model gets this hint.
    Say(String),
    /// The turn ends, for this reason.
    End(String),
}

/// A call and its result.
pub struct Answered<'a> {
    /// Tool and arguments.
    pub call: String,
    /// The tool, as named in messages.
    pub tool: &'a str,
    /// Equal for equal results.
    pub fingerprint: String,
    pub is_refused: bool,
}

/// The reason why nothing of a reply could be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unusable {
    /// No words and no call.
    Empty,
    /// A call that was cut off or cannot be parsed.
    Call,
    /// Text that repeats itself.
    Circles,
    /// Calls that no listed tool accepts.
    Wrong,
}

#[derive(Debug, Default)]
pub struct Watch {
    /// Counted from 1.
    pub round: usize,
    /// The last result of each call, and the number of times in a row that it occurred.
    same: HashMap<String, (String, usize)>,
    lines: HashSet<u64>,
    idle: usize,
    refused: usize,
    unusable: usize,
    /// The events to report.
    pub events: Vec<Event>,
}

impl Watch {
    /// The number of consecutive calls that the user has refused.
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Records a call and its result.
    pub fn answered(&mut self, answered: &Answered<'_>) -> Verdict {
        self.unusable = 0;
        if answered.is_refused {
            self.refused += 1;
            return match self.refused {
                REFUSED_TOLD => self.say(Stall::NothingExecuted, format!(
                    "The user has refused {REFUSED_TOLD} calls in a row. Ask for no more of this kind: answer with what you know and with what you would have done."
                )),
                REFUSED_MAX.. => self.end(Stall::NothingExecuted, format!("the user said no to {} calls in a row", self.refused)),
                _ => Verdict::Go,
            };
        }
        self.refused = 0;
        let known = self.same.entry(answered.call.clone()).or_default();
        let count = if known.0 == answered.fingerprint { known.1 + 1 } else { 1 };
        *known = (answered.fingerprint.clone(), count);
        let tool = answered.tool;
        match count {
            SAME_TOLD => self.say(Stall::SameBatch, format!(
                "This call of `{tool}` was made {count} times with the same result. It will not change: do something else, or answer with what you have."
            )),
            SAME_MAX.. => self.end(Stall::SameBatch, format!("the same call of `{tool}` had the same result {count} times")),
            _ => Verdict::Go,
        }
    }

    /// Records the results of a round whose calls were usable.
    pub fn round_of(&mut self, results: &[&str]) -> Verdict {
        let mut is_new = false;
        for line in results.iter().flat_map(|text| text.lines().take(LINES_MAX)) {
            let mut hasher = DefaultHasher::new();
            line.trim().hash(&mut hasher);
            is_new |= self.lines.insert(hasher.finish());
        }
        self.idle = if is_new { 0 } else { self.idle + 1 };
        match self.idle {
            IDLE_TOLD => self.say(
                Stall::ReadOnlyLoop,
                format!("The last {IDLE_TOLD} rounds of calls brought nothing new. Carry out what is open, or answer."),
            ),
            IDLE_MAX.. => {
                self.end(Stall::ReadOnlyLoop, format!("{} rounds of calls in a row yielded nothing new", self.idle))
            }
            _ => Verdict::Go,
        }
    }

    /// Records a reply without any usable part; `told` is the hint to the model.
    pub fn unusable(&mut self, what: Unusable, told: String) -> Verdict {
        self.unusable += 1;
        let stall = match what {
            Unusable::Empty => Stall::NoUsableCall,
            Unusable::Circles => Stall::SameText,
            Unusable::Call => Stall::UnreadableCall,
            Unusable::Wrong => Stall::NoUsableCall,
        };
        let most = if matches!(what, Unusable::Empty | Unusable::Circles) { 2 } else { UNUSABLE_MAX };
        if self.unusable < most {
            return self.say(stall, told);
        }
        let why = match what {
            Unusable::Empty => "the model gave no answer",
            Unusable::Circles => "the model's reply repeats itself",
            Unusable::Call => "the model's calls were cut or could not be read",
            Unusable::Wrong => "the model called only tools that are not listed, or with wrong arguments",
        };
        self.end(stall, format!("{why}, {} times in a row", self.unusable))
    }

    fn say(&mut self, stall: Stall, text: String) -> Verdict {
        self.detected(stall, Remedy::AskedAgain);
        Verdict::Say(text)
    }

    fn end(&mut self, stall: Stall, why: String) -> Verdict {
        self.detected(stall, Remedy::Synthesis);
        Verdict::End(why)
    }

    /// Records a detection.
    pub fn detected(&mut self, stall: Stall, remedy: Remedy) {
        self.events.push(Event::Detection(Detection { iteration: self.round, stall, remedy }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(watch: &mut Watch, call: &str, result: &str, is_refused: bool) -> Verdict {
        let (call, fingerprint) = (call.to_owned(), result.to_owned());
        watch.answered(&Answered { call, tool: "t", fingerprint, is_refused })
    }

    fn is_end(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::End(_))
    }

    #[test]
    fn the_same_call_with_the_same_result_is_said_three_times_and_ends_at_five() {
        let mut watch = Watch::default();
        let verdicts: Vec<Verdict> = (0..5).map(|_| call(&mut watch, "a", "x", false)).collect();
        assert!(matches!(&verdicts[..], [Verdict::Go, Verdict::Go, Verdict::Say(_), Verdict::Go, Verdict::End(_)]));
        // A different result is progress.
        let mut watch = Watch::default();
        for n in 0..20 {
            assert_eq!(call(&mut watch, "run", &n.to_string(), false), Verdict::Go);
        }
    }

    #[test]
    fn reading_is_a_stall_only_when_it_brings_nothing_new() {
        let mut watch = Watch::default();
        for n in 0..50 {
            assert_eq!(watch.round_of(&[&format!("line {n}")]), Verdict::Go);
        }
        let verdicts: Vec<Verdict> = (0..7).map(|n| watch.round_of(&[&format!("line {n}")])).collect();
        assert!(matches!(verdicts[3], Verdict::Say(_)) && is_end(&verdicts[6]), "{verdicts:?}");
    }

    #[test]
    fn a_user_who_refuses_everything_is_not_asked_for_ever() {
        let mut watch = Watch::default();
        let verdicts: Vec<Verdict> = (0..5).map(|n| call(&mut watch, &n.to_string(), "no", true)).collect();
        assert!(matches!(verdicts[2], Verdict::Say(_)) && is_end(&verdicts[4]), "{verdicts:?}");
    }

    #[test]
    fn replies_that_are_of_no_use_end_the_turn() {
        for (what, most) in [(Unusable::Empty, 2), (Unusable::Circles, 2), (Unusable::Call, 4), (Unusable::Wrong, 4)] {
            let mut watch = Watch::default();
            let verdicts: Vec<Verdict> = (0..most).map(|_| watch.unusable(what, "again".into())).collect();
            let (last, first) = verdicts.split_last().expect("some");
            assert!(is_end(last) && first.iter().all(|one| *one == Verdict::Say("again".into())), "{verdicts:?}");
        }
        // A call with a result in between resets the count.
        let mut watch = Watch::default();
        for n in 0..20 {
            assert!(!is_end(&watch.unusable(Unusable::Call, "again".into())));
            call(&mut watch, &n.to_string(), &n.to_string(), false);
        }
    }
}
