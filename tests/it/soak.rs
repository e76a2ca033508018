//! Loads and unloads models at random under random budgets while others generate: the budget holds, and nothing crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use monobloc::base::Bytes;
use monobloc::budget::Ledger;
use monobloc::engine::pool::{Active, Pool};
use monobloc::models::Role;

use crate::models::smollm;
use crate::pool::{World, silent, tokens};

const SEED: u64 = 3;
/// Number of budgets, and of random operations under each: about 15 seconds on two slow cores.
const BUDGETS: usize = 5;
const DEEDS: usize = 24;
/// Number of attempts at an operation that is refused with "try again": half a minute.
const TRIES_MAX: usize = 6;
const NAMES: [&str; 5] = ["planner", "router", "a.gguf", "b.gguf", "smollm"];
/// Small contexts, so that most memory is weights; two roles with different settings.
const ROLES: &str = "[planner]\nfile = \"a.gguf\"\ncontext = 512\nkeep_alive_s = 1\n[router]\nfile = \"b.gguf\"\ncontext = 256\nslots = 1\nkeep_alive_s = 0\n";

fn world() -> World {
    let world = World::new(ROLES);
    std::os::unix::fs::symlink(smollm(), world.file("smollm.gguf")).expect("a link");
    world
}

/// Whether a refusal gives numbers or the reason.
fn is_explained(refusal: &str) -> bool {
    let arithmetic = refusal.contains(" needs ") && refusal.contains(" are free; ") && refusal.contains("iB");
    let reasons = ["is not loaded", "is pinned; unpin it first", "is in use; wait", "--max-loaded 2 allows"];
    arithmetic || reasons.iter().any(|reason| refusal.contains(reason))
}

/// Checks that neither the ledger's entries nor the models in memory exceed the budget.
fn check(pool: &Pool, ledger: &Ledger, deed: &str) {
    let held: Bytes = ledger.entries().iter().map(|entry| entry.bytes.host).sum();
    assert!(held <= ledger.capacity().host, "after {deed}: {held} of {} are held", ledger.capacity().host);
    let models = pool.active();
    let active: Bytes = models.iter().map(Active::bytes).sum();
    assert!(active <= ledger.capacity().host, "after {deed}: {models:?}");
}

/// Repeats an operation that is refused with "try again", since a busy machine may need longer to
/// free memory than the pool waits.
fn retried<T, E: ToString>(mut act: impl FnMut() -> Result<T, E>) -> Result<T, String> {
    let mut done = act().map_err(|error| error.to_string());
    for _ in 1..TRIES_MAX {
        match &done {
            Err(refusal) if refusal.ends_with("try again") => done = act().map_err(|error| error.to_string()),
            _ => break,
        }
    }
    done
}

fn deed(pool: &Pool, random: &mut fastrand::Rng) -> (String, Result<(), String>) {
    let mut name = || NAMES[random.usize(..NAMES.len())];
    let (one, other) = (name(), name());
    let (what, done) = match random.u8(..10) {
        0..4 => (format!("load {one}"), retried(|| pool.load(one, silent()).map(drop))),
        4 | 5 => (format!("unload {one}"), retried(|| pool.unload(one).map(drop))),
        6 | 7 => (format!("swap {one} {other}"), retried(|| pool.swap(one, other, silent()).map(drop))),
        8 => (format!("pin {one}"), retried(|| pool.pin(one, true).map(drop))),
        _ => (format!("unpin {one}"), retried(|| pool.pin(one, false).map(drop))),
    };
    (what, done)
}

/// Random operations under one budget while another task generates. Returns the numbers of
/// successful and refused operations, and of generated tokens.
async fn round(world: &World, budget: Bytes, random: &mut fastrand::Rng) -> (usize, usize, usize) {
    let ledger = Ledger::new(budget);
    let pool = world.pool(&ledger, random.bool().then_some(2));
    let (over, generated) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let speaker = tokio::spawn({
        let (pool, over, generated) = (pool.clone(), over.clone(), generated.clone());
        async move {
            for turn in 0..DEEDS {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                match tokens(&pool, [Role::Planner, Role::Router][turn % 2]).await {
                    Ok(tokens) => generated.fetch_add(tokens.len(), Ordering::SeqCst),
                    Err(refusal) => panic_unless_explained(&refusal),
                };
            }
        }
    });
    let mut refused = 0;
    for _ in 0..DEEDS {
        let (pool_too, mut own) = (pool.clone(), random.fork());
        let (what, done) = tokio::task::spawn_blocking(move || deed(&pool_too, &mut own)).await.expect("no crash");
        check(&pool, &ledger, &what);
        if let Err(refusal) = done {
            assert!(is_explained(&refusal), "{what}: {refusal}");
            refused += 1;
        }
    }
    over.store(true, Ordering::SeqCst);
    speaker.await.expect("no crash");
    for name in NAMES {
        // This fails if the model is not loaded, which is fine.
        let _ = pool.pin(name, false);
        if let Err(refusal) = retried(|| pool.unload(name)) {
            assert!(refusal.contains("is not loaded"), "nobody holds {name} any more: {refusal}");
        }
    }
    assert_eq!((ledger.free().host, ledger.entries().len()), (budget, 0), "all of it comes back");
    (DEEDS - refused, refused, generated.load(Ordering::SeqCst))
}

fn panic_unless_explained(refusal: &str) -> usize {
    assert!(is_explained(refusal), "{refusal}");
    0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_budget_holds_while_models_are_loaded_and_unloaded_at_random() {
    let world = world();
    let mut random = fastrand::Rng::with_seed(SEED);
    let large = world.pool(&Ledger::new(Bytes::gib(4)), None);
    let needs = NAMES.map(|name| large.estimate_memory(name).expect("a forecast").needed);
    let most: Bytes = needs.iter().copied().sum();
    let (mut done, mut refused, mut generated) = (0, 0, 0);
    for _ in 0..BUDGETS {
        let budget = Bytes(random.u64(needs[0].0 / 2..most.0));
        let (well, not, tokens) = round(&world, budget, &mut random).await;
        (done, refused, generated) = (done + well, refused + not, generated + tokens);
    }
    assert!(done > 0 && refused > 0 && generated > 0, "{done} done, {refused} refused, {generated} tokens");
}
