//! Stores how fast a model reads prompts and generates tokens on this machine, by its file's fingerprint.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::{ACCELERATED, file};

/// Minimum numbers of tokens required to measure a turn.
const PROMPT_MIN: usize = 200;
const GENERATED_MIN: usize = 16;
/// Weight of the newest turn in the moving average.
const NEWEST: f64 = 0.3;

/// Tokens per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Prompt tokens that were not cached.
    pub prompt: f64,
    /// Generated tokens.
    pub decode: f64,
}

impl Speed {
    /// From a turn's tokens and milliseconds; `None` if there are too few tokens.
    pub fn of((prompt, prompt_ms): (usize, u64), (generated, decode_ms): (usize, u64)) -> Option<Speed> {
        let enough = prompt >= PROMPT_MIN && generated >= GENERATED_MIN && prompt_ms > 0 && decode_ms > 0;
        let rate = |tokens: usize, ms: u64| tokens as f64 * 1000.0 / ms as f64;
        enough.then(|| Speed { prompt: rate(prompt, prompt_ms), decode: rate(generated, decode_ms) })
    }

    /// Seconds until a prompt of `prompt` tokens is processed, and until `generated` tokens have
    /// also been generated.
    pub fn seconds(self, prompt: usize, generated: usize) -> (f64, f64) {
        let first = prompt as f64 / self.prompt;
        (first, first + generated as f64 / self.decode)
    }

    /// The saved speed of the model file with this fingerprint.
    pub fn remembered(folder: &Path, fingerprint: &str) -> Option<Speed> {
        file::read_json(&place(folder, fingerprint))
    }

    /// Saves the moving average of the saved speed and this one.
    pub fn remember(self, folder: &Path, fingerprint: &str) -> io::Result<()> {
        let mixed = |was: f64, is: f64| was + NEWEST * (is - was);
        let speed = Speed::remembered(folder, fingerprint).map_or(self, |known| Speed {
            prompt: mixed(known.prompt, self.prompt),
            decode: mixed(known.decode, self.decode),
        });
        file::replace_json(&place(folder, fingerprint), &speed)
    }
}

fn place(folder: &Path, fingerprint: &str) -> std::path::PathBuf {
    let unit = if ACCELERATED { ".accelerator" } else { "" };
    folder.join(format!("{fingerprint}{unit}.speed.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_averaged_over_turns_and_predict_the_next() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Speed::remembered(folder.path(), "a"), None);
        let speed = Speed::of((1000, 10_000), (40, 2_000)).unwrap();
        assert_eq!(speed, Speed { prompt: 100.0, decode: 20.0 });
        assert_eq!(speed.seconds(1200, 60), (12.0, 15.0));
        speed.remember(folder.path(), "a").unwrap();
        Speed { prompt: 200.0, decode: 20.0 }.remember(folder.path(), "a").unwrap();
        assert_eq!(Speed::remembered(folder.path(), "a"), Some(Speed { prompt: 130.0, decode: 20.0 }));
        assert_eq!(Speed::of((100, 1_000), (40, 2_000)), None);
    }
}
