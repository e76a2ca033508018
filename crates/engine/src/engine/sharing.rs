//! Compares logits to determine whether sequences may share a call without changing each other's tokens.
//!
//! Kernels choose their order of summation by the number of rows and the context length, so whether
//! a slot's tokens equal those of a solo run depends on the build, the machine and the regime (rows
//! and lengths). So it is measured: the first calls of a regime are computed both ways, the solo
//! result is used, and the verdict is stored on disk.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::file;

/// Number of equal calls that prove a regime. One could be equal by chance; three compare different
/// logits.
const PROOFS: u8 = 3;
/// From this length on, lengths are grouped by powers of two; ggml pads the context to multiples of
/// 256.
const SPAN_MIN: usize = 256;

/// The conditions that determine which kernels a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Regime {
    pub rows: usize,
    /// Lengths of the call's longest and shortest sequence, rounded up to a power of two.
    pub longest: usize,
    pub shortest: usize,
}

impl Regime {
    /// The regime of a call that adds one token to each sequence of `lengths`.
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
    /// Unknown so far: compute both ways, use the solo result, and report to [`Verdicts::found`].
    Open,
}

/// The verdicts for one model on this machine.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// Number of equal calls so far in each regime, up to [`PROOFS`].
    proofs: BTreeMap<Regime, u8>,
    /// The regime in which logits differed. After that, the model never shares calls, in any
    /// regime.
    refuted: Option<Regime>,
    file: Option<PathBuf>,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Stored {
    proved: Vec<Regime>,
    refuted: Option<Regime>,
}

impl Verdicts {
    /// The verdicts stored in `file`; an unreadable file counts as empty.
    pub fn open(file: PathBuf) -> Verdicts {
        let stored = file::read_json(&file).unwrap_or(Stored { proved: Vec::new(), refuted: None });
        let proofs = stored.proved.into_iter().map(|regime| (regime, PROOFS)).collect();
        Verdicts { proofs, refuted: stored.refuted, file: Some(file) }
    }

    /// Whether logits differed in some regime: the model then never shares calls.
    pub fn is_refuted(&self) -> bool {
        self.refuted.is_some()
    }

    pub fn on(&self, regime: Regime) -> Verdict {
        match (self.refuted, self.proofs.get(&regime)) {
            (Some(_), _) => Verdict::Refuted,
            (None, Some(&PROOFS)) => Verdict::Proved,
            (None, _) => Verdict::Open,
        }
    }

    /// Records the result of one comparison.
    pub fn found(&mut self, regime: Regime, equal: bool) {
        if equal {
            let proofs = self.proofs.entry(regime).or_default();
            *proofs = (*proofs + 1).min(PROOFS);
            if *proofs < PROOFS {
                return;
            }
            tracing::info!(?regime, "sharing or splitting calls changes nothing here");
        } else {
            self.refuted = Some(regime);
            tracing::info!(
                ?regime,
                "sharing or splitting calls changes logits; this model's calls are made whole, one per sequence"
            );
        }
        if let Err(error) = self.write() {
            tracing::debug!(%error, "verdicts could not be stored; the next run compares again");
        }
    }

    fn write(&self) -> std::io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let proved = self.proofs.iter().filter(|(_, proofs)| **proofs == PROOFS).map(|(regime, _)| *regime).collect();
        file::replace_json(path, &Stored { proved, refuted: self.refuted })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
