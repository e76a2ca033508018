//! Tells names of persons and home addresses from other words with capital letters: the router says in which list it
//! would sooner see them.
//!
//! Measured on the held-out half of `tests/data/personal.txt`, 100 sentences with 59 private things: patterns alone find
//! 18 and nothing else; with the 135M router 54 are found, and 3 other things. (`tests/it/names.rs`)

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::base::mask::Judge;
use crate::base::names::Form;
use crate::budget::permit::Priority;
use crate::engine::pool::Pool;
use crate::engine::{Engine, Token};
use crate::models::Role;
use crate::models::dialect::Prompt;

/// Lists in which a name is, or is not: what else is written with capital letters in projects.
const NAMES: [&str; 4] = [
    "A list of people I know: John Smith, Maria Garcia, Anna, Ivan Petrov, Yuki Tanaka, Ahmed, Sarah O'Connor, Priya Sharma,",
    "A list of software terms: Hash Table, Docker, Error Handling, Kubernetes, Load Balancer, Access Denied, README, Dependency Injection,",
    "A list of companies, places and dates: Microsoft, Paris, Red Cross, Monday, United Nations, North America, June, Coca Cola,",
    "A list of words and phrases: Please, Write, Best Practices, The, Getting Help, Run, Table, Our Terms,",
];
const ADDRESSES: [&str; 2] = [
    "A list of home addresses: 12 Oak Street, 7 High Road, Lindenstraße 4, 120 Park Lane, 33 Mill Close,",
    "A list of numbered things: 12 Angry Men, 7 Wonders, Chapter 4, 120 Main Points, 33 Error Codes,",
];
/// Verdicts that are remembered; then all are forgotten.
const KNOWN_MAX: usize = 4_096;

/// The router, and what it has said so far.
pub struct Names {
    pool: Pool,
    known: Mutex<HashMap<(Form, String), f64>>,
}

impl Names {
    pub fn new(pool: Pool) -> Names {
        Names { pool, known: Mutex::default() }
    }

    fn ask(&self, asked: &[(Form, &str)]) -> Result<Vec<f64>, String> {
        let leased = self.pool.lease(Role::Router, |_, _| true).map_err(|error| error.to_string())?;
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
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fresh: Vec<(Form, &str)> = asked.iter().filter(|one| !known.contains_key(&key(one))).copied().collect();
        fresh.sort_by_key(|(_, text)| *text);
        fresh.dedup();
        if !fresh.is_empty() {
            if known.len() + fresh.len() > KNOWN_MAX {
                known.clear();
            }
            // On a thread of its own, because whoever writes the journal may be in the middle of asynchronous work.
            let said = thread::scope(|scope| scope.spawn(|| self.ask(&fresh)).join());
            match said.unwrap_or_else(|_| Err("it panicked".to_owned())) {
                Ok(odds) => known.extend(fresh.iter().map(key).zip(odds)),
                Err(error) => tracing::warn!(%error, "the router judges no names; all that may be one is masked"),
            }
        }
        asked.iter().map(|one| known.get(&key(one)).copied().unwrap_or(f64::INFINITY)).collect()
    }
}

async fn score(engine: &Engine, list: Vec<Token>, texts: Vec<Vec<Token>>) -> Result<Vec<f64>, String> {
    engine.score(list, texts, Priority::Step).await.map(|scores| scores.sums).map_err(|error| error.to_string())
}

/// The logarithm of the sum of what these are logarithms of.
fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    most + logs.map(|log| (log - most).exp()).sum::<f64>().ln()
}
