//! Watches the single-model loop for going nowhere: what was called and said so far, and what follows. Pure.

use std::collections::HashSet;

use crate::protocol::{Detection, Recovery, Remedy, Repeat, Stall, ToolMiss};

/// Read-only iterations in a row after which the model is nudged, and after which it has to act (seed 004).
pub const NUDGE_AFTER: usize = 2;
const ACT_AFTER: usize = 3;
/// Iterations in a row without one call that can be run.
const UNUSABLE_MAX: usize = 2;
/// Iterations in a row with the tools of one server before the others are offered alone.
const LOCKED_AFTER: usize = 3;

/// What the model may choose from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Offer {
    #[default]
    All,
    Executing,
    /// All but this server's.
    Without(String),
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// The model's last words end the turn.
    Done,
    /// It is told what is wrong, and goes on.
    Say(Stall, Remedy),
    /// The loop ends here; the turn does not.
    End(Stall),
}

/// A reply without a call.
#[derive(Clone, Copy, Debug)]
pub struct Silence<'a> {
    pub text: &'a str,
    /// Places that look like a call.
    pub patterns: usize,
    /// The text was ended because it went round in a circle.
    pub circles: bool,
}

/// The calls of one reply, after they were dealt with.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Signatures of its calls, with the state of the project they belong to.
    pub signature: String,
    pub calls: usize,
    /// Those of tools that exist and are offered, with arguments that fit.
    pub usable: usize,
    /// Those answered from the evidence.
    pub repeated: usize,
    /// Those of tools that can change something, run now.
    pub executed: usize,
    /// Calls of another notation than the model's own.
    pub textual: usize,
    pub servers: HashSet<String>,
}

/// What is left of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open<'a> {
    /// Some part has nothing to show for it.
    pub any: bool,
    /// Such a part wants something changed or run.
    pub executing: bool,
    /// Such a part, where its best tool lies with another server than this.
    pub elsewhere: Option<&'a str>,
}

/// Everything that was noticed so far.
#[derive(Debug, Default)]
pub struct Watch {
    miss: ToolMiss,
    repeat: Repeat,
    pub offer: Offer,
    /// From 1.
    pub iteration: usize,
    /// Read-only calls in a row.
    pub reading_calls: usize,
    reading: usize,
    unusable: usize,
    locked: (String, usize),
    batches: HashSet<String>,
    said: HashSet<String>,
    /// What the model was told already; nothing is said twice but the nudge.
    told: HashSet<Stall>,
    called: bool,
    executed: bool,
    /// A detection whose outcome is open.
    pending: Option<Stall>,
    pub events: Vec<Noticed>,
}

/// For the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    Detection(Detection),
    Recovery(Recovery),
}

impl Watch {
    /// A reply that calls nothing.
    pub fn silent(&mut self, silence: Silence<'_>, open: Open<'_>) -> Verdict {
        self.miss.responses_without_tool_calls += 1;
        self.miss.textual_tool_call_patterns += silence.patterns;
        let same = !self.said.insert(silence.text.trim().to_owned());
        self.repeat.repeated_content += usize::from(same || silence.circles);
        let (stall, remedy) = match () {
            () if same => return self.end(Stall::SameText),
            () if silence.circles => (Stall::SameText, Remedy::AskedAgain),
            () if silence.patterns > 0 => (Stall::UnreadableCall, Remedy::AskedAgain),
            () if open.executing && !self.called => (Stall::Deflection, Remedy::ExecutingToolsOnly),
            () if open.executing && !self.executed => (Stall::NothingExecuted, Remedy::ExecutingToolsOnly),
            () if open.executing => (Stall::OpenSteps, Remedy::ExecutingToolsOnly),
            () if open.any && !self.called => (Stall::Deflection, Remedy::AskedAgain),
            () if open.any => (Stall::OpenSteps, Remedy::AskedAgain),
            () => return self.done(),
        };
        self.once(stall, remedy)
    }

    /// A reply with calls, after they were dealt with.
    pub fn called(&mut self, batch: &Batch, open: Open<'_>) -> Verdict {
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
            self.told.retain(|stall| !matches!(stall, Stall::ReadOnlyLoop | Stall::SameBatch));
            self.recovered(true);
            return if locked { self.leave(batch) } else { Verdict::Go };
        }
        self.reading += 1;
        self.reading_calls += batch.usable;
        let going_nowhere = match () {
            () if same || batch.repeated == batch.usable => Some(Stall::SameBatch),
            () if self.reading >= ACT_AFTER => Some(Stall::ReadOnlyLoop),
            () => None,
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

    /// The last iteration is over.
    pub fn exhausted(&mut self) -> Stall {
        self.end(Stall::OutOfIterations);
        Stall::OutOfIterations
    }

    /// Whether this many batches in a row came from one server while a part for another is open.
    fn locked_in(&mut self, batch: &Batch, open: Open<'_>) -> bool {
        let mut servers = batch.servers.iter();
        let server = servers.next().filter(|_| servers.next().is_none()).cloned().unwrap_or_default();
        self.locked = if server == self.locked.0 { (server, self.locked.1 + 1) } else { (server, 1) };
        self.locked.1 >= LOCKED_AFTER && open.elsewhere.is_some_and(|elsewhere| elsewhere != self.locked.0)
    }

    /// Offers the other servers' tools, once.
    fn leave(&mut self, batch: &Batch) -> Verdict {
        let Some(server) = batch.servers.iter().next().filter(|_| !self.told.contains(&Stall::CategoryLockIn)) else {
            return Verdict::Go;
        };
        let verdict = self.once(Stall::CategoryLockIn, Remedy::OtherToolsOnly);
        (self.offer, self.reading) = (Offer::Without(server.clone()), 0);
        verdict
    }

    /// Tells the model what is wrong; the second time the loop ends.
    fn once(&mut self, stall: Stall, remedy: Remedy) -> Verdict {
        if !self.told.insert(stall) {
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

    /// What comes of the loop's end is the caller's to say.
    pub fn detected(&mut self, stall: Stall, remedy: Remedy) {
        self.events.push(Noticed::Detection(Detection { iteration: self.iteration, stall, remedy }));
        if !matches!(remedy, Remedy::Nudge | Remedy::Synthesis | Remedy::CodeOwnedSteps) {
            self.pending = Some(stall);
        }
    }

    fn recovered(&mut self, recovered: bool) {
        if let Some(stall) = self.pending.take() {
            self.events.push(Noticed::Recovery(Recovery { iteration: self.iteration, stall, recovered }));
        }
    }

    /// The counts of seed 004 so far.
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

    fn reads(signature: &str) -> Batch {
        let servers = HashSet::from(["files".to_owned()]);
        Batch { signature: signature.into(), calls: 1, usable: 1, servers, ..Batch::default() }
    }

    fn writes(signature: &str) -> Batch {
        Batch { executed: 1, ..reads(signature) }
    }

    fn words(text: &str) -> Silence<'_> {
        Silence { text, patterns: 0, circles: false }
    }

    /// The verdicts over batches that read (`r`), read the same again (`s`), execute (`x`) or cannot be used (`u`).
    fn check(open: Open, story: &str, expected: &[Verdict]) {
        let mut watch = Watch::default();
        let verdicts: Vec<Verdict> = story
            .chars()
            .enumerate()
            .map(|(at, kind)| match kind {
                'r' => watch.called(&reads(&at.to_string()), open),
                's' => watch.called(&Batch { repeated: 1, ..reads("same") }, open),
                'x' => watch.called(&writes(&at.to_string()), open),
                _ => watch.called(&Batch { calls: 1, ..Batch::default() }, open),
            })
            .collect();
        assert_eq!(verdicts, expected, "{story}");
    }

    #[test]
    fn who_only_reads_is_nudged_after_two_and_made_to_act_after_three() {
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
    fn words_instead_of_deeds_are_answered_once() {
        let mut watch = Watch::default();
        let told = watch.silent(words("You could edit the file."), CHANGE);
        assert_eq!(told, Verdict::Say(Stall::Deflection, Remedy::ExecutingToolsOnly));
        assert_eq!(watch.offer, Offer::Executing);
        assert_eq!(watch.silent(words("As I said: edit it."), CHANGE), Verdict::End(Stall::Deflection));
        assert_eq!(watch.counts().0.miss_rate, 1.0);
    }

    #[test]
    fn the_same_words_twice_are_a_repeat() {
        let mut watch = Watch::default();
        watch.silent(words("I will look."), CHANGE);
        assert_eq!(watch.silent(words("I will look. "), CHANGE), Verdict::End(Stall::SameText));
        assert_eq!(watch.counts().1.repeated_content, 1);
    }

    #[test]
    fn who_stays_with_one_server_is_offered_the_others_once() {
        let open = Open { any: true, executing: false, elsewhere: Some("commands") };
        let mut watch = Watch::default();
        for at in 0..2 {
            assert_eq!(watch.called(&writes(&at.to_string()), open), Verdict::Go);
        }
        let told = watch.called(&writes("2"), open);
        assert_eq!(told, Verdict::Say(Stall::CategoryLockIn, Remedy::OtherToolsOnly));
        assert_eq!(watch.offer, Offer::Without("files".into()));
        assert_eq!(watch.called(&writes("3"), open), Verdict::Go);
    }

    #[test]
    fn what_came_of_a_remedy_is_noted() {
        let mut watch = Watch::default();
        watch.silent(words("You could edit it."), CHANGE);
        watch.called(&writes("a"), CHANGE);
        let recovery = Recovery { iteration: 0, stall: Stall::Deflection, recovered: true };
        assert_eq!(watch.events.last(), Some(&Noticed::Recovery(recovery)));
    }

    proptest::proptest! {
        /// Whatever a model does, three read-only iterations in a row are the most, and a loop of talk ends.
        #[test]
        fn a_loop_always_ends(story in "[rsxu]{1,40}", executing in proptest::bool::ANY) {
            let mut watch = Watch::default();
            let open = Open { any: executing, executing, elsewhere: None };
            let mut reading = 0;
            for (at, kind) in story.chars().enumerate() {
                let batch = match kind {
                    'x' => writes(&at.to_string()),
                    'u' => Batch { calls: 1, ..Batch::default() },
                    // Only executing tools are offered: what reads is refused.
                    _ if watch.offer == Offer::Executing => Batch { calls: 1, ..Batch::default() },
                    's' => Batch { repeated: 1, ..reads("same") },
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
