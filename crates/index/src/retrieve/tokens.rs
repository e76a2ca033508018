//! Estimates the number of tokens of a text without a tokenizer, from its words.

/// Average letters per token in code, for common vocabularies.
const LETTERS_A_TOKEN: usize = 5;

/// The estimated number of tokens: one per five letters of each word or part thereof, and one for
/// every other visible character and line break.
pub fn tokens(text: &str) -> usize {
    let mut count = 0;
    let mut letters = 0;
    for c in text.chars() {
        if c.is_alphabetic() {
            letters += 1;
            continue;
        }
        count += usize::div_ceil(letters, LETTERS_A_TOKEN);
        letters = 0;
        count += usize::from(!c.is_whitespace() || c == '\n');
    }
    count + usize::div_ceil(letters, LETTERS_A_TOKEN)
}
