//! Writes or removes a client's configuration in its file; shows the diff and how to go back.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use sha2::{Digest, Sha256};
use similar::TextDiff;

use super::entries::Entry;
use super::setup::{Form, Setup};
use super::{copies, entries};
use crate::base::hex;

/// Precedes the checksum of a file created by monobloc, which is only removed or replaced if nobody
/// else has changed it.
const MARK: &str = "# made by monobloc connect, which may replace or remove this file while it is unchanged: ";

/// A change to a client's file, made or only shown.
pub struct Change {
    pub file: PathBuf,
    /// The unified diff; `None` if there is none.
    pub diff: Option<String>,
    /// Whether the file was written or removed.
    pub changed: bool,
    /// The result in words, for people.
    pub words: String,
}

impl Change {
    fn none(file: &Path, words: &str) -> Change {
        Change { file: file.to_owned(), diff: None, changed: false, words: format!("{} {words}", file.display()) }
    }
}

/// Writes the configuration in `setup`. If `dry_run`, only returns the diff.
pub fn write(client: &str, setup: &Setup, dry_run: bool) -> Result<Change> {
    let (file, old, new) = match &setup.form {
        Form::Entries { file, entries } => {
            let old = copies::read(file)?;
            let new = entries::put(file, old.as_deref().unwrap_or_default(), entries)?;
            (file, old, new)
        }
        Form::Whole { file, text } => {
            let old = copies::read(file)?;
            if old.as_deref().is_some_and(|old| !old.trim().is_empty() && !is_unchanged(old)) {
                bail!(
                    "{} already exists, and YAML is not edited in place; copy what `monobloc connect {client}` prints",
                    file.display()
                );
            }
            (file, old, format!("{MARK}{}\n{text}", sum(text)))
        }
        Form::Printed { place, .. } => {
            bail!("nothing is written for {client}; `monobloc connect {client}` prints what belongs in {place}")
        }
    };
    if old.as_deref() == Some(new.as_str()) {
        return Ok(Change::none(file, "has this already; nothing was written"));
    }
    let change = Change {
        file: file.clone(),
        diff: Some(difference(file, old.as_deref(), Some(&new))),
        changed: false,
        words: "nothing was written (--dry-run)".to_owned(),
    };
    if dry_run {
        return Ok(change);
    }
    let kept = old.as_deref().map(|old| copies::keep(file, old)).transpose()?;
    copies::replace(file, &new)?;
    let before =
        kept.map_or_else(|| "it was not there before".to_owned(), |copy| format!("the old one is {}", copy.display()));
    let words = format!("wrote {}; {before}; `monobloc connect {client} --undo` reverts this", file.display());
    Ok(Change { changed: true, words, ..change })
}

/// Whether monobloc wrote this entire text and it has not changed since.
fn is_unchanged(text: &str) -> bool {
    let Some((first, rest)) = text.split_once('\n') else { return false };
    first.strip_prefix(MARK).is_some_and(|said| said == sum(rest))
}

/// Eight bytes suffice: nobody gains anything by forging it.
fn sum(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..8])
}

/// Removes what [`write()`] wrote. If `dry_run`, only returns the diff.
pub fn undo(client: &str, setup: &Setup, dry_run: bool) -> Result<Change> {
    let file = match &setup.form {
        Form::Entries { file, .. } | Form::Whole { file, .. } => file,
        Form::Printed { .. } => bail!("nothing is ever written for {client}, so there is nothing to remove"),
    };
    let Some(text) = copies::read(file)? else {
        return Ok(Change::none(file, "does not exist; nothing to remove"));
    };
    let back = match &setup.form {
        Form::Entries { entries, .. } => back(file, &text, entries)?,
        _ if is_unchanged(&text) => Some(Back::default()),
        _ if text.contains("monobloc") => {
            bail!("{} was written or changed by hand; remove the lines about monobloc yourself", file.display())
        }
        _ => None,
    };
    let Some(Back { text: bare, copy }) = back else {
        return Ok(Change::none(file, "has no monobloc entry; nothing to remove"));
    };
    let change = Change {
        file: file.clone(),
        diff: Some(difference(file, Some(&text), bare.as_deref())),
        changed: false,
        words: "nothing was written (--dry-run)".to_owned(),
    };
    if dry_run {
        return Ok(change);
    }
    let words = match (bare, copy) {
        (Some(bare), Some(copy)) => {
            copies::replace(file, &bare)?;
            fs::remove_file(&copy)?;
            format!("{} is as it was before", file.display())
        }
        (Some(bare), None) => {
            copies::replace(file, &bare)?;
            format!("removed monobloc from {}; everything else in it stays", file.display())
        }
        (None, _) => {
            fs::remove_file(file)?;
            format!("removed {}, which contained only monobloc", file.display())
        }
    };
    Ok(Change { changed: true, words, ..change })
}

/// The way to remove monobloc from a file.
#[derive(Default)]
struct Back {
    /// The text without monobloc's entries; `None` if monobloc created the file and it contains
    /// nothing else.
    text: Option<String>,
    /// The kept copy with that text, to be removed: only monobloc's part has changed since.
    copy: Option<PathBuf>,
}

/// The way back; `None` if the file has no monobloc entry.
fn back(file: &Path, text: &str, all: &[Entry]) -> Result<Option<Back>> {
    if !entries::has(file, text, all)? {
        return Ok(None);
    }
    let bare = entries::without(file, text, all)?;
    let copies = copies::of(file);
    for copy in &copies {
        let Ok(old) = fs::read_to_string(copy) else { continue };
        if is_before(file, &old, &bare, all).unwrap_or(false) {
            return Ok(Some(Back { text: Some(old), copy: Some(copy.clone()) }));
        }
    }
    let made = copies.is_empty() && entries::is_bare(&bare);
    Ok(Some(Back { text: (!made).then_some(bare), copy: None }))
}

/// Whether `old`, with entries added and removed again, equals `bare`.
fn is_before(file: &Path, old: &str, bare: &str, all: &[Entry]) -> Result<bool> {
    if entries::has(file, old, all)? {
        return Ok(false);
    }
    let with = entries::put(file, old, all)?;
    Ok(entries::without(file, &with, all)? == bare)
}

/// The unified diff. `None` represents a missing file.
fn difference(file: &Path, old: Option<&str>, new: Option<&str>) -> String {
    let name = |text: Option<&str>| text.map_or("/dev/null".to_owned(), |_| file.display().to_string());
    let lines = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    lines.unified_diff().context_radius(3).header(&name(old), &name(new)).to_string()
}
