//! Checks which built-in tools are chosen for requests about code, with the real embedder.

use monobloc::base::Cancel;
use monobloc::embed::{Embedder, Options};
use monobloc::language::clauses;
use monobloc::request::forms;
use monobloc::tools::{Catalog, Prefilter};

use crate::models;

/// A request, and the tools that are right for it, separated by spaces.
const TABLE: &[(&str, &str)] = &[
    ("Where is the function hub_cache_dir defined?", "index_find_files"),
    ("Find the definition of the enum Verdict", "index_find_files index_search"),
    ("How does the budget manager evict models?", "index_search"),
    ("How are tool calls approved?", "index_search"),
    ("Where is the retry logic?", "index_search"),
    ("Why does the worker cancel a stream?", "index_search"),
    ("What happens when the embedder is missing?", "index_search"),
    ("How many tools are offered to the model?", "index_search"),
    ("which files import src/models/pull.rs", "index_dependents"),
    ("What depends on src/base/mod.rs?", "index_dependents"),
    ("What does src/models/pull.rs import?", "index_imports"),
    ("Who calls hub_cache_dir?", "index_callers"),
    ("Which functions call Engine::score", "index_callers"),
    ("What does run_turn call?", "index_callees"),
    ("Which functions does plan::make use?", "index_callees"),
    ("What would break if I change read_manifest?", "index_impact"),
    ("Show the functions in src/app.rs", "index_read_file"),
    ("Give me an outline of src/tools/catalog.rs", "index_read_file"),
    ("Read src/app.rs", "read_file"),
    ("Show me the contents of Cargo.toml", "read_file"),
    ("Summarize src/main.rs", "read_file"),
    ("List the files in src/tools", "list_dir"),
    ("What files are in src/budget?", "list_dir"),
    ("Find all files named *.md", "find_files"),
    ("Find every toml file", "find_files"),
    ("Search for TODO in src", "search_text"),
    ("Which files contain the word eviction?", "search_text"),
    ("Run cargo test", "run_command"),
    ("Run the tests with cargo test", "run_command"),
    ("Show the git log", "run_command"),
    ("Execute cargo build --release", "run_command"),
    ("Create a file notes.txt with the text hello", "write_file"),
    ("Replace 5 with 3 in src/retry.rs", "replace_in_file"),
    ("Change the constant K1 in src/tools/features.rs to 1.5", "replace_in_file"),
    ("Delete the file notes.txt", "delete_file"),
    ("Remove src/legacy/old.rs", "delete_file"),
    ("Get rid of the file tmp/debug.log", "delete_file"),
    ("Rename src/a.rs to src/b.rs", "move_file"),
    ("Move the file docs/old.md into archive/", "move_file"),
    ("Remove the unused imports from src/lib.rs", "replace_in_file"),
    ("In src/app.rs rename getUser to loadUser", "replace_in_file"),
    ("What did I learn last time about tests?", "index_list_memories"),
];

#[test]
fn requests_about_code_get_the_right_tool() {
    let embedder = Embedder::open(&models::model("all-MiniLM-L6-v2"), Options::default()).expect("an embedder");
    let catalog = Catalog::builtin();
    let filter = Prefilter::embedded(catalog.specs(), Some(&embedder), &Cancel::new()).expect("vectors");
    let mut wrong = Vec::new();
    for (request, right) in TABLE {
        let part = clauses::parts(request).remove(0);
        let vector = embedder.embed_one(&filter.without_values(request)).expect("a vector");
        let best = filter.select(request, Some(&vector), 15)[0];
        let name = forms::symbol(&part, None);
        let by_form = forms::asked(&part, name.as_deref()).map(|builtin| builtin.name());
        let chosen = by_form.unwrap_or(&catalog.specs()[best.index].name);
        if !right.split(' ').any(|one| one == chosen) || by_form.is_none() && best.fits < 0.0 {
            wrong.push(format!("{request}: {chosen} ({:.1})", best.fits));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn requests_that_have_nothing_to_do_with_code_fit_no_tool() {
    let embedder = Embedder::open(&models::model("all-MiniLM-L6-v2"), Options::default()).expect("an embedder");
    let catalog = Catalog::builtin();
    // With one tool only: among many it is harder to exclude all of them.
    let filter = Prefilter::embedded(&catalog.specs()[..1], Some(&embedder), &Cancel::new()).expect("vectors");
    let fits = |request: &str| {
        let vector = embedder.embed_one(&filter.without_values(request)).expect("a vector");
        filter.select(request, Some(&vector), 1)[0].fits
    };
    for far in ["Turn on the lights in the kitchen", "Water the roses in the garden", "Convert 20 euros to dollars"] {
        assert!(fits(far) < 0.0 && fits("Read the file notes.txt") > 0.0, "{far}: {}", fits(far));
    }
}
