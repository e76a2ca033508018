//! `[reranker]` of models.toml: searches are ordered by it within its time, and say so when they are not.
//!
//! Its weights are MiniLM's with a random head, so that its order means nothing.

use std::path::{Path, PathBuf};

use monobloc::app::App;
use monobloc::base::{Bytes, Cancel};
use monobloc::config::Config;
use monobloc::embed::rerank::{RerankError, memory};
use monobloc::models::gguf::inspect;
use monobloc::synth::{Conversion, Head, convert_bert};
use serde_json::Value;

use crate::cli::{Ended, Project, Run};
use crate::models;

/// A folder with the small chat model, MiniLM, a re-ranker unless `head` is `None`, and this
/// models.toml.
fn folder(project: &Project, head: Option<Head>, models_toml: &str) -> PathBuf {
    let folder = project.folder("ranked");
    for (file, name) in [(models::smollm(), "SmolLM2.gguf"), (models::model("all-MiniLM-L6-v2"), "all-MiniLM-L6-v2")] {
        let _ = std::os::unix::fs::symlink(file, folder.join(name));
    }
    let conversion = Conversion { name: "Random Reranker".into(), pooling: Some(4), half: true, scale: 1.0, head };
    convert_bert(&models::model("all-MiniLM-L6-v2"), &conversion, &folder.join("rank.gguf")).expect("a GGUF");
    std::fs::write(folder.join("models.toml"), models_toml).expect("a file");
    folder
}

fn run(project: &Project, folder: &Path, arguments: &[&str]) -> Ended {
    Run::new(project, &[arguments, &["--model-dir", folder.to_str().expect("a path")]].concat()).end().succeeded()
}

const SEARCH: &[&str] = &["search", "how often is a request tried", "--json"];
const TABLE: &str = "[reranker]\nfile = \"rank.gguf\"\n";

fn places(found: &Ended) -> Vec<String> {
    found.lines().iter().map(|hit| format!("{}:{}", hit["path"], hit["start"])).collect()
}

fn is_ranked(hit: &Value) -> bool {
    hit["parts"].get("×re-ranked").is_some()
}

#[test]
fn a_re_ranker_orders_the_hits_of_a_search_even_after_its_speed_was_once_too_low() {
    let project = Project::todo();
    let models = folder(&project, Some(Head::random(384, 3)), "");
    let plain = run(&project, &models, SEARCH);
    assert!(!plain.lines().iter().any(is_ranked), "a re-ranker is never used unasked: {plain:#?}");
    let models = folder(&project, Some(Head::random(384, 3)), TABLE);
    let ranked = run(&project, &models, SEARCH);
    assert!(ranked.lines().iter().any(is_ranked) && !ranked.err.contains("not re-ranked"), "{ranked:#?}");
    assert_ne!(places(&ranked), places(&plain));
    let scores: Vec<f64> = ranked.lines().iter().filter_map(|hit| hit["score"].as_f64()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    // The answer is kept under its own name, and the other one too.
    assert_eq!(places(&run(&project, &models, SEARCH)), places(&ranked));
    let models = folder(&project, None, "");
    assert_eq!(places(&run(&project, &models, SEARCH)), places(&plain));
    // A machine that was so busy once that nothing could be scored in time.
    let models = folder(&project, Some(Head::random(384, 4)), TABLE);
    run(&project, &models, &["search", "another question", "--json"]);
    let kept = project.beside("cache").join("monobloc/capability");
    let speeds = std::fs::read_dir(kept).expect("speeds").flatten().map(|entry| entry.path());
    let speeds: Vec<PathBuf> = speeds.filter(|path| path.to_string_lossy().ends_with(".pairs.json")).collect();
    assert!(!speeds.is_empty());
    speeds.iter().for_each(|path| std::fs::write(path, "0.01").expect("written"));
    let again = run(&project, &models, SEARCH);
    assert!(again.lines().iter().any(is_ranked) && !again.err.contains("not re-ranked"), "{again:#?}");
}

#[test]
fn the_memory_of_a_re_ranker_is_reserved_with_the_other_models_and_asked_for_again_after_a_refusal() {
    let project = Project::todo();
    let models = folder(&project, Some(Head::random(384, 3)), TABLE);
    let needed = memory(&inspect(&models.join("rank.gguf")).expect("a header"));
    let app = || {
        let budget = Some(Bytes::gib(4));
        let config = Config { project: project.path(), model_dir: Some(models.clone()), budget, ..Config::default() };
        App::open(config, Cancel::new()).expect("an app")
    };
    let reserved = |app: &App| {
        let entries = app.ledger().entries().into_iter().filter(|entry| entry.label == "reranker");
        entries.map(|entry| entry.bytes.host).collect::<Vec<_>>()
    };
    let opened = app();
    for _ in 0..2 {
        let _models = opened.shared_models().expect("models");
        assert_eq!(reserved(&opened), [needed]);
    }
    let full = app();
    let held = full.ledger().hold("another program", full.ledger().free());
    let (judges, cancelled) = (full.judges().expect("a re-ranker"), Cancel::new());
    cancelled.cancel();
    let refused = judges.judge(&cancelled).err();
    assert!(matches!(&refused, Some(RerankError::Failed(why)) if why.contains("reranker needs")), "{refused:?}");
    drop(held);
    assert_eq!(judges.judge(&cancelled).err(), Some(RerankError::Cancelled), "it would be loaded now");
    assert!(reserved(&full).is_empty());
}

#[test]
fn the_role_reranker_is_listed_counted_and_refused_with_the_way_out() {
    let project = Project::todo();
    let models = folder(&project, Some(Head::random(384, 3)), "");
    let list = |models: &Path| run(&project, models, &["models", "list", "--json"]).lines().remove(0);
    let fit = |models: &Path| run(&project, models, &["fit", "--json", "--device", "cpu:8GiB"]).lines().remove(0);
    assert_eq!((&list(&models)["roles"]["reranker"], &fit(&models)["reranker_bytes"]), (&Value::Null, &0.into()));
    let free = fit(&models)["free_bytes"].as_u64();
    let models = folder(&project, Some(Head::random(384, 3)), TABLE);
    let path = list(&models)["roles"]["reranker"]["path"].as_str().map(str::to_owned);
    assert!(path.is_some_and(|path| path.ends_with("rank.gguf")));
    let report = fit(&models);
    let bytes = report["reranker_bytes"].as_u64().expect("bytes");
    assert!(bytes > 40 << 20 && report["free_bytes"].as_u64() == free.map(|free| free - bytes), "{report}");
    let cases = [
        (None, TABLE, "rank.gguf has no classification head (cls.output.weight)"),
        (None, "[reranker]\nfile = \"SmolLM2.gguf\"\n", "SmolLM2.gguf is a chat model, not a re-ranker"),
        (None, "[reranker]\nfile = \"gone.gguf\"\n", "models.toml names gone.gguf, which is not there"),
    ];
    for (head, table, expected) in cases {
        let models = folder(&project, head, table);
        let found = run(&project, &models, SEARCH);
        assert!(found.err.contains("not re-ranked: ") && found.err.contains(expected), "{found:#?}");
        assert!(found.out.contains("src/retry.ts"), "{found:#?}");
        let error = list(&models)["roles"]["reranker"]["error"].as_str().map(str::to_owned);
        assert!(error.is_some_and(|error| error.contains(expected)));
    }
}
