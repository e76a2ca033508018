//! The checklist of a turn: it begins with the parts of the request, the model changes it with the
//! tool [`Builtin::Plan`], and the user sees it as the plan. A large task has two levels: stages,
//! and steps that name their stage.

use serde_json::{Map, Value, json};

use crate::agent::Host;
use crate::agent::budget::Budget;
use crate::agent::evidence::{Entry, Evidence};
use crate::agent::plan;
use crate::base::StepId;
use crate::language::words;
use crate::models::dialect::RawCall;
use crate::protocol::{Event, PlanStatus, StepState};
use crate::request::{Kind, Step, Text};
use crate::tools::ToolSpec;
use crate::tools::builtin::Builtin;

/// Maximum length of an item's text, in bytes.
const TEXT_MAX: usize = 300;
/// The call with which planners of the LFM2 family add a step to their plan, one per line:
/// `[plan.add_step(description="Read the file a")]`. It is not listed, but accepted.
pub const ADD_STEP: &str = "plan.add_step";

/// The spec of [`ADD_STEP`], which is needed to find its calls in a reply.
pub fn add_step() -> ToolSpec {
    let parameters = json!({ "type": "object", "properties": { "description": { "type": "string" } } });
    ToolSpec { name: ADD_STEP.to_owned(), parameters, ..ToolSpec::default() }
}

/// The step that a call adds to the plan; `None` for other calls and for a step without text.
pub fn added(call: &RawCall) -> Option<&str> {
    let text = call.arguments.get("description").and_then(Value::as_str).map(str::trim);
    text.filter(|text| call.name == ADD_STEP && !text.is_empty())
}

/// The status of an item, as set by the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Open,
    Done,
    Dropped,
}

impl Mark {
    fn by_name(name: &str) -> Option<Mark> {
        Some(match name {
            "open" | "pending" | "todo" | "in_progress" => Mark::Open,
            "done" | "completed" | "complete" => Mark::Done,
            "dropped" | "cancelled" | "skipped" => Mark::Dropped,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        ["open", "done", "dropped"][self as usize]
    }

    fn status(self) -> PlanStatus {
        if self == Mark::Open { PlanStatus::Pending } else { PlanStatus::Completed }
    }

    fn state(self) -> StepState {
        if self == Mark::Open { StepState::Pending } else { StepState::Complete }
    }
}

struct Item {
    step: Step,
    mark: Mark,
    /// The text of the stage to which this item belongs as a step.
    stage: Option<String>,
}

#[derive(Default)]
pub struct Checklist {
    items: Vec<Item>,
    /// Whether the model has set the list; before that, it contains the items that code found in
    /// the request.
    by_model: bool,
    /// The highest number given to an item so far.
    last: usize,
}

impl Checklist {
    /// The parts of a request; empty if it has only one part.
    pub fn of(request: &Text) -> Checklist {
        let mut steps = request.items();
        if steps.len() < 2 {
            return Checklist::default();
        }
        steps.truncate(Budget::ITEMS);
        for step in &mut steps {
            step.text = words::shorten(step.text.shown(), TEXT_MAX).into();
        }
        let last = steps.len();
        let items = steps.into_iter().map(|step| Item { step, mark: Mark::Open, stage: None }).collect();
        Checklist { items, by_model: false, last }
    }

    /// The list of items for the model; empty if there are none.
    pub fn text(&self) -> String {
        let line = |item: &Item| {
            let indent = if item.stage.is_some() { "  " } else { "" };
            format!("{indent}- [{}] {}\n", item.mark.name(), item.step.text)
        };
        self.items.iter().map(line).collect()
    }

    /// The texts of the items, which describe the remaining work.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| item.step.text.shown())
    }

    /// Shows the list to the user.
    pub fn show(&self, host: &dyn Host) {
        if self.items.is_empty() {
            return;
        }
        let mut view = plan::listed(self.items.iter().map(|item| &item.step));
        for (step, item) in view.steps.iter_mut().zip(&self.items) {
            step.status = item.mark.status();
            if item.stage.is_some() {
                step.description.insert_str(0, "· ");
            }
        }
        host.emit(Event::PlanCreated { plan: view });
    }

    /// Sets the list as a model's call requests, and shows the new state. Returns the result for
    /// the model.
    ///
    /// # Errors
    /// The mistake in the call; the list is then unchanged.
    pub fn set(&mut self, arguments: &Map<String, Value>, host: &dyn Host) -> Result<String, String> {
        let given = arguments.get("items").and_then(Value::as_array).ok_or("`plan` needs the list `items`")?;
        if given.len() > Budget::ITEMS {
            return Err(format!("{} items are too many; the maximum is {}", given.len(), Budget::ITEMS));
        }
        let mut items = Vec::new();
        let mut last = self.last;
        for one in given {
            let text = one.get("text").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
            let text = words::shorten(text.ok_or("each item needs a `text`")?, TEXT_MAX);
            let state = one.get("state").and_then(Value::as_str).unwrap_or("open");
            let mark = Mark::by_name(state);
            let mark = mark.ok_or_else(|| format!("`{state}` is not a state; write open, done or dropped"))?;
            let known = self.items.iter().find(|item| item.step.text.shown() == text).map(|item| item.step.clone());
            let step = known.unwrap_or_else(|| {
                last += 1;
                Step::of(last, Kind::Edit, text)
            });
            let stage = one.get("stage").and_then(Value::as_str).map(str::trim).filter(|stage| !stage.is_empty());
            items.push(Item { step, mark, stage: stage.map(|stage| words::shorten(stage, TEXT_MAX)) });
        }
        let items = in_stages(items)?;
        let before = std::mem::replace(&mut self.items, items);
        (self.by_model, self.last) = (true, last);
        let is_same = before.iter().map(|item| item.step.id).eq(self.items.iter().map(|item| item.step.id));
        if !is_same {
            self.show(host);
        }
        for item in &self.items {
            let was = before.iter().find(|old| old.step.id == item.step.id).map_or(Mark::Open, |old| old.mark);
            if was != item.mark {
                host.emit(Event::StepState { step: item.step.id, state: item.mark.state() });
            }
        }
        let count = |mark: Mark| self.items.iter().filter(|item| item.mark == mark).count();
        Ok(format!("{} open, {} done, {} dropped", count(Mark::Open), count(Mark::Done), count(Mark::Dropped)))
    }

    /// Adds these steps from the model's plan. The first ones replace the items that code found in
    /// the request. Returns the result for the model; fails if no step is new.
    pub fn add(&mut self, steps: &[&str], host: &dyn Host) -> Result<String, String> {
        let kept = self.items.iter().filter(|_| self.by_model);
        let mut items: Vec<Value> = kept
            .map(|item| json!({ "text": item.step.text.shown(), "state": item.mark.name(), "stage": item.stage }))
            .collect();
        let before = items.len();
        for step in steps {
            let text = words::shorten(step, TEXT_MAX);
            if !items.iter().any(|item| item["text"] == text) {
                items.push(json!({ "text": text }));
            }
        }
        if items.len() == before {
            return Err("the plan has these steps already. Carry out the first open one with a tool".to_owned());
        }
        let told = self.set(json!({ "items": items }).as_object().unwrap_or(&Map::new()), host)?;
        Ok(format!("The plan is set: {told}. Carry out the first open step with a tool."))
    }

    /// The item that a call works on: an open one with a path or quotation that occurs in
    /// `arguments`, else the first open one; 0 if none is open. A call works on a step of a stage,
    /// not on the stage.
    pub fn current(&self, arguments: &str) -> StepId {
        let has_steps = |one: &Item| self.items.iter().any(|item| item.stage.as_deref() == Some(one.step.text.shown()));
        let open = || self.items.iter().filter(|item| item.mark == Mark::Open && !has_steps(item));
        let names = |item: &&Item| marks(&item.step).any(|name| arguments.contains(name));
        open().find(names).or(open().next()).map_or(StepId(0), |item| item.step.id)
    }

    /// The open items: if the model has set the list, those that it has not marked; else those that
    /// no call has carried out.
    pub fn open<'a>(&'a self, evidence: &Evidence) -> Vec<&'a str> {
        self.open_items(evidence).into_iter().map(|item| item.step.text.shown()).collect()
    }

    /// The open items as steps.
    pub fn open_steps(&self, evidence: &Evidence) -> Vec<Step> {
        self.open_items(evidence).into_iter().map(|item| item.step.clone()).collect()
    }

    fn open_items<'a>(&'a self, evidence: &Evidence) -> Vec<&'a Item> {
        let is_open = |item: &&Item| match self.by_model {
            true => item.mark == Mark::Open,
            false => !is_covered(&item.step, evidence),
        };
        self.items.iter().filter(is_open).collect()
    }

    /// The items that the model has dropped.
    pub fn dropped(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter(|item| item.mark == Mark::Dropped).map(|item| item.step.text.shown())
    }
}

/// The items in order, each stage followed by its steps. A stage is open while any of its steps is.
fn in_stages(items: Vec<Item>) -> Result<Vec<Item>, String> {
    let (stages, mut steps): (Vec<Item>, Vec<Item>) = items.into_iter().partition(|item| item.stage.is_none());
    let is_stage = |name: &str| stages.iter().any(|item| item.step.text.shown() == name);
    if let Some(name) = steps.iter().filter_map(|item| item.stage.as_deref()).find(|name| !is_stage(name)) {
        return Err(format!("`{name}` is not the text of an item without a stage; add it to the list"));
    }
    let mut items = Vec::new();
    for mut stage in stages {
        let own: Vec<Item> =
            steps.extract_if(.., |item| item.stage.as_deref() == Some(stage.step.text.shown())).collect();
        if own.iter().any(|step| step.mark == Mark::Open) {
            stage.mark = Mark::Open;
        }
        items.push(stage);
        items.extend(own);
    }
    Ok(items)
}

/// The paths and quotations of a step.
fn marks(step: &Step) -> impl Iterator<Item = &str> {
    step.part.paths.iter().chain(&step.part.quoted).map(String::as_str).filter(|name| !name.is_empty())
}

/// Whether a call may have carried out a step: it changed or ran something, and its arguments
/// contain a name from the step.
fn is_covered(step: &Step, evidence: &Evidence) -> bool {
    let is_of = |entry: &&Entry| {
        let arguments = Value::Object(entry.arguments.clone()).to_string();
        marks(step).next().is_none() || marks(step).any(|name| arguments.contains(name))
    };
    let mut done = evidence.entries().iter().filter(|entry| entry.executing && !entry.status.is_refused());
    match step.kind {
        Kind::Ask => true,
        Kind::Run => done.any(|entry| entry.tool == Builtin::RunCommand.name()),
        _ => done.filter(|entry| entry.succeeded()).any(|entry| is_of(&entry)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Decision;
    use crate::tools::Outcome;
    use crate::tools::policy::Policy;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Seen(Mutex<Vec<Event>>, Policy);

    impl Host for Seen {
        fn emit(&self, event: Event) {
            self.0.lock().unwrap().push(event);
        }

        fn approve<'a>(&'a self, _: StepId, _: &'a crate::protocol::Proposal) -> crate::agent::Deciding<'a> {
            Box::pin(async { Decision::Reject })
        }

        fn policy(&self) -> &Policy {
            &self.1
        }
    }

    fn set(list: &mut Checklist, host: &Seen, items: Value) -> Result<String, String> {
        list.set(json!({ "items": items }).as_object().unwrap(), host)
    }

    #[test]
    fn the_model_changes_the_list_and_the_user_sees_what_is_new() {
        let (mut list, host) =
            (Checklist::of(&Text::of("Add a flag to src/a.rs and document it in README.md")), Seen::default());
        let texts: Vec<String> = list.texts().map(str::to_owned).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        let told = set(&mut list, &host, json!([{"text": texts[0], "state": "done"}, {"text": "Test it"}]));
        assert_eq!(told.as_deref(), Ok("1 open, 1 done, 0 dropped"));
        let seen = host.0.lock().unwrap();
        assert!(matches!(&seen[..], [Event::PlanCreated { plan }, Event::StepState { step: StepId(1), .. }]
            if plan.steps[1].id == StepId(3)));
        assert_eq!(list.open(&Evidence::default()), ["Test it"]);
    }

    #[test]
    fn a_stage_stays_open_as_long_as_one_of_its_steps_is() {
        let (mut list, host) = (Checklist::default(), Seen::default());
        let plan = |open: &str| {
            json!([
                {"text": "Split the parser", "state": "done"}, {"text": "Release", "state": "open"},
                {"text": "Move the lexer to lex.rs", "state": open, "stage": "Split the parser"},
                {"text": "Adapt parse.rs", "state": "done", "stage": "Split the parser"},
            ])
        };
        assert_eq!(set(&mut list, &host, plan("open")).as_deref(), Ok("3 open, 1 done, 0 dropped"));
        assert_eq!(list.open(&Evidence::default()), ["Split the parser", "Move the lexer to lex.rs", "Release"]);
        assert!(list.text().contains("\n  - [open] Move the lexer to lex.rs\n"), "{}", list.text());
        // Calls belong to steps, not to a stage.
        assert_eq!(list.current("anything"), StepId(3));
        assert_eq!(set(&mut list, &host, plan("done")).as_deref(), Ok("1 open, 3 done, 0 dropped"));
        assert_eq!(list.open(&Evidence::default()), ["Release"]);
        let before = list.text();
        let lost = json!([{"text": "Test it", "state": "open", "stage": "Review"}]);
        assert!(set(&mut list, &host, lost).is_err_and(|why| why.contains("`Review`")));
        assert_eq!(list.text(), before, "nothing was changed");
    }

    #[test]
    fn a_list_that_is_wrong_changes_nothing() {
        let (mut list, host) = (Checklist::default(), Seen::default());
        for items in [json!("all"), json!([{"state": "open"}]), json!([{"text": "a", "state": "perhaps"}])] {
            assert!(set(&mut list, &host, items).is_err());
        }
        let many: Vec<Value> = (0..200).map(|n| json!({ "text": n.to_string() })).collect();
        assert_eq!(set(&mut list, &host, json!(many)), Err("200 items are too many; the maximum is 40".to_owned()));
        assert!(list.text().is_empty());
    }

    #[test]
    fn steps_of_a_plan_take_the_place_of_the_parts_and_then_add_to_each_other() {
        let request = "Add a flag to src/a.rs and document it in README.md";
        let (mut list, host) = (Checklist::of(&Text::of(request)), Seen::default());
        let told = list.add(&["Add the flag", "Test the flag", "Add the flag"], &host);
        assert_eq!(
            told.unwrap(),
            "The plan is set: 2 open, 0 done, 0 dropped. Carry out the first open step with a tool."
        );
        assert!(list.add(&["Document it"], &host).is_ok());
        assert!(list.add(&["Test the flag"], &host).is_err());
        assert_eq!(list.texts().collect::<Vec<_>>(), ["Add the flag", "Test the flag", "Document it"]);
        let many: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        assert!(list.add(&many.iter().map(String::as_str).collect::<Vec<_>>(), &host).is_err());
        assert_eq!(list.texts().count(), 3);
    }

    #[test]
    fn a_part_is_done_when_a_call_that_names_what_it_names_has_changed_something() {
        let list = Checklist::of(&Text::of("Add a flag to src/a.rs and document it in README.md"));
        let mut evidence = Evidence::default();
        let mut write = |path: &str| {
            let arguments = json!({ "path": path }).as_object().cloned().unwrap();
            let entry = Entry::looked(StepId(1), "write_file", arguments, Outcome::ok("created"));
            evidence.add(Entry { executing: true, ..entry });
            list.open(&evidence).len()
        };
        assert_eq!((write("src/a.rs"), write("README.md")), (1, 0));
    }
}
