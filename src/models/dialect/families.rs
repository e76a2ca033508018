//! Lists the dialects that are fully described by a table of marks: Hermes and Qwen, Llama 3, Mistral, Gemma, GPT-OSS (Harmony),
//! DeepSeek, Phi. The marks are those of the chat templates that the vendors publish with their models.

use super::marked::{Family, Listing, Notation};
use super::{json, list, pythonic};

const HERMES: Family = Family {
    name: "hermes",
    signs: &["<|im_start|>", "<tool_call>"],
    system: Some(("<|im_start|>system\n", "<|im_end|>\n")),
    user: ("<|im_start|>user\n", "<|im_end|>\n"),
    assistant: ("<|im_start|>assistant\n", "<|im_end|>\n"),
    words: ("", ""),
    tool: ("<|im_start|>user\n<tool_response>\n", "\n</tool_response><|im_end|>\n"),
    list: Listing {
        before: "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures \
                 within <tools></tools> XML tags:\n<tools>\n",
        between: "\n",
        after: "\n</tools>",
        call: (
            "",
            "\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> \
                XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>",
        ),
        tool: list::json,
        marks: None,
    },
    call: Notation {
        open: "<tool_call>\n{\"name\": \"",
        middle: "\", \"arguments\": ",
        close: "}\n</tool_call>",
        arguments: json::spaced_arguments,
        read: json::hermes,
    },
};

const LLAMA3: Family = Family {
    name: "llama3",
    signs: &["<|start_header_id|>"],
    system: Some(("<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>")),
    user: ("<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"),
    assistant: ("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
    words: ("", ""),
    tool: ("<|start_header_id|>ipython<|end_header_id|>\n\n", "<|eot_id|>"),
    list: Listing {
        before: "",
        between: "\n\n",
        after: "",
        call: (
            "Given the following functions, please respond with a JSON for a function call with its proper arguments that best \
                answers the given prompt.\n\nRespond in the format {\"name\": function name, \"parameters\": dictionary of argument \
                name and its value}. Do not use variables.\n\n",
            "",
        ),
        tool: list::json,
        marks: None,
    },
    call: Notation {
        open: "{\"name\": \"",
        middle: "\", \"parameters\": ",
        close: "}",
        arguments: json::arguments,
        read: json::whole,
    },
};

const MISTRAL: Family = Family {
    name: "mistral",
    signs: &["[INST]"],
    system: None,
    user: ("[INST] ", "[/INST]"),
    assistant: ("", "</s>"),
    words: ("", ""),
    tool: ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    list: Listing {
        before: "[AVAILABLE_TOOLS][",
        between: ", ",
        after: "][/AVAILABLE_TOOLS]",
        call: ("", ""),
        tool: list::json,
        marks: Some(("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]")),
    },
    call: Notation {
        open: "[TOOL_CALLS][{\"name\": \"",
        middle: "\", \"arguments\": ",
        close: "}]",
        arguments: json::arguments,
        read: json::mistral,
    },
};

const GEMMA: Family = Family {
    name: "gemma",
    signs: &["<start_of_turn>"],
    system: None,
    user: ("<start_of_turn>user\n", "<end_of_turn>\n"),
    assistant: ("<start_of_turn>model\n", "<end_of_turn>\n"),
    words: ("", ""),
    tool: ("<start_of_turn>user\n```tool_output\n", "\n```<end_of_turn>\n"),
    list: Listing {
        before: "",
        between: "\n",
        after: "",
        call: (
            "At each turn, if you decide to invoke any of the functions, wrap the call in ```tool_code```. The Python functions below \
                are imported and available; use named arguments and only what is defined here.\n\n",
            "",
        ),
        tool: list::signature,
        marks: None,
    },
    call: Notation {
        open: "```tool_code\n",
        middle: "(",
        close: ")\n```",
        arguments: pythonic::arguments,
        read: pythonic::fenced,
    },
};

/// GPT-OSS. Thinking goes to the channel `analysis`, calls to `commentary`, answers to `final`.
const HARMONY: Family = Family {
    name: "harmony",
    signs: &["<|channel|>"],
    system: Some((
        "<|start|>system<|message|>You are a helpful assistant.\nReasoning: low\n\n# Valid channels: analysis, commentary, final. Channel must \
         be included for every message.\nCalls to these tools must go to the commentary channel: 'functions'.<|end|><|start|>developer\
         <|message|># Instructions\n\n",
        "<|end|>",
    )),
    user: ("<|start|>user<|message|>", "<|end|>"),
    assistant: ("<|start|>assistant", ""),
    words: ("<|channel|>final<|message|>", "<|end|>"),
    tool: ("<|start|>functions.{} to=assistant<|channel|>commentary<|message|>", "<|end|>"),
    list: Listing {
        before: "# Tools\n\n## functions\n\nnamespace functions {\n\n",
        between: "\n\n",
        after: "\n\n} // namespace functions",
        call: ("", ""),
        tool: list::typescript,
        marks: None,
    },
    call: Notation {
        open: "<|channel|>commentary to=functions.",
        middle: " <|constrain|>json<|message|>",
        close: "<|call|>",
        arguments: json::arguments,
        read: json::harmony,
    },
};

const DEEPSEEK: Family = Family {
    name: "deepseek",
    signs: &["<｜Assistant｜>"],
    system: Some(("", "")),
    user: ("<｜User｜>", ""),
    assistant: ("<｜Assistant｜>", "<｜end▁of▁sentence｜>"),
    words: ("", ""),
    tool: ("<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>", "<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"),
    list: Listing {
        before: "\n\n## Tools\n\nYou have access to the following functions:\n\n",
        between: "\n",
        after: "",
        call: (
            "",
            "\n\nTo call one, write <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME, a line break, the arguments \
                as a json code block, and <｜tool▁call▁end｜><｜tool▁calls▁end｜>.",
        ),
        tool: list::json,
        marks: None,
    },
    call: Notation {
        open: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
        middle: "\n```json\n",
        close: "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        arguments: json::arguments,
        read: json::deepseek,
    },
};

const PHI: Family = Family {
    name: "phi",
    signs: &["<|user|>", "<|end|>"],
    system: Some(("<|system|>\n", "<|end|>\n")),
    user: ("<|user|>\n", "<|end|>\n"),
    assistant: ("<|assistant|>\n", "<|end|>\n"),
    words: ("", ""),
    tool: ("<|user|>\nResult: ", "<|end|>\n"),
    list: Listing {
        before: "You have these tools:\n",
        between: "\n",
        after: "",
        call: ("", "\nTo use one, answer with functools[{\"name\": NAME, \"arguments\": {…}}] and nothing else."),
        tool: list::json,
        marks: None,
    },
    call: Notation {
        open: "functools[{\"name\": \"",
        middle: "\", \"arguments\": ",
        close: "}]",
        arguments: json::arguments,
        read: |text| json::after(text, "functools"),
    },
};

/// All families; a template belongs to the first whose signs it contains.
pub static FAMILIES: [Family; 7] = [HARMONY, LLAMA3, MISTRAL, GEMMA, DEEPSEEK, HERMES, PHI];
