//! Tests of dialects: prompts of conversations, tokens from outside text, and common prefixes between turns.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A template for tests: one line per speaker, with tools and calls as JSON.
const LINES: &str = "{% if tools %}[TOOLS]{{ tools | tojson }}[/TOOLS]\n{% endif %}{% for m in messages %}<{{ m.role }}>\
    {{- m.content | trim }}{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}\
    </call>{% endfor %}</{{ m.role }}>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

fn of(source: &str) -> Dialect {
    let template = Template::compile(source).unwrap();
    let names =
        ["<user>", "</user>", "<system>", "</system>", "<assistant>", "</assistant>", "<call>", "[TOOLS]", "<tool>"];
    let marks = Marks::new(names.map(str::to_owned));
    let form = Form::of(template, "<s>", "</s>", &Calls::default(), false).unwrap();
    Dialect { form, with_tools: None, marks, notation: Default::default(), refused: Notice::default() }
}

fn tool() -> ToolText {
    let parameters = json!({ "type": "object", "properties": { "zone": { "type": "string" } } });
    ToolText { name: "now".into(), description: "Tells the time.".into(), parameters }
}

fn call(zone: &str) -> RawCall {
    RawCall { name: "now".into(), arguments: json!({ "zone": zone }).as_object().unwrap().clone() }
}

/// A system message, a question, text with two calls, their results, the answer, and a second user
/// message.
fn conversation() -> Vec<Message> {
    vec![
        Message::system("Help."),
        Message::user("Time?"),
        Message::calling("I look.", vec![call("UTC"), call("CET")]),
        Message::tool("12:00"),
        Message::tool("13:00"),
        Message::assistant("Noon."),
        Message::user("Thanks"),
    ]
}

fn flat(dialect: &Dialect, messages: &[Message], tools: &[ToolText]) -> String {
    dialect.render(Chat { messages, tools, ..Chat::default() }).flat()
}

fn named(name: &str) -> String {
    flat(&by_name(name).unwrap(), &conversation(), &[tool()])
}

#[test]
fn conversations_follow_the_templates() {
    insta::assert_snapshot!(named("hermes"), @r#"
    <|im_start|>system
    Help.

    # Tools

    You may call one or more functions to assist with the user query.

    You are provided with function signatures within <tools></tools> XML tags:
    <tools>
    {"type": "function", "function": {"name": "now", "description": "Tells the time.", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}}
    </tools>

    For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
    <tool_call>
    {"name": <function-name>, "arguments": <args-json-object>}
    </tool_call><|im_end|>
    <|im_start|>user
    Time?<|im_end|>
    <|im_start|>assistant
    I look.
    <tool_call>
    {"name": "now", "arguments": {"zone": "UTC"}}
    </tool_call>
    <tool_call>
    {"name": "now", "arguments": {"zone": "CET"}}
    </tool_call><|im_end|>
    <|im_start|>user
    <tool_response>
    12:00
    </tool_response>
    <tool_response>
    13:00
    </tool_response><|im_end|>
    <|im_start|>assistant
    Noon.<|im_end|>
    <|im_start|>user
    Thanks<|im_end|>
    <|im_start|>assistant
    "#);
    insta::assert_snapshot!(named("lfm2"), @r#"
    <|im_start|>system
    Help.
    List of tools: <|tool_list_start|>[{"type": "function", "function": {"name": "now", "description": "Tells the time.", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}}]<|tool_list_end|><|im_end|>
    <|im_start|>user
    Time?<|im_end|>
    <|im_start|>assistant
    I look.<|tool_call_start|>[now(zone="UTC"), now(zone="CET")]<|tool_call_end|><|im_end|>
    <|im_start|>tool
    <|tool_response_start|>12:00<|tool_response_end|><|im_end|>
    <|im_start|>tool
    <|tool_response_start|>13:00<|tool_response_end|><|im_end|>
    <|im_start|>assistant
    Noon.<|im_end|>
    <|im_start|>user
    Thanks<|im_end|>
    <|im_start|>assistant
    "#);
    insta::assert_snapshot!(named("chatml"), @r#"
    <|im_start|>system
    Help.

    Tools:
    1. now(zone?: string): Tells the time.<|im_end|>
    <|im_start|>user
    Time?<|im_end|>
    <|im_start|>assistant
    I look.
    [now(zone="UTC")]
    [now(zone="CET")]<|im_end|>
    <|im_start|>tool
    12:00<|im_end|>
    <|im_start|>tool
    13:00<|im_end|>
    <|im_start|>assistant
    Noon.<|im_end|>
    <|im_start|>user
    Thanks<|im_end|>
    <|im_start|>assistant
    "#);
    insta::assert_snapshot!(named("plain"), @r#"
    Help.

    Tools:
    1. now(zone?: string): Tells the time.

    User: Time?
    Assistant: I look.
    [now(zone="UTC")]
    [now(zone="CET")]
    Result: 12:00
    Result: 13:00
    Assistant: Noon.
    User: Thanks
    Assistant:
    "#);
    insta::assert_snapshot!(named("gemma"), @r#"
    <start_of_turn>user
    Help.

    Tools:
    1. now(zone?: string): Tells the time.

    To call one, write ```tool_code
    NAME(ARGUMENT="value")
    ```

    Time?<end_of_turn>
    <start_of_turn>model
    I look.
    ```tool_code
    now(zone="UTC")
    ```
    ```tool_code
    now(zone="CET")
    ```<end_of_turn>
    <start_of_turn>user
    Result:
    12:00<end_of_turn>
    <start_of_turn>user
    Result:
    13:00<end_of_turn>
    <start_of_turn>model
    Noon.<end_of_turn>
    <start_of_turn>user
    Thanks<end_of_turn>
    <start_of_turn>model
    "#);
}

fn dialects() -> Vec<(&'static str, Dialect)> {
    let named = DIALECTS.into_iter().filter_map(|name| Some((name, detect::by_name(name)?)));
    let named = named.map(|(name, dialect)| (name, std::sync::Arc::into_inner(dialect).unwrap()));
    named.chain([("own", of(LINES))]).collect()
}

/// Text from a user who deliberately writes the marks.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        prop::sample::select(vec![
            "<|im_end|>",
            "<|im_start|>",
            "</user>",
            "<user>",
            "<call>",
            "[TOOLS]",
            "<end_of_turn>",
            "<start_of_turn>",
            "<|eot_id|>",
            "<|tool_call_start|>",
            "<tool_call>",
            "<",
            "<|",
            "<<user>>",
            "\u{10fffd}",
            "\u{10fffc}",
            "\n",
        ])
        .prop_map(str::to_owned),
        "[ a-zé\"'{}]{0,6}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn said(texts: &[String]) -> Vec<Message> {
    let mut called = call(&texts[2]);
    called.arguments.insert(format!("k{}", texts[3]), json!([texts[3]]));
    vec![
        Message::system(format!("s{}", texts[0])),
        Message::user(format!("u{}", texts[1])),
        Message::calling(format!("a{}", texts[2]), vec![called]),
        Message::tool(format!("t{}", texts[3])),
        Message::user(texts[0].as_str()),
    ]
}

proptest! {
    #[test]
    fn outside_text_changes_no_rendering_and_becomes_no_control_token(texts in prop::collection::vec(hostile(), 4)) {
        let private = ['\u{10fffd}', '\u{10fffc}'];
        let harmless = vec!["x".to_owned(); 4];
        for (name, dialect) in dialects() {
            let tools = [ToolText { description: texts[1].clone(), ..tool() }];
            let prompt = dialect.render(Chat { tools: &tools, ..Chat::from(&said(&texts)) });
            let clean: Vec<String> = texts.iter().map(|text| text.replace(private, "\u{fffd}")).collect();
            let clean_tools = [ToolText { description: clean[1].clone(), ..tool() }];
            let plain = dialect.form.text(&said(&clean), &clean_tools, Wanted { thinks: None, opened: true }, &dialect.notation.calls);
            prop_assert_eq!(prompt.flat(), plain.unwrap(), "{}", name);
            let marks = |prompt: &Prompt| {
                let special = prompt.pieces.iter().filter_map(|piece| match piece {
                    Piece::Special(text) => Some(text.as_str()),
                    Piece::Text(_) | Piece::Picture(_) => None,
                });
                special.map(|text| dialect.marks.count(text)).sum::<usize>()
            };
            let expected = dialect.render(Chat { tools: &[tool()], ..Chat::from(&said(&harmless)) });
            prop_assert_eq!(marks(&prompt), marks(&expected), "{}: {:?}", name, prompt);
        }
    }
}

#[test]
fn harmless_text_is_one_piece_with_the_template() {
    for (name, dialect) in dialects() {
        let pieces = dialect.render(&conversation()).pieces;
        assert_eq!(pieces.len(), 1, "{}: {pieces:?}", name);
    }
}

#[test]
fn the_fixed_part_ends_before_the_users_first_text() {
    for (name, dialect) in dialects() {
        let fixed = dialect.render(Chat { tools: &[tool()], ..Chat::from(&conversation()) }).fixed_part().flat();
        assert!(fixed.contains("Help.") && !fixed.contains("Time?"), "{}: {fixed}", name);
        let other = dialect
            .render(Chat { tools: &[tool()], ..Chat::from(&[Message::system("Help."), Message::user(" Who?")]) });
        assert_eq!(other.fixed_part().flat().trim_end(), fixed.trim_end(), "{}", name);
        assert!(other.flat().starts_with(&fixed), "{}", name);
    }
}

#[test]
fn a_longer_conversation_begins_like_the_shorter_one() {
    for (name, dialect) in dialects() {
        let (all, wanted) = (conversation(), Wanted { thinks: None, opened: false });
        for end in [2, 5, 7] {
            let part = dialect.form.text(&all[..end], &[tool()], wanted, &dialect.notation.calls).unwrap();
            let whole = flat(&dialect, &all, &[tool()]);
            assert!(whole.starts_with(&part), "{}, {end}:\n{whole}\n---\n{part}", name);
        }
    }
}

/// Checks how a template that begins with this text, followed by [`LINES`], renders a conversation.
fn check(before: &str, messages: &[Message], expected: &str) {
    let dialect = of(&format!("{before}{LINES}"));
    let text = flat(&dialect, messages, &[]);
    assert_eq!(text, format!("{expected}<assistant>"), "{before}");
}

#[test]
fn a_template_that_refuses_gets_an_order_that_it_takes() {
    let refuse = |condition: &str| {
        format!("{{% for m in messages if {condition} %}}{{{{ raise_exception('no') }}}}{{% endfor %}}")
    };
    let asked = [Message::system("S"), Message::user("Q")];
    check("", &asked, "<system>S</system>\n<user>Q</user>\n");
    check(&refuse("m.role == 'system'"), &asked, "<user>S\n\nQ</user>\n");
    check(&refuse("m.role == 'system'"), &[Message::system("S")], "<user>S</user>\n");
    let twice = [Message::system("S"), Message::user("Q"), Message::system("T")];
    check("", &twice, "<system>S</system>\n<user>Q</user>\n<system>T</system>\n");
    let later = "{% for m in messages[1:] if m.role == 'system' %}{{ raise_exception('first') }}{% endfor %}";
    check(later, &twice, "<system>S\n\nT</system>\n<user>Q</user>\n");
    let alternate = "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}{% endfor %}";
    let odd = [Message::assistant("A"), Message::user("Q"), Message::user("R")];
    check(alternate, &odd, "<user>…</user>\n<assistant>A</assistant>\n<user>Q\n\nR</user>\n");
    let called =
        [Message::user("Q"), Message::calling("", vec![call("a"), call("b")]), Message::tool("1"), Message::tool("2")];
    let one = "<user>Q</user>\n<assistant><call>now {\"zone\": \"a\"}</call></assistant>\n<tool>1</tool>\n\
               <assistant><call>now {\"zone\": \"b\"}</call></assistant>\n<tool>2</tool>\n";
    check(&refuse("m.tool_calls and m.tool_calls | length > 1"), &called, one);
    let words = "<user>Q</user>\n<assistant>[now(zone=\"a\")]\n[now(zone=\"b\")]</assistant>\n<user>Result:\n1</user>\n<user>Result:\n2</user>\n";
    check(&refuse("m.role == 'tool' or m.tool_calls"), &called, words);
    let thoughtful = Message { thinking: "Hm.".into(), ..Message::assistant("A") };
    let answered = "<user>Q</user>\n<assistant>A</assistant>\n";
    check(&refuse("m.reasoning_content"), &[Message::user("Q"), thoughtful], answered);
}

#[test]
fn a_template_gets_contents_and_arguments_in_the_form_that_it_takes() {
    let parts = "{% for m in messages %}<{{ m.role }}>{{ m.content[0].text }}</{{ m.role }}>{% endfor %}";
    assert_eq!(flat(&of(parts), &[Message::user("Q")], &[]), "<user>Q</user>");
    let called = [Message::user("Q"), Message::calling("", vec![call("UTC")]), Message::tool("1")];
    let calls = |middle: &str| {
        format!(
            "{{% for m in messages %}}{{{{ m.content }}}};{{% for c in m.tool_calls or [] %}}{middle}{{% endfor %}}{{% endfor %}}"
        )
    };
    let text = calls("{{ c.function.name + ': ' + c.function.arguments }};");
    assert_eq!(flat(&of(&text), &called, &[]), "Q;;now: {\"zone\":\"UTC\"};1;");
    let printed = calls("{{ c.function.name }}: {{ c.function.arguments }};");
    assert_eq!(flat(&of(&printed), &called, &[]), "Q;;now: {\"zone\":\"UTC\"};1;");
    let none = calls("{% if m.content is none %}{{ c.function }}{% endif %}");
    assert!(!flat(&of(&none), &called, &[]).contains("[now"), "calls are shown where there is no content");
}

#[test]
fn tools_stand_in_the_system_message_where_the_template_has_no_place_for_them() {
    let bare = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>\n{% endfor %}";
    let asked = [Message::system("S"), Message::user("Q")];
    let told = "<system>S\n\nTools:\n1. now(zone?: string): Tells the time.</system>\n<user>Q</user>\n";
    assert_eq!(flat(&of(bare), &asked, &[tool()]), told);
    let refuses = format!(
        "{{% if tools and tools[0].function.description %}}{{{{ raise_exception('no') }}}}{{% endif %}}{LINES}"
    );
    assert!(flat(&of(&refuses), &asked, &[tool()]).starts_with("<system>S\n\nTools:\n1. now"));
}

#[test]
fn the_way_in_which_a_template_takes_a_conversation_is_remembered_for_its_kind() {
    let refuses = "{% for m in messages if m.reasoning_content %}{{ raise_exception('no') }}{% endfor %}";
    let dialect = of(&format!("{refuses}{LINES}"));
    let thoughtful = |text: &str| [Message::user(text), Message { thinking: "Hm.".into(), ..Message::assistant("A") }];
    for text in ["Q", "R"] {
        let expected = format!("<user>{text}</user>\n<assistant>A</assistant>\n<assistant>");
        assert_eq!(flat(&dialect, &thoughtful(text), &[]), expected);
    }
    assert_eq!(dialect.form.kinds_taken(), 1, "one kind of conversation was refused");
    flat(&dialect, &[Message::user("Q")], &[]);
    assert_eq!(dialect.form.kinds_taken(), 1, "a conversation that is taken as it is needs no repair");
}

#[test]
fn a_template_that_takes_nothing_of_a_conversation_is_replaced() {
    let small =
        format!("{{% if 'Thanks' in messages[-1].content %}}{{{{ raise_exception('no') }}}}{{% endif %}}{LINES}");
    let text = flat(&of(&small), &conversation(), &[]);
    assert!(text.starts_with("<|im_start|>system\nHelp.<|im_end|>\n<|im_start|>user\nTime?"), "{text}");
}

#[test]
fn an_answer_that_has_begun_goes_on_where_it_ends() {
    let begun = |dialect: &Dialect| {
        let messages = [Message::user("Which?")];
        dialect.render(Chat { begun: Some(" The colour <user> is "), ..Chat::from(&messages) }).flat()
    };
    assert!(begun(&of(LINES)).ends_with("<assistant>The colour <user> is "));
    for name in ["chatml", "hermes", "gemma", "plain"] {
        assert!(begun(&by_name(name).unwrap()).ends_with(" The colour <user> is "), "{name}");
    }
}

#[test]
fn words_beside_a_call_stay() {
    let hermes = by_name("hermes").unwrap();
    let text = "I look.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {\"zone\": \"UTC\"}}\n</tool_call>";
    let read = |text: &str| hermes.read(text, &[tool()]).into_iter().map(|(call, _)| call).collect::<Vec<_>>();
    let calls = read(text);
    assert_eq!(hermes.replied(text, &calls, true), Message::calling("I look.", vec![call("UTC")]));
    let bare = "{\"name\": \"now\", \"arguments\": {}}";
    assert_eq!(hermes.replied(text, &calls, false), Message::assistant(text));
    assert_eq!(hermes.replied(bare, &read(bare), true), Message::assistant(bare));
}
