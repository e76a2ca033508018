//! Tests pictures of the screen: five situations at three sizes.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::protocol::ModelRow;
use crate::ui::screen::view;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 12)];

const ANSWER: &str = "# Retries\n\nA request is tried **5** times, see `src/retry.ts`:\n\n```ts\nexport const MAX_ATTEMPTS = 5; // tries\n```\n\n\
                      1. It waits for 200 ms.\n2. Then twice as long.\n\n| what | value |\n|---|---|\n| tries | 5 |\n| first pause | 200 ms |\n";

fn memory() -> Memory {
    let planner = ModelRow {
        roles: vec!["planner".into()],
        file: "planner.gguf".into(),
        context: 8192,
        bytes: Bytes::mib(512),
        ..ModelRow::default()
    };
    Memory {
        models: vec![planner],
        others: vec![("embedder".into(), Bytes::mib(90))],
        servers: Vec::new(),
        loading: None,
        budget_bytes: Bytes::gib(1),
        free_bytes: Bytes::mib(422),
    }
}

/// Draws the screen after `change` at every size, as text; the pictures are in `snapshots/`.
fn check(name: &str, change: fn(&mut Screen)) {
    for (width, height) in SIZES {
        let mut screen = screen();
        screen.apply(Event::Memory(memory()));
        change(&mut screen);
        screen.apply(Event::Resize { width, height });
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal in memory");
        terminal.draw(|frame| view::draw(&screen, frame)).expect("it is drawn");
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), terminal.backend());
    }
}

#[test]
fn the_start() {
    check("start", |_| ());
}

#[test]
fn a_plan_that_runs() {
    check("plan", planned);
}

#[test]
fn a_change_to_approve() {
    check("approve", |screen| {
        planned(screen);
        screen.apply(Event::Approve(proposal()));
    });
}

#[test]
fn the_commands() {
    check("commands", |screen| drop(write(screen, "/")));
}

#[test]
fn an_answer() {
    check("answer", |screen| {
        send(screen, "How often is a request tried?");
        screen.apply(Event::Turn(protocol::Event::Token { text: ANSWER.into() }));
    });
}

#[test]
fn every_size_can_be_drawn() {
    for (width, height) in [(1, 1), (3, 2), (10, 4), (20, 6), (300, 100)] {
        let mut screen = screen();
        planned(&mut screen);
        screen.apply(Event::Resize { width, height });
        let draw = |screen: &Screen| {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal in memory");
            terminal.draw(|frame| view::draw(screen, frame)).expect("it is drawn");
        };
        draw(&screen);
        write(&mut screen, "/");
        draw(&screen);
        screen.apply(Event::Approve(proposal()));
        draw(&screen);
    }
}
