//! Repairs code by trial: small changes made by code, then lines filled in by the model, are tried
//! on copies of the project until the failed check passes.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::agent::budget::Guided;
use crate::agent::evidence::{self, Evidence};
use crate::agent::execute::Made;
use crate::agent::toolkit::TurnError;
use crate::base::trial::Trial;
use crate::edit::executed::{self, Executed};
use crate::edit::failures::Report;
use crate::edit::{line_of, testing};
use crate::index::parts::{self, Sort, Span};
use crate::language::words;
use crate::tools::ToolCall;
use crate::tools::policy::Approved;

use super::fill;
use super::mutate::{self, Mutant, RepairHints};
use crate::agent::guide::copy::{self, Copy};
use crate::agent::guide::together::{FileEdit, changed_meanwhile};
use crate::agent::guide::{Done, Job, Stretch, refusal, verify};

/// Maximum number of suspected definitions to change, and of lines per definition.
const PLACES_MAX: usize = 8;
const LINES_MAX: usize = 300;
/// Maximum number of additional functions to change because the check executes them, of lines per
/// function, and of files searched for them.
const RAN_MAX: usize = 6;
const RAN_LINES_MAX: usize = 80;
const RAN_FILES_MAX: usize = 40;
/// Number of lines in a definition that move its lines back by one position in the order.
const LINES_A_RANK: usize = 10;
/// Maximum number of lines filled in a second time, with the old line in the prompt.
const OLD_SHOWN_MAX: usize = 2;
/// Maximum number of project copies on which changes are tried in parallel.
const COPIES_MAX: usize = 4;
/// Maximum number of characters of the check in a notice to the user.
const NOTICE_CHARS: usize = 60;
/// Additional time for a check, beyond twice the time of its failed run.
const GRACE: Duration = Duration::from_secs(3);
/// Time to look for a better change after finding one that leaves earlier failures.
const BETTER_TIME: Duration = Duration::from_secs(5);

/// A check that fails.
pub struct Check<'a> {
    pub line: &'a str,
    /// A summary of the check's output.
    pub said: &'a str,
    pub took: Duration,
    /// Earlier failures that may remain.
    pub may_fail: Option<&'a Report>,
    /// Time for changes made by code, and the same time again for lines filled in by the model.
    pub time: Duration,
}

/// A definition that may contain the mistake.
struct Place {
    path: String,
    name: String,
    lines: (usize, usize),
    bytes: Range<usize>,
    /// The complete text of the file.
    text: String,
    /// Number of lines of the file that do not parse.
    faults: usize,
}

/// A change in one place.
pub struct Mended {
    place: Arc<Place>,
    /// The complete text of the file with the change.
    text: String,
}

/// The first small change in one of `places` with which `check` passes; the project itself is not
/// changed. `None` if there is none, or if the user wants to be asked about each command.
pub async fn mend(job: Job<'_>, check: Check<'_>, places: &[Stretch]) -> Result<Option<Mended>, TurnError> {
    let mut places = definitions(job, places);
    let mut bench = Bench { job, check, copies: Vec::new() };
    if places.is_empty() || bench.right(Guided::CHECK_TIME).is_none() {
        return Ok(None);
    }
    let count = std::thread::available_parallelism().map_or(1, usize::from).min(COPIES_MAX);
    let Some(copies) = Copy::several(job, count).await? else { return Ok(None) };
    bench.copies = copies;
    let clues = RepairHints::of(job.scene.request, bench.check.said);
    if !bench.fails_as_it_is().await? {
        return Ok(None);
    }
    let is_known = places.iter().any(|place| executed::is_known(&place.path));
    let executed = match bench.copies.first().filter(|_| is_known) {
        Some(copy) => copy.executed(job, bench.check.line, bench.limit()).await,
        None => Executed::default(),
    };
    places.extend(also_executed(job, &places, &executed));
    match by_code(&mut bench, &places, &clues, &executed).await? {
        Some(found) => Ok(Some(found)),
        None if job.writes => by_the_model(&mut bench, &places, &clues, &executed).await,
        None => Ok(None),
    }
}

/// Tries the mutants of all places.
async fn by_code(
    bench: &mut Bench<'_>,
    places: &[Arc<Place>],
    clues: &RepairHints,
    executed: &Executed,
) -> Result<Option<Mended>, TurnError> {
    let mut all: Vec<(usize, &Arc<Place>, Mutant)> = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let may_be_wrong = |at: usize| executed.may_be_wrong(&place.path, line_of(&place.text, at));
        let mutants = mutate::mutants(&place.path, &place.text, &place.bytes, clues, &may_be_wrong);
        all.extend(mutants.into_iter().map(|one| (at + one.rank, place, one)));
    }
    all.sort_by_key(|(rank, ..)| *rank);
    let line = words::shorten(bench.check.line.lines().next().unwrap_or_default(), NOTICE_CHARS);
    let host = bench.job.scene.host;
    host.notice(&format!("trying up to {} small changes on a copy until `{line}` passes", all.len()));
    let mut candidates = all.iter().map(|(_, place, one)| Mended::of(place, one.applied(&place.text)));
    let until = Instant::now() + bench.check.time;
    bench.first_that_passes(&mut candidates, until).await
}

/// Tries lines in all places, filled in by the model.
async fn by_the_model(
    bench: &mut Bench<'_>,
    places: &[Arc<Place>],
    clues: &RepairHints,
    executed: &Executed,
) -> Result<Option<Mended>, TurnError> {
    let until = Instant::now() + bench.check.time;
    let mut lines: Vec<(usize, &Arc<Place>, Range<usize>)> = Vec::new();
    for (at, place) in places.iter().enumerate() {
        // The model reads the complete definition for each line.
        let cost = place.text[place.bytes.clone()].lines().count() / LINES_A_RANK;
        let mut all = fill::lines(&place.path, &place.text, &place.bytes, clues);
        all.retain(|line| executed.may_be_wrong(&place.path, line_of(&place.text, line.start)));
        lines.extend(all.into_iter().enumerate().map(|(nth, line)| (at + nth + cost, place, line)));
    }
    lines.sort_by_key(|(rank, ..)| *rank);
    for (nth, (_, place, line)) in lines.into_iter().enumerate() {
        for shows_old in [false, true] {
            if Instant::now() >= until || shows_old && nth >= OLD_SHOWN_MAX {
                break;
            }
            let spot = fill::Spot { path: &place.path, text: &place.text, within: &place.bytes, line: &line };
            let filled = fill::fill(bench.job, spot, shows_old).await?;
            let mut candidates = filled.into_iter().map(|text| Mended::of(place, text));
            // Lines that the model has already filled in are tried even after the time is up.
            let end = until + bench.check.time;
            if let Some(found) = bench.first_that_passes(&mut candidates, end).await? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Writes a change to the project and runs the check there; reverts it if the check fails.
pub async fn keep(
    job: Job<'_>,
    mended: Mended,
    (line, check): (&str, evidence::Check),
    evidence: &mut Evidence,
) -> Result<Done, TurnError> {
    let Place { path, name, lines, text: before, .. } = &*mended.place;
    let tried = Trial::default();
    job.tries(&tried, path, &mended.text);
    match job.make_all(&[FileEdit::text(path, Some(before), &mended.text)], &[], evidence).await? {
        Made::All => {}
        Made::Stale(path) => return Ok(Done::note(changed_meanwhile(&path))),
        Made::Nothing => return Ok(Done::default()),
    }
    let Some(trouble) = verify::trouble_of(job, line, check, evidence).await? else {
        tried.accept();
        let touched = Stretch { path: path.clone(), name: name.clone(), lines: *lines };
        return Ok(Done { touched: vec![touched], ..Done::default() });
    };
    let taken_back = job.write(path, Some(&mended.text), before, evidence).await?;
    // If the user refuses, the change remains, as the note says.
    tried.accept();
    Ok(Done { taken_back, ..Done::note(refusal::not_done(taken_back, &trouble)) })
}

/// The number of failures that a change leaves, and its position among the candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Left {
    failures: usize,
    at: usize,
}

impl Mended {
    fn of(place: &Arc<Place>, text: String) -> Mended {
        Mended { place: place.clone(), text }
    }

    /// Runs the check on a copy with this change and restores the copy. Returns the number of
    /// permitted failures that remain; `None` if the check fails otherwise.
    async fn tried(&self, copy: &Copy, check: Approved<ToolCall>, may_fail: Option<&Report>) -> Option<usize> {
        let Place { path, text: before, .. } = &*self.place;
        if !copy.put(path, Some(&self.text)) {
            return None;
        }
        let failures = failures_left(copy, check, may_fail).await;
        failures.filter(|_| copy.put(path, Some(before)))
    }

    /// Whether the change differs from the file and parses equally well or better.
    fn is_worth_a_run(&self) -> bool {
        self.text != self.place.text && parts::faults(&self.place.path, &self.text).len() <= self.place.faults
    }
}

/// The innermost definitions around `places`, without tests, since changing a test can make
/// anything pass.
fn definitions(job: Job<'_>, places: &[Stretch]) -> Vec<Arc<Place>> {
    let mut found: Vec<Arc<Place>> = Vec::new();
    for place in places.iter().filter(|place| !place.name.is_empty() && !testing::is_test(&place.path)) {
        let Some(text) = job.text(&place.path) else { continue };
        let (first, last) = place.lines;
        let all = parts::definitions(&place.path, &text);
        let holds = all.iter().filter(|one| one.lines.0 <= first && last <= one.lines.1);
        // Rust tests are in the same files as the code.
        let holds = holds.filter(|one| !one.is_test && !one.container.iter().any(|name| name == "tests"));
        let Some(one) = holds.min_by_key(|one| one.lines.1 - one.lines.0) else { continue };
        let known = found.iter().any(|other| (&other.path, &other.bytes) == (&place.path, &one.bytes));
        if !known && one.lines.1 - one.lines.0 < LINES_MAX && found.len() < PLACES_MAX {
            let faults = parts::faults(&place.path, &text).len();
            let (name, lines, bytes) = (place.name.clone(), one.lines, one.bytes.clone());
            found.push(Arc::new(Place { path: place.path.clone(), name, lines, bytes, text, faults }));
        }
    }
    found
}

/// Other functions that the check executes, those that share the most words with the request first:
/// code may call them without naming them.
fn also_executed(job: Job<'_>, known: &[Arc<Place>], executed: &Executed) -> Vec<Arc<Place>> {
    let asked = job.scene.request.content();
    let mut found: Vec<(usize, Arc<Place>)> = Vec::new();
    for path in executed.paths().into_iter().filter(|path| !testing::is_test(path)).take(RAN_FILES_MAX) {
        let Some(text) = job.text(path) else { continue };
        let faults = parts::faults(path, &text).len();
        for one in parts::definitions(path, &text) {
            let is_function = one.sort == Sort::Function && one.lines.1 - one.lines.0 < RAN_LINES_MAX;
            let is_known = || known.iter().any(|other| other.path == path && other.bytes == one.bytes);
            if !is_function || one.lines.1 == one.lines.0 || !executed.has_run(path, one.lines) || is_known() {
                continue;
            }
            let said = words::content(&text[one.bytes.clone()]).intersection(asked).count();
            let Span { name, lines, bytes, .. } = one;
            let place = Place { path: path.to_owned(), name, lines, bytes, text: text.clone(), faults };
            found.push((said, Arc::new(place)));
        }
    }
    found.sort_by_key(|(said, place)| (std::cmp::Reverse(*said), place.bytes.len()));
    found.into_iter().map(|(_, place)| place).take(RAN_MAX).collect()
}

/// Runs the check on a copy. Returns the number of permitted failures that remain; `None` if the
/// check fails otherwise.
async fn failures_left(copy: &Copy, check: Approved<ToolCall>, may_fail: Option<&Report>) -> Option<usize> {
    let outcome = copy.run(check).await;
    if outcome.is_ok() {
        return Some(0);
    }
    let report = copy.report(&outcome);
    may_fail.filter(|before| report.is_no_worse_than(before)).map(|_| report.failed)
}

/// The check, and the copies on which candidates are tried.
struct Bench<'a> {
    job: Job<'a>,
    check: Check<'a>,
    copies: Vec<Copy>,
}

impl Bench<'_> {
    /// Runs the check, without a change, on every copy. If it passes there, it cannot prove a
    /// change. This also does the first build of each copy, which takes longest.
    async fn fails_as_it_is(&mut self) -> Result<bool, TurnError> {
        let mut running = JoinSet::new();
        for copy in std::mem::take(&mut self.copies) {
            let Some(right) = self.right(Guided::CHECK_TIME) else { return Ok(false) };
            let may_fail = self.check.may_fail.cloned();
            running.spawn(async move { (failures_left(&copy, right, may_fail.as_ref()).await.is_some(), copy) });
        }
        let mut fails = true;
        while let Some(ended) = running.join_next().await {
            let (passes, copy) = ended.map_err(|error| TurnError::Lost(error.to_string()))?;
            fails &= !passes;
            self.copies.push(copy);
        }
        Ok(fails)
    }

    /// Tries `candidates` in order, some in parallel, until one passes or the time is up.
    async fn first_that_passes(
        &mut self,
        candidates: &mut (dyn Iterator<Item = Mended> + Send),
        until: Instant,
    ) -> Result<Option<Mended>, TurnError> {
        let mut running = JoinSet::new();
        let mut best: Option<(Left, Mended)> = None;
        let (mut until, mut candidates) = (until, candidates.enumerate());
        let may_fail = self.check.may_fail.cloned().map(Arc::new);
        loop {
            while best.as_ref().is_none_or(|(left, _)| left.failures > 0)
                && Instant::now() < until
                && let Some(copy) = self.copies.pop()
            {
                let next = candidates.find(|(_, change)| change.is_worth_a_run());
                let (Some((at, change)), Some(right)) = (next, self.right(self.limit())) else {
                    self.copies.push(copy);
                    break;
                };
                let may_fail = may_fail.clone();
                running.spawn(async move { (change.tried(&copy, right, may_fail.as_deref()).await, at, change, copy) });
            }
            let Some(ended) = running.join_next().await else { break };
            let (failures, at, change, copy) = ended.map_err(|error| TurnError::Lost(error.to_string()))?;
            self.copies.push(copy);
            let left = failures.map(|failures| Left { failures, at });
            if let Some(left) = left.filter(|left| best.as_ref().is_none_or(|(other, _)| left < other)) {
                best = Some((left, change));
                until = until.min(Instant::now() + BETTER_TIME);
            }
            if self.job.scene.toolkit.cancel.is_cancelled() {
                return Err(TurnError::Cancelled);
            }
        }
        tracing::debug!(best = ?best.as_ref().map(|(left, _)| left), "trials");
        Ok(best.map(|(_, change)| change))
    }

    /// Time limit for the check on a copy that has already been built.
    fn limit(&self) -> Duration {
        (2 * self.check.took + GRACE).min(Guided::CHECK_TIME)
    }

    /// Permission to run the check again; the user gave it when the check ran in the project.
    fn right(&self, limit: Duration) -> Option<Approved<ToolCall>> {
        copy::right(self.job, self.check.line, limit)
    }
}
