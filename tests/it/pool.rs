//! The pool of models: loads, unloads and swaps by role or file stay within the budget; refusals
//! give the reason.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use monobloc::base::{Bytes, Cancel};
use monobloc::budget::ladder::{self, Asked, Candidate};
use monobloc::budget::machine::{Accelerator, Kind, Machine};
use monobloc::budget::permit::Permit;
use monobloc::budget::{Amount, Ledger};
use monobloc::config::Config;
use monobloc::config::{Exact, FlashAttention};
use monobloc::engine::Request;
use monobloc::engine::pool::{Active, EngineMemory, Pool, PoolOptions, Progress};
use monobloc::engine::prefix::PrefixStore;
use monobloc::models::dialect::Prompt;
use monobloc::models::{Registry, Role};
use monobloc::synth::{self, Quant, Recipe, Shape};

use crate::clock::eventually;
use crate::models::smollm;

/// A model folder with two small models with random weights, `a.gguf` and `b.gguf`, and a
/// models.toml.
pub struct World {
    pub dir: tempfile::TempDir,
}

impl World {
    pub fn new(manifest: &str) -> World {
        let world = World { dir: tempfile::tempdir().expect("a temporary folder") };
        for (name, shape) in [("a.gguf", Shape::TinyLfm2), ("b.gguf", Shape::TinyLfm2Moe)] {
            let write = synth::write(
                &Recipe::new(shape, Quant::Q8_0, &smollm()),
                &world.file(name),
                &mut |_, _| (),
                &Cancel::new(),
            );
            write.expect("a model");
        }
        world.manifest(manifest)
    }

    pub fn manifest(self, text: &str) -> World {
        fs::write(self.file("models.toml"), text).expect("models.toml");
        self
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn registry(&self) -> Registry {
        let config = Config { model_dir: Some(self.dir.path().to_owned()), ..Config::default() };
        Registry::open(&config).expect("a registry")
    }

    pub fn pool(&self, ledger: &Ledger, max_loaded: Option<usize>) -> Pool {
        self.pool_with(ledger, max_loaded, EngineMemory::default())
    }

    pub fn pool_with(&self, ledger: &Ledger, max_loaded: Option<usize>, memory: EngineMemory) -> Pool {
        let options = PoolOptions {
            threads: 2,
            slots: 2,
            flash: FlashAttention::Auto,
            tool_call_format: None,
            max_loaded,
            repack: true,
            exact: Exact::Auto,
            image_tokens: None,
            memory,
            trial: None,
        };
        Pool::new(self.registry(), ledger.clone(), Permit::new(), options)
    }
}

/// Two roles with different models and contexts of 512 tokens.
const TWO: &str =
    "[planner]\nfile = \"a.gguf\"\ncontext = 512\n[router]\nfile = \"b.gguf\"\ncontext = 512\nslots = 1\n";

pub fn silent() -> Progress {
    Box::new(|_, _| true)
}

fn names(active: &[Active]) -> Vec<String> {
    let name = |one: &Active| {
        let roles: Vec<String> = one.roles.iter().map(ToString::to_string).collect();
        format!("{} {}", one.path.file_name().expect("a name").to_string_lossy(), roles.join("+")).trim().to_owned()
    };
    active.iter().map(name).collect()
}

fn held(ledger: &Ledger) -> Bytes {
    ledger.entries().iter().map(|entry| entry.bytes.host).sum()
}

/// The memory that each model needs alone.
fn needs(world: &World, names: [&str; 2]) -> [Bytes; 2] {
    let pool = world.pool(&Ledger::new(Bytes::gib(2)), None);
    names.map(|name| pool.estimate_memory(name).expect("a forecast").needed)
}

const FILES: [&str; 2] = ["a.gguf", "b.gguf"];

#[test]
fn the_ledger_holds_what_is_loaded_and_gets_all_of_it_back() {
    let world = World::new(TWO);
    let ledger = Ledger::new(Bytes::gib(1));
    let pool = world.pool(&ledger, None);
    let forecast = pool.estimate_memory("planner").expect("a forecast");
    let planner = pool.load("planner", silent()).expect("loads");
    assert_eq!((planner.bytes(), held(&ledger)), (forecast.needed, forecast.needed));
    assert_eq!((planner.slots, planner.context, planner.kv_type.as_str()), (2, 512, "f16"));
    assert!(pool.estimate_memory("planner").expect("a forecast").loaded);
    pool.load("b", silent()).expect("a file by a part of its name");
    assert_eq!(names(&pool.active()), ["a.gguf planner", "b.gguf"]);
    assert_eq!(pool.active().iter().map(Active::bytes).sum::<Bytes>(), held(&ledger));
    assert_eq!(pool.unload("planner").expect("unloads"), forecast.needed);
    pool.unload("b.gguf").expect("unloads");
    assert_eq!((ledger.free().host, ledger.entries().len()), (Bytes::gib(1), 0));
}

/// With accelerators of several sizes, a load reserves the host and device memory that `fit`
/// computes, and releases it again. This machine needs no accelerator: the CPU computes the layers
/// that belong on it.
#[test]
fn a_load_takes_the_accelerator_memory_that_fit_calculates() {
    let world = World::new("[planner]\nfile = \"b.gguf\"\ncontext = 512\n");
    let roomy = Machine::of(Bytes::gib(1));
    let planner = world.registry().get(Role::Planner).expect("a planner").clone();
    let card = |free: Bytes, shared| roomy.with(Some(Accelerator::found(Kind::Vulkan, shared, free, free)));
    let fitted = |machine: Machine| {
        let wanted = world.pool(&Ledger::of(machine), None).wanted(&planner).expect("settings");
        let asked = Asked {
            name: "planner".to_owned(),
            candidates: vec![Candidate { header: planner.header.clone(), wanted, eye: None }],
            gpu_layers: None,
            optional: false,
        };
        ladder::fit(&[asked], Amount::default(), &machine).expect("it fits")
    };
    let all = fitted(card(Bytes::gib(1), false)).models[0].need.all().device;
    let share = |percent: u64| card(Bytes(all.0 * percent / 100), false);
    let rung = |percent: u64| fitted(share(percent)).models[0].rung();
    let some = (1..100).rev().find(|percent| rung(*percent).contains("experts of 1 layer on the CPU"));
    let some = some.expect("a share of the memory for all but one layer's experts");
    let is_less = |percent: &u64| rung(*percent).contains("on the CPU") && rung(*percent) != rung(some);
    let few = (1..some).rev().find(is_less).expect("a share of the memory for less");
    let mut rungs = Vec::new();
    for machine in [card(all, false), share(some), share(few), share(3), card(all, true)] {
        let ledger = Ledger::of(machine);
        let pool = world.pool(&ledger, None);
        let fitted = fitted(machine);
        let loaded = pool.load("planner", silent()).expect("loads");
        let [placed] = &fitted.models[..] else { panic!("one model") };
        assert_eq!(ledger.promised(), placed.need.all(), "{machine}");
        assert_eq!(loaded.rung.unwrap_or_else(|| "as asked".to_owned()), placed.rung());
        let on_device = placed.settings.gpu_layers(&placed.header);
        rungs.push((placed.rung(), on_device > 0, placed.need.all().device > Bytes::ZERO));
        pool.unload("planner").expect("unloads");
        assert_eq!(ledger.promised(), Amount::default());
    }
    let [whole, some, few, none, shared] = &rungs[..] else { panic!("five machines") };
    assert_eq!((whole.0.as_str(), whole.1, shared.0.as_str()), ("as asked", true, "as asked"));
    assert!(some.0.contains("experts of 1 layer on the CPU") && some.1 && some.2, "{some:?}");
    assert!(few.0.contains("on the CPU") && few.0 != some.0, "{few:?}");
    assert!(!none.1 && !none.2, "{none:?}");
}

#[test]
fn two_roles_on_one_file_share_weights_and_a_context_where_they_agree() {
    let world = World::new("[planner]\nfile = \"a.gguf\"\ncontext = 512\n[router]\nfile = \"a.gguf\"\ncontext = 512\n");
    let ledger = Ledger::new(Bytes::gib(1));
    let pool = world.pool(&ledger, None);
    pool.load("planner", silent()).expect("loads");
    let alone = held(&ledger);
    pool.load("router", silent()).expect("loads");
    assert_eq!((names(&pool.active()), held(&ledger)), (vec!["a.gguf planner+router".to_owned()], alone));

    let world =
        world.manifest("[planner]\nfile = \"a.gguf\"\ncontext = 512\n[router]\nfile = \"a.gguf\"\ncontext = 256\n");
    let ledger = Ledger::new(Bytes::gib(1));
    let pool = world.pool(&ledger, None);
    pool.load("planner", silent()).expect("loads");
    let router = pool.load("router", silent()).expect("loads");
    assert!(router.shares_weights && router.parts.iter().all(|(part, _)| !part.contains("weights")), "{router:?}");
    assert_eq!(held(&ledger), alone + router.bytes());
    pool.unload("planner").expect("unloads");
    let left: Bytes = pool.active().iter().map(Active::bytes).sum();
    assert_eq!(left, held(&ledger), "the weights stay with the router");
    pool.unload("router").expect("unloads");
    assert_eq!(ledger.free().host, Bytes::gib(1));
}

#[test]
fn concurrent_requests_for_a_model_load_it_once() {
    let world = World::new(TWO);
    let ledger = Ledger::new(Bytes::gib(1));
    let pool = world.pool(&ledger, None);
    let once = pool.estimate_memory("planner").expect("a forecast").needed;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| pool.lease(Role::Planner, |_, _| true).map(drop).expect("a lease"));
        }
    });
    assert_eq!(held(&ledger), once);
}

#[test]
fn the_longest_idle_model_makes_room_but_never_one_in_use_or_pinned() {
    let world = World::new(TWO);
    let [a, b] = needs(&world, FILES);
    let ledger = Ledger::new(a.max(b) + Bytes::mib(1));
    let pool = world.pool(&ledger, None);
    let lease = pool.lease(Role::Planner, |_, _| true).expect("a lease");
    let refused = pool.load("b.gguf", silent()).expect_err("in use").to_string();
    assert!(refused.starts_with("b.gguf needs ") && refused.contains("are free; raise --budget"), "{refused}");
    assert!(refused.contains("planner a.gguf") && refused.ends_with("(in use)"), "{refused}");
    drop(lease);
    pool.pin("planner", true).expect("pinned");
    let refused = pool.load("b.gguf", silent()).expect_err("pinned").to_string();
    assert!(refused.ends_with("(pinned)"), "{refused}");
    assert!(pool.unload("planner").expect_err("pinned").to_string().contains("unpin it first"));
    pool.pin("planner", false).expect("unpinned");
    pool.load("b.gguf", silent()).expect("the idle one makes room");
    assert_eq!(names(&pool.active()), ["b.gguf"]);
}

#[test]
fn an_embedder_is_not_given_up_for_a_model_and_a_model_not_for_an_embedder() {
    let world = World::new(TWO);
    let [a, _] = needs(&world, FILES);
    let ledger = Ledger::new(a + Bytes::mib(8));
    let pool = world.pool(&ledger, None);
    // Large enough that the planner does not fit with any settings.
    let embedder = ledger.reserve("embedder", a).expect("room").commit(a);
    let refused = pool.load("planner", silent()).expect_err("no room").to_string();
    assert!(refused.ends_with(&format!("In memory: embedder {a}")), "{refused}");
    drop(embedder);
    pool.load("planner", silent()).expect("loads");
    ledger.reserve("embedder", a).expect_err("the planner stays");
    assert_eq!(names(&pool.active()), ["a.gguf planner"]);
}

#[test]
fn the_planner_plays_the_router_if_the_router_does_not_fit() {
    let world = World::new(TWO);
    let [a, b] = needs(&world, ["planner", "router"]);
    let pool = world.pool(&Ledger::new(a + Bytes(b.0 / 2)), None);
    drop(pool.lease(Role::Planner, |_, _| true).expect("a lease"));
    drop(pool.lease(Role::Router, |_, _| true).expect("a lease"));
    assert_eq!(names(&pool.active()), ["a.gguf planner+router"]);
}

#[test]
fn a_swap_counts_the_old_model_as_free_and_hands_its_roles_on() {
    let world = World::new(TWO);
    let [a, b] = needs(&world, FILES);
    let ledger = Ledger::new(a.max(b) + Bytes::mib(1));
    let pool = world.pool(&ledger, None);
    pool.load("planner", silent()).expect("loads");
    let new = pool.swap("planner", "b.gguf", silent()).expect("swapped");
    assert_eq!((names(&pool.active()), new.bytes()), (vec!["b.gguf planner".to_owned()], held(&ledger)));
    pool.unload("planner").expect("unloads");
    drop(pool.lease(Role::Planner, |_, _| true).expect("a lease"));
    assert_eq!(names(&pool.active()), ["b.gguf planner"], "the swap holds for the rest of the run");
    pool.swap("planner", "a", silent()).expect("back");
    assert_eq!(names(&pool.active()), ["a.gguf planner"]);
}

#[test]
fn a_swap_that_is_refused_or_fails_leaves_the_old_model() {
    let world = World::new(TWO);
    std::os::unix::fs::symlink(smollm(), world.file("large.gguf")).expect("a link");
    let [a, _] = needs(&world, FILES);
    let (small, large) = ("a.gguf", "large.gguf");
    let ledger = Ledger::new(a + Bytes::mib(1));
    let pool = world.pool(&ledger, None);
    pool.load(small, silent()).expect("loads");
    let before = held(&ledger);
    let refused = pool.swap(small, large, silent()).expect_err("too large").to_string();
    assert!(refused.starts_with(&format!("{large} in place of {small} needs ")), "{refused}");
    assert_eq!((names(&pool.active()), held(&ledger)), (vec![small.to_owned()], before));

    fs::copy(world.file(small), world.file("c.gguf")).expect("a copy");
    let pool = world.pool(&Ledger::new(a + Bytes::mib(1)), None);
    pool.load(small, silent()).expect("loads");
    let stopped = pool.swap(small, "c.gguf", Box::new(|_, _| false)).expect_err("cancelled").to_string();
    assert!(stopped.contains("cancelled") && stopped.ends_with(&format!("{small} is loaded again")), "{stopped}");
    assert_eq!(names(&pool.active()), [small]);

    // If both fit, the old model stays until the new one is loaded.
    let pool = world.pool(&Ledger::new(Bytes::gib(1)), None);
    pool.load(small, silent()).expect("loads");
    let stopped = pool.swap(small, "c.gguf", Box::new(|_, _| false)).expect_err("cancelled").to_string();
    assert!(stopped.contains("cancelled") && !stopped.contains("loaded again"), "{stopped}");
    assert_eq!(names(&pool.active()), [small]);
    assert!(
        pool.swap("nothing", small, silent()).expect_err("not loaded").to_string().contains("nothing is not loaded")
    );
}

#[test]
fn max_loaded_unloads_an_idle_model_or_refuses_the_load() {
    let world = World::new(TWO);
    let pool = world.pool(&Ledger::new(Bytes::gib(1)), Some(1));
    pool.load("planner", silent()).expect("loads");
    pool.load("b.gguf", silent()).expect("loads");
    assert_eq!(names(&pool.active()), ["b.gguf"]);
    pool.pin("b.gguf", true).expect("pinned");
    let refused = pool.load("planner", silent()).expect_err("full").to_string();
    assert!(refused.contains("--max-loaded 1 allows") && refused.contains("b.gguf"), "{refused}");
    pool.pin("b.gguf", false).expect("unpinned");
    pool.swap("b.gguf", "a.gguf", silent()).expect("one for one");
    assert_eq!(names(&pool.active()), ["a.gguf"]);
}

#[test]
fn an_idle_model_is_unloaded_after_its_keep_alive_unless_pinned() {
    let world = World::new(&TWO.replace("slots = 1", "slots = 1\nkeep_alive_s = 1\npinned = true")).manifest(&format!(
        "{}keep_alive_s = 1\npinned = true\n",
        TWO.replace("512\n[router]", "512\nkeep_alive_s = 1\n[router]")
    ));
    let ledger = Ledger::new(Bytes::gib(1));
    let pool = world.pool(&ledger, None);
    pool.load("router", silent()).expect("loads");
    let lease = pool.lease(Role::Planner, |_, _| true).expect("a lease");
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(pool.active().len(), 2, "one is in use, one is pinned");
    drop(lease);
    eventually("the planner stays", || names(&pool.active()) == ["b.gguf router"]);
    let gone = pool.unload("a.gguf").expect_err("not loaded").to_string();
    assert!(gone.contains("a.gguf is not loaded"), "{gone}");
    assert_eq!(held(&ledger), pool.active()[0].bytes(), "what is not loaded holds nothing");
}

#[test]
fn models_in_memory_can_be_listed_during_a_load() {
    let world = World::new(TWO);
    let pool = world.pool(&Ledger::new(Bytes::gib(1)), None);
    let asked = pool.clone();
    let (sender, seen) = std::sync::mpsc::channel();
    let sender = Arc::new(std::sync::Mutex::new(sender));
    pool.load(
        "planner",
        Box::new(move |_, _| {
            sender.lock().expect("one load").send((asked.active().len(), asked.loading())).expect("a listener");
            true
        }),
    )
    .expect("loads");
    let during: Vec<_> = seen.try_iter().collect();
    assert!(!during.is_empty() && during.iter().all(|(count, _)| *count == 0), "{during:?}");
    assert!(during.iter().all(|(_, loading)| loading.as_ref().is_some_and(|one| one.file == "a.gguf")), "{during:?}");
    assert_eq!(pool.loading(), None);
}

/// A few greedy tokens of the model that plays `role`.
pub async fn tokens(pool: &Pool, role: Role) -> Result<Vec<i32>, String> {
    let pool = pool.clone();
    let leased = tokio::task::spawn_blocking(move || pool.lease(role, |_, _| true)).await.expect("no panic");
    let leased = leased.map_err(|error| error.to_string())?;
    let prompt = leased.engine.tokenize(&Prompt::default().text("the river under a bridge of light"));
    let request = Request { ignore_end: true, ..Request::new(prompt, 6) };
    let output = leased.engine.generate(request).map_err(|error| error.to_string())?.collect().await;
    Ok(output.map_err(|error| error.to_string())?.tokens.iter().map(|token| token.0).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reloaded_model_gives_the_same_tokens() {
    let world = World::new(TWO);
    let pool = world.pool(&Ledger::new(Bytes::gib(1)), None);
    let first = tokens(&pool, Role::Planner).await.expect("tokens");
    pool.swap("planner", "b.gguf", silent()).expect("swapped");
    assert_ne!(tokens(&pool, Role::Planner).await.expect("tokens"), first);
    pool.swap("planner", "a.gguf", silent()).expect("back");
    assert_eq!(tokens(&pool, Role::Planner).await.expect("tokens"), first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cached_prefixes_survive_a_swap() {
    let world = World::new(TWO);
    let ledger = Ledger::new(Bytes::gib(1));
    let prefixes = PrefixStore::new(ledger.clone(), Bytes::mib(64), None);
    let pool = world.pool_with(&ledger, None, EngineMemory { prefixes: Some(prefixes), ..EngineMemory::default() });
    let read = || async {
        let leased = pool.lease(Role::Planner, |_, _| true).expect("a lease");
        let prompt = leased.engine.tokenize(&Prompt::default().text("the river under a bridge of light ".repeat(45)));
        let request = Request { ignore_end: true, ..Request::new(prompt, 6) };
        leased.engine.generate(request).expect("accepted").collect().await.expect("finishes")
    };
    let cold = read().await;
    assert_eq!(cold.tally.cached_tokens, 0);
    pool.swap("planner", "b.gguf", silent()).expect("swapped");
    pool.swap("planner", "a.gguf", silent()).expect("back");
    let again = read().await;
    assert_eq!(again.tokens, cold.tokens);
    assert!(again.tally.cached_tokens * 2 > again.tally.prompt_tokens, "{:?}", again.tally);
    // Cached prefixes are dropped to make room for a model.
    pool.unload("planner").expect("unloads");
    let copies: Bytes = pool.others().iter().map(|(_, bytes)| *bytes).sum();
    assert!(copies > Bytes::ZERO, "what was read is kept");
    let rest = ledger.reserve("rest", ledger.free()).expect("all of it");
    let needed = pool.estimate_memory("planner").expect("a forecast").needed;
    let less = rest.split("less", needed - copies);
    drop(less);
    pool.load("planner", silent()).expect("room is made");
}
