//! Conversations with scripted models: which information from earlier turns a later turn gets.

use monobloc::agent::Toolkit;
use monobloc::config::{ApproveMode, Cognitive, Think};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Ask, Event, Op, Record, TurnFinished};
use monobloc::session::{Message, Session};
use monobloc::tools::policy::Policy;

use crate::cli::Project;
use crate::scripted::toolkit;

/// Runs `requests` one after the other in one session; every call is allowed.
async fn talk(project: &Project, planner: Script, requests: &[&str]) -> Vec<TurnFinished> {
    let session = Session::open(toolkit(project, planner, Script::saying("")), None, Policy::of(ApproveMode::Never));
    let session = session.expect("a session");
    let mut turns = Vec::new();
    for request in requests {
        let mut messages = session.submit(Op::Ask(Ask { text: (*request).to_owned(), ..Ask::default() }));
        while let Some(message) = messages.recv().await {
            if let Message::Record(Record { event: Event::TurnFinished(finished), .. }) = message {
                turns.push(finished);
            }
        }
    }
    turns
}

#[tokio::test]
async fn a_turn_knows_the_earlier_turns_of_its_conversation() {
    let script = Script::saying("Nice to meet you.").on("Hello, I am Ada", "You told me: Ada.");
    let script = script.on("Nice to meet you.<|im_end|>\n<|im_start|>user\nThanks", "You are welcome, Ada.");
    let turns = talk(&Project::todo(), script, &["Hello!", "Thanks!"]).await;
    let answers: Vec<&str> = turns.iter().map(|turn| turn.answer.as_str()).collect();
    assert_eq!(answers, ["Nice to meet you.", "You are welcome, Ada."]);
}

#[tokio::test]
async fn thoughts_are_shown_unless_disabled() {
    for shown in [true, false] {
        let project = Project::todo();
        let script = Script::saying("<think>Who is this?</think>Hello.");
        let plain = toolkit(&project, script, Script::saying(""));
        let cognitive = Cognitive { cot_streaming: shown, ..plain.cognitive };
        let session = Session::open(Toolkit { cognitive, ..plain }, None, Policy::of(ApproveMode::Never));
        let mut messages =
            session.expect("a session").submit(Op::Ask(Ask { text: "Hi!".to_owned(), ..Ask::default() }));
        let (mut thoughts, mut answer) = (String::new(), String::new());
        while let Some(message) = messages.recv().await {
            match message {
                Message::Record(Record { event: Event::Thinking { text }, .. }) => thoughts.push_str(&text),
                Message::Record(Record { event: Event::TurnFinished(finished), .. }) => answer = finished.answer,
                _ => {}
            }
        }
        assert_eq!((thoughts.as_str(), answer.as_str()), (if shown { "Who is this?" } else { "" }, "Hello."));
    }
}

#[tokio::test]
async fn a_conversation_says_how_far_its_models_think() {
    for (think, expected) in [(Think::Auto, "Who is this?"), (Think::Tokens(3), "Who\n"), (Think::Off, "\n")] {
        let project = Project::todo();
        let script = Script::saying("<think>Who is this?</think>Hello.");
        let plain = toolkit(&project, script, Script::saying(""));
        let session = Session::open(plain, None, Policy::of(ApproveMode::Never)).expect("a session");
        session.think(think);
        let mut messages = session.submit(Op::Ask(Ask { text: "Hi!".to_owned(), ..Ask::default() }));
        let (mut thoughts, mut answer) = (String::new(), String::new());
        while let Some(message) = messages.recv().await {
            match message {
                Message::Record(Record { event: Event::Thinking { text }, .. }) => thoughts.push_str(&text),
                Message::Record(Record { event: Event::TurnFinished(finished), .. }) => answer = finished.answer,
                _ => {}
            }
        }
        assert_eq!((thoughts.as_str(), answer.trim_start()), (expected, "Hello."), "{think}");
    }
}

#[tokio::test]
async fn a_question_about_earlier_turns_is_answered_by_code() {
    let planner = Script::saying("You said that the moon is made of cheese.").on("Hello", "Nice to meet you.");
    let turns = talk(&Project::todo(), planner, &["Hello!", "What did I just say to you?"]).await;
    assert_eq!(turns[1].answer, "You said: Hello!");
    assert_eq!((turns[1].steps.len(), turns[1].usage.model_calls), (0, 0));
}

#[tokio::test]
async fn a_long_conversation_is_condensed_and_fits_its_slot() {
    let script = || Script::saying("Hello.").on("- Good morning!: Hello.", "It was morning when we began.");
    let requests = ["Good morning!", "Thanks!", "Cheers!", "ok", "cool", "Good night!"];
    let turns = talk(&Project::todo(), script(), &requests).await;
    assert_eq!(turns[3].answer, "Hello.", "three turns are shown as they were");
    assert_eq!(turns[5].answer, "It was morning when we began.");
    let mut small = script();
    small.context = 1_200;
    let turns = talk(&Project::todo(), small, &["Thank you so much for your help!"; 30]).await;
    assert_eq!(turns.len(), 30);
    assert!(turns.iter().all(|turn| !turn.answer.is_empty()), "{:?}", turns.last());
    let read: Vec<usize> = turns.iter().map(|turn| turn.usage.prompt_tokens).collect();
    // At most the tokens of the first turn, a quarter of the context, and the chat marks of three
    // complete turns.
    let marks = 6 * "<|im_start|>assistant\n<|im_end|>\n".len();
    assert!(read.iter().all(|tokens| *tokens <= read[0] + 1_200 / 4 + marks), "{read:?}");
    assert!(read.last().is_some_and(|last| *last > read[0] + 1_200 / 4), "{read:?}");
}
