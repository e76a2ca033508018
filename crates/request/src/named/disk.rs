//! Looks up a name: on disk, including links and other spellings, then as the end of an indexed
//! path.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use unicode_normalization_alignments::UnicodeNormalization;

use super::{Found, nearest};
use crate::confine::{Access, ConfineError, Root};
use crate::edit::testing::is_test;
use crate::language::shape;

/// Maximum number of entries of a folder that are compared with another spelling, and maximum
/// length of a name in bytes.
const ENTRIES_MAX: usize = 10_000;
const NAME_BYTES_MAX: usize = 400;

/// Where names are looked up.
pub(super) struct Disk<'a> {
    root: Option<&'a Root>,
    /// The indexed paths.
    known: &'a [String],
    /// The positions in `known` of the paths with a given file name, keyed by the plain spelling of
    /// the name.
    named: OnceCell<HashMap<String, Vec<usize>>>,
    /// The entries of folders, each with its plain spelling.
    listed: RefCell<HashMap<PathBuf, Vec<(String, String)>>>,
}

/// The form in which a name is written.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub is_quoted: bool,
    /// Whether a preceding preposition or noun marks the name as a file.
    pub leads: bool,
}

impl<'a> Disk<'a> {
    pub fn new(root: Option<&'a Root>, known: &'a [String]) -> Disk<'a> {
        Disk { root, known, named: OnceCell::new(), listed: RefCell::default() }
    }

    /// Whether a name of several words may begin with this word.
    pub fn may_go_on(&self, word: &str) -> bool {
        let begin = format!("{} ", plain(word));
        let names = self.named().keys().any(|name| name.starts_with(&begin));
        let at_root = || self.root.is_some_and(|root| self.entries(root.path(), |plain| plain.starts_with(&begin)));
        word.contains(['/', '\\']) || names || at_root()
    }

    /// The file or folder for `said`, or the reason why it cannot be used; `None` if there is none,
    /// or if `said` is probably not meant as a name.
    pub fn existing(&self, said: &str, form: Form) -> Option<Found> {
        let low = said.to_lowercase();
        if said.is_empty() || said.len() > NAME_BYTES_MAX || shape::is_url(&low) && !low.starts_with("file://") {
            return None;
        }
        let is_number = said.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
        let has_form = is_file_name(said) || shape::is_path(said);
        // A plain word is rarely meant as a name.
        let is_plain = is_number || !has_form && !said.contains(['.', '/', '\\', ' ']);
        let is_meant = |found: &Found| match found {
            Found::File(_) => !is_plain || form.leads,
            Found::Folder(_) => form.leads && (form.is_quoted || has_form || said.contains('/')),
            _ => has_form || form.leads && !is_plain,
        };
        let all = spellings(said);
        let on_disk = all.iter().filter_map(|spelling| self.on_disk(spelling, !is_plain));
        let in_index = || all.iter().filter(|_| has_form || said.contains(' ')).find_map(|one| self.at_the_end(one));
        let mut found: Vec<Found> = on_disk.filter(is_meant).collect();
        // A path that leads out of the project may still match the end of a path inside it.
        found.sort_by_key(|found| matches!(found, Found::Barred(_)));
        match found.into_iter().next() {
            Some(barred @ Found::Barred(_)) => in_index().or(Some(barred)),
            Some(found) => Some(found),
            None if is_plain => None,
            None => in_index(),
        }
    }

    /// The nearest names, if `said` looks like a name.
    pub fn missing(&self, said: &str, form: Form) -> Option<Found> {
        let has_blank = said.contains(char::is_whitespace);
        let is_name = is_file_name(said) || form.leads && shape::is_path(said) && !shape::is_url(&said.to_lowercase());
        let is_one = !has_blank || form.is_quoted && form.leads;
        (is_name && is_one && said.len() <= NAME_BYTES_MAX).then(|| Found::Missing(nearest(said, self.known)))
    }

    fn on_disk(&self, said: &str, may_differ: bool) -> Option<Found> {
        let root = self.root?;
        match root.resolve(said, Access::Read) {
            Ok(inside) if inside.is_dir() => Some(Found::Folder(inside.relative())),
            Ok(inside) => Some(Found::File(inside.relative())),
            Err(ConfineError::Missing { .. }) if may_differ => self.spelled_otherwise(root, said),
            Err(ConfineError::Missing { .. } | ConfineError::Malformed { .. }) => None,
            Err(error) => Some(Found::Barred(error.to_string())),
        }
    }

    /// The file whose path differs from `said` only in capitals, kinds of quotation marks or the
    /// form of accents.
    fn spelled_otherwise(&self, root: &Root, said: &str) -> Option<Found> {
        let mut all = vec![PathBuf::new()];
        for component in Path::new(said).components().filter(|one| *one != Component::CurDir) {
            let Component::Normal(name) = component else { return None };
            let name = name.to_string_lossy();
            let below = |at: &PathBuf| {
                let exact = at.join(&*name);
                if root.path().join(&exact).symlink_metadata().is_ok() {
                    return vec![exact];
                }
                let alike = self.alike(&root.path().join(at), &plain(&name));
                alike.into_iter().map(|entry| at.join(entry)).collect()
            };
            all = all.iter().flat_map(below).collect();
        }
        let paths: Vec<String> = all.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        match paths.as_slice() {
            [] => None,
            [only] => self.on_disk(only, false),
            _ => Some(Found::Several(paths)),
        }
    }

    /// The entries of a folder with this plain spelling.
    fn alike(&self, folder: &Path, name: &str) -> Vec<String> {
        self.entries(folder, |_| false);
        let listed = self.listed.borrow();
        let entries = listed.get(folder).into_iter().flatten();
        entries.filter(|(plain, _)| plain == name).map(|(_, entry)| entry.clone()).collect()
    }

    /// Whether `wanted` is true of the plain spelling of any entry of a folder; the folder is read
    /// only once.
    fn entries(&self, folder: &Path, wanted: impl Fn(&str) -> bool) -> bool {
        let mut listed = self.listed.borrow_mut();
        let entries = listed.entry(folder.to_owned()).or_insert_with(|| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX);
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            names.map(|name| (plain(&name), name)).collect()
        });
        entries.iter().any(|(plain, _)| wanted(plain))
    }

    fn named(&self) -> &HashMap<String, Vec<usize>> {
        self.named.get_or_init(|| {
            let mut named: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, path) in self.known.iter().enumerate() {
                named.entry(plain(last(path))).or_default().push(at);
            }
            named
        })
    }

    /// The indexed file whose path ends with `said`; among several, the one that is not a test.
    fn at_the_end(&self, said: &str) -> Option<Found> {
        let said = said.trim_start_matches("./");
        if said.starts_with(['/', '~']) || said.contains("..") {
            return None;
        }
        let low = plain(said);
        let ends = |path: &&String| {
            let path = plain(path);
            path.strip_suffix(low.as_str()).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
        };
        let same = self.named().get(&plain(last(said)))?.iter().map(|at| &self.known[*at]);
        let mut fitting: Vec<&String> = same.filter(ends).collect();
        let mut prefer = |is_better: &dyn Fn(&String) -> bool| {
            if fitting.len() > 1 && fitting.iter().any(|path| is_better(path)) {
                fitting.retain(|path| is_better(path));
            }
        };
        prefer(&|path| path.ends_with(said));
        prefer(&|path| !is_test(path));
        match fitting.as_slice() {
            [] => None,
            [only] => Some(Found::File((*only).clone())),
            _ => Some(Found::Several(fitting.into_iter().cloned().collect())),
        }
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A path as written, then with the user's folder in place of `~`, with `/` in place of `\`, and
/// without the scheme of a URL.
fn spellings(said: &str) -> Vec<String> {
    let mut all = vec![said.to_owned()];
    let home = said.strip_prefix("~/").zip(std::env::var_os("HOME"));
    all.extend(home.map(|(rest, home)| Path::new(&home).join(rest).to_string_lossy().into_owned()));
    // `C:\…` is not a folder here.
    all.extend(Some(said.replace('\\', "/")).filter(|path| path != said && !path.contains(':')));
    all.extend(said.strip_prefix("file://").map(str::to_owned));
    all
}

/// A name in lower case, with composed letters, straight quotation marks, and plain spaces and
/// dashes.
fn plain(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let straight = |(letter, _): (char, isize)| match letter {
        '‘' | '’' | 'ʼ' | '‛' => '\'',
        '“' | '”' | '„' => '"',
        '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
        '–' | '—' | '‑' => '-',
        letter => letter,
    };
    name.nfc().map(straight).collect::<String>().to_lowercase()
}

/// Whether a word looks like a file name: it has a known ending, is hidden like `.gitignore` or
/// `.npmrc`, or is a name like `Makefile`.
pub fn is_file_name(word: &str) -> bool {
    /// Extensions of text files in no known language.
    const OF_TEXTS: &[&str] = &["txt", "cfg", "ini", "lock", "rst", "env", "xml", "csv", "conf", "tsv"];
    /// Endings of hidden files, which tell them apart from calls like `.map`.
    const OF_HIDDEN: &[&str] = &["ignore", "rc", "config", "attributes", "modules", "keep"];
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    match name.rsplit_once('.') {
        Some(("", hidden)) if OF_HIDDEN.iter().any(|ending| hidden.ends_with(ending)) => true,
        Some((_, ending)) => crate::index::language_of(&format!("x.{ending}")) != "text" || OF_TEXTS.contains(&ending),
        None => name.ends_with("file") && shape::is_path(name),
    }
}
