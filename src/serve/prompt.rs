//! Turns a client's request into a model's input: its family's marks, the tool list, a grammar.

use std::time::Duration;

use super::ask::{Ask, Call, Choice, Format, Thoughts, Turn};
use crate::agent::budget::thought;
use crate::agent::notation::{self, Reply};
use crate::budget::permit::Priority;
use crate::config::Think;
use crate::engine::pool::Leased;
use crate::engine::{Grammar, Request, Sampling, Thinking};
use crate::models::Picture;
use crate::models::dialect::{Chat, Dialect, Message, Prompt, RawCall, SHOWN, ToolText};

/// Time limit for one answer: a long prompt takes minutes on a small machine.
const DEADLINE: Duration = Duration::from_secs(3600);

/// The conversation in the marks of the model's template; if `silent`, the model must answer
/// without a thought.
pub fn prompt(ask: &Ask, dialect: &Dialect, silent: bool) -> Prompt {
    let begun = ask.begun();
    let whole = &ask.turns[..ask.turns.len() - usize::from(begun.is_some())];
    let messages = messages(ask, whole);
    dialect.render(Chat { messages: &messages, tools: &offered(ask), thinks: silent.then_some(false), begun })
}

/// The messages for `turns`, the first turns of a request, with its pictures.
pub fn messages(ask: &Ask, turns: &[Turn]) -> Vec<Message> {
    let mut pictures = ask.pictures.iter().cloned();
    turns.iter().map(|turn| message(turn, &mut pictures)).collect()
}

fn message(turn: &Turn, pictures: &mut impl Iterator<Item = Picture>) -> Message {
    match turn {
        Turn::System(text) => Message::system(text.as_str()),
        Turn::User(text) => {
            let pictures = pictures.take(text.matches(SHOWN).count()).collect();
            Message { pictures, ..Message::user(text.as_str()) }
        }
        Turn::Assistant { text, calls, thinking } => {
            let raw = |call: &Call| RawCall { name: call.name.clone(), arguments: call.arguments.clone() };
            let said = Message::calling(text.as_str(), calls.iter().map(raw).collect());
            Message { thinking: thinking.trim().to_owned(), ..said }
        }
        Turn::Tool(text) => Message::tool(text.as_str()),
    }
}

/// The tools that the model may call, in the form shown to it.
pub fn offered(ask: &Ask) -> Vec<ToolText> {
    let wanted = |name: &str| match &ask.choice {
        Choice::None => false,
        Choice::Named(one) => one == name,
        Choice::Auto | Choice::Required => true,
    };
    ask.tools.iter().filter(|tool| wanted(&tool.name)).map(|tool| notation::shown(tool, notation::WHOLE)).collect()
}

/// The request to the engine. Calls are generated inside a grammar if one is required, or if
/// measurements showed that it helps.
pub fn request(ask: &Ask, model: &Leased) -> Request {
    let tools = offered(ask);
    let reply = match &ask.choice {
        Choice::Required | Choice::Named(_) => Some(Reply::Call),
        Choice::Auto if ask.begun().is_some() => None,
        Choice::Auto if model.measured.as_ref().is_some_and(|measured| measured.grammar_helps()) => Some(Reply::Either),
        Choice::Auto | Choice::None => None,
    };
    let grammar = match (&ask.format, reply) {
        (_, Some(reply)) if !tools.is_empty() => Some(notation::grammar(&model.dialect, &tools, reply)),
        (Format::Schema(schema), _) => Some(Grammar::JsonSchema(schema.clone())),
        (Format::Text, _) => None,
    };
    let request = model.engine.request(&prompt(ask, &model.dialect, !thinks(ask, model)), 0);
    plain(ask, model, Request { grammar, ..request })
}

/// Whether the model may think before it answers.
pub fn thinks(ask: &Ask, model: &Leased) -> bool {
    ask.thoughts != Thoughts::Off && (ask.thoughts != Thoughts::Own || model.think != Think::Off)
}

/// `request` with the limits and the sampling of `ask`.
pub fn plain(ask: &Ask, model: &Leased, request: Request) -> Request {
    let own = match request.grammar {
        Some(_) => Sampling::greedy(),
        None if thinks(ask, model) => model.manner.thinking,
        None => model.manner.silent,
    };
    // A repeated request gets a different answer, unless a seed is set.
    let seed = ask.sampling.seed.or(model.manner.seed).unwrap_or_else(|| fastrand::u64(..));
    let request = Request {
        sampling: Sampling { seed, ..own.wished(ask.sampling) },
        priority: Priority::User,
        deadline: DEADLINE,
        lookup: ask.logprobs.is_none(),
        logprobs: ask.logprobs,
        ..request
    };
    let context = model.engine.limits().context;
    let left = context.saturating_sub(request.prompt.len());
    let max_tokens = ask.max_tokens.unwrap_or(left).min(left.max(1));
    let request = Request { max_tokens, ..request };
    let tokens_max = match ask.thoughts {
        Thoughts::Off => 0,
        Thoughts::Own => thought::tokens(model.think, model.speed, Duration::ZERO, context),
        Thoughts::Tokens(tokens) => tokens,
        Thoughts::Share(share) => max_tokens * share / 100,
        Thoughts::Free => return request,
    };
    let sampling = Sampling { seed, ..model.manner.thinking.wished(ask.sampling) };
    model.engine.limited(request, Thinking { tokens_max, counts: true, sampling, last_words: model.last_words })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::dialect::by_name;
    use crate::serve::ask::Model;

    fn flat(turns: Vec<Turn>, choice: Choice) -> String {
        let ask = Ask { choice, ..Ask::new(Model::Planner, turns) };
        prompt(&ask, &by_name("chatml").expect("a dialect"), false).flat()
    }

    #[test]
    fn an_answer_goes_on_where_the_assistants_last_message_ends() {
        let turns = || {
            let said = Turn::Assistant { text: "The colour is".to_owned(), calls: Vec::new(), thinking: String::new() };
            vec![Turn::User("Which?".to_owned()), said]
        };
        assert!(flat(turns(), Choice::Auto).ends_with("<|im_start|>assistant\nThe colour is"));
        // A call cannot begin in the middle of text.
        assert!(flat(turns(), Choice::Required).ends_with("<|im_start|>assistant\n"));
    }

    #[test]
    fn a_system_message_alone_asks_for_an_answer() {
        let prompt = flat(vec![Turn::System("Name a town.".to_owned())], Choice::Auto);
        assert!(prompt.contains("Name a town.") && prompt.ends_with("<|im_start|>assistant\n"), "{prompt}");
    }
}
