//! Answers a question with the planner in a folder, in the chat format of its file, and prints the
//! text as it arrives.
//!
//! `cargo run --release -p monobloc-engine --example chat -- --model-dir DIR "Name three colours."`

mod common;

use std::io::Write;

use monobloc_engine::engine::{Piece, Request};
use monobloc_engine::models::Role;
use monobloc_engine::models::dialect::Message;

#[tokio::main]
async fn main() -> common::Outcome<()> {
    let (settings, words) = common::arguments()?;
    let question = if words.is_empty() { "Name three colours.".to_owned() } else { words.join(" ") };
    let pool = common::pool(settings, common::ledger())?;
    let model = pool.lease(Role::Planner, |_, _| true)?;
    let prompt = model.dialect.render(&[Message::system("Answer in one sentence."), Message::user(question)]);
    let request = Request { sampling: model.manner.silent, ..model.engine.request(&prompt, 120) };
    let mut generation = model.engine.generate(request)?;
    while let Some(piece) = generation.next().await? {
        match piece {
            Piece::Answer(text) => print!("{text}"),
            Piece::Finished { finish, tally } => println!("\n{finish:?} after {} tokens", tally.generated_tokens),
            Piece::Thinking(_) | Piece::Queued { .. } | Piece::Pulse { .. } => {}
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}
