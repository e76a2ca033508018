//! Separates code from comments and docstrings.

/// Whether code contains `value` outside comments and docstrings.
pub fn has_in_code(code: &str, value: &str) -> bool {
    code_lines(code).any(|line| line.contains(value))
}

/// Whether code contains `name` as a word outside comments and docstrings.
pub(crate) fn has_word_in_code(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code_lines(code).any(|line| line.split(|c| !is_word(c)).any(|word| word == name))
}

/// The words of the code, without comments and docstrings.
pub fn without_words(code: &str) -> Vec<&str> {
    code_lines(code).flat_map(str::split_whitespace).collect()
}

/// The lines of the code, without comments and docstrings.
pub fn code_lines(code: &str) -> impl Iterator<Item = &str> {
    code.lines().zip(are_code(code)).filter(|(_, is_code)| *is_code).map(|(line, _)| line)
}

/// Whether each line is code, not a comment or part of a docstring.
pub(crate) fn are_code(code: &str) -> Vec<bool> {
    let mut in_docs = false;
    let is_code = |line: &str| {
        let bare = line.trim_start();
        let marks = line.matches("\"\"\"").count() + line.matches("'''").count();
        let is_comment =
            in_docs || marks > 0 || bare == "#" || ["# ", "//", "*", "/*"].iter().any(|mark| bare.starts_with(mark));
        in_docs ^= marks % 2 == 1;
        !is_comment
    };
    code.lines().map(is_code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docstrings_and_comments_are_not_code() {
        let code = "def f(a):\n    \"\"\"\n    >>> f('x')\n    \"\"\"\n    # 'y'\n    return 'z'\n";
        assert_eq!(["x", "y", "z"].map(|value| has_in_code(code, value)), [false, false, true]);
    }
}
