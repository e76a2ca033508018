//! Reads the `--json` events of a turn.

use serde_json::Value;

use crate::cli::{Ended, Project, Run};

/// The events of one successful `ask`.
pub struct Turn {
    pub events: Vec<Value>,
    pub ended: Ended,
}

/// Events whose number depends on the speed of the machine.
const FLEETING: [&str; 4] = ["model-loading", "index-progress", "pulse", "queue_update"];

impl Turn {
    pub fn of(project: &Project, request: &str, flags: &[&str]) -> Turn {
        let arguments = [&["ask", request, "--json"], flags].concat();
        Turn::read(Run::new(project, &arguments).end().succeeded())
    }

    pub fn read(ended: Ended) -> Turn {
        Turn { events: ended.lines(), ended }
    }

    /// The event types in order, with equal neighbours merged, without those in [`FLEETING`].
    pub fn story(&self) -> Vec<&str> {
        let mut story: Vec<&str> = self.events.iter().map(kind).filter(|kind| !FLEETING.contains(kind)).collect();
        story.dedup();
        story
    }

    /// The data of every event of the type `wanted`.
    pub fn data(&self, wanted: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| kind(event) == wanted).map(|event| &event["data"]).collect()
    }

    /// The data of `turn-finished`, which must be the last event.
    pub fn finished(&self) -> &Value {
        let last = self.events.last().expect("an event");
        assert_eq!(kind(last), "turn-finished", "{last}");
        &last["data"]
    }

    pub fn answer(&self) -> &str {
        self.finished()["answer"].as_str().expect("an answer")
    }

    /// `tool status` of each call, in order.
    pub fn calls(&self) -> Vec<String> {
        let call = |step: &&Value| format!("{} {}", text(&step["tool"]), text(&step["status"]));
        self.data("step-completed").iter().map(call).collect()
    }
}

pub fn kind(event: &Value) -> &str {
    text(&event["type"])
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
