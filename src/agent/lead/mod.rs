//! The turn of a model that was measured as able to act: it leads, with tools, a checklist and
//! checks; code watches, limits and reports.

mod calls;
mod checklist;
mod claimed;
mod condense;
mod earlier;
mod ending;
mod offer;
mod opening;
mod reply;
mod report;
mod room;
mod watch;

pub use earlier::Notes;

use std::sync::Arc;
use std::time::Instant;

use crate::language::clauses::Part;
use crate::language::words;
use crate::models::Role;
use crate::models::dialect::{Message, Speaker};
use crate::protocol::{Mode, Remedy, Stall};
use crate::request::{self, Step};
use crate::tools::Context;
use crate::tools::builtin::Builtin;

use super::budget::{self, Budget};
use super::cognitive::{self, Rounds};
use super::evidence::Evidence;
use super::execute::Scene;
use super::forecast;
use super::graph::Transitions;
use super::inspect;
use super::lessons::Memory;
use super::plan::Plan;
use super::player::Player;
use super::synthesize::{NOTHING, past, tell};
use super::toolkit::TurnError;
use checklist::Checklist;
use offer::Offer;
use reply::{Kind, Said};
use watch::{Unusable, Verdict, Watch};

/// The input of a turn.
pub struct Task<'a> {
    pub parts: &'a [Part],
    /// Whether to make a checklist from the request.
    pub with_checklist: bool,
    pub evidence: &'a mut Evidence,
    /// Number of earlier results, before those that the opening shows in full.
    pub known: usize,
    /// The parts that code tried and could not do; empty if nothing was tried.
    pub trouble: &'a str,
    /// Each round consumes one.
    pub transitions: &'a mut Transitions,
}

/// How a turn ended.
pub enum Ended {
    /// With this answer, which has already been sent to the host in pieces.
    Answered(String),
    /// The model's server became unavailable, and a model of this process is now the planner.
    Left(Left),
}

/// Maximum length, in characters, of a request for which lessons are looked up.
const LESSON_CHARS: usize = 400;

/// The state in which a model left its turn.
pub struct Left {
    /// The words that the user has read so far.
    pub said: String,
    /// The changes and runs of its calls, one per line.
    pub done: Vec<String>,
    /// The open items of the checklist.
    pub open: Vec<Step>,
}

/// Has the model carry out the request.
pub async fn run(scene: Scene<'_>, task: Task<'_>) -> Result<Ended, TurnError> {
    let Scene { toolkit, request, host, .. } = scene;
    let Task { parts, with_checklist, evidence, known, trouble, transitions } = task;
    let model = toolkit.model(Role::Planner, host).await?;
    let budget = Budget::for_player(toolkit, &model);
    let checklist = if with_checklist { Checklist::of(request) } else { Checklist::default() };
    checklist.show(host);
    let items = || checklist.texts().collect::<Vec<_>>().join("\n");
    inspect::stage(toolkit, host, inspect::of_turn("plan"), items).await?;
    let vector = toolkit.vector(&toolkit.prefilter.without_values(request.shown())).await;
    let wishes: Vec<&str> = [request.shown()].into_iter().chain(checklist.texts()).collect();
    let offer = Arc::new(Offer::of(toolkit, &wishes, budget.server_tools).await);
    let mut open = Plan { steps: checklist.open_steps(evidence), ..Plan::default() };
    if open.steps.is_empty() {
        // In a turn without a checklist, calls belong to no item.
        open.steps.push(Step::of(0, request::Kind::of(parts), words::shorten(request.shown(), LESSON_CHARS)));
    }
    let memory = Memory::of(toolkit, &open, evidence).await;
    let lessons = memory.as_ref().and_then(|memory| memory.told(|spec| offer.get(&spec.name).is_some(), toolkit, host));
    let lessons = lessons.unwrap_or_default();
    let files = parts.iter().map(|part| part.paths.len()).sum();
    let items = checklist.texts().count();
    // A mere question needs no checklist.
    let orders = items > 0 || request::Kind::of(parts) != request::Kind::Ask;
    let is_large = with_checklist
        && toolkit.mode == Mode::Agent
        && orders
        && cognitive::is_complex(cognitive::complexity(request, files, items.max(parts.len())));
    let (checklist_shown, vector) = (&checklist, vector.as_deref());
    let given = opening::Given {
        parts,
        checklist: checklist_shown,
        is_large,
        evidence,
        known,
        trouble,
        lessons: &lessons,
        vector,
    };
    let messages = opening::messages(scene, &model, &budget, given).await?;
    let request_at = messages.len() - 1;
    inspect::stage(toolkit, host, inspect::of_turn("context"), || messages[request_at].content.clone()).await?;
    let first = messages.iter().map(|message| model.count(&message.content)).sum();
    let expected = forecast::announced_lead(toolkit, first);
    expected.iter().for_each(|(said, _)| host.notice(said));
    // Tools shorten their own results, because their text explains how to get the rest.
    let sample = &messages[request_at].content;
    let text_max_bytes =
        budget::bytes(budget.result, sample, |text| model.count(text)).min(scene.context.text_max_bytes);
    let context = Context { text_max_bytes, ..scene.context.clone() };
    let scene = Scene { context: &context, ..scene };
    let lead = Lead {
        scene,
        evidence: &mut *evidence,
        model,
        budget,
        offer,
        checklist,
        watch: Watch::default(),
        messages,
        request_at,
        fresh: Vec::new(),
        said: String::new(),
        words: String::new(),
        gap: false,
    };
    let started = Instant::now();
    let ended = lead.turn(transitions).await;
    if let Some((_, expected)) = expected.filter(|_| ended.is_ok()) {
        host.notice(&forecast::compared(expected, started.elapsed()));
    }
    if let Some(memory) = memory.filter(|_| toolkit.mode == Mode::Agent) {
        memory.learn(toolkit, evidence, |_| true).await;
    }
    ended
}

/// One turn.
struct Lead<'a> {
    scene: Scene<'a>,
    evidence: &'a mut Evidence,
    model: Player,
    budget: Budget,
    offer: Arc<Offer>,
    checklist: Checklist,
    watch: Watch,
    messages: Vec<Message>,
    /// Index of the request in `messages`, after earlier turns.
    request_at: usize,
    /// The results of the round.
    fresh: Vec<String>,
    /// The words of the complete answer so far, and of the last reply.
    said: String,
    words: String,
    /// Whether the last text shown to the user ended a paragraph.
    gap: bool,
}

impl Lead<'_> {
    /// Runs rounds until the model answers, stops making progress, or has used up its rounds or
    /// time.
    async fn turn(mut self, transitions: &mut Transitions) -> Result<Ended, TurnError> {
        let started = Instant::now();
        let left = transitions.left();
        let most = self.scene.toolkit.iterations_max.map_or(left, |set| set.min(left));
        let (mut is_asked, mut continued, mut stopped) = (false, 0, None);
        let Scene { toolkit, host, request, .. } = self.scene;
        let plan = self.checklist.texts().map(str::to_owned).collect();
        let mut judged = cognitive::is_wanted(toolkit).then(|| Rounds::of(toolkit, host, request.shown(), plan));
        for round in (1..=most).take_while(|_| transitions.spend()) {
            if let Some(time) = self.budget.time.filter(|time| started.elapsed() > *time) {
                stopped = Some(format!("its time limit of {} s is reached (turn_time_s)", time.as_secs()));
                break;
            }
            self.watch.round = round;
            let said = match self.next().await {
                Ok(said) => said,
                Err(why) => return self.left(why).await.map(Ended::Left),
            };
            let cut = if let Kind::CutWords(why) = &said.kind { Some(why.clone()) } else { None };
            continued = if cut.is_some() { continued + 1 } else { 0 };
            let verdict = match self.take(said).await? {
                Some(verdict) => verdict,
                None if continued > self.budget.continued => {
                    Verdict::End(format!("the answer was cut {continued} times at {} tokens", self.budget.reply))
                }
                None if let Some(why) = cut => Verdict::Say(format!(
                    "Your answer did not come to its end, {why}. Go on exactly where it ends, without repeating anything."
                )),
                None if !is_asked && let Some(question) = ending::question(&self.needs()) => {
                    is_asked = true;
                    self.watch.detected(Stall::OpenSteps, Remedy::AskedAgain);
                    Verdict::Say(question)
                }
                None => match self.judged(&mut judged).await? {
                    None => break,
                    Some(critique) => Verdict::Say(critique),
                },
            };
            self.report();
            match verdict {
                Verdict::Go => {}
                Verdict::Say(text) => self.tell_model(text),
                Verdict::End(why) => {
                    stopped = Some(why);
                    break;
                }
            }
            if round == most {
                self.watch.detected(Stall::OutOfIterations, Remedy::Synthesis);
                stopped = Some(format!("its {most} rounds are used up"));
            }
        }
        self.report();
        if let Some(judged) = judged {
            judged.end(Vec::new());
        }
        Ok(Ended::Answered(self.answer(stopped.as_deref())))
    }

    /// The message to the model about its answer, if the answer was judged and is not yet good
    /// enough.
    async fn judged(&mut self, rounds: &mut Option<Rounds<'_>>) -> Result<Option<String>, TurnError> {
        let Some(rounds) = rounds else { return Ok(None) };
        // An answer without calls is based on the code that the opening shows.
        let shown = Some(rounds.shown(self.evidence)).filter(|shown| !shown.is_empty());
        let shown = shown.unwrap_or_else(|| words::shorten(&self.seen(), cognitive::EVIDENCE_CHARS));
        let checked = self.checked(&self.words);
        if rounds.is_enough(self.words.clone(), &shown, checked).await? {
            return Ok(None);
        }
        let why = past(rounds.past_failures(), self.scene.toolkit.cognitive.technique);
        Ok(Some(format!(
            "The answer was judged, and it is not good enough.{why}\nDo what is missing, with tools where they help; then answer anew, in full."
        )))
    }

    /// If the server became unavailable, hands the turn over to a model of this process, provided
    /// there is one.
    async fn left(mut self, why: TurnError) -> Result<Left, TurnError> {
        let Scene { toolkit, host, .. } = self.scene;
        if self.model.here().is_some() {
            return Err(why);
        }
        toolkit.stand_in(Role::Planner, why, host).await?;
        self.report();
        let (done, open) = (ending::done(self.evidence), self.checklist.open_steps(self.evidence));
        Ok(Left { said: self.said.trim_end().to_owned(), done, open })
    }

    /// The model's next reply. Condenses the conversation first if it is about to outgrow the
    /// context.
    async fn next(&mut self) -> Result<Said, TurnError> {
        self.make_room().await?;
        let gap = if self.gap { "\n\n" } else { "" };
        let said = reply::ask(self.scene, &self.model, &self.messages, &self.offer, self.budget.reply, gap).await?;
        self.gap &= said.words.is_empty();
        Ok(said)
    }

    /// Handles a reply and runs its calls. `None` if it contains only words.
    async fn take(&mut self, said: Said) -> Result<Option<Verdict>, TurnError> {
        let Said { output, words, kind } = said;
        let tokens = output.tally.generated_tokens;
        Ok(Some(match kind {
            Kind::Words => {
                self.messages.push(Message::assistant(output.text.trim_end()));
                self.add(&words);
                return Ok(None);
            }
            Kind::CutWords(_) => {
                self.messages.push(Message::assistant(output.text));
                self.said.push_str(&words);
                return Ok(None);
            }
            Kind::Calls(reading) => {
                let certain = reading.is_certain();
                let only_plans = reading.calls.iter().all(|call| call.name == Builtin::Plan.name());
                let reply = output.replied(&reading);
                let is_paired = !reply.calls.is_empty();
                self.messages.push(spoken(reply));
                self.close(&words);
                self.fresh.clear();
                let round = self.calls(reading.calls, certain).await?;
                for result in &round.results {
                    self.messages.push(if is_paired { Message::tool(result) } else { Message::user(result) });
                }
                if round.usable == 0 {
                    let told =
                        "None of these calls could be run. Use the listed tools with their own arguments.".to_owned();
                    return Ok(Some(self.watch.unusable(Unusable::Wrong, told)));
                }
                // Words written with the last change of the checklist are the answer; another reply
                // would only repeat them.
                if only_plans && !words.trim().is_empty() && self.checklist.open(self.evidence).is_empty() {
                    self.add(&words);
                    return Ok(None);
                }
                let fresh = std::mem::take(&mut self.fresh);
                let results: Vec<&str> = fresh.iter().map(String::as_str).collect();
                let idle = if results.is_empty() { Verdict::Go } else { self.watch.round_of(&results) };
                match round.verdict.unwrap_or(Verdict::Go) {
                    Verdict::Go => idle,
                    verdict => verdict,
                }
            }
            Kind::Empty => {
                self.messages.push(spoken(Message::assistant("")));
                let told = format!(
                    "The reply has no words and no call ({tokens} tokens). Call a tool, or answer the user in plain words."
                );
                self.watch.unusable(Unusable::Empty, told)
            }
            Kind::Unreadable => {
                self.messages.push(spoken(Message::assistant(output.text)));
                self.close(&words);
                let arguments = [("path".to_owned(), "…".into())].into_iter().collect();
                let example = self.model.written("read_file", &arguments);
                self.watch.unusable(
                    Unusable::Call,
                    format!("That could not be read as a call. Write calls exactly like this: {example}"),
                )
            }
            Kind::CutCall(why) => {
                self.messages.push(spoken(Message::assistant(output.text)));
                self.close(&words);
                self.scene.host.notice(&format!("the model's reply was incomplete, {why}: none of it was carried out"));
                let told = format!(
                    "Your reply did not come to its end, {why}: nothing of it was done. Write less in one reply: a long file in parts, its beginning first and the rest by further edits."
                );
                self.watch.unusable(Unusable::Call, told)
            }
            Kind::Circles(why) => {
                self.messages.push(spoken(Message::assistant(words::shorten(&output.text, 400))));
                self.close(&words);
                self.watch
                    .unusable(Unusable::Circles, format!("Your reply has no end, {why}. Say it once, or call a tool."))
            }
        }))
    }

    /// Adds words to the answer.
    fn add(&mut self, words: &str) {
        self.words = words.trim().to_owned();
        self.said.push_str(words.trim_end());
        self.said.push_str("\n\n");
        self.close(words);
    }

    /// Ends a paragraph in the text shown to the user.
    fn close(&mut self, words: &str) {
        self.gap |= !words.trim().is_empty();
    }

    /// Appends a message for the model to the last results, if there are any.
    fn tell_model(&mut self, text: String) {
        match self.messages.last_mut().filter(|last| last.speaker != Speaker::Assistant) {
            Some(last) => last.content.push_str(&format!("\n\n{text}")),
            None => self.messages.push(Message::user(text)),
        }
    }

    /// Emits the events noticed since the last report.
    fn report(&mut self) {
        for event in std::mem::take(&mut self.watch.events) {
            self.scene.host.emit(event);
        }
    }

    /// The answer: the model's words, followed by the facts that code adds.
    fn answer(self, stopped: Option<&str>) -> String {
        let host = self.scene.host;
        let facts = self.facts(&self.said, stopped).join("\n");
        let mut answer = self.said.trim_end().to_owned();
        if answer.is_empty() && facts.is_empty() {
            return tell(host, NOTHING);
        }
        if !facts.is_empty() {
            tell(host, &format!("{}{facts}", if self.gap { "\n\n" } else { "" }));
            answer.push_str(if answer.is_empty() { "" } else { "\n\n" });
        }
        answer + &facts
    }
}

/// A message from the model, never empty, because servers refuse empty ones.
fn spoken(message: Message) -> Message {
    if message.content.trim().is_empty() && message.calls.is_empty() {
        return Message { content: "…".to_owned(), ..message };
    }
    message
}
