//! An embedder at a URL or in a GGUF: batches, vectors stored with the index, consent, and search by
//! words if it cannot be used.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use monobloc::synth::{Conversion, convert_bert};
use serde_json::{Value, json};

use crate::boxed::{self, Got, Server};
use crate::cli::{Ended, Project, Run};
use crate::models;

/// Vectors computed from the letters of a text, of the requested length; with 0 the server closes
/// every connection without an answer.
fn server() -> (Server, Arc<AtomicUsize>) {
    let length = Arc::new(AtomicUsize::new(26));
    let numbers = length.clone();
    let vector = move |text: &str, length: usize| -> Vec<f32> {
        let letters = (0..length as u8).map(|letter| text.bytes().filter(|byte| *byte == b'a' + letter).count());
        letters.map(|count| count as f32 + 0.01).collect()
    };
    let plays = move |got: &Got, stream: &mut TcpStream| {
        let length = numbers.load(Ordering::SeqCst);
        let texts = got.body["input"].as_array().cloned().unwrap_or_default();
        if length == 0 {
            return Ok(());
        }
        if texts.len() > 64
            || texts.iter().any(|text| text.as_str().is_none_or(|text| text.is_empty() || text.len() > 2_000))
        {
            return boxed::whole(stream, "400 Bad Request", "{\"error\":{\"message\":\"too much at once\"}}");
        }
        let one = |(index, text): (usize, &Value)| json!({ "index": index, "embedding": vector(text.as_str().unwrap_or_default(), length) });
        let data: Vec<Value> = texts.iter().enumerate().map(one).collect();
        boxed::whole(stream, "200 OK", &json!({ "data": data }).to_string())
    };
    (boxed::server("vllm", plays), length)
}

fn run(project: &Project, server: &Server, consents: bool, arguments: &[&str]) -> Ended {
    let models = boxed::roles(project, "embedder", &server.url(), "", consents);
    Run::new(project, &[arguments, &["--models-file", &models]].concat()).end()
}

const SEARCH: &[&str] = &["search", "how often is a request tried", "--json"];

#[test]
fn the_vectors_of_a_server_are_kept_with_the_index_and_used_in_search() {
    let (project, (server, _)) = (Project::todo(), server());
    let first = run(&project, &server, true, &["index", "--json"]).succeeded().lines().pop().expect("a report");
    assert!(first["chunks_with_vector"] == first["chunks"] && first["chunks"].as_u64() > Some(0), "{first}");
    let before = server.connections();
    run(&project, &server, true, &["index", "--json"]).succeeded();
    assert_eq!(server.connections(), before, "what has a vector is not sent again");
    let found = run(&project, &server, true, SEARCH).succeeded();
    assert!(server.connections() > before && !found.err.contains("lexical only"), "{found:#?}");
}

#[test]
fn without_consent_or_offline_nothing_is_sent_and_search_goes_by_words() {
    let (project, (server, _)) = (Project::todo(), server());
    for (consents, more) in [(false, &[][..]), (true, &["--offline"][..])] {
        let found = run(&project, &server, consents, &[SEARCH, more].concat()).succeeded();
        assert!(found.out.contains("src/retry.ts") && found.err.contains("lexical only"), "{found:#?}");
        assert!(found.err.contains(&server.url()), "it says what was not asked: {found:#?}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_server_that_went_away_or_has_another_model_leaves_search_by_words_and_is_named() {
    let (project, (server, length)) = (Project::todo(), server());
    run(&project, &server, true, &["index", "--json"]).succeeded();
    length.store(0, Ordering::SeqCst);
    let found = run(&project, &server, true, SEARCH).succeeded();
    assert!(found.out.contains("src/retry.ts") && found.err.contains("lexical only"), "{found:#?}");
    assert!(found.err.contains(&server.url()), "{found:#?}");
    length.store(20, Ordering::SeqCst);
    let found = run(&project, &server, true, SEARCH).succeeded();
    assert!(found.out.contains("src/retry.ts") && found.err.contains("(20 numbers, previously 26)"), "{found:#?}");
    std::fs::write(project.path().join("src/new.ts"), "export function fresh() {}\n").expect("a file");
    let index = run(&project, &server, true, &["index", "--json"]).succeeded();
    assert!(index.err.contains("found by words only") && index.err.contains(&server.url()), "{index:#?}");
}

/// A folder with the small chat model and MiniLM as a GGUF, and the text of its models.toml.
fn with_gguf(project: &Project, pooling: Option<u32>, models_toml: &str) -> String {
    let folder = project.folder("with-gguf");
    let chat = folder.join("SmolLM2-135M-Instruct.Q4_1.gguf");
    if !chat.exists() {
        std::os::unix::fs::symlink(models::smollm(), chat).expect("a link");
    }
    let conversion = Conversion { name: "all-MiniLM-L6-v2".into(), pooling, half: true, scale: 1.0, head: None };
    convert_bert(&models::model("all-MiniLM-L6-v2"), &conversion, &folder.join("mini.gguf")).expect("a GGUF");
    std::fs::write(folder.join("models.toml"), models_toml).expect("a file");
    folder.display().to_string()
}

#[test]
fn a_gguf_embedder_gives_the_index_its_vectors_and_other_pooling_or_prompts_embed_again() {
    let project = Project::todo();
    let run = |folder: &str, arguments: &[&str]| {
        Run::new(&project, &[arguments, &["--model-dir", folder]].concat()).end().succeeded()
    };
    // Whether vectors had to be computed.
    let embeds = |folder: &str| {
        let computed = run(folder, &["index"]).err.contains(" vectors follow");
        let report = run(folder, &["index", "--json"]).lines().pop().expect("a report");
        assert!(report["chunks_with_vector"] == report["chunks"] && report["chunks"].as_u64() > Some(0), "{report}");
        computed
    };
    let named = "[embedder]\nfile = \"mini.gguf\"\n";
    let folder = with_gguf(&project, Some(1), named);
    assert!(embeds(&folder) && !embeds(&folder), "what has a vector is not computed again");
    let found = run(&folder, SEARCH);
    assert!(found.out.contains("src/retry.ts") && !found.err.contains("lexical only"), "{found:#?}");
    for more in ["pooling = \"cls\"", "prompts = { document = \"text: \" }"] {
        with_gguf(&project, Some(1), &format!("{named}{more}"));
        assert!(embeds(&folder), "{more}");
    }
    with_gguf(&project, Some(1), named);
    assert!(!embeds(&folder), "the earlier vectors are still there");
}

#[test]
fn an_index_keeps_the_embedder_that_made_its_vectors_as_long_as_it_is_found() {
    let (project, data) = (Project::todo(), Project::todo());
    let run = |folder: &str, arguments: &[&str]| {
        let mut run = Run::new(&project, &[arguments, &["--model-dir", folder]].concat());
        run.command.env("XDG_DATA_HOME", data.path());
        run.end().succeeded()
    };
    let embedder = |folder: &str| {
        let list = run(folder, &["models", "list", "--json"]).lines().remove(0);
        list["roles"]["embedder"]["path"].as_str().expect("a path").to_owned()
    };
    let computes = |folder: &str| run(folder, &["index"]).err.contains(" vectors follow");
    // The default is not here yet, so another one makes the vectors.
    let folder = with_gguf(&project, Some(1), "");
    assert!(embedder(&folder).ends_with("mini.gguf") && computes(&folder));
    let own = data.path().join("monobloc/models");
    std::fs::create_dir_all(&own).expect("a folder");
    std::os::unix::fs::symlink(models::model("all-MiniLM-L6-v2"), own.join("all-MiniLM-L6-v2")).expect("a link");
    assert!(embedder(&folder).ends_with("mini.gguf") && !computes(&folder), "the index keeps its embedder");
    let elsewhere = data.path().display().to_string();
    let list = run(&folder, &["models", "list", "--json", "--project", &elsewhere]).lines().remove(0);
    let default = list["roles"]["embedder"]["path"].as_str().expect("a path");
    assert!(default.ends_with("all-MiniLM-L6-v2"), "a project without an index gets the default: {default}");
    // It goes, the default replaces it, and is kept when the other one is back.
    std::fs::rename(project.folder("with-gguf").join("mini.gguf"), data.path().join("mini.gguf")).expect("renamed");
    assert!(embedder(&folder).ends_with("all-MiniLM-L6-v2") && computes(&folder));
    with_gguf(&project, Some(1), "");
    assert!(embedder(&folder).ends_with("all-MiniLM-L6-v2") && !computes(&folder));
    with_gguf(&project, Some(1), "[embedder]\nfile = \"mini.gguf\"\n");
    assert!(embedder(&folder).ends_with("mini.gguf") && !computes(&folder), "its vectors are still there");
}

#[test]
fn a_gguf_that_is_no_embedder_leaves_search_by_words_and_is_named() {
    let project = Project::todo();
    let cases = [
        (Some(1), "file = \"SmolLM2-135M-Instruct.Q4_1.gguf\"", "Q4_1.gguf is a chat model"),
        (Some(4), "file = \"mini.gguf\"", "mini.gguf is a re-ranker"),
        (None, "file = \"mini.gguf\"", "has no bert.pooling_type"),
    ];
    for (pooling, table, expected) in cases {
        let folder = with_gguf(&project, pooling, &format!("[embedder]\n{table}"));
        let found = Run::new(&project, &[SEARCH, &["--model-dir", &folder]].concat()).end().succeeded();
        assert!(found.out.contains("src/retry.ts") && found.err.contains(expected), "{found:#?}");
        assert!(found.err.contains("search uses words only"), "{found:#?}");
    }
}
