//! OpenAI's `/v1/responses`, the only protocol that codex speaks.

mod draft;
mod events;
mod input;
mod tools;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use self::draft::Draft;
use self::events::Events;
use self::tools::Tools;
use super::{read, streamed};
use crate::serve::Server;
use crate::serve::ask::{Ask, Format, Model};
use crate::serve::problem::Problem;
use crate::serve::wire::chat::Given;

/// `POST /v1/responses`
pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let request: Request = read(&body)?;
    let model = server.model(&request.model)?;
    let streams = request.stream.unwrap_or(false);
    let (ask, draft) = request.ask(model)?;
    let reply = async move { server.reply(ask).await };
    if streams {
        return streamed(reply, Events::new(draft)).await;
    }
    let whole = reply.await?.whole().await?;
    Ok(Json(draft.whole(&whole)).into_response())
}

/// The fields that mean something here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Request {
    model: String,
    input: Value,
    instructions: Option<String>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    text: Option<Value>,
    reasoning: Option<Value>,
    max_output_tokens: Option<usize>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    stream: Option<bool>,
    background: Option<bool>,
    previous_response_id: Option<String>,
    conversation: Option<Value>,
}

impl Request {
    /// What is asked, and the response before anything is in it.
    fn ask(self, model: Model) -> Result<(Ask, Draft), Problem> {
        self.possible()?;
        let mut tools = Tools::default();
        for tool in self.tools.iter().flatten().chain(input::additional_tools(&self.input)) {
            tools.add(None, tool)?;
        }
        let mut ask = Ask::new(model, input::turns(self.instructions.as_deref(), &self.input)?);
        ask.choice = tools.choice(self.tool_choice.as_ref())?;
        ask.tools = tools.specs();
        ask.format = format(self.text.as_ref())?;
        ask.max_tokens = self.max_output_tokens;
        let (temperature, top_p) = (self.temperature, self.top_p);
        ask.sampling = Given { temperature, top_p, ..Given::default() }.sampling();
        let effort = self.reasoning.as_ref().and_then(|reasoning| reasoning["effort"].as_str());
        ask.thinks = !matches!(effort, Some("none" | "minimal"));
        let draft = Draft::new(self.model, &ask, tools);
        Ok((ask, draft))
    }

    /// Refuses what needs a server that keeps answers.
    fn possible(&self) -> Result<(), Problem> {
        if self.previous_response_id.is_some() {
            let text = "answers are not kept, so none can be continued; send the whole conversation in `input`";
            return Err(Problem::invalid("previous_response_id", text));
        }
        if self.conversation.is_some() {
            let text = "conversations are not kept; send the whole conversation in `input`";
            return Err(Problem::invalid("conversation", text));
        }
        if self.background == Some(true) {
            let text = "answers are not kept, so none can be fetched later; use `stream` to see it grow";
            return Err(Problem::invalid("background", text));
        }
        Ok(())
    }
}

/// `text.format`
fn format(text: Option<&Value>) -> Result<Format, Problem> {
    let Some(format) = text.and_then(|text| text.get("format")) else { return Ok(Format::Text) };
    match (format["type"].as_str(), format.get("schema")) {
        (None | Some("text"), _) => Ok(Format::Text),
        (Some("json_object"), _) => Ok(Format::object()),
        (Some("json_schema"), Some(schema)) if schema.is_object() => Ok(Format::Schema(schema.clone())),
        (Some("json_schema"), _) => Err(Problem::invalid("text", "a format of type json_schema needs a `schema`")),
        (Some(kind), _) => {
            let text = format!("the format `{kind}` is unknown; it must be text, json_object or json_schema");
            Err(Problem::invalid("text", text))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::serve::ask::{Choice, Turn};

    fn read(request: Value) -> Result<Ask, Problem> {
        serde_json::from_value::<Request>(request).unwrap().ask(Model::Planner).map(|(ask, _)| ask)
    }

    #[test]
    fn a_request_of_codex_is_read() {
        let ask = read(json!({
            "model": "planner",
            "instructions": "You are a coder.",
            "input": [{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hey" }] }],
            "tools": [
                { "type": "function", "name": "shell", "description": "Runs.", "strict": false,
                  "parameters": { "type": "object" } },
                { "type": "web_search" },
            ],
            "tool_choice": "auto", "parallel_tool_calls": false, "store": false, "stream": true, "include": [],
            "reasoning": { "effort": "medium", "summary": "auto" }, "prompt_cache_key": "1",
        }))
        .unwrap();
        assert_eq!(ask.turns, [Turn::System("You are a coder.".to_owned()), Turn::User("hey".to_owned())]);
        assert_eq!(ask.tools.len(), 1);
        assert_eq!((ask.choice, ask.format, ask.thinks), (Choice::Auto, Format::Text, true));
    }

    #[test]
    fn a_schema_is_kept() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let text = json!({ "format": { "type": "json_schema", "name": "a", "strict": true, "schema": schema } });
        assert_eq!(format(Some(&text)), Ok(Format::Schema(schema)));
        assert_eq!(format(Some(&json!({ "format": { "type": "json_object" } }))), Ok(Format::object()));
        assert_eq!(format(Some(&json!({ "verbosity": "low" }))), Ok(Format::Text));
    }

    #[test]
    fn what_needs_a_memory_is_refused() {
        let check = |request: Value, field| assert_eq!(read(request).unwrap_err().field, Some(field));
        check(json!({ "input": "hey", "previous_response_id": "resp_1" }), "previous_response_id");
        check(json!({ "input": "hey", "conversation": "conv_1" }), "conversation");
        check(json!({ "input": "hey", "background": true }), "background");
        check(json!({ "input": [{ "type": "item_reference", "id": "msg_1" }] }), "input");
    }
}
