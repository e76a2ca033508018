//! Tests notations derived from small templates: writer and reader agree, no matter how the text is split.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Form, Notation, Piece};
use crate::models::dialect::template::Template;
use crate::models::dialect::{RawCall, ToolText};

/// A template of turns `<|turn|>role: …<|over|>` whose calls are written by `call`, for each call
/// `c`, after `thought`.
fn template(thought: &str, before: &str, call: &str, after: &str) -> String {
    format!(
        "{{% for m in messages %}}<|turn|>{{{{ m.role }}}}:\n{{% if m.role == 'assistant' %}}{thought}{{% endif %}}{{{{ m.content or '' }}}}\
         {{% if m.tool_calls %}}{before}{{% for t in m.tool_calls %}}{{% set c = t.function %}}{call}{{% endfor %}}{after}{{% endif %}}\
         <|over|>\n{{% endfor %}}{{% if add_generation_prompt %}}<|turn|>assistant:\n{{% endif %}}"
    )
}

fn derive(source: &str) -> Notation {
    let template = Template::compile(source).expect("a template");
    Notation::derive(source, &|input| template.render(input).ok())
}

const PARAMETERS: &str = "{% for k, v in c.arguments|items %}";

fn families() -> Vec<(&'static str, Notation)> {
    let derived = |before: &str, call: String, after: &str| derive(&template("", before, &call, after));
    let json = "{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments|tojson }}}";
    let comma = "{% if not loop.last %}, {% endif %}";
    let text = "{{ v if v is string else v|tojson }}";
    vec![
        ("json in marks", derived("", format!("<call>\n{json}\n</call>{{% if not loop.last %}}\n{{% endif %}}"), "")),
        ("list of json", derived("<calls>[", format!("{json}{comma}"), "]</calls>")),
        (
            "named",
            derived(
                "<|some|>",
                "<|one|>tool<|is|>{{ c.name }}<|with|>{{ c.arguments|tojson }}<|end one|>".into(),
                "<|end some|>",
            ),
        ),
        (
            "tags",
            derived(
                "",
                format!(
                    "<call>\n<do={{{{ c.name }}}}>\n{PARAMETERS}<with={{{{ k }}}}>\n{text}\n</with>\n{{% endfor %}}</do>\n</call>"
                ),
                "",
            ),
        ),
        (
            "keys and values",
            derived(
                "",
                format!(
                    "<call>{{{{ c.name }}}}{PARAMETERS}<key>{{{{ k }}}}</key><val>{text}</val>{{% endfor %}}</call>"
                ),
                "",
            ),
        ),
        (
            "python",
            derived(
                "<|start|call|>[",
                format!("{{{{ c.name }}}}({PARAMETERS}{{{{ k }}}}={{{{ v|tojson }}}}{comma}{{% endfor %}}){comma}"),
                "]<|stop|call|>",
            ),
        ),
        (
            "braces",
            derived(
                "",
                format!(
                    "<do>go:{{{{ c.name }}}}{{{{ '{{' }}}}{PARAMETERS}{{{{ k }}}}:{{% if v is string %}}<q>{{{{ v }}}}<q>{{% else %}}{{{{ v }}}}{{% endif %}}\
                     {{% if not loop.last %}},{{% endif %}}{{% endfor %}}{{{{ '}}' }}}}</do>"
                ),
                "",
            ),
        ),
    ]
}

fn tools() -> Vec<ToolText> {
    let parameters = json!({ "type": "object", "properties": {
        "path": { "type": "string" }, "content": { "type": "string" }, "count": { "type": "integer" } } });
    let tool = |name: &str| ToolText { name: name.into(), description: String::new(), parameters: parameters.clone() };
    vec![tool("write_file"), tool("now")]
}

fn call(name: &str, arguments: Value) -> RawCall {
    RawCall { name: name.to_owned(), arguments: arguments.as_object().cloned().expect("an object") }
}

/// Content, thinking, and calls with whether each is certain.
fn read(notation: &Notation, opened: bool, parts: &[&str]) -> (String, String, Vec<(RawCall, bool)>) {
    let tools = tools();
    let mut reader = notation.reader(&tools, opened);
    let mut pieces: Vec<Piece> = parts.iter().flat_map(|part| reader.push(part)).collect();
    pieces.extend(reader.finish());
    let (mut content, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Content(text) => content.push_str(&text),
            Piece::Thinking(text) => thinking.push_str(&text),
            Piece::Call { call, is_certain } => calls.push((call, is_certain)),
        }
    }
    (content, thinking, calls)
}

#[test]
fn every_kind_of_notation_is_read_off_a_template_and_read_and_written() {
    let wanted = call("write_file", json!({ "path": "a b", "content": "x\ny <z>", "count": 3 }));
    for (kind, notation) in families() {
        let calls = &notation.calls;
        let fits = match kind {
            "json in marks" => matches!(calls.form, Form::Json { list: false, .. }),
            "list of json" => matches!(calls.form, Form::Json { list: true, .. }),
            "named" => matches!(calls.form, Form::Named(_)),
            "python" => matches!(calls.form, Form::Python { list: true }),
            "braces" => matches!(calls.form, Form::Braces { .. }),
            _ => matches!(calls.form, Form::Tagged(_)),
        };
        assert!(fits, "{kind}: {calls:?}");
        let text = calls.write(&wanted.name, &wanted.arguments);
        let (content, thinking, read) = read(&notation, false, &["I write.\n", &text]);
        assert_eq!((content.trim(), thinking.as_str()), ("I write.", ""), "{kind}: {text}");
        assert_eq!(read, [(wanted.clone(), true)], "{kind}: {text} {calls:?}");
    }
}

#[test]
fn several_calls_in_a_row_are_read() {
    for (kind, notation) in families() {
        let calls = &notation.calls;
        let one = |path: &str| calls.write("write_file", &call("", json!({ "path": path })).arguments);
        let (content, _, read) = read(&notation, false, &[&one("a"), "\n", &one("b")]);
        let paths: Vec<&Value> = read.iter().map(|(call, _)| &call.arguments["path"]).collect();
        assert_eq!((content.trim(), paths), ("", vec![&json!("a"), &json!("b")]), "{kind}");
    }
}

#[test]
fn thoughts_are_told_apart_and_their_marks_are_derived() {
    let thought = "{% if m.reasoning_content %}<muse>\n{{ m.reasoning_content }}\n</muse>\n\n{% endif %}";
    let source = template(thought, "", "<call>{{ c|tojson }}</call>", "");
    let source = source.replace(
        "<|turn|>assistant:\n{% endif %}",
        "<|turn|>assistant:\n<muse>\n{% if not enable_thinking %}\n</muse>\n\n{% endif %}{% endif %}",
    );
    let notation = derive(&source);
    let thoughts = notation.thoughts.as_ref().expect("thoughts");
    assert_eq!(
        (thoughts.open.as_str(), thoughts.close.as_str(), thoughts.opened_by_prompt),
        ("<muse>", "</muse>", true)
    );
    assert_eq!(thoughts.off.as_deref(), Some("<muse>\n</muse>\n\n"));
    let check = |text: &str, opened: bool, content: &str, thinking: &str, calls: usize| {
        let (words, thoughts, read) = read(&notation, opened, &[text]);
        assert_eq!((words.trim(), thoughts.trim(), read.len()), (content, thinking, calls), "{text}");
    };
    let now = r#"<call>{"name": "now", "arguments": {}}</call>"#;
    check("<muse>why</muse>so", false, "so", "why", 0);
    check("why</muse>so", true, "so", "why", 0);
    check("why", true, "", "why", 0);
    check("so", false, "so", "", 0);
    check(&format!("why{now}"), true, "", "why", 1);
    check(&format!("why {now} no</muse>{now}"), true, "", &format!("why {now} no"), 1);
    check("</muse>so", false, "so", "", 0);
    check("a <muse> is a tag", false, "a <muse> is a tag", "", 0);
}

#[test]
fn blanks_before_a_thought_are_no_words() {
    let thought = "{% if m.reasoning_content %}<|why|>{{ m.reasoning_content }}<|so|>{% endif %}";
    let notation = derive(&template(thought, "", "<call>{{ c|tojson }}</call>", ""));
    let parts = ["Wait \n", " <|why|>it", " may<|so|>Yes. ", "\n"];
    let (words, thoughts, _) = read(&notation, false, &parts);
    assert_eq!((words.as_str(), thoughts.as_str()), ("WaitYes. \n", "it may"));
    assert_eq!(read(&notation, false, &[&parts.concat()]).0, words);
}

#[test]
fn a_sentence_by_which_the_prompt_opens_a_thought_belongs_to_it() {
    let thought = "{% if m.reasoning_content %}{{ m.reasoning_content }}\n[MY ANSWER]\n{% endif %}";
    let source = template(thought, "", "<call>{{ c|tojson }}</call>", "");
    let source = source.replace("assistant:\n{% endif %}", "assistant:\nI think:\n{% endif %}");
    let notation = derive(&source);
    assert!(notation.begins_in_thought());
    for parts in [&["it may\n[MY ANSWER]\nYes."][..], &["it may\n[MY", " ANS", "WER]\nYes."]] {
        let (words, thoughts, _) = read(&notation, true, parts);
        assert_eq!((words.trim(), thoughts.trim()), ("Yes.", "I think:\nit may"));
    }
    assert!(!derive(&source.replace("I think:", "<think>")).begins_in_thought());
}

#[test]
fn where_words_have_a_mark_what_stands_before_it_is_a_thought_that_the_prompt_opened() {
    let source = "{% for m in messages %}<|turn|>{{ m.role }}:{% if m.role == 'assistant' %}<|in|>think<|is|>\
        {{ m.reasoning_content or '' }}<|out|>think<|is|><|in|>reply<|is|>{{ m.content }}<|out|>reply<|is|>\
        {% else %}{{ m.content }}{% endif %}<|over|>{% endfor %}\
        {% if add_generation_prompt %}<|turn|>assistant:<|in|>{{ 'think' if thinking else 'reply' }}<|is|>{% endif %}";
    let notation = derive(source);
    assert!(notation.begins_in_thought(), "{notation:?}");
    let (words, thoughts, _) = read(&notation, true, &["why<|out|>think<|is|><|in|>reply<|is|>so<|out|>reply<|is|>"]);
    assert_eq!((words.as_str(), thoughts.as_str()), ("so", "why"));
    // The code that separates thoughts by their tokens passes on only the text.
    assert_eq!(read(&notation, false, &["so"]).0, "so");
}

#[test]
fn marks_of_results_are_no_words_unless_they_are_plain_tags() {
    let result = |open: &str, close: &str| {
        let own = format!(
            "{{% if m.role == 'tool' %}}{open}{{{{ m.content }}}}{close}{{% else %}}{{{{ m.content or '' }}}}{{% endif %}}"
        );
        let source = template("", "", "<call>{{ c|tojson }}</call>", "").replace("{{ m.content or '' }}", &own);
        read(&derive(&source), false, &[&format!("It is {open}7{close}.")]).0
    };
    assert_eq!(result("<|got|>", "<|/got|>"), "It is 7.");
    assert_eq!(result("<got>", "</got>"), "It is <got>7</got>.");
}

#[test]
fn headers_around_the_name_of_a_tool_are_derived() {
    let source = "{% for m in messages %}<|start|>{{ m.role }}{% if m.tool_calls %}{% for t in m.tool_calls %}\
        {% if not loop.first %}<|start|>assistant{% endif %} to={{ t.function.name }}<|message|><call>{{ t.function|tojson }}</call><|eom|>{% endfor %}\
        {% else %}{% if m.role == 'assistant' %} to=user{% endif %}<|message|>{{ m.content }}<|eot|>{% endif %}{% endfor %}\
        {% if add_generation_prompt %}<|start|>assistant{% endif %}";
    let headers = derive(source).headers.expect("headers");
    assert_eq!((headers.call.open.as_str(), headers.call.close.as_str()), (" to=", "<|message|>"));
    assert_eq!(headers.words, " to=user<|message|>");
    assert_eq!(derive(&template("", "", "<call>{{ c|tojson }}</call>", "")).headers, None);
}

#[test]
fn tokens_of_calls_are_told_from_those_of_turns() {
    let all = families();
    let check = |kind: &str, said: &[&str]| {
        let notation = &all.iter().find(|(one, _)| *one == kind).expect("a kind").1;
        let silent = ["<|turn|>", "<|over|>", "<|pad|>", ""];
        assert!(said.iter().all(|name| notation.is_of_calls(name)), "{kind}: {notation:?}");
        assert!(!silent.iter().any(|name| notation.is_of_calls(name)), "{kind}: {notation:?}");
    };
    check("json in marks", &["<call>", "</call>"]);
    check("named", &["<|some|>", "<|one|>", "<|is|>", "<|with|>", "<|end one|>", "<|end some|>"]);
    check("keys and values", &["<key>", "</key>", "<val>", "</val>"]);
    check("braces", &["<do>", "<q>", "</do>"]);
    assert!(!Notation::default().is_of_calls("<call>"));
}

#[test]
fn a_long_reply_is_read_in_bounded_time() {
    let start = std::time::Instant::now();
    let bare = derive(&template("", "", "{\"name\": \"{{ c.name }}\", \"arguments\": {{ c.arguments|tojson }}}", ""));
    assert!(!bare.calls.is_marked());
    for text in ["{ [".repeat(40_000), "{\n[\n".repeat(20_000)] {
        let (content, _, calls) = read(&bare, false, &[&text]);
        assert_eq!((content.len(), calls.len()), (text.len(), 0));
    }
    let all = families();
    let python = &all.iter().find(|(kind, _)| *kind == "python").expect("a kind").1;
    for (depth, expected) in [(1, 1), (3, 1), (100_000, 1)] {
        let text = format!("<|start|call|>[{}now(){}]<|stop|call|>", "print(".repeat(depth), ")".repeat(depth));
        assert_eq!(read(python, false, &[&text]).2.len(), expected, "{depth}");
    }
    assert_eq!(read(python, false, &[&"print(".repeat(100_000)]).2, []);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn what_is_left_out_or_broken_is_a_guess_or_no_call() {
    let all = families();
    let notation = |kind: &str| &all.iter().find(|(one, _)| *one == kind).expect("a kind").1;
    let check = |kind: &str, text: &str, expected: Option<(Value, bool)>| {
        let (_, _, read) = read(notation(kind), false, &[text]);
        let got = read.first().map(|(call, certain)| (json!(call.arguments), *certain));
        assert_eq!(got, expected, "{kind}: {text}");
    };
    let path = || json!({ "path": "a" });
    check("tags", "<do=write_file>\n<with=path>\na\n</with>\n</do>\n</call>", Some((path(), true)));
    check("tags", "see <do=write_file>\n<with=path>\na\n</with>\n</do>", None);
    check("tags", "<do=unknown>\n<with=path>\na\n</with>\n</do>", None);
    check("tags", "<call>\n<do=write_file>\n<with=path>\na\n</with>\n", Some((path(), false)));
    check("tags", "<call>\n<do=write_file>\n<with=path>\na", None);
    check("tags", "<call>\n<do=now>\n</do>\n</call>", Some((json!({}), true)));
    check("keys and values", "<call>now\n<key>path</key>\n<val>a</val>\n</call>", Some((path(), true)));
    check("keys and values", "<call>now<key>path</key><val>a</call>", Some((path(), false)));
    check("json in marks", r#"<call>{"name": "now", "arguments": {"path": "a"}}"#, Some((path(), true)));
    check("json in marks", r#"<call>{"name": "now", "arguments": {"path": "a"}"#, None);
    check("json in marks", r#"<call>{'name': 'now', 'arguments': {'path': 'a'}}</call>"#, Some((path(), false)));
    check(
        "python",
        "<|start|call|>[write_file(path='it's a')]<|stop|call|>",
        Some((json!({ "path": "it's a" }), false)),
    );
    check("braces", "<do>go:write_file{path:a}</do>", Some((path(), false)));
    check("braces", "<do>go:write_file{path:<q>a<q>", None);
}

/// Text as found in a file about calls.
fn content() -> impl Strategy<Value = String> {
    let marks = [
        "<call>",
        "</call>",
        "</do>",
        "<q",
        "</val>",
        "\n</with>\nx",
        "<|end one|>",
        "]",
        ")",
        "\"",
        "'",
        "{\"name\": \"now\"}",
    ];
    let part =
        prop_oneof!["[ -~\n]{0,8}", proptest::sample::select(marks.to_vec()).prop_map(str::to_owned), "é|日|\\\\"];
    proptest::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A text gives the same result as a whole, split anywhere, and character by character; no
    /// prefix of a call is a certain call.
    #[test]
    fn where_a_text_is_cut_changes_nothing(content in content(), keep in 0.0..1.0f64) {
        for (kind, notation) in families() {
            let calls = &notation.calls;
            let arguments: Map<String, Value> = call("", json!({ "path": "a", "content": content })).arguments;
            let text = format!("Words. {}", calls.write("write_file", &arguments));
            let whole = read(&notation, false, &[&text]);
            let at = text.floor_char_boundary((text.len() as f64 * keep) as usize);
            prop_assert_eq!(&read(&notation, false, &[&text[..at], &text[at..]]), &whole, "{} {}", kind, &text);
            let single: Vec<&str> = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
            prop_assert_eq!(&read(&notation, false, &single), &whole, "{} {}", kind, &text);
            let (_, _, begun) = read(&notation, false, &[&text[..at]]);
            for (call, is_certain) in begun {
                prop_assert!(!is_certain || whole.2.iter().any(|(one, _)| *one == call), "{} {}", kind, &text[..at]);
            }
        }
    }

    #[test]
    fn reading_never_panics(text in "(<call>|<do=|now|<with=|>|</|key|\\{|\\}|\"|'|:|,|\\(|\\)|\\[|\\]|<q>|é|\n| |1|<think>|<\\|one\\|>){0,30}") {
        for (_, notation) in families() {
            read(&notation, false, &[&text]);
        }
    }
}
