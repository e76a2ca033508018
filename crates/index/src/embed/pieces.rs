//! Splits the tokens of a long text into pieces that a model reads in turn, and averages their vectors.

/// Maximum number of a text's tokens that its vector covers: the limit of OpenAI's embedders, which
/// clients expect.
pub const TOKENS_MAX: usize = 8_192;

/// The tokens of a text, and the special tokens that belong around any part of it.
pub struct Tokens {
    pub before: Vec<u32>,
    pub text: Vec<u32>,
    pub after: Vec<u32>,
}

impl Tokens {
    pub fn count(&self) -> usize {
        self.before.len() + self.text.len() + self.after.len()
    }

    /// A part of the text between the special tokens.
    fn around(&self, part: &[u32]) -> Vec<u32> {
        [&self.before[..], part, &self.after[..]].concat()
    }

    /// Number of the text's tokens that fit one pass.
    fn room(&self, max_tokens: usize) -> usize {
        max_tokens.saturating_sub(self.before.len() + self.after.len()).max(1)
    }

    /// The beginning of the text that fits one pass, with its special tokens.
    pub fn head(&self, max_tokens: usize) -> Vec<u32> {
        self.around(&self.text[..self.room(max_tokens).min(self.text.len())])
    }

    /// The pieces to read in turn, each with its special tokens.
    pub fn pieces(&self, max_tokens: usize) -> Vec<Vec<u32>> {
        let text = &self.text[..self.text.len().min(TOKENS_MAX)];
        if text.is_empty() {
            return vec![self.around(text)];
        }
        text.chunks(self.room(max_tokens)).map(|piece| self.around(piece)).collect()
    }
}

/// The mean of unit vectors, weighted by their numbers of tokens and scaled to unit length.
pub fn mean(parts: impl Iterator<Item = (usize, Vec<f32>)>) -> Vec<f32> {
    let mut parts = parts.peekable();
    let Some((tokens, mut sum)) = parts.next() else { return Vec::new() };
    if parts.peek().is_none() {
        return sum;
    }
    sum.iter_mut().for_each(|x| *x *= tokens as f32);
    for (tokens, vector) in parts {
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x * tokens as f32);
    }
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|x| *x /= length);
    }
    sum
}
