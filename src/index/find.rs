//! Finds files by words of their path or by a pattern.

use super::{Index, IndexError, words};
use crate::base::near::distance;

impl Index {
    /// Files whose path matches `wanted`, best first. With `*` or `?` it is a pattern over the whole path (`*` stops at `/`, `**`
    /// does not; a pattern without `/` is matched against the file name); else it is words that may occur anywhere in the path.
    pub fn find_files(&self, wanted: &str, limit: usize) -> Result<Vec<String>, IndexError> {
        Ok(find(&self.paths()?, wanted, limit))
    }
}

fn find(paths: &[String], wanted: &str, limit: usize) -> Vec<String> {
    let wanted = wanted.trim().trim_start_matches("./");
    if wanted.contains(['*', '?']) {
        let fits = |path: &&String| {
            let target = if wanted.contains('/') { path.as_str() } else { path.rsplit('/').next().unwrap_or(path) };
            glob(wanted.as_bytes(), target.as_bytes())
        };
        return paths.iter().filter(fits).take(limit).cloned().collect();
    }
    let words = words::query_words(wanted);
    let mut scored: Vec<(f64, &String)> =
        paths.iter().map(|p| (score(p, wanted, &words), p)).filter(|(s, _)| *s > 0.0).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.len().cmp(&b.1.len())).then(a.1.cmp(b.1)));
    scored.into_iter().take(limit).map(|(_, p)| p.clone()).collect()
}

/// Score of a path: `wanted` in it as a whole counts most, then words that equal, begin or are part of path words, then
/// words with one wrong letter.
fn score(path: &str, wanted: &str, words: &[String]) -> f64 {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let wanted = wanted.to_lowercase();
    let mut score = 0.0;
    if !wanted.is_empty() {
        score += if lower == wanted || name == wanted { 10.0 } else { 0.0 };
        score += if name.contains(&wanted) {
            4.0
        } else if lower.contains(&wanted) {
            2.0
        } else {
            0.0
        };
    }
    let own: Vec<String> = words::parts(path);
    let in_name = words::parts(name);
    for word in words {
        let best = own.iter().map(|o| closeness(word, o)).fold(0.0, f64::max);
        let best_in_name = in_name.iter().map(|o| closeness(word, o)).fold(0.0, f64::max);
        score += best + 0.5 * best_in_name;
    }
    score
}

/// 1 for equal words, less for a prefix, a part, or one letter added, left out or replaced.
fn closeness(word: &str, other: &str) -> f64 {
    let long = word.len() >= 3 && other.len() >= 3;
    if word == other {
        1.0
    } else if long && (other.starts_with(word) || word.starts_with(other)) {
        0.7
    } else if long && other.contains(word) {
        0.5
    } else if word.len() >= 5 && distance(word, other) == 1 {
        0.4
    } else {
        0.0
    }
}

/// Whether a pattern with `*`, `**` and `?` matches the whole path. Goes back only to the last star, without recursion.
fn glob(pattern: &[u8], path: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to try again if the text after a `*` or `**` does not match: (pattern position after it, path position).
    let mut within: Option<(usize, usize)> = None;
    let mut across: Option<(usize, usize)> = None;
    loop {
        if pattern[p..].starts_with(b"**") {
            p += 2;
            // `**/` also stands for no folder at all.
            if pattern[p..].starts_with(b"/") && (t == 0 || path[t - 1] == b'/') {
                p += 1;
            }
            (across, within) = (Some((p, t)), None);
        } else if pattern.get(p) == Some(&b'*') {
            p += 1;
            within = Some((p, t));
        } else if p == pattern.len() && t == path.len() {
            return true;
        } else if t < path.len() && pattern.get(p).is_some_and(|c| *c == path[t] || (*c == b'?' && path[t] != b'/')) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((after, at)) = within.filter(|(_, at)| *at < path.len() && path[*at] != b'/') {
            (p, t) = (after, at + 1);
            within = Some((after, at + 1));
        } else if let Some((after, at)) = across.filter(|(_, at)| *at < path.len()) {
            (p, t) = (after, at + 1);
            (across, within) = (Some((after, at + 1)), None);
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &str, expected: &[&str]) {
        let paths =
            ["README.md", "src/http/retry_policy.ts", "src/http/client.ts", "src/index.ts", "tests/retry.test.ts"];
        let paths: Vec<String> = paths.iter().map(|p| (*p).to_owned()).collect();
        assert_eq!(find(&paths, wanted, 10), expected, "{wanted}");
    }

    #[test]
    fn patterns_cover_whole_paths_or_names() {
        check("*.md", &["README.md"]);
        check("src/*.ts", &["src/index.ts"]);
        check("src/**/*.ts", &["src/http/retry_policy.ts", "src/http/client.ts", "src/index.ts"]);
        check("**/retry*", &["src/http/retry_policy.ts", "tests/retry.test.ts"]);
        check("inde?.ts", &["src/index.ts"]);
        check("*.rs", &[]);
    }

    #[test]
    fn words_find_paths_by_parts_and_near_misses() {
        check("retry policy", &["src/http/retry_policy.ts", "tests/retry.test.ts"]);
        check(
            "src/index.ts",
            &["src/index.ts", "src/http/client.ts", "src/http/retry_policy.ts", "tests/retry.test.ts"],
        );
        check("cliemt", &["src/http/client.ts"]);
        check("zebra", &[]);
    }
}
