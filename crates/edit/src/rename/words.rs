//! Checks whether a word is a valid name in a language.

use super::RenameError;

const PYTHON: &str = "False None True and as assert async await break class continue def del elif else except finally for from global \
    if import in is lambda nonlocal not or pass raise return try while with yield";
const SCRIPT: &str = "await break case catch class const continue debugger default delete do else enum export extends false finally for \
    function if implements import in instanceof interface let new null package private protected public return static super switch \
    this throw true try typeof var void while with yield";
const RUST: &str = "Self abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if \
    impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type typeof unsafe \
    unsized use virtual where while yield";
const GO: &str = "break case chan const continue default defer else fallthrough for func go goto if import interface map package range \
    return select struct switch type var";

/// Fails if `to` is not a valid name in that language.
pub fn check(language: &str, to: &str) -> Result<(), RenameError> {
    let (keywords, dollar) = match language {
        "python" => (PYTHON, false),
        "rust" => (RUST, false),
        "go" => (GO, false),
        _ => (SCRIPT, true),
    };
    let begins = |c: char| c.is_alphabetic() || c == '_' || dollar && c == '$';
    let reason = if !to.starts_with(begins) {
        "a name begins with a letter or `_`"
    } else if !to.chars().all(|c| begins(c) || c.is_numeric()) {
        "a name consists only of letters, digits and `_`"
    } else if keywords.split_whitespace().any(|word| word == to) {
        "it is a keyword of the language"
    } else if to == "_" {
        "it is a placeholder, not a name"
    } else {
        return Ok(());
    };
    Err(RenameError::NotAName { to: to.to_owned(), language: language.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    #[test]
    fn keywords_and_words_with_other_signs_cannot_be_names() {
        let check = |language: &str, to: &str, allowed: bool| {
            assert_eq!(super::check(language, to).is_ok(), allowed, "{to} in {language}")
        };
        check("python", "parse_all", true);
        check("python", "lambda", false);
        check("python", "a-b", false);
        check("python", "2nd", false);
        check("python", "", false);
        check("typescript", "$el", true);
        check("typescript", "class", false);
        check("rust", "$el", false);
        check("rust", "crate", false);
        check("go", "func", false);
        check("go", "größe", true);
        check("go", "_", false);
    }
}
