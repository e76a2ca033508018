//! Keeps fixed preambles on disk, so that a new process need not recompute them.
//!
//! One folder per fingerprint, one file per preamble, named after the hash of its tokens: `MBKV2
//! `, a JSON line (number of tokens, cuts, sizes, SHA-256 of the rest), then tokens (i32), state
//! and marks as in memory, little-endian. The file `seen` lists hashes of preambles seen once.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Copied, Fingerprint, hex};
use crate::base::Bytes;
use crate::engine::decoder::{Saved, Token};

const MAGIC: &str = "MBKV2\n";
/// Maximum size of a file's JSON line, in bytes.
const HEAD_BYTES_MAX: u64 = 64 << 10;
/// Maximum number of hashes kept in `seen`.
const SEEN_MAX: usize = 256;

/// A folder of preambles.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    bytes_max: Bytes,
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    tokens: usize,
    /// Lengths after each of the prefill calls that computed the preamble, see `slot`.
    cuts: Vec<usize>,
    state: usize,
    /// Length and size in bytes of each checkpoint.
    marks: Vec<(usize, usize)>,
    sha256: String,
}

impl Disk {
    /// Keeps at most `bytes_max` in `folder`; reads nothing yet.
    pub fn open(folder: PathBuf, bytes_max: Bytes) -> Disk {
        Disk { folder, bytes_max }
    }

    /// Whether the preamble `tokens` is stored.
    pub fn has(&self, model: &Fingerprint, tokens: &[Token]) -> bool {
        self.file_of(model, tokens).is_file()
    }

    /// Reads the preamble `tokens` if it is stored; removes a damaged file.
    pub fn read(&self, model: &Fingerprint, tokens: &[Token]) -> Option<Copied> {
        let file = self.file_of(model, tokens);
        match read(&file) {
            Ok(copied) if copied.tokens == tokens => {
                // `make_room` uses the modification time as the time of last use.
                let _ = File::options().append(true).open(&file).and_then(|file| file.set_modified(now()));
                Some(copied)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Ok(_) | Err(_) => {
                tracing::warn!(file = %file.display(), "a damaged preamble was removed");
                let _ = fs::remove_file(&file);
                None
            }
        }
    }

    /// Whether a preamble should be written: it was seen before and is not on disk yet. Records
    /// that it has now been seen.
    pub fn wants(&self, model: &Fingerprint, tokens: &[Token]) -> bool {
        if self.has(model, tokens) {
            return false;
        }
        let file = self.folder_of(model).join("seen");
        let name = name(tokens);
        let seen = fs::read_to_string(&file).unwrap_or_default();
        let mut lines: Vec<&str> = seen.lines().collect();
        if lines.contains(&name.as_str()) {
            return true;
        }
        lines.push(&name);
        let from = lines.len().saturating_sub(SEEN_MAX);
        let noted = fs::create_dir_all(self.folder_of(model)).and_then(|()| fs::write(&file, lines[from..].join("\n")));
        if let Err(error) = noted {
            tracing::debug!(%error, "the preamble folder cannot be written");
        }
        false
    }

    /// Writes a preamble to a temporary file, then renames it. Removes the least recently used
    /// files to make room.
    pub fn write(&self, model: &Fingerprint, tokens: &[Token], cuts: &[usize], saved: &Saved) -> io::Result<()> {
        let mut body = Vec::with_capacity(saved.bytes() + 4 * tokens.len());
        body.extend(tokens.iter().flat_map(|token| token.0.to_le_bytes()));
        body.extend_from_slice(&saved.state);
        saved.marks.iter().for_each(|(_, mark)| body.extend_from_slice(mark));
        let head = Head {
            tokens: tokens.len(),
            cuts: cuts.to_vec(),
            state: saved.state.len(),
            marks: saved.marks.iter().map(|(length, mark)| (*length, mark.len())).collect(),
            sha256: hex(&Sha256::digest(&body)),
        };
        if Bytes(body.len() as u64) > self.bytes_max {
            return Ok(());
        }
        self.make_room(Bytes(body.len() as u64))?;
        let folder = self.folder_of(model);
        fs::create_dir_all(&folder)?;
        let file = self.file_of(model, tokens);
        let partial = folder.join(format!("{}.{}.partial", name(tokens), std::process::id()));
        let mut out = create_private(&partial)?;
        let written = out
            .write_all(MAGIC.as_bytes())
            .and_then(|()| out.write_all(serde_json::to_string(&head)?.as_bytes()))
            .and_then(|()| out.write_all(b"\n"))
            .and_then(|()| out.write_all(&body))
            .and_then(|()| fs::rename(&partial, &file));
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written
    }

    fn folder_of(&self, model: &Fingerprint) -> PathBuf {
        self.folder.join(model.as_str())
    }

    fn file_of(&self, model: &Fingerprint, tokens: &[Token]) -> PathBuf {
        self.folder_of(model).join(format!("{}.kv", name(tokens)))
    }

    /// Removes the least recently used files of all models until `more` fits.
    fn make_room(&self, more: Bytes) -> io::Result<()> {
        let mut files = Vec::new();
        for model in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            for file in fs::read_dir(model.path()).into_iter().flatten().flatten() {
                let about = file.metadata()?;
                files.push((about.modified()?, Bytes(about.len()), file.path()));
            }
        }
        files.sort();
        let mut held: Bytes = files.iter().map(|(_, bytes, _)| *bytes).sum();
        for (_, bytes, file) in files {
            if held + more <= self.bytes_max {
                break;
            }
            fs::remove_file(&file)?;
            held = held.saturating_sub(bytes);
        }
        Ok(())
    }
}

fn read(file: &Path) -> io::Result<Copied> {
    let mut reader = BufReader::new(File::open(file)?);
    let head = head(&mut reader)?;
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    let whole = 4 * head.tokens + head.state + head.marks.iter().map(|(_, bytes)| bytes).sum::<usize>();
    if head.cuts.last() != Some(&head.tokens) || !head.cuts.is_sorted() {
        return Err(io::Error::other("its calls do not end at its last token"));
    }
    if body.len() != whole || hex(&Sha256::digest(&body)) != head.sha256 {
        return Err(io::Error::other("the checksum does not match"));
    }
    let (ids, mut rest) = body.split_at(4 * head.tokens);
    let mut take = |bytes: usize| -> Arc<[u8]> {
        let (piece, after) = rest.split_at(bytes);
        rest = after;
        piece.into()
    };
    let state = take(head.state);
    let marks = head.marks.iter().map(|&(length, bytes)| (length, take(bytes))).collect();
    // A preamble has no pictures.
    let saved = Saved { length: head.tokens, state, marks, places: Vec::new() };
    Ok(Copied { tokens: tokens(ids), cuts: head.cuts, saved })
}

fn head(reader: &mut impl BufRead) -> io::Result<Head> {
    let mut magic = [0; MAGIC.len()];
    reader.read_exact(&mut magic)?;
    if magic != *MAGIC.as_bytes() {
        return Err(io::Error::other("not a preamble"));
    }
    let mut line = String::new();
    reader.take(HEAD_BYTES_MAX).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn tokens(bytes: &[u8]) -> Vec<Token> {
    bytes.chunks_exact(4).map(|id| Token(i32::from_le_bytes([id[0], id[1], id[2], id[3]]))).collect()
}

fn name(tokens: &[Token]) -> String {
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.0.to_le_bytes()).collect();
    hex(&Sha256::digest(bytes)[..16])
}

fn now() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Creates a file that only its owner can read, because a state reveals the text from which it was
/// computed.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(first: i32, length: i32) -> Vec<Token> {
        (first..first + length).map(Token).collect()
    }

    fn saved(length: usize) -> Saved {
        let marks = vec![(32, vec![1; 10].into()), (64, vec![2; 20].into())];
        Saved { length, state: vec![7; 1000].into(), marks, places: Vec::new() }
    }

    fn disk(folder: &tempfile::TempDir) -> (Disk, Fingerprint) {
        (Disk::open(folder.path().to_owned(), Bytes(5000)), Fingerprint::named("m"))
    }

    #[test]
    fn a_written_preamble_is_read_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let (first, model) = disk(&folder);
        first.write(&model, &some(0, 64), &[32, 64], &saved(64)).unwrap();
        let (second, _) = disk(&folder);
        let copied = second.read(&model, &some(0, 64)).unwrap();
        assert_eq!((copied.tokens, copied.saved, copied.cuts), (some(0, 64), saved(64), vec![32, 64]));
        assert!(second.has(&model, &some(0, 64)) && !second.has(&model, &some(0, 63)));
        assert!(!second.has(&Fingerprint::named("n"), &some(0, 64)));
    }

    #[test]
    fn a_preamble_is_written_when_it_is_met_again() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, model) = disk(&folder);
        let tokens = some(0, 64);
        assert!(!disk.wants(&model, &tokens));
        assert!(disk.wants(&model, &tokens));
        disk.write(&model, &tokens, &[64], &saved(64)).unwrap();
        assert!(!disk.wants(&model, &tokens));
    }

    #[test]
    fn a_damaged_file_is_removed_and_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, model) = disk(&folder);
        disk.write(&model, &some(0, 64), &[64], &saved(64)).unwrap();
        let file = disk.file_of(&model, &some(0, 64));
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, bytes).unwrap();
        assert!(disk.read(&model, &some(0, 64)).is_none());
        assert!(!file.exists() && !disk.has(&model, &some(0, 64)));
    }

    #[test]
    fn the_least_recently_used_files_are_removed_to_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, model) = disk(&folder);
        for first in 0..6 {
            disk.write(&model, &some(first * 100, 64), &[64], &saved(64)).unwrap();
        }
        let held: u64 =
            fs::read_dir(folder.path().join("m")).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert!(held <= 5000 + 1000, "{held}");
        let kept: Vec<bool> = (0..6).map(|first| disk.has(&model, &some(first * 100, 64))).collect();
        assert!(kept[5] && kept.contains(&false), "{kept:?}");
    }
}
