//! Makes any model write JSON that is valid under a schema.
//!
//! `cargo run --release -p monobloc-engine --example grammar -- --model-dir DIR`

mod common;

use monobloc_engine::engine::{Grammar, Request};
use monobloc_engine::models::Role;
use monobloc_engine::models::dialect::Message;
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> common::Outcome<()> {
    let (settings, _) = common::arguments()?;
    let pool = common::pool(settings, common::ledger())?;
    let model = pool.lease(Role::Planner, |_, _| true)?;
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "maxLength": 20 }, "people": { "type": "integer", "minimum": 0, "maximum": 50_000_000 } },
        "required": ["city", "people"],
        "additionalProperties": false
    });
    let prompt =
        model.dialect.render(&[Message::user("Name a large city of Portugal and the number of its inhabitants.")]);
    let request = Request { grammar: Some(Grammar::JsonSchema(schema)), ..model.engine.request(&prompt, 60) };
    let output = model.engine.generate(request)?.collect().await?;
    let value: Value = serde_json::from_str(&output.text)?;
    println!("{value}");
    Ok(())
}
