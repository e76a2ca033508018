//! Tests the screen without a terminal: effects of events, and its appearance at three sizes.

mod pictures;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use serde_json::{Map, json};

use super::Options;
use super::event::{Edited, Effect, Event};
use super::popup::{Choice, Kind};
use super::state::{About, Screen};
use super::theme::Theme;
use crate::base::{Bytes, StepId};
use crate::protocol::{
    self, Asks, Decision, Memory, PlanStatus, PlanStep, PlanView, Proposal, StepReport, StepState, StepStatus,
    TurnFinished, Usage,
};
use crate::tools::mcp::offers::{Argument, Offers, Prompt, Resource};
use crate::ui::cli::chat::line::{Show, Work};
use crate::ui::cli::chat::work::Attached;

/// A screen whose session is open.
fn screen() -> Screen {
    let mut screen = Screen::new(Theme::Coloured, Rect::new(0, 0, 80, 24), Options::default());
    screen.about = About { project: "basket".into(), mode: "agent", asks: "asks before it changes something" };
    screen.apply(Event::Opened { asked: vec!["an earlier request".into()] });
    screen
}

fn key(screen: &mut Screen, code: KeyCode) -> Vec<Effect> {
    screen.apply(Event::Key(KeyEvent::from(code)))
}

fn control(screen: &mut Screen, letter: char) -> Vec<Effect> {
    screen.apply(Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)))
}

/// Types text; returns the requested effects.
fn write(screen: &mut Screen, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|letter| key(screen, KeyCode::Char(letter))).collect()
}

/// Types a line and sends it.
fn send(screen: &mut Screen, text: &str) -> Vec<Effect> {
    write(screen, text);
    key(screen, KeyCode::Esc);
    key(screen, KeyCode::Enter)
}

fn request(text: &str) -> Effect {
    Effect::Start { work: Work::Request(text.to_owned()), attached: Attached::default() }
}

fn text(screen: &Screen) -> String {
    screen.transcript.lines().map(|line| format!("{line}\n")).collect()
}

fn proposal() -> Proposal {
    let arguments = json!({ "path": "src/retry.ts", "old": "5", "new": "3" });
    Proposal {
        tool: "edit_file".into(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
        reason: "it changes a file".into(),
        preview:
            "--- a/src/retry.ts\n+++ b/src/retry.ts\n@@ -1,3 +1,3 @@\n // Tries.\n-export const MAX_ATTEMPTS = 5;\n\
                  +export const MAX_ATTEMPTS = 3;\n \n@@ -9,2 +9,3 @@\n }\n+// The end."
                .into(),
        always: Some("edit_file in src/".into()),
        ..Proposal::default()
    }
}

/// A turn that waits for a decision long enough to be answered.
fn asked(screen: &mut Screen) {
    send(screen, "change it");
    screen.apply(Event::Approve(proposal()));
    screen.apply(Event::Tick);
    screen.apply(Event::Tick);
}

fn step(id: usize, description: &str, after: &[usize]) -> PlanStep {
    let dependencies = after.iter().map(|id| StepId(*id)).collect();
    PlanStep { id: StepId(id), description: description.into(), dependencies, ..PlanStep::default() }
}

fn report(id: usize, tool: &str, summary: &str, diff: Option<&str>) -> StepReport {
    StepReport {
        step: StepId(id),
        tool: tool.into(),
        arguments: json!({ "path": "src/retry.ts" }),
        status: StepStatus::Succeeded,
        summary: summary.into(),
        diff: diff.map(str::to_owned),
        wall_ms: 12,
        ..StepReport::default()
    }
}

/// A plan with three steps: one done, one running.
fn planned(screen: &mut Screen) {
    send(screen, "Read src/retry.ts, then set MAX_ATTEMPTS to 3 and run the tests");
    let steps =
        vec![step(1, "Read src/retry.ts", &[]), step(2, "Set MAX_ATTEMPTS to 3", &[1]), step(3, "Run the tests", &[2])];
    let plan = PlanView { steps, total_estimated_tokens: 0, estimated_seconds: None, status: PlanStatus::InProgress };
    for event in [
        protocol::Event::PlanCreated { plan },
        protocol::Event::StepState { step: StepId(1), state: StepState::Complete },
        protocol::Event::StepCompleted(report(1, "read_file", "19 lines", None)),
        protocol::Event::StepState { step: StepId(2), state: StepState::Executing },
        protocol::Event::StepExecuting { step: StepId(2), description: "Set MAX_ATTEMPTS to 3".into() },
    ] {
        screen.apply(Event::Turn(event));
    }
}

#[test]
fn requests_wait_for_the_session_and_then_for_each_other() {
    let mut screen = Screen::new(Theme::Coloured, Rect::new(0, 0, 80, 24), Options::default());
    assert_eq!(send(&mut screen, "one"), []);
    assert_eq!(send(&mut screen, "two"), []);
    assert_eq!(screen.apply(Event::Opened { asked: Vec::new() }), [request("one")]);
    assert_eq!(screen.queue.len(), 1);
    assert_eq!(screen.apply(Event::Done), [request("two")]);
    assert_eq!(screen.apply(Event::Done), []);
}

#[test]
fn the_last_conversation_goes_on_first() {
    let options = Options { continues: true, ..Options::default() };
    let mut screen = Screen::new(Theme::Coloured, Rect::new(0, 0, 80, 24), options);
    let started = screen.apply(Event::Opened { asked: Vec::new() });
    assert_eq!(started, [Effect::Start { work: Work::Resume(1), attached: Attached::default() }]);
}

#[test]
fn escape_cancels_the_turn_with_what_waits_behind_it() {
    let mut screen = screen();
    send(&mut screen, "one");
    send_while_it_runs(&mut screen, "two");
    assert_eq!(key(&mut screen, KeyCode::Esc), [Effect::Cancel]);
    assert!(screen.queue.is_empty() && text(&screen).contains("1 waiting requests were dropped"));
    assert_eq!(key(&mut screen, KeyCode::Esc), []);
}

/// Does not press Escape, which would cancel the turn.
fn send_while_it_runs(screen: &mut Screen, text: &str) {
    write(screen, text);
    assert_eq!(key(screen, KeyCode::Enter), []);
}

#[test]
fn ctrl_c_cancels_and_twice_ends() {
    let mut screen = screen();
    send(&mut screen, "one");
    assert_eq!(control(&mut screen, 'c'), [Effect::Cancel]);
    assert_eq!(control(&mut screen, 'c'), [Effect::Quit { cancelled: true }]);
    screen.apply(Event::Done);
    assert_eq!(control(&mut screen, 'c'), []);
    for _ in 0..20 {
        screen.apply(Event::Tick);
    }
    assert_eq!(control(&mut screen, 'c'), [], "the first one is forgotten after a while");
    assert_eq!(control(&mut screen, 'c'), [Effect::Quit { cancelled: true }]);
}

#[test]
fn ctrl_d_ends_after_what_was_asked() {
    let mut screen = screen();
    send(&mut screen, "one");
    assert_eq!(control(&mut screen, 'd'), []);
    assert_eq!(screen.apply(Event::Done), [Effect::Quit { cancelled: false }]);
}

#[test]
fn a_question_is_answered_by_its_keys() {
    let mut screen = screen();
    asked(&mut screen);
    assert_eq!(key(&mut screen, KeyCode::Char('y')), [Effect::Decide(Decision::Approve)]);
    assert!(screen.question.is_none() && text(&screen).contains("you: yes (+2 -1)"));
    screen.apply(Event::Done);
    asked(&mut screen);
    assert_eq!(key(&mut screen, KeyCode::Char('a')), [Effect::Decide(Decision::Always)]);
    screen.apply(Event::Done);
    asked(&mut screen);
    assert_eq!(key(&mut screen, KeyCode::Esc), [Effect::Decide(Decision::Reject)]);
    screen.apply(Event::Done);
    asked(&mut screen);
    screen.question.as_mut().expect("a question").proposal.always = None;
    assert_eq!(key(&mut screen, KeyCode::Char('a')), [], "it is not offered");
    assert_eq!(key(&mut screen, KeyCode::Char('n')), [Effect::Decide(Decision::Reject)]);
}

#[test]
fn the_code_that_a_model_is_shown_and_what_was_cached_can_be_read() {
    let mut screen = screen();
    let places = vec!["src/retry.ts:3-9".to_owned()];
    screen.apply(Event::Turn(protocol::Event::ContextShown { step: StepId(1), places, tokens: 120 }));
    assert!(text(&screen).contains("the model is shown src/retry.ts:3-9 (120 tokens)"), "{}", text(&screen));
    let usage = Usage { prompt_tokens: 400, cached_tokens: 300, ..Usage::default() };
    screen.apply(Event::Memory(Memory { budget_bytes: Bytes::gib(1), ..Memory::default() }));
    let finished = TurnFinished { request: String::new(), answer: "5".into(), steps: Vec::new(), usage };
    screen.apply(Event::Turn(protocol::Event::TurnFinished(finished)));
    let footer: String = screen.facts.lines(120, 1, Theme::Coloured).iter().map(ToString::to_string).collect();
    assert!(footer.contains("75 % of the prompt cached"), "{footer}");
}

#[test]
fn letters_that_were_on_their_way_do_not_approve() {
    let mut screen = screen();
    send(&mut screen, "change it");
    screen.apply(Event::Approve(proposal()));
    assert_eq!(write(&mut screen, "yes"), []);
    assert!(screen.question.is_some());
}

#[test]
fn arguments_are_edited_in_the_editor() {
    let mut screen = screen();
    asked(&mut screen);
    let effects = key(&mut screen, KeyCode::Char('e'));
    assert!(matches!(effects.as_slice(), [Effect::Edit { what: Edited::Arguments, .. }]), "{effects:?}");
    let edited = |text: &str| Event::Edited { what: Edited::Arguments, text: Ok(text.to_owned()) };
    assert_eq!(screen.apply(edited("no object")), []);
    assert!(screen.question.is_some());
    let mut arguments = Map::new();
    arguments.insert("new".into(), json!("4"));
    assert_eq!(screen.apply(edited("{\"new\": \"4\"}")), [Effect::Decide(Decision::Modify(arguments))]);
}

#[test]
fn a_value_that_is_asked_for_is_written_into_the_question() {
    let mut screen = screen();
    let wants = || Proposal { asks: Asks::Values(vec!["to".into()]), preview: "send_mail {}".into(), ..proposal() };
    send(&mut screen, "mail it");
    screen.apply(Event::Approve(wants()));
    assert_eq!(write(&mut screen, "y"), [], "it was on its way");
    screen.apply(Event::Tick);
    screen.apply(Event::Tick);
    screen.apply(Event::Tick);
    assert_eq!(key(&mut screen, KeyCode::Enter), [], "nothing is written yet");
    write(&mut screen, "yan");
    key(&mut screen, KeyCode::Backspace);
    screen.apply(Event::Paste("@x.org\nmore".into()));
    let prompt: String = screen
        .question
        .as_ref()
        .map(|one| one.prompt(80, Theme::Coloured))
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(prompt.contains("to: ya@x.org▏"), "{prompt}");
    let arguments = Map::from_iter(wants().arguments.into_iter().chain([("to".to_owned(), json!("ya@x.org"))]));
    assert_eq!(key(&mut screen, KeyCode::Enter), [Effect::Decide(Decision::Modify(arguments))]);
    assert!(text(&screen).contains("you: answered"), "{}", text(&screen));
}

#[test]
fn a_cancelled_turn_asks_nothing() {
    let mut screen = screen();
    send(&mut screen, "one");
    control(&mut screen, 'c');
    screen.apply(Event::Approve(proposal()));
    assert!(screen.question.is_none());
}

#[test]
fn commands_are_suggested_and_sent() {
    let mut screen = screen();
    write(&mut screen, "/p");
    assert_eq!(screen.popup.as_ref().map(|popup| popup.kind), Some(Kind::Commands));
    assert_eq!(key(&mut screen, KeyCode::Enter), [Effect::Show(Show::Memory)]);
    write(&mut screen, "/loa");
    assert_eq!(key(&mut screen, KeyCode::Enter), [], "it takes a name");
    assert_eq!(screen.input.shown(), "/load ");
    assert!(screen.popup.is_none());
}

#[test]
fn undo_offers_the_checkpoints() {
    let mut screen = screen();
    assert_eq!(send(&mut screen, "/undo"), [Effect::ListCheckpoints]);
    let choice = |name: &str| Choice { label: name.into(), detail: String::new(), value: name.into() };
    screen.apply(Event::Checkpoints(Ok(vec![choice("c2"), choice("c1")])));
    key(&mut screen, KeyCode::Down);
    let effects = key(&mut screen, KeyCode::Enter);
    let [Effect::Start { work: Work::Back(back), .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((back.to.as_deref(), back.foreign), (Some("c1"), None));
}

#[test]
fn files_are_found_by_some_of_their_letters() {
    let mut screen = screen();
    let effects = write(&mut screen, "read @ret");
    assert_eq!(effects, [Effect::ListFiles], "they are listed once");
    screen.apply(Event::Files(vec!["README.md".into(), "src/retry.ts".into()]));
    key(&mut screen, KeyCode::Tab);
    assert_eq!(screen.input.shown(), "read src/retry.ts ");
}

#[test]
fn pictures_are_taken_by_their_place_in_the_project_and_by_a_dropped_file() {
    let mut screen = screen();
    write(&mut screen, "What does @pla");
    screen.apply(Event::Files(vec!["README.md".into(), "docs/plan.png".into()]));
    key(&mut screen, KeyCode::Tab);
    screen.apply(Event::Paste("show beside ".into()));
    // The form in which terminals write a dropped file.
    screen.apply(Event::Paste("'/home/ada/Screen shots/the till.PNG' ".into()));
    screen.apply(Event::Paste(" and ".into()));
    screen.apply(Event::Paste("/home/ada/another\\ till.webp".into()));
    let shown = "What does docs/plan.png show beside [picture /home/ada/Screen shots/the till.PNG] and \
                 [picture /home/ada/another till.webp]";
    assert_eq!(screen.input.shown(), shown);
    let effects = key(&mut screen, KeyCode::Enter);
    let [Effect::Start { work: Work::Request(text), attached }] = effects.as_slice() else { panic!("{effects:?}") };
    let sent =
        "What does docs/plan.png show beside '/home/ada/Screen shots/the till.PNG' and '/home/ada/another till.webp'";
    assert_eq!(text, sent);
    let places: Vec<_> = attached.pictures.iter().map(|path| path.display().to_string()).collect();
    assert_eq!(places, ["/home/ada/Screen shots/the till.PNG", "/home/ada/another till.webp"]);
    screen.apply(Event::Done);
    // A paste that is not a picture stays text, and deleting a mark removes its picture.
    screen.apply(Event::Paste("/home/ada/notes.txt".into()));
    screen.apply(Event::Paste("/home/ada/a.png".into()));
    assert_eq!(screen.input.shown(), "/home/ada/notes.txt[picture /home/ada/a.png]");
    key(&mut screen, KeyCode::Backspace);
    assert_eq!(screen.input.submitted().attached, Attached::default());
}

#[test]
fn what_servers_offer_is_found_among_files_and_commands() {
    let mut screen = screen();
    screen.asks_servers = true;
    assert_eq!(write(&mut screen, "sum up @mon"), [Effect::ListFiles, Effect::ListOffers], "they are asked once");
    screen.apply(Event::Files(vec!["README.md".into()]));
    let resource =
        Resource { server: "notes".into(), uri: "memo://monday".into(), about: String::new(), is_template: false };
    let argument = Argument { name: "branch".into(), about: String::new(), required: true };
    let prompt = Prompt {
        server: "git".into(),
        name: "review".into(),
        about: "reads a branch".into(),
        arguments: vec![argument],
    };
    screen.apply(Event::Offers(Offers { resources: vec![resource], prompts: vec![prompt], notes: Vec::new() }));
    key(&mut screen, KeyCode::Tab);
    assert_eq!(screen.input.shown(), "sum up @notes:memo://monday ");
    control(&mut screen, 'c');
    assert_eq!(write(&mut screen, "/gi"), []);
    assert_eq!(
        screen.popup.as_ref().and_then(|popup| popup.chosen()).map(|one| &*one.label),
        Some("/git:review BRANCH")
    );
    assert_eq!(key(&mut screen, KeyCode::Enter), [], "it takes an argument");
    write(&mut screen, "main");
    let effects = key(&mut screen, KeyCode::Enter);
    let [Effect::Start { work: Work::Request(text), .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(text, "/git:review main");
}

#[test]
fn earlier_requests_are_searched_and_walked() {
    let mut screen = screen();
    control(&mut screen, 'r');
    write(&mut screen, "earl");
    key(&mut screen, KeyCode::Enter);
    assert_eq!(screen.input.shown(), "an earlier request");
    control(&mut screen, 'c');
    key(&mut screen, KeyCode::Up);
    assert_eq!(screen.input.shown(), "an earlier request");
    key(&mut screen, KeyCode::Down);
    assert_eq!(screen.input.shown(), "");
}

#[test]
fn a_command_of_the_user_runs_beside_the_turn() {
    let mut screen = screen();
    send(&mut screen, "one");
    write(&mut screen, "!git status");
    assert_eq!(key(&mut screen, KeyCode::Enter), [Effect::Shell("git status".into())]);
    screen.apply(Event::Output("clean\n".into()));
    screen.apply(Event::Turn(protocol::Event::Notice { text: "meanwhile".into() }));
    screen.apply(Event::ShellEnded("done".into()));
    assert!(text(&screen).contains("! git status\nclean\ndone\nnote: meanwhile\n"), "{}", text(&screen));
    write(&mut screen, "!sleep 9");
    key(&mut screen, KeyCode::Enter);
    assert_eq!(key(&mut screen, KeyCode::Esc), [Effect::Cancel], "the turn first");
    assert_eq!(key(&mut screen, KeyCode::Esc), [Effect::KillShell]);
}

#[test]
fn several_lines_are_written_and_pasted() {
    let mut screen = screen();
    write(&mut screen, "a");
    screen.apply(Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT)));
    screen.apply(Event::Paste("b\rc".into()));
    assert_eq!(key(&mut screen, KeyCode::Enter), [request("a\nb\nc")]);
}

#[test]
fn a_paste_comes_back_whole_from_the_history_and_goes_whole_into_the_editor() {
    let mut screen = screen();
    let pasted = "a line of a log\n".repeat(12);
    write(&mut screen, "explain ");
    screen.apply(Event::Paste(pasted.clone()));
    let whole = format!("explain {pasted}");
    assert_eq!(key(&mut screen, KeyCode::Enter), [request(whole.trim())]);
    screen.apply(Event::Done);
    key(&mut screen, KeyCode::Up);
    assert_eq!(screen.input.shown(), "explain [12 lines pasted]");
    assert_eq!(control(&mut screen, 'g'), [Effect::Edit { what: Edited::Input, text: whole.clone() }]);
    control(&mut screen, 'c');
    control(&mut screen, 'r');
    key(&mut screen, KeyCode::Enter);
    assert_eq!(screen.input.submitted().text, whole);
}

#[test]
fn the_input_is_written_in_the_editor() {
    let mut screen = screen();
    write(&mut screen, "draft");
    assert_eq!(control(&mut screen, 'g'), [Effect::Edit { what: Edited::Input, text: "draft".into() }]);
    screen.apply(Event::Edited { what: Edited::Input, text: Ok("better\nlines\n".into()) });
    assert_eq!(screen.input.shown(), "better\nlines");
}

#[test]
fn steps_and_their_calls_belong_to_the_plan() {
    let mut screen = screen();
    planned(&mut screen);
    let shown = text(&screen);
    assert!(shown.contains("plan 1 of 3 done") && shown.contains("● s1 Read src/retry.ts"), "{shown}");
    assert!(shown.contains("◑ s2 Set MAX_ATTEMPTS to 3 (after s1) running"), "{shown}");
    let diff = Some("@@ -1 +1 @@\n-5\n+3\n");
    screen.apply(Event::Turn(protocol::Event::StepCompleted(report(2, "edit_file", "1 line", diff))));
    assert!(text(&screen).contains("[+1 -1, Ctrl-O shows it]") && !text(&screen).contains("\n+3"));
    control(&mut screen, 'o');
    assert!(text(&screen).contains("\n+3"), "{}", text(&screen));
}

#[test]
fn the_mouse_is_the_terminals_until_it_is_asked_for() {
    let mut screen = screen();
    assert_eq!(send(&mut screen, "/mouse"), [Effect::Mouse(true)]);
    assert_eq!(send(&mut screen, "/mouse"), [Effect::Mouse(false)]);
}
