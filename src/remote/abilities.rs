//! The abilities of the model behind a URL, as determined by a probe.

use serde::{Deserialize, Serialize};

/// Probed once per URL and model; later requests omit anything that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Abilities {
    /// The model's name on the server.
    pub model: String,
    pub kind: Kind,
    /// Maximum context of one request, in tokens.
    pub context: usize,
    /// The source of `context`, for people: `models.toml`, a path on the server, or a cautious
    /// guess.
    pub context_from: String,
    pub tools: Tools,
    /// Accepts `tool_choice`, so that a call can be required.
    pub must_call: bool,
    /// Can follow a JSON schema in an answer.
    pub schema: bool,
    /// Can follow a GBNF grammar in an answer.
    pub grammar: bool,
    pub logprobs: bool,
    pub thinking: Switch,
    /// Reports its progress in reading a prompt.
    pub progress: bool,
    /// Continues an answer that has been started.
    pub goes_on: bool,
    /// Reports token counts at the end of a stream.
    pub counts: bool,
}

/// The server's software, if it can be recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    LlamaServer,
    Vllm,
    Sglang,
    Ollama,
    LmStudio,
    Monobloc,
    #[default]
    Other,
}

/// How calls arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tools {
    /// Tools are passed in fields, and calls arrive in fields.
    Structured,
    /// Tools are passed in fields, but calls are parsed from the text, because the server does not
    /// parse the model's notation.
    Offered,
    /// Tools are described in the system message, and calls are parsed from the text.
    #[default]
    AsText,
}

/// How to turn off thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// No thought has been seen, so there is nothing to turn off.
    NeverThinks,
    /// `chat_template_kwargs: {"enable_thinking": false}`
    Template,
    /// `reasoning_effort: "none"`
    Effort,
    /// It thinks, and no switch turns that off.
    #[default]
    Unknown,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::LlamaServer => "llama-server",
            Kind::Vllm => "vLLM",
            Kind::Sglang => "SGLang",
            Kind::Ollama => "Ollama",
            Kind::LmStudio => "LM Studio",
            Kind::Monobloc => "monobloc",
            Kind::Other => "an OpenAI-compatible server",
        }
    }
}

impl Kind {
    /// The field in which the server accepts the thoughts of an earlier message; `None` if it
    /// accepts none, or may refuse the field.
    pub fn thought_field(self) -> Option<&'static str> {
        match self {
            Kind::LlamaServer | Kind::Vllm | Kind::Sglang | Kind::Monobloc => Some("reasoning_content"),
            Kind::Ollama | Kind::LmStudio => Some("reasoning"),
            Kind::Other => None,
        }
    }
}

impl Abilities {
    /// The abilities assumed before a model has been probed.
    pub fn unknown(model: &str) -> Abilities {
        Abilities {
            model: model.to_owned(),
            kind: Kind::Other,
            context: CONTEXT_GUESSED,
            context_from: "a guess".to_owned(),
            tools: Tools::AsText,
            must_call: false,
            schema: false,
            grammar: false,
            logprobs: false,
            thinking: Switch::Unknown,
            progress: false,
            goes_on: false,
            counts: true,
        }
    }

    /// The missing abilities, in words, for people.
    pub fn missing(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        let mut say = |missing: bool, what: &'static str| {
            if missing {
                all.push(what);
            }
        };
        say(self.tools != Tools::Structured, "structured calls (calls are read from its text)");
        say(self.tools != Tools::AsText && !self.must_call, "a way to require a call (it is asked for in words)");
        say(!self.schema, "answers by a JSON schema (they are asked for in words, and checked)");
        say(!self.logprobs, "log-probabilities");
        say(self.thinking == Switch::Unknown, "a switch for thinking");
        say(!self.progress, "progress while it reads a prompt");
        say(!self.counts, "counts of tokens (they are estimated)");
        all
    }
}

/// Context assumed if neither `models.toml` nor the server gives one.
pub const CONTEXT_GUESSED: usize = 8_192;
