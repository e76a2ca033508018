//! Finds copies of other files: bundles built from sources, generated single headers, vendored or published
//! duplicates.

use std::collections::HashMap;

use super::paths::{self, Sort};

/// A sketch keeps one in this many distinct lines.
const SAMPLED: u64 = 2;
/// Maximum number of lines in a sketch: 32 KB per file.
const SAMPLES_MAX: usize = 8_000;
/// A line with fewer letters and digits is too common to be evidence.
const LETTERS_MIN: usize = 12;
/// A line found in more files than this is a licence or boilerplate.
const FILES_MAX: usize = 8;
/// A file may be a copy if more than this share of its lines is found in other files.
const SHARE: f64 = 0.6;
/// Minimum matching lines of a copy in a folder where copies are usual (`dist/`, `vendor/`).
const MARKED_LINES_MIN: usize = 6;
/// Minimum matching lines of a bundle in any folder, and the number of files that contribute lines
/// to it: similar files share passages, but only a bundle consists of several files.
const BUNDLE_LINES_MIN: usize = 60;
const BUNDLE_FILES_MIN: usize = 3;
/// Minimum number of lines that a bundle takes from each file.
const TAKEN_MIN: usize = 3;
/// Minimum matching lines of a copy of one file in any folder, and their share found in the other
/// file.
const TWIN_LINES_MIN: usize = 20;
const TWIN_SHARE: f64 = 0.9;

/// Hashes of a sample of the text's lines, based on letters and digits only: quotes, spaces and
/// semicolons do not matter. The same line is in the sample of every file that contains it.
pub fn sketch(text: &str) -> Vec<u32> {
    let mut hashes: Vec<u32> = Vec::new();
    let mut letters = String::new();
    for line in text.lines() {
        letters.clear();
        letters.extend(line.chars().filter(|c| c.is_alphanumeric()));
        let hash = hash_of(&letters);
        if letters.len() >= LETTERS_MIN && hash.is_multiple_of(SAMPLED) {
            hashes.push((hash >> 32) as u32);
        }
    }
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(SAMPLES_MAX);
    hashes
}

/// 64-bit FNV-1a, with its upper bits mixed into the lower ones.
fn hash_of(text: &str) -> u64 {
    let hash =
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    hash ^ (hash >> 32)
}

/// The files most of whose lines also occur in other files that look more like the source. `files`
/// are paths with sketches.
pub fn copies(files: &[(String, Vec<u32>)]) -> Vec<&str> {
    let mut count: HashMap<u32, usize> = HashMap::new();
    files.iter().flat_map(|(_, sketch)| sketch).for_each(|line| *count.entry(*line).or_default() += 1);
    // Sources come first: they are smaller than files built from them.
    let mut order: Vec<(usize, &str, &[u32])> =
        files.iter().map(|(path, sketch)| (strangeness(path), path.as_str(), sketch.as_slice())).collect();
    order.sort_unstable_by_key(|(strange, path, sketch)| (*strange, sketch.len(), path.len(), *path));
    // The file in which each line was first seen.
    let mut first: HashMap<u32, usize> = HashMap::new();
    let mut copies = Vec::new();
    for (at, (strange, path, sketch)) in order.into_iter().enumerate() {
        let telling: Vec<u32> = sketch.iter().copied().filter(|line| count[line] <= FILES_MAX).collect();
        let mut taken: HashMap<usize, usize> = HashMap::new();
        telling.iter().filter_map(|line| first.get(line)).for_each(|from| *taken.entry(*from).or_default() += 1);
        let share = taken.values().sum::<usize>() as f64 / telling.len().max(1) as f64;
        let sources = taken.values().filter(|lines| **lines >= TAKEN_MIN).count();
        let is_copy = (strange > 1 && telling.len() >= MARKED_LINES_MIN)
            || (telling.len() >= BUNDLE_LINES_MIN && sources >= BUNDLE_FILES_MIN)
            || (telling.len() >= TWIN_LINES_MIN && share >= TWIN_SHARE);
        if share >= SHARE && is_copy {
            copies.push(path);
        }
        for line in telling {
            first.entry(line).or_insert(at);
        }
    }
    copies
}

/// How unlike a source path a path is: 0 in `src` or `lib`, 1 elsewhere, more in folders for copies
/// and examples.
fn strangeness(path: &str) -> usize {
    let sorts = paths::sorts(path);
    let strange = |sort: &&Sort| matches!(sort, Sort::Built | Sort::Vendored | Sort::Example | Sort::Test);
    match sorts.iter().filter(strange).count() {
        0 if path.split('/').any(|folder| folder == "src" || folder == "lib") => 0,
        strange => 1 + strange,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, String)], expected: &[&str]) {
        let files: Vec<(String, Vec<u32>)> =
            files.iter().map(|(path, text)| ((*path).to_owned(), sketch(text))).collect();
        assert_eq!(copies(&files), expected);
    }

    /// Sixty lines that are unique to `name`.
    fn source(name: &str) -> String {
        (0..60).map(|n| format!("let {name}_number_{n} = count(\"{name}\", {n});\n")).collect()
    }

    #[test]
    fn a_bundle_is_told_from_the_sources_that_it_is_put_together_from() {
        let [till, coin, door] = ["till", "coin", "door"].map(source);
        let bundle = format!("{till}\n{coin}\n{door}").replace('"', "'");
        check(
            &[
                ("all_in_one/shop.js", bundle),
                ("modules/till.js", till),
                ("modules/coin.js", coin),
                ("modules/door.js", door),
            ],
            &["all_in_one/shop.js"],
        );
    }

    #[test]
    fn of_equal_files_the_one_in_the_sources_is_kept() {
        check(&[("dist/till.js", source("till")), ("src/deep/in/till.js", source("till"))], &["dist/till.js"]);
        check(&[("a/till.js", source("till")), ("b/coin.js", source("coin"))], &[]);
    }

    #[test]
    fn siblings_that_resemble_each_other_in_places_are_no_copies() {
        let common: String = source("drawer").lines().take(16).map(|line| format!("{line}\n")).collect();
        let own =
            |name: &str| source(name).lines().take(8).map(|line| format!("{line}\n")).collect::<String>() + &common;
        check(&[("app/till.js", own("till")), ("app/coin.js", own("coin"))], &[]);
    }

    #[test]
    fn licences_and_short_files_make_no_copies() {
        let licence: String = (0..30).map(|n| format!("# Permission number {n} is hereby granted\n")).collect();
        let files: Vec<(String, String)> =
            (0..20).map(|n| (format!("f{n}.rb"), format!("{licence}def something_of_number_{n}\n"))).collect();
        let files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
        check(&files, &[]);
    }
}
