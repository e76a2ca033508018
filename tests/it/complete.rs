//! `monobloc complete`: tokens do not depend on other requests, and shared prefixes are computed once.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::cli::{Project, Run};

/// A common beginning of two prompts, several hundred tokens long.
fn preamble() -> String {
    (0..60).map(|n| format!("Entry {n} of the list says that box {} is blue. ", n * 7 % 23)).collect()
}

/// Completes `prompts` and returns one result for each, in order.
fn complete(project: &Project, prompts: &[&str], flags: &[&str]) -> Vec<Value> {
    let file = project.beside("prompts.jsonl");
    let lines: Vec<String> =
        prompts.iter().enumerate().map(|(n, prompt)| json!({ "id": n, "prompt": prompt }).to_string()).collect();
    fs::write(&file, lines.join("\n")).expect("a file");
    let file = file.to_str().expect("a plain path");
    let arguments = [&["complete", "--prompts", file, "--json"], flags].concat();
    let mut results = Run::new(project, &arguments).end().succeeded().lines();
    if flags.contains(&"1") {
        assert!(results.is_sorted_by_key(|one| one["id"].as_u64()), "one slot keeps the order");
    }
    results.sort_by_key(|one| one["id"].as_u64());
    assert_eq!(results.len(), prompts.len());
    results
}

fn tokens(results: &[Value]) -> Vec<&Value> {
    results.iter().map(|one| &one["tokens"]).collect()
}

fn count(result: &Value, name: &str) -> u64 {
    result[name].as_u64().unwrap_or_else(|| panic!("no {name}: {result}"))
}

const PROMPTS: [&str; 3] =
    ["The capital of France is", "Once upon a time there was a", "fn add(a: u32, b: u32) -> u32 {"];

#[test]
fn two_runs_and_two_slots_give_the_same_tokens() {
    let project = Project::todo();
    let run = |slots| complete(&project, &PROMPTS, &["--slots", slots, "--max-tokens", "24"]);
    let first = run("1");
    assert_eq!(tokens(&first), tokens(&run("1")));
    assert_eq!(tokens(&first), tokens(&run("2")));
    assert!(first[0]["text"].as_str().is_some_and(|text| text.contains("Paris")), "{}", first[0]);
}

#[test]
fn a_result_has_the_documented_keys_and_nothing_else() {
    let results = complete(&Project::todo(), &PROMPTS[..1], &["--max-tokens", "3"]);
    let keys: BTreeSet<&str> = results[0].as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = [
        "cached_tokens",
        "guessed_tokens",
        "decode_ms",
        "entropy",
        "finish",
        "id",
        "prompt_ms",
        "prompt_tokens",
        "text",
        "tokens",
    ];
    assert_eq!(keys, BTreeSet::from(expected));
    assert_eq!(results[0]["finish"], "max-tokens");
    assert!(results[0]["entropy"].as_f64().is_some_and(|nats| nats > 0.0 && nats < 11.0), "{}", results[0]);
}

#[test]
fn a_shared_preamble_is_computed_once_and_changes_no_token() {
    let project = Project::todo();
    let first = format!("{}\nThe box of entry 3 is", preamble());
    let second = format!("{}\nThere are many", preamble());
    let flags = ["--slots", "1", "--max-tokens", "16"];
    let alone = complete(&project, &[&second], &flags);
    let after = complete(&project, &[&first, &second], &flags);
    assert_eq!(count(&alone[0], "cached_tokens"), 0);
    let (cached, prompt) = (count(&after[1], "cached_tokens"), count(&after[1], "prompt_tokens"));
    assert!(cached * 10 > prompt * 7, "{cached} of {prompt} were cached");
    assert_eq!(after[1]["tokens"], alone[0]["tokens"]);
}

#[test]
fn sampling_is_repeatable_with_a_seed_and_differs_by_seed() {
    let project = Project::todo();
    let run = |flags: &[&str]| {
        let flags = [&["--max-tokens", "16", "--temperature", "1.2", "--top-k", "0", "--top-p", "1"], flags].concat();
        complete(&project, &PROMPTS, &flags)
    };
    let first = run(&["--seed", "1"]);
    assert_eq!(tokens(&first), tokens(&run(&["--seed", "1"])));
    assert_ne!(tokens(&first), tokens(&run(&["--seed", "2"])));
    assert_ne!(tokens(&first), tokens(&run(&["--seed", "1", "--adaptive"])));
}

#[test]
fn repetitive_text_is_stopped_and_dry_prevents_repetition() {
    let project = Project::todo();
    let prompt = "la la la la la la la la la la la la la la la la la la la la la la la la";
    let run = |flags: &[&str]| {
        complete(&project, &[prompt], &[&["--max-tokens", "400", "--kv-type", "q8_0"], flags].concat()).remove(0)
    };
    let stopped = run(&[]);
    assert_eq!(stopped["finish"], "repetition", "{stopped}");
    assert!(stopped["tokens"].as_array().is_some_and(|tokens| tokens.len() < 350), "{stopped}");
    let broken = run(&["--dry-multiplier", "0.8"]);
    assert_ne!(broken["finish"], "repetition", "{broken}");
}

#[test]
fn ignoring_the_end_decodes_every_token_asked_for() {
    let project = Project::todo();
    let prompt = "<|im_start|>user\nSay yes.<|im_end|>\n<|im_start|>assistant\nYes.";
    let results = complete(&project, &[prompt], &["--max-tokens", "40", "--ignore-eos"]);
    assert_eq!(results[0]["tokens"].as_array().map(Vec::len), Some(40));
}

#[test]
fn without_json_a_result_is_a_line_of_text() {
    let project = Project::todo();
    let file = project.beside("p.jsonl");
    fs::write(&file, r#"{"id": "capital", "prompt": "The capital of France is"}"#).expect("a file");
    let arguments = ["complete", "--prompts", file.to_str().expect("a plain path"), "--max-tokens", "4"];
    let ended = Run::new(&project, &arguments).end().succeeded();
    assert!(ended.out.starts_with("capital: ") && ended.out.contains("Paris"), "{}", ended.out);
}

/// LFM2 mixes attention with convolutions, whose state cannot be truncated like a KV cache.
#[test]
fn hybrid_models_give_the_tokens_of_solo_runs_too() {
    for shape in ["tiny-lfm2", "tiny-lfm2moe"] {
        let project = Project::todo();
        let file = project.beside("tiny.gguf");
        let file = file.to_str().expect("a plain path");
        Run::new(&project, &["synth", "--shape", shape, "--quant", "q8_0", file]).end().succeeded();
        let long = format!("{}\nThere are many", preamble());
        let prompts = [PROMPTS[0], long.as_str(), PROMPTS[2]];
        let run = |prompts: &[&str], slots| {
            let flags = ["--model", file, "--slots", slots, "--max-tokens", "12", "--ignore-eos"];
            complete(&project, prompts, &flags)
        };
        let alone: Vec<Value> = prompts.iter().map(|prompt| run(&[prompt], "1").remove(0)).collect();
        assert_eq!(tokens(&alone), tokens(&run(&prompts, "2")), "{shape}");
        assert_eq!(tokens(&alone), tokens(&run(&prompts, "1")), "{shape}");
    }
}
