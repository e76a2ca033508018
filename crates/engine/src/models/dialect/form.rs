//! A template, and the forms in which it accepts a conversation, determined by rendering.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::chat::{Message, RawCall, Speaker, ToolText};
use super::input::{self, Ways};
use super::notation::Calls;
use super::template::{self, Template};

#[derive(Debug)]
pub struct Form {
    template: Template,
    /// Names of the begin- and end-of-text tokens; empty if there is none.
    begin: String,
    end: String,
    ways: Ways,
    /// Whether a list of tools in the system message explains how to write a call.
    told: bool,
    /// Keyed by the repairs that may help a conversation: the repairs with which the template last
    /// accepted such a conversation.
    taken: Mutex<HashMap<Ways, Ways>>,
}

/// The input of a template besides messages and tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    pub thinks: Option<bool>,
    /// Whether the prompt ends where the assistant begins; otherwise it ends with the last message.
    pub opened: bool,
}

impl Form {
    /// `own_notation`: calls are written as `calls`, regardless of the template, and the model
    /// receives instructions for this. `None` if the template does not render the user's messages.
    pub fn of(template: Template, begin: &str, end: &str, calls: &Calls, own_notation: bool) -> Option<Form> {
        let (begin, end) = (begin.to_owned(), end.to_owned());
        // Models without a call notation write calls in brackets.
        let told = own_notation || *calls != Calls::default();
        let mut form = Form { template, begin, end, ways: Ways::default(), told, taken: Mutex::default() };
        form.find_out(calls, own_notation).then_some(form)
    }

    /// The text of a conversation, with the fewest repairs that make the template accept it; `None`
    /// if it never does.
    pub fn text(&self, messages: &[Message], tools: &[ToolText], wanted: Wanted, calls: &Calls) -> Option<String> {
        let kind = self.ways.helped(messages, tools);
        // A template always accepts and refuses the same forms.
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner).get(&kind).copied();
        let all = [self.ways].into_iter().chain(taken).chain(self.ways.repaired(kind));
        for ways in all {
            match self.rendered(messages, tools, ways, wanted, calls) {
                Ok(text) => {
                    if ways != self.ways && taken != Some(ways) {
                        self.taken.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, ways);
                    }
                    return Some(text);
                }
                Err(why) if template::costs_too_much(&why) => return None,
                Err(why) => tracing::debug!(%why, ?ways, "the template refuses"),
            }
        }
        None
    }

    #[cfg(test)]
    pub fn kinds_taken(&self) -> usize {
        self.taken.lock().unwrap().len()
    }

    fn rendered(
        &self,
        messages: &[Message],
        tools: &[ToolText],
        ways: Ways,
        wanted: Wanted,
        calls: &Calls,
    ) -> Result<String, template::Refusal> {
        let mut given = input::input(messages.to_vec(), tools, ways, calls, self.told);
        given.insert("add_generation_prompt".to_owned(), wanted.opened.into());
        if let Some(thinks) = wanted.thinks {
            // The first key is for Qwen, GLM, Gemma and most others, the second for DeepSeek and
            // Granite.
            given.insert("enable_thinking".to_owned(), thinks.into());
            given.insert("thinking".to_owned(), thinks.into());
        }
        self.template.render(&self.whole(given))
    }

    fn whole(&self, mut input: Map<String, Value>) -> Value {
        input.insert("bos_token".to_owned(), self.begin.as_str().into());
        input.insert("eos_token".to_owned(), self.end.as_str().into());
        input.into()
    }

    /// Finds the forms in which messages of every kind appear in the rendered text; false if even
    /// the user's messages do not appear.
    fn find_out(&mut self, calls: &Calls, own_notation: bool) -> bool {
        let user = [Message::user(USER)];
        if !self.shows(&user, &[], self.ways, calls, &[USER]) {
            self.ways = input::CONTENT_IN_PARTS;
            if !self.shows(&user, &[], self.ways, calls, &[USER]) {
                return false;
            }
        }
        let system = [Message::system(SYSTEM), Message::user(USER)];
        if !self.shows(&system, &[], self.ways, calls, &[SYSTEM, USER]) {
            self.ways = self.ways.and(input::SYSTEM_IN_USER);
        }
        let again = [Message::system(SYSTEM), Message::user(USER), Message::system(RESULT), Message::user(USER)];
        if !self.shows(&again, &[], self.ways, calls, &[SYSTEM, USER, RESULT]) {
            self.ways = self.ways.and(input::SYSTEM_FIRST);
        }
        let tools = [ToolText {
            name: TOOL.to_owned(),
            description: "Looks".to_owned(),
            parameters: json!({ "type": "object", "properties": { KEY: { "type": "string", "description": "Text" } } }),
        }];
        if own_notation || !self.shows(&system, &tools, self.ways, calls, &[TOOL, SYSTEM, USER]) {
            self.ways = self.ways.and(input::TOOLS_IN_SYSTEM);
        }
        let called = || {
            let arguments = Map::from_iter([(KEY.to_owned(), VALUE.into())]);
            Message::calling("", vec![RawCall { name: CALLED.to_owned(), arguments }])
        };
        let results = [Message::user(USER), called(), Message::tool(RESULT)];
        let arguments = [Ways::default(), input::ARGUMENTS_AS_TEXT];
        let contents = [Ways::default(), input::NO_EMPTY_CONTENT];
        for results_by in [Ways::default(), input::RESULTS_BY_USER].into_iter().filter(|_| !own_notation) {
            for (content, argument) in
                contents.iter().flat_map(|content| arguments.map(|argument| (*content, argument)))
            {
                let ways = self.ways.and(results_by).and(content).and(argument);
                if self.shows(&results, &tools, ways, calls, &[CALLED, KEY, VALUE, RESULT]) {
                    self.ways = ways;
                    return true;
                }
            }
        }
        self.ways = self.ways.and(input::CALLS_IN_WORDS);
        if !self.shows(&results, &tools, self.ways, calls, &[CALLED, RESULT]) {
            self.ways = self.ways.and(input::RESULTS_BY_USER);
        }
        true
    }

    /// Whether all `marks` appear in the rendered text, without a map in Python's notation or JSON
    /// text nested in JSON text.
    fn shows(&self, messages: &[Message], tools: &[ToolText], ways: Ways, calls: &Calls, marks: &[&str]) -> bool {
        let wanted =
            Wanted { thinks: None, opened: messages.last().is_none_or(|last| last.speaker != Speaker::Assistant) };
        let bad = [format!("'{KEY}': '"), format!("\\\"{KEY}\\\"")];
        self.rendered(messages, tools, ways, wanted, calls).is_ok_and(|text| {
            marks.iter().all(|mark| text.contains(mark)) && !bad.iter().any(|bad| text.contains(bad.as_str()))
        })
    }
}

/// Words that occur in no template.
const USER: &str = "zquser";
const SYSTEM: &str = "zqsystem";
const TOOL: &str = "zqoffered";
const CALLED: &str = "zqcalled";
const KEY: &str = "zqkey";
const VALUE: &str = "zqvalue";
const RESULT: &str = "zqresult";
