//! Finds GGUF files and embedding folders in a directory, and files in the hub's cache.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hf_hub::{Cache, Repo};

use super::stores;

/// Number of folder levels searched below the model folder.
const DEPTH: usize = 2;
/// Number of levels below a repository's folder in the hub's cache: `snapshots`, a revision, and
/// the repository's own folders.
const DEPTH_IN_HUB: usize = 4;
/// Maximum number of entries read, so that a folder given by mistake (such as `/`) takes only a
/// moment.
const ENTRIES_MAX: usize = 20_000;
/// Maximum number of GGUF files found. Each header is read, which takes 5 ms for a vocabulary of
/// 262,144 tokens.
const GGUFS_MAX: usize = 1_000;

/// The models in a directory.
#[derive(Debug, Default)]
pub struct Scan {
    /// Files that end in `.gguf`, sorted.
    pub ggufs: Vec<PathBuf>,
    /// Files in Ollama's stores, by Ollama's names for them; they have no extension.
    pub ollama: Vec<(String, PathBuf)>,
    /// Folders with safetensors, `tokenizer.json` and `config.json`, sorted.
    pub embedders: Vec<PathBuf>,
    /// Whether [`ENTRIES_MAX`] or [`GGUFS_MAX`] was reached, so that models may have been missed.
    pub is_cut: bool,
}

/// Searches `dir` and two levels of folders below it, and searches repositories in the hub's cache
/// and Ollama's store completely. Fails if `dir` cannot be read; skips unreadable subfolders.
pub fn scan(dir: &Path) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let mut left = ENTRIES_MAX;
    let mut pending = vec![(dir.to_owned(), DEPTH)];
    fs::read_dir(dir)?;
    'folders: while let Some((dir, depth)) = pending.pop() {
        if is_embedder(&dir) {
            scan.embedders.push(dir.clone());
        }
        if stores::is_ollama(&dir) {
            scan.ollama.extend(stores::ollama(&dir));
            continue;
        }
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            if left == 0 || scan.ggufs.len() == GGUFS_MAX {
                scan.is_cut = true;
                break 'folders;
            }
            left -= 1;
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let in_hub = entry.file_name().to_string_lossy().starts_with("models--");
            if path.is_dir() && depth > 0 && !hidden {
                pending.push((path, if in_hub { DEPTH_IN_HUB } else { depth - 1 }));
            } else if path.is_file() && has_ending(&path, "gguf") {
                scan.ggufs.push(path);
            }
        }
    }
    scan.ggufs.sort();
    // Several snapshots of a repository link to the same blob.
    let mut seen = HashSet::new();
    scan.ggufs.retain(|path| path.canonicalize().is_ok_and(|real| seen.insert(real)));
    scan.embedders.sort();
    Ok(scan)
}

/// The parent folders of `dir`: the one in its path, and, if it is a link, that of its target.
pub fn above(dir: &Path) -> Vec<PathBuf> {
    let named = dir.parent().map(Path::to_owned);
    let real = dir.canonicalize().ok().and_then(|real| real.parent().map(Path::to_owned));
    let same = |a: &Path, b: &Path| a.canonicalize().ok() == b.canonicalize().ok();
    match (real, named) {
        (Some(real), Some(named)) if !same(&real, &named) => vec![real, named],
        (real, named) => real.or(named).into_iter().collect(),
    }
}

/// Embedding folders among the siblings of `dir`.
pub fn beside(dir: &Path) -> Vec<PathBuf> {
    let entries = above(dir).into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    let neighbours = entries.flat_map(|entries| entries.take(ENTRIES_MAX)).flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = neighbours.filter(|path| is_embedder(path)).collect();
    found.sort();
    found
}

/// Whether the folder contains an embedder for candle: its files are present, and either
/// `config.json` lists no generating model or there is a pooling file.
pub fn is_embedder(dir: &Path) -> bool {
    let has = |name: &str| dir.join(name).is_file();
    if !(has("config.json") && has("tokenizer.json") && !weights(dir).is_empty()) {
        return false;
    }
    let config = fs::read_to_string(dir.join("config.json")).unwrap_or_default();
    has("1_Pooling/config.json")
        || !["ForCausalLM", "ForConditionalGeneration", "LMHeadModel"].iter().any(|word| config.contains(word))
}

/// The safetensors files of a folder, sorted.
pub fn weights(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let files = entries.take(ENTRIES_MAX).flatten().map(|entry| entry.path());
    let mut weights: Vec<PathBuf> = files.filter(|path| path.is_file() && has_ending(path, "safetensors")).collect();
    weights.sort();
    weights
}

/// The path of a file in the hub's cache, if a program has downloaded it. Opens no connection.
pub fn in_hub_cache(cache: &Path, repository: &str, file: &str) -> Option<PathBuf> {
    Cache::new(cache.to_owned()).repo(Repo::model(repository.to_owned())).get(file)
}

/// Whether `name` matches `pattern`, in which `*` matches any text and `?` one byte; ignores case.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase().into_bytes(), name.to_lowercase().into_bytes());
    let (mut wanted, mut at) = (0, 0);
    // The position after the last `*`, and the end of the text that it matches. Only the last one
    // is ever extended: earlier ones match as little as possible, which leaves most of the text for
    // the rest of the pattern.
    let mut star = None;
    loop {
        match (pattern.get(wanted), name.get(at)) {
            (None, None) => return true,
            (Some(b'*'), _) => {
                wanted += 1;
                star = Some((wanted, at));
            }
            (Some(byte), Some(found)) if *byte == b'?' || byte == found => (wanted, at) = (wanted + 1, at + 1),
            _ => match star {
                Some((after, end)) if end < name.len() => {
                    (wanted, at) = (after, end + 1);
                    star = Some((wanted, at));
                }
                _ => return false,
            },
        }
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }

    #[test]
    fn patterns_match_names() {
        check("LFM2-24B*.gguf", "lfm2-24b-a2b-Q4_0.gguf", true);
        check("LFM2-24B*.gguf", "lfm2-24b-a2b-Q4_0.gguf.part", false);
        check("*a*b", "xaab", true);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("", "", true);
        check("*", "", true);
        check("plain", "PLAIN", true);
        check("*a*b*c.gguf", "xaxbbc.gguf.c.gguf", true);
        check("*ab*ab", "xabab", true);
        check("*ab*ab", "xabb", false);
        check("a*", "ba", false);
        check("**?", "a", true);
        // A name in a header may be of any length.
        let long = "ab".repeat(1 << 20);
        check("*a*b*a*c", &long, false);
        check("*a*b*a*b", &long, true);
    }

    #[test]
    fn models_are_found_two_folders_deep() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        fs::create_dir_all(deep.join("too/deep")).unwrap();
        fs::write(deep.join("m.GGUF"), "").unwrap();
        fs::write(deep.join("too/deep/n.gguf"), "").unwrap();
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            fs::write(dir.path().join("a").join(name), "").unwrap();
        }
        let found = scan(dir.path()).unwrap();
        assert_eq!(found.ggufs, [deep.join("m.GGUF")]);
        assert_eq!(found.embedders, [dir.path().join("a")]);
        fs::write(dir.path().join("a/config.json"), r#"{"architectures": ["LlamaForCausalLM"]}"#).unwrap();
        assert!(scan(dir.path()).unwrap().embedders.is_empty());
        fs::create_dir(dir.path().join("a/1_Pooling")).unwrap();
        fs::write(dir.path().join("a/1_Pooling/config.json"), "{}").unwrap();
        assert_eq!(scan(dir.path()).unwrap().embedders, [dir.path().join("a")]);
    }

    #[test]
    fn a_file_of_the_hubs_cache_is_found_once() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("models--owner--name");
        fs::create_dir_all(repo.join("blobs")).unwrap();
        fs::write(repo.join("blobs/abc"), "").unwrap();
        for revision in ["one", "two"] {
            fs::create_dir_all(repo.join("snapshots").join(revision).join("Q4")).unwrap();
            let link = repo.join("snapshots").join(revision).join("Q4/m.gguf");
            std::os::unix::fs::symlink(repo.join("blobs/abc"), link).unwrap();
        }
        assert_eq!(scan(dir.path()).unwrap().ggufs, [repo.join("snapshots/one/Q4/m.gguf")]);
    }

    #[test]
    fn an_embedder_beside_a_linked_folder_or_its_target_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["real/encoder", "named/other"] {
            fs::create_dir_all(root.join(folder)).unwrap();
            for name in ["config.json", "tokenizer.json", "model.safetensors"] {
                fs::write(root.join(folder).join(name), "").unwrap();
            }
        }
        fs::create_dir(root.join("real/models")).unwrap();
        std::os::unix::fs::symlink(root.join("real/models"), root.join("named/models")).unwrap();
        assert_eq!(above(&root.join("named/models")), [root.join("real"), root.join("named")]);
        assert_eq!(beside(&root.join("named/models")), [root.join("named/other"), root.join("real/encoder")]);
        assert_eq!(above(&root.join("real/models")), [root.join("real")]);
    }

    #[test]
    fn the_hub_cache_is_read_without_a_connection() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("models--owner--repo");
        fs::create_dir_all(repo.join("refs")).unwrap();
        fs::create_dir_all(repo.join("snapshots/abc")).unwrap();
        fs::write(repo.join("refs/main"), "abc").unwrap();
        fs::write(repo.join("snapshots/abc/m.gguf"), "x").unwrap();
        assert!(in_hub_cache(dir.path(), "owner/repo", "m.gguf").is_some());
        assert!(in_hub_cache(dir.path(), "owner/repo", "n.gguf").is_none());
    }
}
