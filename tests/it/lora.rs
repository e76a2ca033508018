//! LoRA adapters from models.toml: they change the context of one role; other roles share the weights without them.

use std::fs;

use monobloc::base::Bytes;
use monobloc::budget::Ledger;
use monobloc::budget::permit::Priority;
use monobloc::config::Config;
use monobloc::engine::pool::Pool;
use monobloc::models::dialect::Prompt;
use monobloc::models::gguf::{Kind, TensorType, write::HeaderWriter};
use monobloc::models::{Found, Registry, Role};

use crate::pool::{World, silent};

/// Hidden size of the tiny shape, and the rank of the adapters.
const HIDDEN: u64 = 128;
const RANK: u64 = 4;

/// Writes an adapter with small random numbers for two matrices of the tiny shape.
fn adapter(world: &World, name: &str, architecture: &str, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let f32s = TensorType::by_name("f32").expect("a type");
    let mut writer = HeaderWriter::new(architecture)
        .text("general.type", "adapter")
        .text("adapter.type", "lora")
        .f32("adapter.lora.alpha", RANK as f32);
    let (mut data, matrices) = (Vec::new(), ["blk.1.attn_q.weight", "blk.3.attn_output.weight"]);
    for matrix in matrices {
        for (part, shape) in [("lora_a", [HIDDEN, RANK]), ("lora_b", [RANK, HIDDEN])] {
            writer.tensor(&format!("{matrix}.{part}"), &shape, f32s);
            (0..HIDDEN * RANK).for_each(|_| data.extend_from_slice(&(random.f32() - 0.5).to_le_bytes()));
        }
    }
    let mut bytes = writer.finish();
    bytes.extend(data);
    fs::write(world.file(name), bytes).expect("an adapter");
}

fn world(lora: &str) -> World {
    let world = World::new(&format!(
        "[planner]\nfile = \"a.gguf\"\ncontext = 256\nslots = 1\n[router]\nfile = \"a.gguf\"\ncontext = 256\nslots = 1\nlora = [{lora}]\n"
    ));
    adapter(&world, "x.gguf", "lfm2", 1);
    adapter(&world, "y.gguf", "lfm2", 2);
    world
}

/// The score that the model of a role gives to a continuation.
async fn score(pool: &Pool, role: Role) -> f64 {
    let leased = pool.resident(role).expect("loaded");
    let tokens = |text: &str| leased.engine.tokenize(&Prompt::default().text(text));
    let scores = leased.engine.score(tokens("the river under"), vec![tokens(" a bridge")], Priority::Step).await;
    scores.expect("a score").sums[0]
}

/// The scores without and with the adapters, and the memory of the adapters.
async fn scores(lora: &str) -> (f64, f64, Bytes) {
    let world = world(lora);
    let ledger = Ledger::new(Bytes::gib(1));
    let pool = world.pool(&ledger, None);
    pool.load("planner", silent()).expect("loads");
    let alone: Bytes = ledger.entries().iter().map(|entry| entry.bytes.host).sum();
    let router = pool.load("router", silent()).expect("loads");
    let held: Bytes = ledger.entries().iter().map(|entry| entry.bytes.host).sum();
    assert_eq!((held, router.shares_weights || lora.is_empty()), (alone + router.bytes(), true));
    let adapters = router.parts.iter().find(|(part, _)| *part == "adapters").map_or(Bytes::ZERO, |part| part.1);
    (score(&pool, Role::Planner).await, score(&pool, Role::Router).await, adapters)
}

const X: &str = "{ file = \"x.gguf\", scale = 1.0 }";
const Y: &str = "{ file = \"y.gguf\", scale = 0.5 }";
/// Size of an adapter: two matrices, each with two factors of 32-bit numbers.
const BYTES: Bytes = Bytes(2 * 2 * HIDDEN * RANK * 4);

#[tokio::test]
async fn an_adapter_changes_its_own_context_and_no_other() {
    let (base, changed, bytes) = scores(X).await;
    assert!(base.is_finite() && changed.is_finite() && base != changed, "{base} {changed}");
    assert_eq!(bytes, BYTES);
    let (again, two, both) = scores(&format!("{X}, {Y}")).await;
    assert_eq!((again, both), (base, BYTES * 2));
    assert!(two != base && two != changed, "both count: {base} {changed} {two}");
}

#[tokio::test]
async fn an_adapter_with_scale_zero_changes_nothing() {
    let (base, same, _) = scores("{ file = \"x.gguf\", scale = 0.0 }").await;
    assert_eq!(base, same);
}

#[test]
fn a_missing_or_incompatible_adapter_is_named_with_a_way_out() {
    let refused = |lora: &str, make: &dyn Fn(&World)| {
        let world = world(lora);
        make(&world);
        let config = Config { model_dir: Some(world.dir.path().to_owned()), ..Config::default() };
        let registry = Registry::open(&config).expect("a registry");
        registry.get(Role::Planner).expect("the planner has none");
        registry.get(Role::Router).expect_err("refused").to_string()
    };
    let missing = refused("{ file = \"z.gguf\" }", &|_| ());
    assert!(missing.starts_with("router: models.toml names the LoRA adapter z.gguf, which is not there"), "{missing}");
    let foreign = refused("{ file = \"z.gguf\" }", &|world| adapter(world, "z.gguf", "llama", 3));
    assert!(foreign.contains("was made for `llama`") && foreign.contains("remove it from [router]"), "{foreign}");
}

#[test]
fn an_adapter_in_the_model_folder_is_not_taken_for_a_model() {
    let world = world("");
    let registry = world.registry();
    let is_adapter = |file: &&Found| file.header.as_ref().is_ok_and(|header| header.kind == Kind::Adapter);
    assert_eq!((registry.files.iter().filter(is_adapter).count(), registry.files.len()), (2, 4));
    let why = registry.named("x.gguf", Role::Planner).expect_err("an adapter plays no role").to_string();
    assert!(why.contains("a LoRA adapter"), "{why}");
}
