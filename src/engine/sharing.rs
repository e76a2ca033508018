//! Finds out, by comparing logits, where sequences of one model may share a call without changing each other's words.
//!
//! Kernels pick their order of summation by the number of rows and the length of what is looked back on, so "a slot's
//! tokens are those of a solo run" is a fact of one build on one machine, and of one regime. Nothing is taken on trust:
//! the first calls of a regime are computed both ways, the solo result is used, and the verdict is kept for good.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::file;

/// Equal calls that make a regime proved. One could be luck of a short sum; three of them share no row of logits.
const PROOFS: u8 = 3;
/// Lengths are told apart by powers of two from here on; ggml pads what is looked back on to multiples of 256.
const SPAN_MIN: usize = 256;

/// What decides which kernels a call runs through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Regime {
    pub rows: usize,
    /// The longest and the shortest sequence of the call, rounded up to a power of two.
    pub longest: usize,
    pub shortest: usize,
}

impl Regime {
    /// Of a call that adds one token to each sequence of `lengths`.
    pub fn of(lengths: &[usize]) -> Regime {
        let span = |length: usize| (length + 1).next_power_of_two().max(SPAN_MIN);
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let shortest = lengths.iter().copied().min().unwrap_or(0);
        Regime { rows: lengths.len(), longest: span(longest), shortest: span(shortest) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Share the call.
    Proved,
    /// One call each.
    Refuted,
    /// Compute both ways, use the solo result, and tell [`Verdicts::found`].
    Open,
}

/// The verdicts on one model on this machine.
#[derive(Debug, Default)]
pub struct Verdicts {
    proofs: BTreeMap<Regime, u8>,
    /// A model that differed once is never shared again, in any regime.
    refuted: Option<Regime>,
    file: Option<PathBuf>,
}

/// The file: what was proved, and what was refuted.
#[derive(Serialize, Deserialize)]
struct Stored {
    proved: Vec<Regime>,
    refuted: Option<Regime>,
}

impl Verdicts {
    /// Verdicts kept in `file`; what cannot be read counts as not known.
    pub fn open(file: PathBuf) -> Verdicts {
        let stored = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        let stored = stored.unwrap_or(Stored { proved: Vec::new(), refuted: None });
        let proofs = stored.proved.into_iter().map(|regime| (regime, PROOFS)).collect();
        Verdicts { proofs, refuted: stored.refuted, file: Some(file) }
    }

    pub fn on(&self, regime: Regime) -> Verdict {
        match (self.refuted, self.proofs.get(&regime)) {
            (Some(_), _) => Verdict::Refuted,
            (None, Some(&PROOFS)) => Verdict::Proved,
            (None, _) => Verdict::Open,
        }
    }

    /// Takes the result of one comparison in.
    pub fn found(&mut self, regime: Regime, equal: bool) {
        match equal {
            true => {
                let proofs = self.proofs.entry(regime).or_default();
                *proofs = (*proofs + 1).min(PROOFS);
                if *proofs < PROOFS {
                    return;
                }
                tracing::info!(?regime, "sharing or splitting calls changes nothing here");
            }
            false => {
                self.refuted = Some(regime);
                tracing::info!(
                    ?regime,
                    "sharing or splitting calls changes logits; this model's are made whole, and one a sequence"
                );
            }
        }
        if let Err(error) = self.write() {
            tracing::debug!(%error, "verdicts could not be kept; the next run compares again");
        }
    }

    fn write(&self) -> std::io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let proved = self.proofs.iter().filter(|(_, proofs)| **proofs == PROOFS).map(|(regime, _)| *regime).collect();
        file::replace(path, &serde_json::to_vec(&Stored { proved, refuted: self.refuted })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regime_is_rows_and_powers_of_two() {
        assert_eq!(Regime::of(&[17, 300]), Regime { rows: 2, longest: 512, shortest: 256 });
        assert_eq!(Regime::of(&[511]), Regime { rows: 1, longest: 512, shortest: 512 });
        assert_eq!(Regime::of(&[512]), Regime { rows: 1, longest: 1024, shortest: 1024 });
    }

    #[test]
    fn equal_calls_prove_a_regime_and_one_difference_refutes_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("verdicts").join("m.json");
        let mut verdicts = Verdicts::open(file.clone());
        let (short, long) = (Regime::of(&[10, 20]), Regime::of(&[10, 900]));
        for _ in 0..PROOFS {
            assert_eq!(verdicts.on(short), Verdict::Open);
            verdicts.found(short, true);
        }
        assert_eq!(verdicts.on(short), Verdict::Proved);
        assert_eq!(verdicts.on(long), Verdict::Open);
        assert_eq!(Verdicts::open(file.clone()).on(short), Verdict::Proved);
        verdicts.found(long, false);
        assert_eq!(verdicts.on(short), Verdict::Refuted);
        assert_eq!(Verdicts::open(file).on(short), Verdict::Refuted);
    }

    #[test]
    fn a_broken_file_is_no_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.json");
        fs::write(&file, "{").unwrap();
        assert_eq!(Verdicts::open(file).on(Regime::of(&[1, 2])), Verdict::Open);
    }
}
