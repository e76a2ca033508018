//! Masking of private data: patterns find values by their form; the small router adds names and addresses.

use std::ops::Range;
use std::sync::Arc;

use monobloc::agent::private_names::Names;
use monobloc::base::mask::{Judge, Mask};
use monobloc::base::names::{Form, candidates};
use monobloc::base::private;
use monobloc::base::{Bytes, Cancel};
use monobloc::budget::Ledger;
use monobloc::budget::permit::Permit;
use monobloc::config::Config;
use monobloc::config::{Exact, FlashAttention};
use monobloc::engine::pool::{EngineMemory, Pool, PoolOptions};
use monobloc::models::Registry;

use crate::cli::{Project, Run};
use crate::models;

/// Numbers of (correct, found, expected) places.
type Sums = (usize, usize, usize);

const HELD_OUT: &str = "# held out";

/// The sentences below a heading.
fn part(heading: &str) -> impl Iterator<Item = &'static str> {
    let all = include_str!("../data/personal.txt").lines().skip_while(move |line| *line != heading).skip(1);
    all.take_while(|line| !line.starts_with("# ")).filter(|line| !line.is_empty())
}

/// A sentence without its marks, and the ranges that were between `⟨` and `⟩`.
fn unmarked(marked: &str) -> (String, Vec<Range<usize>>) {
    let (mut plain, mut wanted, mut start) = (String::new(), Vec::new(), 0);
    for c in marked.chars() {
        match c {
            '⟨' => start = plain.len(),
            '⟩' => wanted.push(start..plain.len()),
            c => plain.push(c),
        }
    }
    (plain, wanted)
}

/// The ranges of a text that masking replaced, computed as the gaps between the unchanged pieces.
fn masked(plain: &str, mask: &Mask) -> Vec<Range<usize>> {
    let text = mask.apply(plain).into_owned();
    let (mut found, mut at) = (Vec::new(), 0);
    for (n, piece) in text.split(['[', ']']).step_by(2).enumerate() {
        let next = match (n, piece) {
            (0, _) => 0,
            (_, "") => plain.len(),
            (_, piece) => at + plain[at..].find(piece).expect("a piece of the text"),
        };
        found.extend((n > 0).then_some(at..next));
        at = next + piece.len();
    }
    found
}

/// Compares the ranges that `find` returns with the marked ones; prints sentences with differences.
fn measured<'a>(marked: impl Iterator<Item = &'a str>, find: impl Fn(&str) -> Vec<Range<usize>>) -> Sums {
    marked.map(unmarked).fold((0, 0, 0), |sums, (plain, wanted)| {
        let found = find(&plain);
        let right = found.iter().filter(|place| wanted.contains(place)).count();
        if right != wanted.len() || right != found.len() {
            let shown: Vec<&str> = found.iter().map(|place| &plain[place.clone()]).collect();
            println!("  {plain}: {shown:?}");
        }
        (sums.0 + right, sums.1 + found.len(), sums.2 + wanted.len())
    })
}

fn print_shares(what: &str, (right, found, wanted): Sums) {
    println!("{what}: precision {right}/{found}, recall {right}/{wanted}");
}

fn judge() -> Names {
    let config = Config { model_dir: Some(models::folder()), ..Config::default() };
    let options = PoolOptions {
        threads: 2,
        slots: 1,
        flash: FlashAttention::Auto,
        tool_call_format: None,
        max_loaded: None,
        repack: true,
        exact: Exact::Auto,
        image_tokens: None,
        memory: EngineMemory::default(),
        trial: None,
    };
    let registry = Registry::open(&config).expect("a registry");
    Names::new(Pool::new(registry, Ledger::new(Bytes::gib(2)), Permit::new(), options), Cancel::new())
}

/// Measured on the held-out half; the thresholds were set on the other half.
#[test]
fn the_small_router_finds_names_that_patterns_miss() {
    let judge = judge();
    let texts: Vec<String> = part(HELD_OUT).map(|marked| unmarked(marked).0).collect();
    let all = texts.iter().flat_map(|text| candidates(text).into_iter().map(move |one| (text, one)));
    let asked: Vec<(Form, &str)> =
        all.flat_map(|(text, one)| one.readings.into_iter().map(move |at| (one.form, &text[at]))).collect();
    // Ask for all names at once: the router then reads its prompt only once.
    judge.odds(&asked);
    let names = Mask::Names(Arc::new(judge));
    let [forms, both] = [Mask::Forms, names].map(|mask| measured(part(HELD_OUT), |text| masked(text, &mask)));
    print_shares("patterns alone", forms);
    print_shares("patterns, then the router", both);
    assert_eq!(texts.len(), 100);
    assert!(both.0 * 100 >= both.2 * 85 && both.0 * 100 >= both.1 * 93, "{both:?}");
    assert!(forms.0 * 100 < forms.2 * 40, "there is nothing to find: {forms:?}");
}

#[test]
fn patterns_find_most_private_values_with_few_false_positives() {
    let set = include_str!("../data/private.txt").lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let sums = measured(set, |text| private::find(text).into_iter().map(|(_, place)| place).collect());
    print_shares("forms", sums);
    assert!(sums.0 * 100 >= sums.1 * 95 && sums.0 * 100 >= sums.2 * 90, "{sums:?}");
}

#[test]
fn names_in_requests_and_files_are_masked_in_the_journal() {
    let project = Project::todo();
    let note = "The customer is Eleanor Whitfield, 14 Birch Lane.\n";
    std::fs::write(project.path().join("notes.txt"), note).expect("a file");
    let arguments = ["ask", "Read notes.txt. Thomas Miller wants it.", "--mask-names"];
    Run::new(&project, &arguments).end().succeeded();
    let journal = project.text(".monobloc/journal.ndjson");
    for private in ["Eleanor", "Whitfield", "Birch Lane", "Thomas Miller"] {
        assert!(!journal.contains(private), "{private}: {journal}");
    }
    assert!(journal.contains("[name]") && journal.contains("notes.txt"), "{journal}");
    Run::new(&project, &["audit", "verify"]).end().succeeded();
}
