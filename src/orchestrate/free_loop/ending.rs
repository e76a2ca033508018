//! Ends a loop that goes nowhere: code carries out the steps that it left open.

use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::orchestrate::execute;
use crate::orchestrate::toolkit::TurnError;
use crate::protocol::{Event, Mode, Remedy, Stall, StepStatus};
use crate::request::Step;
use crate::tools::ToolCall;

use super::{Loop, offer};

impl Loop<'_> {
    /// Has code carry out the open steps after a stall. If code has tried them already (`untried` is false), they stay open.
    pub(super) async fn end_well(&mut self, stall: Stall, untried: bool) -> Result<(), TurnError> {
        let mut open = offer::open(self.plan, self.evidence);
        // A step whose call the user has rejected is not asked about again.
        open.retain(|step| self.evidence.of(step.id).all(|entry| entry.status != StepStatus::Rejected));
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
            host.emit(Event::StepExecuting { step: step.id, description: step.text.clone() });
            let notes = execute::step(self.scene, step, self.evidence).await?.notes;
            if !notes.is_empty() {
                host.notice(&format!("{}: {}", step.id, notes.join("; ")));
            }
        }
        Ok(())
    }

    /// Chat mode: sends a question to the index search as it is; other steps are left alone.
    async fn looked_up(&mut self, step: &Step) -> Result<(), TurnError> {
        let toolkit = self.scene.toolkit;
        let spec = toolkit.catalog.get("index_search").filter(|_| toolkit.index.is_some());
        let Some(spec) = spec.filter(|_| !offer::executes(step)) else { return Ok(()) };
        let arguments = Map::from_iter([("question".to_owned(), Value::String(step.text.clone()))]);
        let call = ToolCall { tool: spec.name.clone(), arguments };
        self.scene.host.emit(Event::StepExecuting { step: step.id, description: step.text.clone() });
        execute::perform(self.scene, step.id, call, spec, self.evidence).await?;
        Ok(())
    }
}

/// Tells the user why nothing will be changed although the request asks for it.
pub(super) fn why_not(asked: Mode, engine: &Engine, trouble: &str) -> String {
    let model = engine.model();
    match (asked, trouble.is_empty()) {
        (Mode::Chat, _) => "in chat mode nothing is changed; --mode agent does it".to_owned(),
        (Mode::Agent, true) => {
            format!("{model} is too weak to act without a plan; leave the orchestrator on, or {}", stronger(model))
        }
        (Mode::Agent, false) => format!(
            "{model} cannot write code or find a way by itself: it changes only what a request spells out, the file, what \
             is there and what is to come. For more, {}",
            stronger(model)
        ),
    }
}

/// Which stronger model to get, and how.
fn stronger(model: &str) -> &'static str {
    if model.to_lowercase().contains("qwen2.5-coder-1.5b") {
        "get a stronger planner: `monobloc models pull planner LFM2-8B-A1B` (5 GiB of memory)"
    } else {
        "get a planner that writes code: Qwen2.5-Coder-1.5B with `scripts/fetch-models` or `monobloc models pull planner \
         Qwen2.5-Coder-1.5B` (1.5 GiB of memory), LFM2-8B-A1B with `monobloc models pull planner LFM2-8B-A1B` (5 GiB)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_names_stronger_models_and_how_to_get_them() {
        let check = |model: &str, expected: &str, never: &str| {
            let advice = stronger(model);
            assert!(advice.contains(expected) && !advice.contains(never), "{model}: {advice}");
        };
        check("SmolLM2-135M-Instruct.Q4_1.gguf", "scripts/fetch-models", "SmolLM2");
        check("SmolLM2-135M-Instruct.Q4_1.gguf", "models pull planner Qwen2.5-Coder-1.5B", "SmolLM2");
        check("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "models pull planner LFM2-8B-A1B", "Qwen2.5");
    }
}
