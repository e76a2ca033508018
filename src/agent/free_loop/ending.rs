//! Ends a loop that makes no progress: code carries out the open steps.

use crate::agent::execute;
use crate::agent::player::Player;
use crate::agent::toolkit::TurnError;
use crate::models::Tier;
use crate::protocol::{Event, Mode, Remedy, Stall};
use crate::request::Step;

use super::{Loop, offer};

impl Loop<'_> {
    /// Has code carry out the open steps after a stall. If code has already tried them (`untried`
    /// is false), they remain open.
    pub(super) async fn end_well(&mut self, stall: Stall, untried: bool) -> Result<(), TurnError> {
        let mut open = offer::open(self.plan, self.evidence);
        // A step whose call was refused is not retried.
        open.retain(|step| self.evidence.of(step.id).all(|entry| !entry.status.is_refused()));
        if !untried || open.is_empty() {
            self.watch.detected(stall, Remedy::Synthesis);
            self.report();
            return Ok(());
        }
        self.watch.detected(stall, Remedy::CodeOwnedSteps);
        self.report();
        for step in open {
            if self.rights.mode == Mode::Chat {
                self.looked_up(step).await?;
                continue;
            }
            let host = self.scene.host;
            host.emit(Event::StepExecuting { step: step.id, description: step.text.to_string() });
            let notes = execute::step(self.scene, step, self.evidence).await?.notes;
            if !notes.is_empty() {
                host.notice(&format!("{}: {}", step.id, notes.join("; ")));
            }
        }
        Ok(())
    }

    /// In chat mode, sends a question to the index search unchanged; other steps are left alone.
    async fn looked_up(&mut self, step: &Step) -> Result<(), TurnError> {
        if self.scene.toolkit.index.is_none() || offer::executes(step) {
            return Ok(());
        }
        self.scene.host.emit(Event::StepExecuting { step: step.id, description: step.text.to_string() });
        execute::search(self.scene, step.id, step.text.to_string(), self.evidence).await
    }
}

/// Explains to the user why nothing will be changed although the request asks for a change. `tier`
/// is the model's measured tier.
pub(super) fn why_not(asked: Mode, model: &Player, tier: Option<Tier>, trouble: &str) -> String {
    let name = model.name();
    let more = || stronger(model.parameters(), tier);
    match (asked, trouble.is_empty()) {
        (Mode::Chat, _) => "chat mode changes nothing; choose the mode agent (--mode agent)".to_owned(),
        (Mode::Agent, true) => {
            format!("{name} is too weak to act without a plan; leave the orchestrator on{}", or(&more()))
        }
        (Mode::Agent, false) if tier >= Some(Tier::Writes) => {
            format!("{name} cannot find a way by itself; ask for one change at a time{}", or(&more()))
        }
        (Mode::Agent, false) => format!(
            "{name} cannot write code or find a way by itself: it changes only what a request spells out, the file, what \
             is there and what is to come{}",
            or(&more())
        ),
    }
}

/// Planners that `monobloc models pull planner NAME` fetches: name, weights, memory.
const PLANNERS: [(&str, u64, &str); 3] = [
    ("Qwen2.5-Coder-1.5B", 1_540_000_000, "1.5 GiB"),
    ("LFM2-8B-A1B", 8_340_000_000, "5 GiB"),
    ("LFM2-24B-A2B", 23_800_000_000, "14 GiB"),
];

/// The planners that can do more than a model with this number of weights and this tier, smallest
/// first. Compares weights, not file names.
fn stronger(parameters: u64, tier: Option<Tier>) -> Vec<String> {
    // The same model in another quantisation has about the same number of weights.
    let larger = |weights: u64| weights > parameters + parameters / 5;
    let writes = tier >= Some(Tier::Writes);
    // The first planner writes code, so it does not help a user whose model already writes.
    let known = PLANNERS.iter().enumerate().filter(|(at, (_, weights, _))| larger(*weights) && !(writes && *at == 0));
    let told =
        known.map(|(_, (name, _, memory))| format!("`monobloc models pull planner {name}` ({memory} of memory)"));
    told.take(2).collect()
}

/// The end of a sentence, naming planners to get.
fn or(planners: &[String]) -> String {
    match planners {
        [] => String::new(),
        some => format!("; a stronger planner can do more: {}", some.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parameters: u64, tier: Option<Tier>, expected: &[&str]) {
        let told = stronger(parameters, tier);
        assert_eq!(told.len(), expected.len(), "{parameters}: {told:?}");
        for (told, name) in told.iter().zip(expected) {
            assert!(told.contains(&format!("pull planner {name}`")), "{parameters}: {told}");
        }
    }

    #[test]
    fn the_advice_goes_by_what_a_model_is_and_never_names_that_model() {
        check(135_000_000, Some(Tier::Reads), &["Qwen2.5-Coder-1.5B", "LFM2-8B-A1B"]);
        check(1_543_714_304, Some(Tier::Writes), &["LFM2-8B-A1B", "LFM2-24B-A2B"]);
        check(1_543_714_304, None, &["LFM2-8B-A1B", "LFM2-24B-A2B"]);
        // For a smaller model that was measured as able to write, the 1.5B does not help.
        check(600_000_000, Some(Tier::Writes), &["LFM2-8B-A1B", "LFM2-24B-A2B"]);
        check(8_340_000_000, Some(Tier::Acts), &["LFM2-24B-A2B"]);
        check(32_000_000_000, Some(Tier::Reads), &[]);
        assert_eq!(or(&[]), "");
    }
}
