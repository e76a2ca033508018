//! Decides by its spelling alone whether a word is a name in code or a path.
//!
//! There are several functions because a word of a sentence, the name of a definition and an
//! argument of a command can be spelled alike but mean different things. The test below pins down
//! where the functions differ.

use super::clauses::words::listed;

/// Whether a word looks like a name in code: `a_b`, `aB`, `A::b`, `MAX`, `Queue`, `_a`.
pub fn is_coined(word: &str) -> bool {
    let shouted = word.len() > 2 && word.chars().all(|c| c.is_uppercase() || c == '_' || c.is_ascii_digit());
    is_compound(word)
        || shouted
        || word.starts_with('_')
        || word.chars().next().is_some_and(char::is_uppercase) && word.chars().skip(1).any(char::is_lowercase)
}

/// Like [`is_coined`], for a word in a sentence: surrounding punctuation is ignored, and a capital
/// alone does not count.
pub fn is_coined_word(word: &str) -> bool {
    let word = word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
    is_coined(word) && !is_capitalised(word)
}

/// Whether a name consists of several words, as only names in code do: `a_b`, `aB`, `a.b`, `A::b`.
pub fn is_compound(name: &str) -> bool {
    name.trim_matches('_').contains(['_', '.', ':', '$']) || is_camel(name)
}

/// Whether a word is a capital followed only by small letters, like `Queue` or the first word of a
/// sentence.
pub fn is_capitalised(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase)
}

/// Whether a word has a capital right after a small letter.
pub(super) fn is_camel(word: &str) -> bool {
    word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

/// Whether a name has an underscore, or a capital after its first letter: `a_b`, `aB`, `MAX`.
/// Unlike in [`is_compound`], dots and colons do not count, because the name is a single word in a
/// file.
pub fn is_joined(name: &str) -> bool {
    name.contains('_') || name.chars().skip(1).any(char::is_uppercase)
}

/// Whether a word is an identifier: letters, digits and underscores, not starting with a digit.
pub fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_') && word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether a word is one or more identifiers joined by dots, including a lower-case letter.
pub fn is_dotted(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$'))
        && word.chars().any(char::is_lowercase)
}

/// The names in a text that look like code, without paths.
pub fn names_in(text: &str) -> Vec<&str> {
    let edges = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let all = text.split(|letter: char| letter.is_whitespace() || matches!(letter, '(' | ','));
    all.map(|word| word.trim_matches(edges)).filter(|word| is_coined_word(word) && !is_path(word)).collect()
}

/// Whether a word can only be the object of its sentence: a path, a file name, an identifier or a
/// call.
pub(crate) fn is_marked(word: &str) -> bool {
    word.contains(['/', '\\', '_', '~', '='])
        || word.contains('.') && !word.ends_with('.')
        || word.chars().skip(1).any(char::is_uppercase)
        || word.ends_with("()")
}

/// Whether a name in a rename or move denotes a file: it has a slash, or an extension of at most
/// four letters. Unlike in [`is_path`], any extension counts, because the name cannot mean anything
/// else.
pub fn may_be_path(name: &str) -> bool {
    name.contains('/') || name.rsplit_once('.').is_some_and(|(_, end)| end.len() <= 4)
}

/// Well-known file names without an extension.
const BARE_FILES: &str = "\
    makefile, dockerfile, license, readme, changelog, gemfile, procfile, justfile, rakefile, vagrantfile, \
    jenkinsfile, codeowners";

/// Words with a dot that name a product, not a file.
const PRODUCTS: &[&str] =
    &["node.js", "next.js", "vue.js", "react.js", "express.js", "three.js", "d3.js", "asp.net", "vb.net", "socket.io"];

/// Whether `text` (a word without surrounding punctuation) names a file or a folder, or is a URL.
pub fn is_path(text: &str) -> bool {
    let low = text.to_lowercase();
    if is_url(&low) {
        return true;
    }
    if text.contains(['(', '<', '>', '{', '=', '"', '|', ';', ','])
        || text.contains("::")
        || text.contains('@') && !text.contains('/')
    {
        return false;
    }
    if low.starts_with("~/") || low.starts_with("./") || low.starts_with("../") || low == "~" {
        return true;
    }
    let windows = low.as_bytes().get(1) == Some(&b':') && low.contains('\\') && low.as_bytes()[0].is_ascii_alphabetic();
    if windows
        || low.starts_with('/')
            && low.len() > 1
            && low[1..].starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_')
    {
        return true;
    }
    if text.contains('/') {
        return is_relative(text, &low);
    }
    listed(BARE_FILES, &low) && text.starts_with(char::is_uppercase)
        || has_extension(&low) && !PRODUCTS.contains(&low.as_str())
        || low.starts_with('.')
            && low.len() > 2
            && low[1..].chars().all(|c| c.is_alphanumeric() || "._-".contains(c))
            && !low[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a lower-case word begins like a URL: with a scheme, or with `www.`.
pub fn is_url(low: &str) -> bool {
    ["http://", "https://", "file://", "ftp://", "ssh://", "s3://"].iter().any(|scheme| low.starts_with(scheme))
        || low.starts_with("www.")
}

/// Whether a word with a slash is a path: `src/a.rs` and `src/models/` are; `and/or`, `24/7` and
/// `I/O` are not.
fn is_relative(text: &str, low: &str) -> bool {
    if low.chars().all(|c| c.is_ascii_digit() || c == '/' || c == '.') {
        return false;
    }
    if listed(
        "and/or, i/o, w/o, n/a, he/she, yes/no, true/false, on/off, tcp/ip, ci/cd, a/b, input/output, \
        read/write, client/server",
        low,
    ) {
        return false;
    }
    let segments: Vec<&str> = text.split('/').collect();
    let fine = |segment: &&str| segment.chars().all(|c| c.is_alphanumeric() || "._-@*+~[]$ ".contains(c));
    segments.iter().all(fine) && segments.iter().filter(|s| !s.is_empty()).count() >= 1
}

/// Whether a word is `name.ext`, with one to five letters or digits after the last dot, starting
/// with a letter (or `7z`).
fn has_extension(low: &str) -> bool {
    let Some((stem, extension)) = low.rsplit_once('.') else { return false };
    let fine = (1..=5).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_alphanumeric());
    let letter = extension.starts_with(|c: char| c.is_ascii_alphabetic()) || matches!(extension, "7z");
    let numeric = stem.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '$');
    fine && letter
        && !stem.is_empty()
        && !numeric
        && !stem.ends_with('.')
        && stem.chars().any(char::is_alphanumeric)
        && !matches!(low, "e.g" | "i.e" | "a.m" | "p.m" | "u.s" | "u.k" | "vs.no" | "т.е" | "т.д" | "т.п")
        && !is_method_call(stem, extension)
}

/// Whether a word with a dot is a field or method (`user.name`, `self.x`), because its last part is
/// not a file extension.
fn is_method_call(stem: &str, extension: &str) -> bool {
    const FIELDS: &[&str] = &[
        "name", "len", "id", "get", "set", "map", "push", "parse", "new", "run", "call", "size", "count", "value",
        "key", "data", "type", "state", "title", "close", "open", "read", "write", "send", "init", "start", "stop",
        "then", "catch", "find", "sort", "keys", "text",
    ];
    FIELDS.contains(&extension) || stem == "self" || stem == "this"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_are_recognised_by_their_spelling() {
        for name in ["a_b", "parseAll", "Queue.pop", "std::fs", "MAX", "Queue", "__init__"] {
            assert!(is_coined(name), "{name}");
        }
        for word in ["parse", "queue", "A", "it"] {
            assert!(!is_coined(word), "{word}");
        }
    }

    #[test]
    fn paths_are_told_apart_from_words_with_dots_and_slashes() {
        let paths = "src/a.rs main.rs /tmp/x.jpg ~/notes ../b src/models/ Makefile .gitignore a-b.test.tsx https://a.b/c \
                     C:\\x\\y.txt backup.7z src/*.rs";
        let words = "and/or 24/7 e.g v1.2.3 1.5 Node.js user.name foo() std::fs a@b.com I/O 10/12/2026";
        assert_eq!(paths.split(' ').filter(|path| !is_path(path)).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(words.split(' ').filter(|word| is_path(word)).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn the_ways_to_look_at_a_word_differ() {
        type Way = (&'static str, fn(&str) -> bool);
        let ways: [Way; 9] = [
            ("coined", is_coined),
            ("coined_word", is_coined_word),
            ("compound", is_compound),
            ("joined", is_joined),
            ("identifier", is_identifier),
            ("dotted", is_dotted),
            ("marked", is_marked),
            ("path", is_path),
            ("may_be_path", may_be_path),
        ];
        let check = |word: &str, expected: &str| {
            let found: Vec<&str> = ways.iter().filter(|(_, is_it)| is_it(word)).map(|(way, _)| *way).collect();
            assert_eq!(found.join(" "), expected, "{word}");
        };
        check("oven", "identifier dotted");
        check("Oven", "coined identifier dotted");
        check("O", "identifier");
        check("HEAT", "coined coined_word joined identifier marked");
        check("heat_max", "coined coined_word compound joined identifier dotted marked");
        check("heatMax", "coined coined_word compound joined identifier dotted marked");
        check("XMLOven", "coined coined_word joined identifier dotted marked");
        check("oven.bake", "coined coined_word compound dotted marked path may_be_path");
        check("oven.name", "coined coined_word compound dotted marked may_be_path");
        check("oven::heat", "coined coined_word compound");
        check("bake()", "marked");
        check("oven.rs", "coined coined_word compound dotted marked path may_be_path");
        check("oven/heat", "marked path may_be_path");
        check("and/or", "marked may_be_path");
    }

    #[test]
    fn names_of_code_are_found_in_a_sentence() {
        assert_eq!(names_in("Let Oven.bake(heatMax, `DOOR_OPEN`) in oven.rs"), ["heatMax", "DOOR_OPEN"]);
        assert_eq!(names_in("Bake the bread, please"), [""; 0]);
    }
}
