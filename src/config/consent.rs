//! Records the user's consent to projects' configuration files by their hash: a changed file needs new consent.

use crate::base::hex;
use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::base::file;

/// Maximum number of projects recorded; the oldest consent is dropped first.
const PROJECTS_MAX: usize = 1_000;

/// Whether the user has consented to exactly this text for exactly this project.
pub fn given(store: &Path, project: &Path, text: &str) -> bool {
    lines(store).contains(&line(project, text))
}

/// Records the consent, replacing any earlier consent for the same project.
pub fn give(store: &Path, project: &Path, text: &str) -> io::Result<()> {
    let mut kept = without(store, project);
    kept.push(line(project, text));
    write(store, &kept[kept.len().saturating_sub(PROJECTS_MAX)..])
}

/// Withdraws a project's consent; returns whether there was one.
pub fn withdraw(store: &Path, project: &Path) -> io::Result<bool> {
    let kept = without(store, project);
    let had = kept.len() < lines(store).len();
    if had {
        write(store, &kept)?;
    }
    Ok(had)
}

fn line(project: &Path, text: &str) -> String {
    let hash = hex(&Sha256::digest(text.as_bytes()));
    format!("{hash} {}", named(project))
}

/// The project's folder with links resolved, escaped to fit on one line.
fn named(project: &Path) -> String {
    let real = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    format!("{:?}", real.as_os_str())
}

fn without(store: &Path, project: &Path) -> Vec<String> {
    let end = format!(" {}", named(project));
    lines(store).into_iter().filter(|line| !line.ends_with(&end)).collect()
}

fn lines(store: &Path) -> Vec<String> {
    fs::read_to_string(store).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn write(store: &Path, lines: &[String]) -> io::Result<()> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    file::replace(store, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_holds_for_one_text_in_one_project() {
        let dir = tempfile::tempdir().unwrap();
        let (store, one, other) = (dir.path().join("a/consents"), dir.path().join("one"), dir.path().join("other"));
        assert!(!given(&store, &one, "x"));
        give(&store, &one, "x").unwrap();
        assert!(given(&store, &one, "x") && !given(&store, &one, "y") && !given(&store, &other, "x"));
        give(&store, &one, "y").unwrap();
        assert!(given(&store, &one, "y") && !given(&store, &one, "x"));
        assert!(withdraw(&store, &one).unwrap() && !withdraw(&store, &one).unwrap());
        assert!(!given(&store, &one, "y"));
    }
}
