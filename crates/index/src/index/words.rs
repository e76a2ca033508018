//! Splits identifiers, paths and prose into words for indexing and searching.

/// Words of a question that say nothing about code: articles, prepositions, auxiliaries, question
/// words. Sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "each", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "just", "me", "my", "of", "on", "or", "our", "should", "so", "some", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "up", "us", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whose", "why", "will", "with", "would", "you", "your",
];

/// Maximum length, in bytes, of a word that is indexed; anything longer is data (base64, hashes),
/// not language.
const WORD_BYTES_MAX: usize = 64;

pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// The parts of one identifier in lower case: `parseHTTPHeader_v2` gives parse, http, header, v2.
pub fn parts(identifier: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in identifier.split(|c: char| !c.is_alphanumeric()).filter(|p| !p.is_empty()) {
        split_case(piece, &mut parts);
    }
    parts
}

/// Splits before a capital that follows a lower-case letter, and before the last capital of a run:
/// `HTTPHeader` gives http, header.
fn split_case(piece: &str, parts: &mut Vec<String>) {
    let letters: Vec<char> = piece.chars().collect();
    let mut start = 0;
    for at in 1..letters.len() {
        let (before, here) = (letters[at - 1], letters[at]);
        let starts_word = here.is_uppercase() && !before.is_uppercase();
        let ends_run =
            here.is_uppercase() && before.is_uppercase() && letters.get(at + 1).is_some_and(|c| c.is_lowercase());
        if starts_word || ends_run {
            parts.push(lower(&letters[start..at]));
            start = at;
        }
    }
    parts.push(lower(&letters[start..]));
}

fn lower(letters: &[char]) -> String {
    letters.iter().flat_map(|c| c.to_lowercase()).collect()
}

/// Every identifier-like run of letters, digits and `_` in `text`; runs longer than
/// `WORD_BYTES_MAX` are omitted.
pub fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty() && w.len() <= WORD_BYTES_MAX)
}

/// The entry of `text` in the full-text index: every identifier in full (without `_`) and, if it
/// has several parts, each part.
pub fn searchable(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    for identifier in identifiers(text) {
        let parts = parts(identifier);
        if parts.len() > 1 {
            parts.iter().for_each(|p| out.push_str(p));
            out.push(' ');
        }
        for part in &parts {
            out.push_str(part);
            out.push(' ');
        }
    }
    out
}

/// The stem of an English word in lower case (Snowball): `validators` and `validated` share one.
pub fn root(word: &str) -> String {
    thread_local! {
        static STEMMER: rust_stemmers::Stemmer = rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English);
    }
    STEMMER.with(|stemmer| stemmer.stem(word).into_owned())
}

/// The stem shared by a verb and its agent noun: `router`, `routing` and `route` share one, as do
/// `formatter` and `formatting`.
pub fn kin(word: &str) -> String {
    /// Minimum length of a stem.
    const LETTERS_MIN: usize = 3;
    let stem = root(word);
    let doer = ["er", "or"].iter().find_map(|ending| stem.strip_suffix(ending));
    let doer = doer.filter(|rest| rest.len() >= LETTERS_MIN && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']));
    // The stem of `formatter` is `formatt`, that of `formatting` is `format`.
    let is_doer = doer.is_some() || word.ends_with("er") || word.ends_with("ers");
    let rest = doer.unwrap_or(&stem);
    let twice = ["bb", "dd", "gg", "mm", "nn", "pp", "tt"].iter().any(|pair| is_doer && rest.ends_with(pair));
    rest[..rest.len() - usize::from(twice && rest.len() > LETTERS_MIN)].to_owned()
}

/// Forms of a word that the stemmer of the full-text index does not relate to it: the agent noun of
/// a verb, or the verb of an agent noun.
pub fn other_forms(word: &str) -> Vec<String> {
    /// Shorter words have too many unrelated look-alikes.
    const LETTERS_MIN: usize = 4;
    if word.len() < LETTERS_MIN || !word.chars().all(|c| c.is_ascii_lowercase()) {
        return Vec::new();
    }
    let (kin, stem) = (kin(word), root(word));
    if kin != stem {
        return vec![format!("{kin}ing")];
    }
    let letters = stem.as_bytes();
    let is_vowel = |at: usize| b"aeiouy".contains(&letters[at]);
    let ends_short = letters.len() >= 3
        && !is_vowel(letters.len() - 1)
        && is_vowel(letters.len() - 2)
        && !is_vowel(letters.len() - 3)
        && b"bdgmnpt".contains(&letters[letters.len() - 1]);
    let last = if ends_short { &stem[stem.len() - 1..] } else { "" };
    vec![format!("{stem}{last}er"), format!("{stem}or")]
}

/// The lookup key of a name: the stems of its parts in alphabetical order, so that word order,
/// endings and spelling (`field_validator`, `FieldValidator`, "validators of fields") do not
/// matter.
pub fn key(name: &str) -> String {
    joined(parts(name).iter().map(|part| kin(part)).collect())
}

/// The key made of these stems.
pub fn joined(mut roots: Vec<String>) -> String {
    roots.sort_unstable();
    roots.join(" ")
}

/// Words to search for in the full-text index, without duplicates: `searchable` without stop words,
/// or with them if there are no others.
pub fn query_words(query: &str) -> Vec<String> {
    let text = searchable(query);
    let mut all: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    let content_words: Vec<String> = all.iter().filter(|w| !is_stop_word(w)).map(|w| (*w).to_owned()).collect();
    if content_words.is_empty() { all.into_iter().map(str::to_owned).collect() } else { content_words }
}

/// The words of a path: its last three folders and the file's stem, split, without the extension.
pub fn path_words(path: &str) -> Vec<String> {
    let mut pieces: Vec<&str> = path.split('/').collect();
    let file = pieces.pop().unwrap_or_default();
    let kept = pieces.len().saturating_sub(3);
    pieces[kept..].iter().copied().chain([stem(file)]).flat_map(parts).collect()
}

/// The file's name without folders and extensions (`.d.ts` counts as one).
pub fn stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    match file.trim_start_matches('.').find('.') {
        Some(dot) => &file[..dot + (file.len() - file.trim_start_matches('.').len())],
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(identifier: &str, expected: &str) {
        assert_eq!(parts(identifier).join(" "), expected, "{identifier}");
    }

    #[test]
    fn identifiers_are_split_at_underscores_and_changes_of_case() {
        check("parseHTTPHeader_v2", "parse http header v2");
        check("snake_case_name", "snake case name");
        check("ZodType", "zod type");
        check("utf8", "utf8");
        check("ÜberName", "über name");
        check("$$typeof", "typeof");
        check("___", "");
    }

    #[test]
    fn identifiers_are_searchable_whole_and_in_parts() {
        assert_eq!(searchable("getUser(id)"), "getuser get user id ");
    }

    #[test]
    fn stop_words_are_dropped_unless_nothing_else_is_asked() {
        assert_eq!(query_words("how is the TeapotType parsed"), ["teapottype", "teapot", "type", "parsed"]);
        assert_eq!(query_words("what is it"), ["what", "is", "it"]);
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn names_and_the_words_for_them_share_a_key() {
        assert_eq!(key("HtmlFormatter"), key("formatting html"));
        assert_eq!(key("parcel_planner"), key("ParcelPlanners"));
        assert_eq!(key("$TeapotType"), key("teapot types"));
        assert_ne!(key("parcel"), key("parcel_planner"));
    }

    #[test]
    fn a_verb_and_its_doer_are_of_one_kin() {
        for (one, other) in [
            ("router", "routing"),
            ("routes", "routers"),
            ("formatter", "formatting"),
            ("parser", "parsed"),
            ("executor", "executes"),
            ("loggers", "logging"),
            ("handler", "handle"),
        ] {
            assert_eq!(kin(one), kin(other), "{one} {other}");
        }
        assert_ne!(kin("error"), kin("er"));
        assert_eq!(kin("user"), "user");
        assert_eq!(other_forms("router"), ["routing"]);
        assert!(other_forms("formatting").contains(&"formatter".to_owned()));
    }

    #[test]
    fn a_path_gives_its_last_folders_and_its_stem() {
        assert_eq!(
            path_words("packages/tea/src/v2/leaves/toYAMLLabel.ts"),
            ["src", "v2", "leaves", "to", "yaml", "label"]
        );
        assert_eq!(stem("a/types.d.ts"), "types");
        assert_eq!(stem(".eslintrc.json"), ".eslintrc");
    }
}
