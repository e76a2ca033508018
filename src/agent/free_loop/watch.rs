//! Detects, from the calls and texts of the single-model loop, whether it still makes progress, and
//! decides what follows. Pure functions only.

use std::collections::HashSet;

use crate::protocol::{Detection, Event, Recovery, Remedy, Repeat, Stall, ToolMiss};

/// Number of consecutive read-only iterations before the model gets a nudge, and before it must
/// act.
pub const NUDGE_AFTER: usize = 2;
const ACT_AFTER: usize = 3;
/// Maximum number of consecutive iterations without a runnable call.
const UNUSABLE_MAX: usize = 2;
/// Number of consecutive iterations with the tools of one server before only those of other servers
/// are offered.
const LOCKED_AFTER: usize = 3;

/// Which tools the model may call.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Offer {
    #[default]
    All,
    Executing,
    /// All tools except those of this server.
    Without(String),
}

/// The next step of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// The model's last reply ends the loop.
    Done,
    /// The model gets a message about the problem and continues.
    Say(Stall, Remedy),
    /// The loop ends, and the turn continues without it.
    End(Stall),
}

/// A reply without a call.
#[derive(Clone, Copy, Debug)]
pub struct ReplyWithoutCall<'a> {
    pub text: &'a str,
    /// Number of places in the text that look like a call.
    pub patterns: usize,
    /// Whether generation was stopped because the text repeated itself.
    pub circles: bool,
}

/// The calls of one reply, after they ran.
#[derive(Clone, Debug, Default)]
pub struct ReplyCalls {
    /// Signatures of the calls, as `Evidence::signature` writes them.
    pub signature: String,
    pub calls: usize,
    /// Number of calls with valid arguments of tools that exist and are offered.
    pub usable: usize,
    /// Number of calls answered from the evidence.
    pub repeated: usize,
    /// Number of calls that ran and could have changed something.
    pub executed: usize,
    /// Number of calls in a notation other than the model's own.
    pub textual: usize,
    pub servers: HashSet<String>,
}

/// The part of the request that is still open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open<'a> {
    /// Whether any step is open.
    pub any: bool,
    /// Whether any open step asks for a change or a command.
    pub executing: bool,
    /// The server of the tool that best fits the first such step.
    pub elsewhere: Option<&'a str>,
}

/// Observations of a loop so far.
#[derive(Debug, Default)]
pub struct Watch {
    miss: ToolMiss,
    repeat: Repeat,
    pub offer: Offer,
    /// Counted from 1.
    pub iteration: usize,
    /// Number of consecutive read-only calls.
    pub reading_calls: usize,
    /// Number of consecutive read-only iterations.
    reading: usize,
    /// Number of consecutive iterations without a usable call.
    unusable: usize,
    /// The server of the last batch, and the number of consecutive batches from it.
    same_server: (String, usize),
    batches: HashSet<String>,
    texts: HashSet<String>,
    /// Stalls for which the model was corrected. The loop ends at the second stall of a kind; only
    /// the nudge is repeated.
    corrected: HashSet<Stall>,
    called: bool,
    executed: bool,
    /// A detection whose outcome is still unknown.
    pending: Option<Stall>,
    /// The events to report.
    pub events: Vec<Event>,
}

impl Watch {
    /// Judges a reply without calls.
    pub fn silent(&mut self, silence: ReplyWithoutCall<'_>, open: Open<'_>) -> Verdict {
        self.miss.responses_without_tool_calls += 1;
        self.miss.textual_tool_call_patterns += silence.patterns;
        let same = !self.texts.insert(silence.text.trim().to_owned());
        self.repeat.repeated_content += usize::from(same || silence.circles);
        if same {
            return self.end(Stall::SameText);
        }
        let (stall, remedy) = if silence.circles {
            (Stall::SameText, Remedy::AskedAgain)
        } else if silence.patterns > 0 {
            (Stall::UnreadableCall, Remedy::AskedAgain)
        } else if open.executing && !self.called {
            (Stall::Deflection, Remedy::ExecutingToolsOnly)
        } else if open.executing && !self.executed {
            (Stall::NothingExecuted, Remedy::ExecutingToolsOnly)
        } else if open.executing {
            (Stall::OpenSteps, Remedy::ExecutingToolsOnly)
        } else if open.any && !self.called {
            (Stall::Deflection, Remedy::AskedAgain)
        } else if open.any {
            (Stall::OpenSteps, Remedy::AskedAgain)
        } else {
            return self.done();
        };
        self.once(stall, remedy)
    }

    /// Judges a reply with calls, after they ran.
    pub fn called(&mut self, batch: &ReplyCalls, open: Open<'_>) -> Verdict {
        self.miss.responses_with_tool_calls += 1;
        self.miss.textual_tool_call_patterns += batch.textual;
        self.repeat.total_tool_calls += batch.calls;
        self.repeat.deduplicated_tool_calls += batch.repeated;
        if batch.usable == 0 {
            self.unusable += 1;
            let stall = if self.offer == Offer::All { Stall::NoUsableCall } else { Stall::ReadOnlyLoop };
            return if self.unusable < UNUSABLE_MAX { Verdict::Go } else { self.end(stall) };
        }
        (self.unusable, self.called) = (0, true);
        let same = !self.batches.insert(batch.signature.clone());
        self.repeat.repeated_batches += usize::from(same);
        let locked = self.locked_in(batch, open);
        if batch.executed > 0 {
            (self.reading, self.reading_calls, self.offer) = (0, 0, Offer::All);
            self.executed = true;
            // A long task may read again before its next change.
            self.corrected.retain(|stall| !matches!(stall, Stall::ReadOnlyLoop | Stall::SameBatch));
            self.recovered(true);
            return if locked { self.leave(batch) } else { Verdict::Go };
        }
        self.reading += 1;
        self.reading_calls += batch.usable;
        let going_nowhere = if same || batch.repeated == batch.usable {
            Some(Stall::SameBatch)
        } else if self.reading >= ACT_AFTER {
            Some(Stall::ReadOnlyLoop)
        } else {
            None
        };
        match going_nowhere {
            Some(stall) if open.executing => self.once(stall, Remedy::ExecutingToolsOnly),
            Some(stall) if locked => match self.leave(batch) {
                Verdict::Go => self.end(stall),
                leave => leave,
            },
            Some(stall) => self.end(stall),
            None if self.reading >= NUDGE_AFTER => self.say(Stall::ReadOnlyLoop, Remedy::Nudge),
            None => Verdict::Go,
        }
    }

    /// Records that all iterations are used up.
    pub fn exhausted(&mut self) -> Stall {
        self.end(Stall::OutOfIterations);
        Stall::OutOfIterations
    }

    /// Whether [`LOCKED_AFTER`] batches in a row came from one server while the first open step needs another.
    fn locked_in(&mut self, batch: &ReplyCalls, open: Open<'_>) -> bool {
        let mut servers = batch.servers.iter();
        let server = servers.next().filter(|_| servers.next().is_none()).cloned().unwrap_or_default();
        self.same_server = if server == self.same_server.0 { (server, self.same_server.1 + 1) } else { (server, 1) };
        self.same_server.1 >= LOCKED_AFTER && open.elsewhere.is_some_and(|elsewhere| elsewhere != self.same_server.0)
    }

    /// Offers only the tools of other servers; does nothing if that was already done.
    fn leave(&mut self, batch: &ReplyCalls) -> Verdict {
        let Some(server) = batch.servers.iter().next().filter(|_| !self.corrected.contains(&Stall::CategoryLockIn))
        else {
            return Verdict::Go;
        };
        let verdict = self.once(Stall::CategoryLockIn, Remedy::OtherToolsOnly);
        (self.offer, self.reading) = (Offer::Without(server.clone()), 0);
        verdict
    }

    /// Corrects the model for this stall; at the second stall of the same kind, the loop ends.
    fn once(&mut self, stall: Stall, remedy: Remedy) -> Verdict {
        if !self.corrected.insert(stall) {
            return self.end(stall);
        }
        if remedy == Remedy::ExecutingToolsOnly {
            self.offer = Offer::Executing;
        }
        self.say(stall, remedy)
    }

    fn say(&mut self, stall: Stall, remedy: Remedy) -> Verdict {
        self.detected(stall, remedy);
        Verdict::Say(stall, remedy)
    }

    fn end(&mut self, stall: Stall) -> Verdict {
        self.recovered(false);
        Verdict::End(stall)
    }

    fn done(&mut self) -> Verdict {
        self.recovered(true);
        Verdict::Done
    }

    /// Records a detection. Its outcome is tracked, unless the remedy is a nudge or ends the loop.
    pub fn detected(&mut self, stall: Stall, remedy: Remedy) {
        self.events.push(Event::Detection(Detection { iteration: self.iteration, stall, remedy }));
        if !matches!(remedy, Remedy::Nudge | Remedy::Synthesis | Remedy::CodeOwnedSteps) {
            self.pending = Some(stall);
        }
    }

    fn recovered(&mut self, recovered: bool) {
        if let Some(stall) = self.pending.take() {
            self.events.push(Event::Recovery(Recovery { iteration: self.iteration, stall, recovered }));
        }
    }

    /// The counters so far, with their rates.
    pub fn counts(&self) -> (ToolMiss, Repeat) {
        let total_responses = self.miss.responses_with_tool_calls + self.miss.responses_without_tool_calls;
        let repeats = self.repeat.deduplicated_tool_calls + self.repeat.repeated_batches;
        let miss_rate = self.miss.responses_without_tool_calls as f64 / total_responses.max(1) as f64;
        let repeat_rate = repeats as f64 / self.repeat.total_tool_calls.max(1) as f64;
        (ToolMiss { total_responses, miss_rate, ..self.miss }, Repeat { repeat_rate, ..self.repeat })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE: Open = Open { any: true, executing: true, elsewhere: None };
    const QUESTION: Open = Open { any: false, executing: false, elsewhere: None };

    fn reads(signature: &str) -> ReplyCalls {
        let servers = HashSet::from(["files".to_owned()]);
        ReplyCalls { signature: signature.into(), calls: 1, usable: 1, servers, ..ReplyCalls::default() }
    }

    fn writes(signature: &str) -> ReplyCalls {
        ReplyCalls { executed: 1, ..reads(signature) }
    }

    fn words(text: &str) -> ReplyWithoutCall<'_> {
        ReplyWithoutCall { text, patterns: 0, circles: false }
    }

    /// Checks the verdicts on batches that read (`r`), repeat a read (`s`), execute (`x`) or are
    /// unusable (`u`).
    fn check(open: Open, story: &str, expected: &[Verdict]) {
        let mut watch = Watch::default();
        let verdicts: Vec<Verdict> = story
            .chars()
            .enumerate()
            .map(|(at, kind)| match kind {
                'r' => watch.called(&reads(&at.to_string()), open),
                's' => watch.called(&ReplyCalls { repeated: 1, ..reads("same") }, open),
                'x' => watch.called(&writes(&at.to_string()), open),
                _ => watch.called(&ReplyCalls { calls: 1, ..ReplyCalls::default() }, open),
            })
            .collect();
        assert_eq!(verdicts, expected, "{story}");
    }

    #[test]
    fn a_loop_that_only_reads_is_nudged_after_two_iterations_and_must_act_after_three() {
        use Verdict::{End, Go, Say};
        let nudge = Say(Stall::ReadOnlyLoop, Remedy::Nudge);
        let act = Say(Stall::ReadOnlyLoop, Remedy::ExecutingToolsOnly);
        check(CHANGE, "rrr", &[Go, nudge, act]);
        check(CHANGE, "rrrx", &[Go, nudge, act, Go]);
        check(CHANGE, "rrruu", &[Go, nudge, act, Go, End(Stall::ReadOnlyLoop)]);
        check(CHANGE, "rrxrr", &[Go, nudge, Go, Go, nudge]);
        check(QUESTION, "rrr", &[Go, nudge, End(Stall::ReadOnlyLoop)]);
        check(QUESTION, "rs", &[Go, End(Stall::SameBatch)]);
        check(CHANGE, "rs", &[Go, Say(Stall::SameBatch, Remedy::ExecutingToolsOnly)]);
        check(QUESTION, "uu", &[Go, End(Stall::NoUsableCall)]);
    }

    #[test]
    fn a_reply_that_calls_nothing_is_corrected_once() {
        let mut watch = Watch::default();
        let verdict = watch.silent(words("You could edit the file."), CHANGE);
        assert_eq!(verdict, Verdict::Say(Stall::Deflection, Remedy::ExecutingToolsOnly));
        assert_eq!(watch.offer, Offer::Executing);
        assert_eq!(watch.silent(words("As I said: edit it."), CHANGE), Verdict::End(Stall::Deflection));
        assert_eq!(watch.counts().0.miss_rate, 1.0);
    }

    #[test]
    fn the_same_text_twice_is_a_repeat() {
        let mut watch = Watch::default();
        watch.silent(words("I will look."), CHANGE);
        assert_eq!(watch.silent(words("I will look. "), CHANGE), Verdict::End(Stall::SameText));
        assert_eq!(watch.counts().1.repeated_content, 1);
    }

    #[test]
    fn a_loop_that_stays_with_one_server_is_offered_the_others_once() {
        let open = Open { any: true, executing: false, elsewhere: Some("commands") };
        let mut watch = Watch::default();
        for at in 0..2 {
            assert_eq!(watch.called(&writes(&at.to_string()), open), Verdict::Go);
        }
        let verdict = watch.called(&writes("2"), open);
        assert_eq!(verdict, Verdict::Say(Stall::CategoryLockIn, Remedy::OtherToolsOnly));
        assert_eq!(watch.offer, Offer::Without("files".into()));
        assert_eq!(watch.called(&writes("3"), open), Verdict::Go);
    }

    #[test]
    fn the_outcome_of_a_remedy_is_recorded() {
        let mut watch = Watch::default();
        watch.silent(words("You could edit it."), CHANGE);
        watch.called(&writes("a"), CHANGE);
        let recovery = Recovery { iteration: 0, stall: Stall::Deflection, recovered: true };
        assert!(matches!(watch.events.last(), Some(Event::Recovery(last)) if *last == recovery), "{:?}", watch.events);
    }

    proptest::proptest! {
        /// For any sequence of replies, at most three consecutive iterations only read.
        #[test]
        fn read_only_iterations_are_bounded(story in "[rsxu]{1,40}", executing in proptest::bool::ANY) {
            let mut watch = Watch::default();
            let open = Open { any: executing, executing, elsewhere: None };
            let mut reading = 0;
            for (at, kind) in story.chars().enumerate() {
                let batch = match kind {
                    'x' => writes(&at.to_string()),
                    'u' => ReplyCalls { calls: 1, ..ReplyCalls::default() },
                    // Only executing tools are offered, so a read is refused.
                    _ if watch.offer == Offer::Executing => ReplyCalls { calls: 1, ..ReplyCalls::default() },
                    's' => ReplyCalls { repeated: 1, ..reads("same") },
                    _ => reads(&at.to_string()),
                };
                reading = if batch.executed > 0 || batch.usable == 0 { 0 } else { reading + 1 };
                proptest::prop_assert!(reading <= 3, "{story}");
                if matches!(watch.called(&batch, open), Verdict::End(_)) {
                    break;
                }
            }
        }
    }
}
