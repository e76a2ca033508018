//! The small model that writes code: it can be found by name, and calls tools in its own notation.

use std::sync::Arc;
use std::time::Instant;

use monobloc::base::Bytes;
use monobloc::budget::estimate::{Estimate, LoadSettings};
use monobloc::budget::permit::Permit;
use monobloc::config::Config;
use monobloc::config::{Exact, FlashAttention};
use monobloc::engine::llama::{KvFormat, Loading, Shape, Weights};
use monobloc::engine::{Engine, Request, Vocabulary};
use monobloc::models::dialect::{self, Chat, Message, ToolText};
use monobloc::models::{Registry, Role};
use serde_json::json;

use crate::cli::{Project, Run};
use crate::models::{SMALLEST, WRITER, folder_of};
use crate::turn::Turn;

fn registry() -> Registry {
    let folder = folder_of("writer-models", &[WRITER, SMALLEST]);
    Registry::open(&Config { model_dir: Some(folder), ..Config::default() }).expect("a registry")
}

#[test]
fn the_coder_model_plays_both_roles_beside_the_smallest_model() {
    let registry = registry();
    for role in [Role::Planner, Role::Router] {
        let spec = registry.get(role).expect("a model");
        assert!(spec.path.ends_with(WRITER), "{}", spec.path.display());
        assert_eq!(spec.header.context_train, 32_768);
        assert_eq!(dialect::choose(&spec.header, &spec.dialect, None).notation().calls.mark(), "<tool_call>");
    }
}

/// 28 layers, keys and values of 2 heads, 128 numbers per head, 2 bytes per number.
#[test]
fn a_token_takes_28_kib_of_kv_cache() {
    let registry = registry();
    let header = &registry.get(Role::Planner).expect("a model").header;
    let wanted = LoadSettings {
        context: 32_768,
        slots: 1,
        kv_type: "f16".to_owned(),
        rows: 64,
        outputs: 1,
        repack: true,
        ..LoadSettings::default()
    };
    assert_eq!(Estimate::of(header, &wanted).kv, Bytes::kib(28) * 32_768);
}

#[tokio::test]
async fn the_coder_model_calls_the_right_tool_in_its_own_notation() {
    let registry = registry();
    let spec = registry.get(Role::Planner).expect("a model");
    let loading = Loading { gpu_layers: 0, experts_on_host: 0, repack: true, mapped: false };
    let weights = Arc::new(Weights::load(&spec.header, loading, |_| true).expect("the model loads"));
    let vocabulary: Arc<dyn Vocabulary> = weights.clone();
    let shape = Shape {
        slots: 1,
        context: 1024,
        kv: KvFormat::F16,
        flash: FlashAttention::Auto,
        threads: 2,
        chunk: 128,
        exact: Exact::Auto,
    };
    let engine = Engine::spawn("writer", vocabulary, Permit::default(), move |inbox| {
        inbox.serve(weights.context(&shape).map_err(|error| error.to_string())?, &*weights)
    })
    .expect("the engine starts");
    let text = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let tool = |name: &str, description: &str, parameter: &str| ToolText {
        name: name.into(),
        description: description.into(),
        parameters: text(parameter),
    };
    let tools = [
        tool("read_file", "Reads a file of the project.", "path"),
        tool("run_command", "Runs a command in the project's folder.", "command"),
        tool("delete_file", "Deletes a file of the project.", "path"),
    ];
    let dialect = dialect::choose(&spec.header, "auto", None);
    let messages = [Message::system("You work on a project."), Message::user("What does src/clock.rs say?")];
    let prompt = dialect.render(Chat { tools: &tools, ..Chat::from(&messages) });
    let started = Instant::now();
    let request = Request::new(engine.tokenize(&prompt), 64);
    let reply = engine.generate(request).expect("accepted").collect().await.expect("finishes").text;
    println!("{} ms: {reply}", started.elapsed().as_millis());
    let calls = dialect.read(&reply, &tools);
    assert_eq!(calls.len(), 1, "{reply}");
    assert_eq!((calls[0].0.name.as_str(), &calls[0].0.arguments["path"]), ("read_file", &json!("src/clock.rs")));
}

#[test]
fn the_coder_model_answers_a_question_about_a_file() {
    let project = Project::todo();
    let folder = folder_of("writer-models", &[WRITER, SMALLEST]);
    let request = "Read src/retry.ts and tell me how many times a request is tried";
    let run = Run::new(&project, &["ask", request, "--json"]).env("MONOBLOC_MODEL_DIR", folder);
    let turn = Turn::read(run.end().succeeded());
    assert!(turn.answer().contains('5'), "{}", turn.answer());
}
