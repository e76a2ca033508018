//! Determines how much of a hand-played model's last reply reached the user.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Maximum number of words of a reply and of an answer to compare; a long explanation has 2,000.
const WORDS_MAX: usize = 20_000;

/// The folder of a model server with hand-written replies, each `001.reply.json` (`{"content": …}`)
/// or `001.reply.md`.
#[derive(Clone, Debug)]
pub struct Replies(PathBuf);

impl Replies {
    pub fn new(folder: &Path) -> Result<Replies> {
        fs::read_dir(folder).with_context(|| format!("--replies {} cannot be read", folder.display()))?;
        Ok(Replies(folder.to_owned()))
    }

    /// The number of the latest reply; 0 if there is none.
    pub fn latest(&self) -> usize {
        let names = fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter_map(|name| number(&name.to_string_lossy())).max().unwrap_or(0)
    }

    /// The words of the latest reply without its calls, if it came after number `before`.
    pub fn last_words(&self, before: usize) -> Option<String> {
        let latest = self.latest();
        if latest <= before {
            return None;
        }
        let read = |ending: &str| fs::read_to_string(self.0.join(format!("{latest:03}.reply.{ending}"))).ok();
        let said = match read("json") {
            Some(text) => serde_json::from_str::<Value>(&text).ok()?["content"].as_str()?.to_owned(),
            None => read("md")?,
        };
        (!said.trim().is_empty()).then_some(said)
    }
}

/// The number in `007.reply.json`.
fn number(name: &str) -> Option<usize> {
    let (number, ending) = name.split_once('.')?;
    matches!(ending, "reply.json" | "reply.md").then(|| number.parse().ok())?
}

/// The share of the words of `said` that occur in `shown` in the same order, from 0 to 1. Markup,
/// spaces and punctuation do not count.
pub fn kept(said: &str, shown: &str) -> f64 {
    let (said, shown) = (words(said), words(shown));
    let equal = |op: DiffOp| if let DiffOp::Equal { len, .. } = op { len } else { 0 };
    let kept: usize = capture_diff_slices(Algorithm::Myers, &said, &shown).into_iter().map(equal).sum();
    if said.is_empty() { 1.0 } else { kept as f64 / said.len() as f64 }
}

fn words(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).take(WORDS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_left_out_or_moved_are_not_kept() {
        let check =
            |said: &str, shown: &str, expected: f64| assert_eq!(kept(said, shown), expected, "{said:?} {shown:?}");
        let said = "Two files changed.\nThe tests were not run, because `pytest` is missing.";
        check(said, &format!("{said}\n\nChanged: a.py, b.py"), 1.0);
        check(said, "Two files changed. The tests were *not* run, because pytest (?) is missing", 1.0);
        check(said, "Two files changed.", 3.0 / 12.0);
        check(said, "", 0.0);
        check("a b c d", "c d a b", 0.5);
        check("…", "", 1.0);
    }

    #[test]
    fn the_latest_reply_counts_and_only_if_it_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let replies = Replies::new(folder.path()).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!((replies.latest(), replies.last_words(0)), (0, None));
        write("009.reply.md", "plain words");
        write("010.request.json", "{}");
        assert_eq!(replies.last_words(0).as_deref(), Some("plain words"));
        assert_eq!(replies.last_words(9), None);
        write("010.reply.json", r#"{"content": "", "tool_calls": [{"name": "read_file"}]}"#);
        assert_eq!((replies.latest(), replies.last_words(9)), (10, None));
        write("011.reply.json", r#"{"content": "It is done."}"#);
        assert_eq!(replies.last_words(9).as_deref(), Some("It is done."));
        assert!(Replies::new(&folder.path().join("none")).is_err());
    }
}
