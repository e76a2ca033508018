//! Identifies model files: by a quick fingerprint for caches, and by a full SHA-256 (computed once,
//! cached) for trust.

use crate::base::hex;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::gguf::Numbered;
use crate::base::file;
use crate::base::stamp::{Stamp, now_ns};

/// Number of bytes hashed at the start of a file (a GGUF header with its vocabulary takes a few
/// MiB).
const HEAD_BYTES: u64 = 1 << 20;
/// Number of blocks hashed in the rest of the file, evenly spread.
const SAMPLES: u64 = 64;
const SAMPLE_BYTES: u64 = 4096;

/// Sixteen hexadecimal digits computed from the length, times, first MiB and 64 samples of the
/// file. The change time is included, so that new content with the same length and modification
/// time counts as another file. Reads about 1.3 MB of each file, regardless of its size; of every
/// part if the model is split. Not secure against deliberate forgery.
pub fn fingerprint(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    sample(path, &mut hash)?;
    let others = Numbered::of(path).into_iter().flat_map(|part| part.all().collect::<Vec<_>>());
    for part in others.filter(|part| part != path && part.is_file()) {
        sample(&part, &mut hash)?;
    }
    Ok(hex(&hash.finalize()[..8]))
}

/// Sixteen hexadecimal digits from a text.
pub fn of_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..8])
}

fn sample(path: &Path, hash: &mut Sha256) -> io::Result<()> {
    let mut file = File::open(path)?;
    let Stamp { size: bytes, mtime_ns, ctime_ns, .. } = Stamp::of(&file.metadata()?);
    hash.update(bytes.to_le_bytes());
    hash.update(mtime_ns.to_le_bytes());
    hash.update(ctime_ns.to_le_bytes());
    let mut buffer = Vec::new();
    (&mut file).take(HEAD_BYTES).read_to_end(&mut buffer)?;
    hash.update(&buffer);
    for sample in 1..=SAMPLES {
        let at = (u128::from(bytes) * u128::from(sample) / u128::from(SAMPLES)) as u64;
        file.seek(SeekFrom::Start(at.saturating_sub(SAMPLE_BYTES)))?;
        buffer.clear();
        (&mut file).take(SAMPLE_BYTES).read_to_end(&mut buffer)?;
        hash.update(&buffer);
    }
    Ok(())
}

/// Maximum number of cached checksums; when it is reached, all are dropped.
const REMEMBERED_MAX: usize = 1000;

/// The SHA-256 of an entire file in hexadecimal, cached in the file `memory` by path and [`Stamp`].
pub fn sha256(path: &Path, memory: &Path) -> io::Result<String> {
    let path = path.canonicalize()?;
    let (stamp, looked_ns) = (Stamp::of(&fs::metadata(&path)?), now_ns());
    let Stamp { size, mtime_ns, ctime_ns, inode } = stamp;
    let key = format!("{}|{size}|{mtime_ns}|{ctime_ns}|{inode}", path.display());
    let mut known: BTreeMap<String, String> = file::read_json(memory).unwrap_or_default();
    if let Some(digest) = known.get(&key) {
        return Ok(digest.clone());
    }
    let digest = sha256_now(&path)?;
    if !stamp.is_still(&stamp.settled(looked_ns)) {
        return Ok(digest);
    }
    if known.len() >= REMEMBERED_MAX {
        known.clear();
    }
    known.insert(key, digest.clone());
    // If it cannot be saved, the only effect is that the next call takes longer.
    if let Err(error) = file::replace_json(memory, &known) {
        tracing::debug!("checksums could not be stored in {}: {error}", memory.display());
    }
    Ok(digest)
}

fn sha256_now(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `abc`, from FIPS 180-2.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_checksum_is_computed_once_and_again_after_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let (file, memory) = (dir.path().join("m.gguf"), dir.path().join("deep/sha256.json"));
        fs::write(&file, "abc").unwrap();
        assert_eq!(sha256(&file, &memory).unwrap(), ABC);
        assert!(!memory.exists(), "a file that has just been written may change within a tick of the clock");
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(sha256(&file, &memory).unwrap(), ABC);
        let faked = fs::read_to_string(&memory).unwrap().replace(ABC, "from memory");
        fs::write(&memory, faked).unwrap();
        assert_eq!(sha256(&file, &memory).unwrap(), "from memory");
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "xyz").unwrap();
        File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        assert_eq!(sha256(&file, &memory).unwrap(), sha256_now(&file).unwrap());
    }

    #[test]
    fn a_damaged_checksum_file_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let (file, memory) = (dir.path().join("m.gguf"), dir.path().join("sha256.json"));
        fs::write(&file, "abc").unwrap();
        fs::write(&memory, "{not json").unwrap();
        assert_eq!(sha256(&file, &memory).unwrap(), ABC);
    }

    #[test]
    fn a_fingerprint_changes_with_every_write() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("m.gguf");
        let mut bytes = vec![7u8; 3 << 20];
        fs::write(&file, &bytes).unwrap();
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        let before = fingerprint(&file).unwrap();
        assert_eq!(before.len(), 16);
        assert_eq!(before, fingerprint(&file).unwrap());
        let mut seen = vec![before];
        // The last byte is among the samples, the other byte is not.
        for at in [bytes.len() - 1, (1 << 20) + 1] {
            bytes[at] = 8;
            std::thread::sleep(std::time::Duration::from_millis(50));
            fs::write(&file, &bytes).unwrap();
            File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
            let now = fingerprint(&file).unwrap();
            assert!(!seen.contains(&now), "{at}");
            seen.push(now);
        }
    }
}
