//! Tests that a GGUF of MiniLM's own weights gives candle's vectors, and that files that give none are refused.

use std::fs;
use std::path::{Path, PathBuf};

use monobloc_synth::{Conversion, convert_bert};
use serde_json::json;

use super::sample::mini_lm;
use super::{Embedder, Options, Purpose, embed, fingerprint, memory, mini_lm_by_candle};
use crate::base::{Bytes, Cancel};
use crate::embed::EmbedError;
use crate::models::{EmbedderWishes, Pooling, PromptTable};

fn mean() -> Conversion {
    Conversion { name: "all-MiniLM-L6-v2".into(), pooling: Some(1), half: true, scale: 1.0, head: None }
}

/// MiniLM as a GGUF in a folder of its own.
fn written(conversion: &Conversion) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mini.gguf");
    convert_bert(&mini_lm(), conversion, &path).unwrap();
    (dir, path)
}

fn open(path: &Path) -> Embedder {
    Embedder::open(path, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn wishing(pooling: Option<Pooling>, prompts: Option<PromptTable>) -> Options {
    Options { wishes: EmbedderWishes { pooling, prompts, sha256: None }, ..Options::default() }
}

fn models() -> PathBuf {
    mini_lm().parent().unwrap().to_owned()
}

/// Sentences, code, other scripts, nothing, and more than is read at once. No Korean: llama.cpp
/// does not decompose its syllables, as an uncased vocabulary requires.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        "x",
        "!",
        "Where are the invoices added up?",
        "The lighthouse keeper counts ships at night.",
        "def area(width, height):\n    return width * height\n",
        "impl Drop for Guard { fn drop(&mut self) { self.lock.release(); } }",
        "SELECT name, sum(price) FROM orders GROUP BY name HAVING sum(price) > 100;",
        "const total = items.reduce((sum, item) => sum + item.price, 0);",
        "Über den Wolken muss die Freiheit grenzenlos sein",
        "L'été dernier, nous avons mangé des crêpes à Nîmes",
        "Привет, как дела?",
        "東京タワーの高さ",
        "Η θάλασσα είναι ήρεμη σήμερα",
        "naïve café — “quoted”, 100 % · 5 €",
        "snake_case_name and camelCaseName in HTTPServer2",
        "   spaces\t and\n\nlines   ",
        "antidisestablishmentarianism electroencephalographically",
    ]
    .into_iter()
    .map(str::to_owned)
    .collect();
    texts.push("a wheel turns and another wheel turns the other way ".repeat(30));
    texts.push("boats on rivers, trains in tunnels, kites over hills; ".repeat(90));
    texts
}

fn assert_alike(texts: &[String], found: &[Vec<f32>], expected: &[Vec<f32>], least: f32) {
    assert_eq!((found.len(), expected.len()), (texts.len(), texts.len()));
    for (text, (found, expected)) in texts.iter().zip(found.iter().zip(expected)) {
        let alike = kernels::cosine(found, expected)[0];
        assert!(alike >= least, "cosine {alike} for {:?}", text.chars().take(60).collect::<String>());
        let length: f32 = found.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-4, "length {length}");
    }
}

#[test]
fn a_gguf_gives_candles_vectors_of_the_same_weights() {
    let texts = texts();
    let modes = [(true, 1, "mean_tokens"), (false, 1, "mean_tokens"), (true, 2, "cls_token"), (true, 3, "lasttoken")];
    for (half, pooling, mode) in modes {
        let (_dir, path) = written(&Conversion { pooling: Some(pooling), half, ..mean() });
        let folder = mini_lm_by_candle(mode);
        // The same amount is read at once: the model's 512 positions.
        folder.put("sentence_bert_config.json", &json!({"max_seq_length": 512}));
        let (found, expected) = (open(&path), folder.open());
        assert_eq!(found.dimensions(), 384);
        let cancel = Cancel::new();
        assert_eq!(found.count_tokens(&texts, &cancel).unwrap(), expected.count_tokens(&texts, &cancel).unwrap());
        assert!(found.count_tokens(&texts, &cancel).unwrap().iter().any(|count| *count > 512));
        let of = |embedder: &Embedder| embedder.embed(&texts, Purpose::Document, &cancel).unwrap();
        assert_alike(&texts, &of(&found), &of(&expected), 0.999);
        let of = |embedder: &Embedder| embedder.embed_heads(&texts, &cancel).unwrap();
        assert_alike(&texts, &of(&found), &of(&expected), 0.999);
    }
}

#[test]
fn a_gguf_reads_no_more_at_once_than_the_options_say() {
    let (_dir, path) = written(&mean());
    let short = || Options { max_tokens: 24, ..Options::default() };
    let found = Embedder::open(&path, short()).unwrap();
    let folder = mini_lm_by_candle("mean_tokens");
    let expected = Embedder::open(folder.path(), short()).unwrap();
    let (texts, cancel) = (texts(), Cancel::new());
    let of = |embedder: &Embedder| embedder.embed_heads(&texts, &cancel).unwrap();
    assert_alike(&texts, &of(&found), &of(&expected), 0.999);
    let of = |embedder: &Embedder| embedder.embed(&texts[..19], Purpose::Plain, &cancel).unwrap();
    assert_alike(&texts[..19], &of(&found), &of(&expected), 0.999);
}

#[test]
fn a_gguf_gives_a_text_the_same_vector_alone_and_among_many() {
    // A model that caches what it reads, one with a sliding window, and one that caches nothing.
    let (_dir, path) = written(&mean());
    let files = [
        (models().join("SmolLM2-135M-Instruct.Q4_1.gguf"), Some(Pooling::Last), 576),
        (models().join("gemma-3-270m.Q4_K_M.gguf"), Some(Pooling::Mean), 640),
        (path, None, 384),
    ];
    for (file, pooling, dimensions) in files {
        let embedder = Embedder::open(&file, wishing(pooling, None)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(embedder.dimensions(), dimensions);
        // More texts and more tokens than one call takes.
        let many: Vec<String> = (0..70).map(|n| format!("door {n} is {}", ["red", "old", "shut"][n % 3])).collect();
        // Without special tokens, an empty text has no tokens and so no vector.
        let all = [texts()[1..12].to_vec(), many].concat();
        let together = embedder.embed(&all, Purpose::Plain, &Cancel::new()).unwrap();
        for (text, vector) in all.iter().zip(&together).step_by(13) {
            let alone = embed(&embedder, &[text], Purpose::Plain).concat();
            let alike = kernels::cosine(&alone, vector)[0];
            assert!(alike > 0.9995, "{}: cosine {alike} for {text:?}", file.display());
        }
        let unlike = kernels::cosine(&together[2], &together[4])[0];
        assert!(unlike < 0.995, "{}: a question and code have cosine {unlike}", file.display());
    }
}

#[test]
fn a_gguf_embeds_queries_and_documents_with_their_prompts() {
    let (_dir, path) = written(&Conversion { name: "Nomic Embed Text v1.5".into(), ..mean() });
    let check = |embedder: &Embedder, query: &str, document: &str| {
        let bare = Embedder::open(&path, wishing(None, Some(PromptTable::default()))).unwrap();
        let text = "the oldest bridge";
        let of = |words: &str| embed(&bare, &[&format!("{words}{text}")], Purpose::Plain).concat();
        for (purpose, words) in [(Purpose::Query, query), (Purpose::Document, document), (Purpose::Plain, "")] {
            let alike = kernels::cosine(&embed(embedder, &[text], purpose).concat(), &of(words))[0];
            assert!(alike > 0.9999, "{purpose:?}: {alike}");
        }
        assert!(kernels::cosine(&of(query), &of(document))[0] < 0.99);
    };
    check(&open(&path), "search_query: ", "search_document: ");
    let own = PromptTable { query: "frage: ".into(), document: "text: ".into(), plain: String::new() };
    check(&Embedder::open(&path, wishing(None, Some(own))).unwrap(), "frage: ", "text: ");
}

#[test]
fn the_fingerprint_of_a_gguf_changes_with_file_pooling_prompts_and_length() {
    let (dir, path) = written(&mean());
    let of = |options: Options| fingerprint(&path, &options).unwrap();
    let first = of(Options::default());
    let copy = dir.path().join("renamed.gguf");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(fingerprint(&copy, &Options::default()).unwrap(), first);
    assert_eq!(open(&path).fingerprint(), first);
    let prompts = |query: &str, document: &str| {
        Some(PromptTable { query: query.into(), document: document.into(), plain: String::new() })
    };
    let mut seen = vec![
        first,
        of(wishing(Some(Pooling::First), None)),
        of(wishing(None, prompts("ab", "c"))),
        of(wishing(None, prompts("a", "bc"))),
        of(Options { max_tokens: 64, ..Options::default() }),
    ];
    convert_bert(&mini_lm(), &Conversion { half: false, ..mean() }, &path).unwrap();
    seen.push(of(Options::default()));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 6);
}

#[test]
fn the_memory_of_a_gguf_is_known_from_its_header() {
    let (_dir, path) = written(&mean());
    let need = |max_tokens| memory(&path, &Options { max_tokens, ..Options::default() }).unwrap();
    let file = Bytes(fs::metadata(&path).unwrap().len());
    // Logits, for which llama.cpp reserves room.
    let output = Bytes(4 * 512 * (30_522 + 384));
    assert!(need(512) > file + output && need(512) < file + output + Bytes::mib(64), "{}", need(512));
    assert_eq!(need(64), need(512), "a call has as many tokens");
    // A model that caches what it reads, and computes logits.
    let text = models().join("SmolLM2-135M-Instruct.Q4_1.gguf");
    let need = memory(&text, &wishing(Some(Pooling::Last), None)).unwrap();
    let output = Bytes(4 * 512 * 49_152);
    assert!(need > Bytes(fs::metadata(&text).unwrap().len()) + output * 2, "{need}");
}

#[test]
fn the_tokens_of_a_gguf_become_text_again() {
    let (_dir, path) = written(&mean());
    let embedder = open(&path);
    // [CLS], two words, a word of two tokens, [SEP].
    assert_eq!(embedder.text_of(&[101, 7592, 2088, 102]).unwrap(), "hello world");
    let told = embedder.text_of(&[30_522]).unwrap_err().to_string();
    assert!(told.contains("token 30522 is not one of the embedder's 30522"), "{told}");
}

fn refused(path: &Path, options: Options) -> String {
    let opened = Embedder::open(path, options);
    let told = opened.expect_err("it gives vectors").to_string();
    assert!(told.contains(&*path.file_name().unwrap().to_string_lossy()), "it names the file: {told}");
    told
}

#[test]
fn a_gguf_that_makes_no_vectors_is_refused_by_name_with_the_way_out() {
    let check = |path: &Path, options: Options, expected: &[&str]| {
        let told = refused(path, options);
        for part in expected {
            assert!(told.contains(part), "`{told}` does not say `{part}`");
        }
    };
    let chat = models().join("SmolLM2-135M-Instruct.Q4_1.gguf");
    check(&chat, Options::default(), &["is a chat model", "name an embedding model in [embedder] of models.toml"]);
    let (_dir, path) = written(&Conversion { pooling: Some(4), ..mean() });
    check(&path, Options::default(), &["is a re-ranker", "name an embedding model"]);
    for pooling in [None, Some(0)] {
        let (_dir, path) = written(&Conversion { pooling, ..mean() });
        check(&path, Options::default(), &["bert.pooling_type", "write pooling = \"mean\", \"cls\" or \"last\""]);
        assert_eq!(Embedder::open(&path, wishing(Some(Pooling::Mean), None)).unwrap().dimensions(), 384);
    }
    let (_dir, path) = written(&mean());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 100_000]).unwrap();
    check(&path, Options::default(), &["its tensors end at byte", "fetch it again"]);
    fs::write(&path, &whole[..1000]).unwrap();
    check(&path, Options::default(), &["ends inside its header", "fetch it again"]);
    fs::write(&path, "").unwrap();
    check(&path, Options::default(), &["is empty"]);
    fs::write(&path, &whole).unwrap();
    let long = PromptTable { query: "find what was asked for ".repeat(80), ..PromptTable::default() };
    check(&path, wishing(None, Some(long)), &["of the 512 tokens that the model reads at once", "`prompts`"]);
    let mut another = Options::default();
    another.wishes.sha256 = Some("0".repeat(64));
    check(&path, another, &["has the sha256", "models.toml says 000"]);
    check(&mini_lm(), wishing(Some(Pooling::Mean), None), &["are for a GGUF file", "1_Pooling/config.json"]);
}

#[test]
fn a_gguf_whose_vectors_have_no_direction_is_an_error_with_file_and_tokens() {
    for (scale, what) in [(0.0, "only zeros"), (f32::NAN, "not finite"), (f32::INFINITY, "not finite")] {
        let (_dir, path) = written(&Conversion { scale, ..mean() });
        // The bias is scaled too, so nothing is left.
        let embedder = open(&path);
        let told = embedder.embed(&["hello world".into()], Purpose::Plain, &Cancel::new()).unwrap_err();
        assert!(matches!(told, EmbedError::NoVector { tokens: 4, .. }), "{told:?}");
        let told = told.to_string();
        assert!(told.contains(what) && told.contains("mini.gguf") && told.contains("fetch it again"), "{told}");
    }
}
