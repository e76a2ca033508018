//! Distinguishes personal names and home addresses from other capitalised words by the router's
//! scores.
//!
//! The router scores a candidate as the next entry in a list of names and in lists of other things;
//! the verdict is the difference. Measured on the held-out half of `tests/data/personal.txt`, 100
//! sentences with 59 private names and addresses: patterns alone find 18 with no false hit; the
//! 135M router finds 54 with 3 false hits (`tests/it/names.rs`).

use crate::base::lock;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::base::Cancel;
use crate::base::mask::Judge;
use crate::base::names::Form;
use crate::budget::permit::Priority;
use crate::engine::pool::{Leased, Pool, PoolError};
use crate::engine::{Engine, Token};
use crate::models::Role;
use crate::models::dialect::Prompt;

/// A list of names, then lists of other things that projects capitalise.
const NAMES: [&str; 4] = [
    "A list of people I know: John Smith, Maria Garcia, Anna, Ivan Petrov, Yuki Tanaka, Ahmed, Sarah O'Connor, Priya Sharma,",
    "A list of software terms: Hash Table, Docker, Error Handling, Kubernetes, Load Balancer, Access Denied, README, Dependency Injection,",
    "A list of companies, places and dates: Microsoft, Paris, Red Cross, Monday, United Nations, North America, June, Coca Cola,",
    "A list of words and phrases: Please, Write, Best Practices, The, Getting Help, Run, Table, Our Terms,",
];
/// A list of addresses, then a list of other numbered things.
const ADDRESSES: [&str; 2] = [
    "A list of home addresses: 12 Oak Street, 7 High Road, Lindenstraße 4, 120 Park Lane, 33 Mill Close,",
    "A list of numbered things: 12 Angry Men, 7 Wonders, Chapter 4, 120 Main Points, 33 Error Codes,",
];
/// Maximum number of verdicts kept; once it is reached, all earlier ones are dropped.
const KNOWN_MAX: usize = 4_096;

/// How long the router is not asked again after a failure; otherwise every record would wait for a
/// failing load.
const SILENT: Duration = Duration::from_secs(60);

/// The router and its verdicts so far.
pub struct Names {
    pool: Pool,
    /// Cancels a load in progress.
    cancel: Cancel,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    known: HashMap<(Form, String), f64>,
    /// The time of the router's last failure.
    failed: Option<Instant>,
}

impl Names {
    pub fn new(pool: Pool, cancel: Cancel) -> Names {
        Names { pool, cancel, memory: Mutex::default() }
    }

    /// Locked only briefly, so that writing a record with known names never waits for a model.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }

    fn router(&self) -> Result<Leased, PoolError> {
        let cancel = self.cancel.clone();
        let loaded = || self.pool.lease(Role::Router, move |_, _| !cancel.is_cancelled());
        self.pool.resident(Role::Router).map_or_else(loaded, Ok)
    }

    /// The router's log odds for each candidate.
    fn ask(&self, asked: &[(Form, &str)]) -> Result<Vec<f64>, String> {
        let leased = self.router().map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
        let mut odds = vec![0.0; asked.len()];
        for (form, lists) in [(Form::Name, &NAMES[..]), (Form::Address, &ADDRESSES[..])] {
            let places: Vec<usize> = (0..asked.len()).filter(|at| asked[*at].0 == form).collect();
            let tokens = |text: &str| leased.engine.tokenize(&Prompt::default().text(text));
            let texts: Vec<Vec<Token>> = places.iter().map(|at| tokens(&format!(" {},", asked[*at].1))).collect();
            if texts.is_empty() {
                continue;
            }
            let sums = |list: &&str| runtime.block_on(score(&leased.engine, tokens(list), texts.clone()));
            let all = lists.iter().map(sums).collect::<Result<Vec<_>, _>>()?;
            for (n, at) in places.into_iter().enumerate() {
                odds[at] = all[0][n] - log_sum(all[1..].iter().map(|sums| sums[n]));
            }
        }
        Ok(odds)
    }
}

impl Judge for Names {
    fn odds(&self, asked: &[(Form, &str)]) -> Vec<f64> {
        let key = |(form, text): &(Form, &str)| (*form, (*text).to_owned());
        let (mut odds, silent): (Vec<Option<f64>>, bool) = {
            let memory = self.memory();
            let known = asked.iter().map(|one| memory.known.get(&key(one)).copied());
            (known.collect(), memory.failed.is_some_and(|at| at.elapsed() < SILENT))
        };
        let unknown = asked.iter().zip(&odds).filter(|(_, odds)| odds.is_none());
        let mut fresh: Vec<(Form, &str)> = unknown.map(|(one, _)| *one).collect();
        fresh.sort_by_key(|(_, text)| *text);
        fresh.dedup();
        if !fresh.is_empty() && !silent {
            // On a separate thread: the journal may be written inside an async runtime, which must
            // not block.
            let scored = thread::scope(|scope| scope.spawn(|| self.ask(&fresh)).join());
            match scored.unwrap_or_else(|_| Err("it panicked".to_owned())) {
                Ok(scores) => {
                    let scores: HashMap<(Form, &str), f64> = fresh.iter().copied().zip(scores).collect();
                    for (one, odds) in asked.iter().zip(&mut odds) {
                        *odds = odds.or_else(|| scores.get(one).copied());
                    }
                    self.memory().learn(scores);
                }
                Err(error) => {
                    let wait_s = SILENT.as_secs();
                    tracing::warn!(%error, wait_s, "the router cannot judge names; every possible name is masked");
                    self.memory().failed = Some(Instant::now());
                }
            }
        }
        odds.into_iter().map(|odds| odds.unwrap_or(f64::INFINITY)).collect()
    }
}

impl Memory {
    fn learn(&mut self, scores: HashMap<(Form, &str), f64>) {
        if self.known.len() + scores.len() > KNOWN_MAX {
            self.known.clear();
        }
        self.known.extend(scores.into_iter().map(|((form, text), odds)| ((form, text.to_owned()), odds)));
    }
}

/// For each text, the log probability that it continues `list`.
async fn score(engine: &Engine, list: Vec<Token>, texts: Vec<Vec<Token>>) -> Result<Vec<f64>, String> {
    engine.score(list, texts, Priority::Background).await.map(|scores| scores.sums).map_err(|error| error.to_string())
}

/// log(Σ exp(log)), computed without overflow.
fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    most + logs.map(|log| (log - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::scripted::Script;
    use crate::models::dialect;

    fn names(role: Role, script: Script) -> Names {
        let dialect = dialect::by_name("chatml").unwrap();
        Names::new(Pool::scripted(vec![(role, script)], dialect).unwrap(), Cancel::new())
    }

    #[test]
    fn a_verdict_survives_the_call_that_fills_the_memory() {
        let names = names(Role::Router, Script::saying(""));
        let ada = (Form::Name, "Ada");
        let odds = names.odds(&[ada]);
        assert!(odds[0].is_finite());
        let filler = (0..KNOWN_MAX).map(|n| ((Form::Name, format!("Other {n}")), -1.0));
        names.memory().known.extend(filler);
        assert_eq!(names.odds(&[(Form::Name, "Grace"), ada])[1], odds[0]);
        assert!(names.memory().known.len() <= KNOWN_MAX);
    }

    #[test]
    fn an_unavailable_router_is_not_asked_for_every_record() {
        let nobody = names(Role::Planner, Script::saying(""));
        assert_eq!(nobody.odds(&[(Form::Name, "Ada")]), [f64::INFINITY]);
        let failed = nobody.memory().failed;
        assert!(failed.is_some());
        assert_eq!(nobody.odds(&[(Form::Name, "Grace")]), [f64::INFINITY]);
        assert_eq!(nobody.memory().failed, failed, "it was asked again");
        // After the pause, the router is asked again.
        let names = names(Role::Router, Script::saying(""));
        names.memory().failed = Some(Instant::now());
        assert_eq!(names.odds(&[(Form::Name, "Ada")]), [f64::INFINITY]);
        names.memory().failed = Instant::now().checked_sub(SILENT);
        assert!(names.odds(&[(Form::Name, "Ada")])[0].is_finite());
    }

    #[test]
    fn known_names_are_answered_while_the_router_is_busy() {
        let mut slow = Script::saying("");
        slow.row_time = Duration::from_millis(5);
        let names = names(Role::Router, slow);
        names.memory().known.insert((Form::Name, "Ada".to_owned()), 1.0);
        thread::scope(|scope| {
            // About 400 rows.
            let asked = scope.spawn(|| names.odds(&[(Form::Name, "Grace")]));
            thread::sleep(Duration::from_millis(100));
            let busy = names.router().unwrap().engine.slots().into_iter().flatten().next();
            assert_eq!(busy.map(|busy| busy.priority), Some(Priority::Background));
            assert_eq!(names.odds(&[(Form::Name, "Ada")]), [1.0]);
            assert!(!asked.is_finished(), "it waited for the other");
        });
    }
}
