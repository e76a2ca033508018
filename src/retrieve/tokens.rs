//! Says how many tokens a text is where no model is at hand: an estimate from its words, not from their bytes.

/// Letters that one token of a common vocabulary covers in code, on average.
const LETTERS_A_TOKEN: usize = 5;

/// About how many tokens a text is.
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
