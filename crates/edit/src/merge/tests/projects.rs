//! Measures edits by name on real projects: definitions drawn from all files of a language, each edited in five ways.
//!
//! | way | what is written | expected |
//! |---|---|---|
//! | `same` | the definition as it is | the same file |
//! | `changed` | with a line of comment in its body, or another number or word in its value | only this is different |
//! | `flat` | the same, without its indentation | the same as `changed` |
//! | `first` | the same, but only the first line lacks its indentation | the same as `changed` |
//! | `two` | together with another changed definition of the same container | only these are different |

mod change;
mod outcome;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::index::language_of;
use crate::index::parts::{self, Span};
use crate::{Edit, WRITE_MAX_BYTES, apply, has_grammar, is_comment};

use super::Hints;
use change::{Change, change_of, flat, written};
use outcome::{Outcome, Tally, outcome};

/// Number of definitions tried per project and language.
const TRIED: usize = 120;
/// Minimum number of definitions of a language in a project that is measured.
const DEFINITIONS_MIN: usize = 50;

const WAYS: [&str; 5] = ["same", "changed", "flat", "first", "two"];

/// A file with its definitions.
struct File {
    path: String,
    text: String,
    spans: Vec<Span>,
}

#[test]
#[ignore = "a measurement for BENCHMARKS.md: MONOBLOC_PROJECTS names the folder with the projects"]
fn edits_by_name_in_real_projects() {
    let folder = std::env::var("MONOBLOC_PROJECTS").expect("MONOBLOC_PROJECTS names the folder with the projects");
    let mut projects: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    projects.sort();
    println!(
        "| language | project | files | definitions | tried | {} | with the head | p50 ms | p95 ms | max ms |",
        WAYS.join(" | ")
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for project in projects.iter().filter(|path| path.is_dir()) {
        for (language, files) in files_of(project) {
            let all: Vec<(&File, usize)> =
                files.iter().flat_map(|file| (0..file.spans.len()).map(move |at| (file, at))).collect();
            if all.len() >= DEFINITIONS_MIN {
                let name = project.file_name().unwrap_or_default().to_string_lossy();
                measure(&format!("{language} | {name} | {}", files.len()), all);
            }
        }
    }
}

/// The files of a project that can be edited, by language.
fn files_of(project: &Path) -> BTreeMap<&'static str, Vec<File>> {
    let mut found: BTreeMap<&'static str, Vec<File>> = BTreeMap::new();
    for entry in ignore::WalkBuilder::new(project).sort_by_file_path(Path::cmp).build().flatten() {
        let path = entry.path().strip_prefix(project).unwrap_or(entry.path()).to_string_lossy().into_owned();
        if has_grammar(&path)
            && let Ok(text) = std::fs::read_to_string(entry.path())
            && text.len() < WRITE_MAX_BYTES
        {
            let spans = parts::definitions(&path, &text);
            found.entry(language_of(&path)).or_default().push(File { path, text, spans });
        }
    }
    found
}

/// Prints a row for one language of a project, and below it each result that is not as expected.
fn measure(what: &str, mut all: Vec<(&File, usize)>) {
    let count = all.len();
    let mut random = fastrand::Rng::with_seed(5);
    random.shuffle(&mut all);
    let mut tallies: [Tally; WAYS.len()] = Default::default();
    let (mut times, mut heads) = (Vec::new(), Tally::default());
    for (file, at) in all.iter().take(TRIED) {
        let (text, span) = (file.text.as_str(), &file.spans[*at]);
        let name = format!("{}: {} at line {}", file.path, named(span), span.lines.0);
        let code = written(text, span, &[]);
        tallies[0].add(&name, outcome(file, text, &edit(file, Some(&named(span)), &code, None).0));
        let Some(change) = change_of(file, span) else { continue };
        let expected = change.made(text);
        let code = written(text, span, &[&change]);
        let (result, time) = edit(file, Some(&named(span)), &code, None);
        times.push(time);
        let done = outcome(file, &expected, &result);
        if matches!(done, Outcome::Refused(..)) {
            let (result, _) = edit(file, Some(&head(text, span)), &code, None);
            heads.add(&name, outcome(file, &expected, &result));
        }
        tallies[1].add(&name, done);
        if span.indent > 0 {
            for (way, code) in [(2, flat(file, &code, span.indent)), (3, code.trim_start().to_owned())] {
                let (result, _) = edit(file, Some(&named(span)), &code, None);
                tallies[way].add(&name, outcome(file, &expected, &result));
            }
        }
        if let Some((other, second)) = beside(file, span, &mut random) {
            let (first, last) = if span.bytes.start < other.bytes.start { (span, other) } else { (other, span) };
            let changes = [&change, &second];
            let code = written(text, first, &changes) + "\n\n" + &written(text, last, &changes);
            let (result, _) = edit(file, None, &code, span.container.last());
            let expected =
                if change.at < second.at { change.made(&second.made(text)) } else { second.made(&change.made(text)) };
            tallies[4].add(&format!("{name} and {}", named(other)), outcome(file, &expected, &result));
        }
    }
    times.sort();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).or(times.last()).copied();
    let ms = |share: f64| format!("{:.1}", at(share).unwrap_or_default().as_secs_f64() * 1e3);
    let cells = tallies.iter().map(Tally::to_string).collect::<Vec<_>>().join(" | ");
    let tried = count.min(TRIED);
    println!("| {what} | {count} | {tried} | {cells} | {heads} | {} | {} | {} |", ms(0.5), ms(0.95), ms(1.0));
    for (way, tally) in WAYS.iter().zip(&tallies) {
        tally.show(way);
    }
    heads.show("with the head");
}

/// The edit's result, and how long it took.
fn edit(
    file: &File,
    name: Option<&str>,
    code: &str,
    container: Option<&String>,
) -> (Result<crate::Applied, crate::Mismatch>, Duration) {
    let hints = Hints { container: container.cloned(), ..Hints::default() };
    let start = Instant::now();
    let result = apply(&file.path, &file.text, &Edit::Definition { name, code, hints });
    (result, start.elapsed())
}

/// The name of a definition as a model gives it, with everything around it.
fn named(span: &Span) -> String {
    span.container.iter().chain([&span.name]).map(String::as_str).collect::<Vec<_>>().join(".")
}

/// The words before a definition's body.
fn head(text: &str, span: &Span) -> String {
    let end = span.body.as_ref().map_or(span.bytes.end, |body| body.start);
    let lines = text[span.bytes.start..end]
        .lines()
        .filter(|line| !is_comment(line) && !line.trim_start().starts_with(['@', '[']));
    let words = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    words.trim_end_matches(['{', '=', ' ']).to_owned()
}

/// Another definition of the same container with a change of its own.
fn beside<'f>(file: &'f File, span: &Span, random: &mut fastrand::Rng) -> Option<(&'f Span, Change)> {
    let is_apart = |other: &&Span| other.bytes.end <= span.bytes.start || span.bytes.end <= other.bytes.start;
    let others = file.spans.iter().filter(|other| other.container == span.container);
    let others = others.filter(|other| other.name != span.name && other.indent == span.indent);
    let mut others: Vec<&Span> = others.filter(is_apart).collect();
    random.shuffle(&mut others);
    others.into_iter().find_map(|other| Some((other, change_of(file, other)?)))
}
