//! Splits names and sentences into words and stems, so that `readFiles`, `read_file` and "Reading files" match.

use crate::index::words;

/// Most words read of one text; the rest is ignored.
const WORDS_MAX: usize = 2_000;

/// The parts of a name or sentence in lower case: split at everything that is no letter or digit, and inside `camelCase`.
pub fn parts(text: &str) -> Vec<String> {
    let mut all = words::parts(text);
    all.truncate(WORDS_MAX);
    all
}

/// The stems of a text's words, without stop words.
pub fn terms(text: &str) -> Vec<String> {
    parts(text).into_iter().filter(|word| !is_filler(word)).map(|word| stem(&word)).collect()
}

/// Strips plural and verb endings: files → file, copies → copy, running → run, merged → merg, merge → merg.
pub fn stem(word: &str) -> String {
    if word.len() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    let base = if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        word.to_owned()
    } else if let Some(rest) = word.strip_suffix("ies") {
        if rest.len() >= 2 { format!("{rest}y") } else { word.to_owned() }
    } else if ["sses", "ches", "shes", "xes", "zes"].iter().any(|end| word.ends_with(end)) {
        word[..word.len() - 2].to_owned()
    } else if let Some(stem) = word.strip_suffix('s') {
        stem.to_owned()
    } else {
        word.to_owned()
    };
    let ending =
        ["ing", "ed"].iter().find_map(|end| base.strip_suffix(end).filter(|rest| rest.len() >= 3 && has_vowel(rest)));
    let base = match ending {
        Some(rest) => undoubled(rest).to_owned(),
        None => base,
    };
    // `merge`, `merged` and `merging` need the same stem, so a silent e is dropped.
    match base.strip_suffix('e') {
        Some(rest) if rest.len() >= 3 && !rest.ends_with('e') => rest.to_owned(),
        _ => base,
    }
}

fn has_vowel(text: &str) -> bool {
    text.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

/// runn → run, but pass and fill keep their letters.
fn undoubled(text: &str) -> &str {
    let bytes = text.as_bytes();
    match bytes {
        [.., a, b] if a == b && !b"lsz".contains(b) => &text[..text.len() - 1],
        _ => text,
    }
}

/// Whether a word is a stop word: a word of grammar or politeness.
pub fn is_filler(word: &str) -> bool {
    const FILLERS: &[&str] = &[
        "a", "an", "the", "this", "that", "these", "those", "of", "to", "in", "on", "at", "by", "for", "from", "with",
        "and", "or", "is", "are", "was", "were", "be", "been", "it", "its", "i", "me", "my", "mine", "we", "us", "our",
        "you", "your", "he", "she", "they", "them", "their", "do", "does", "did", "can", "could", "would", "should",
        "will", "please", "have", "has", "had", "as", "into", "so", "if", "but", "not", "no", "there", "here", "what",
        "which", "who", "how", "when", "where", "why", "some", "any", "just", "also", "then", "than", "let", "want",
        "need", "like", "s", "t", "am", "about", "up", "out", "all",
    ];
    FILLERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(parts(text), expected, "{text}");
    }

    #[test]
    fn names_are_split_as_people_read_them() {
        check("read_file", &["read", "file"]);
        check("readFile", &["read", "file"]);
        check("parseHTMLFile2", &["parse", "html", "file2"]);
        check("mail.send-now", &["mail", "send", "now"]);
        check("PDF", &["pdf"]);
        check("Straße groß", &["straße", "groß"]);
        check(" ,;", &[]);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["file", "files"][..],
            &["copy", "copies"],
            &["run", "running", "runs"],
            &["merge", "merged", "merging", "merges"],
            &["search", "searches", "searched", "searching"],
            &["process", "processes"],
            &["delete", "deleted", "deleting"],
            &["list", "lists", "listed"],
        ] {
            let stems: std::collections::HashSet<String> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{forms:?}: {stems:?}");
        }
        assert_ne!(stem("status"), stem("stat"));
    }

    #[test]
    fn of_a_huge_text_only_the_beginning_is_read() {
        assert_eq!(parts(&"word ".repeat(200_000)).len(), WORDS_MAX);
    }
}
