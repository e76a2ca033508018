//! Turns the bytes of generated tokens into text: whole characters, with thoughts separated from the answer.
//!
//! Reasoning models write `<think>…</think>` before the answer; GPT-OSS uses a separate channel.
//! Partial tags and characters are held back until they are complete or the generation ends.

use std::sync::Arc;

use super::decoder::{Token, Vocabulary};
use super::marks::{Marks, Tag};
use super::request::Piece;
use crate::base;
use crate::models::dialect::Prompt;

/// Splits a byte stream into [`Piece::Answer`]s and [`Piece::Thinking`]s.
#[derive(Clone, Debug)]
pub struct TextStream {
    /// The first bytes of an incomplete character.
    bytes: Vec<u8>,
    /// Complete characters that may be the beginning of a tag.
    held: String,
    marks: Arc<Marks>,
    /// While thinking, the tag that ends the thought.
    thinking: Option<String>,
    /// Whether a call ended the last thought.
    is_call: bool,
}

/// The bytes of a token as the reader of a reply sees them. Control tokens have none, except
/// thinking tags and the dialect's marks for calls and channels, which yield their names.
pub fn bytes(vocabulary: &dyn Vocabulary, token: Token) -> &[u8] {
    let is_text = |name: &&[u8]| {
        std::str::from_utf8(name).is_ok_and(|name| vocabulary.marks().has(name) || vocabulary.is_said(name))
    };
    vocabulary.control(token).filter(is_text).unwrap_or_else(|| vocabulary.bytes(token))
}

/// Enough of the end of `prompt` to find its last mark: more than a mark of one character per token
/// followed by blank lines.
fn end_of(vocabulary: &dyn Vocabulary, prompt: &[Token], marks: &Marks) -> Vec<u8> {
    let last = &prompt[prompt.len().saturating_sub(2 * marks.open.len().max(marks.close.len()))..];
    let text: Vec<u8> = last.iter().flat_map(|&token| bytes(vocabulary, token)).copied().collect();
    text.trim_ascii_end().to_vec()
}

/// The mark that ends the thought that `prompt` has opened, if any. Some templates write the
/// opening mark themselves: the first generated token then belongs to the thought.
fn opens_thinking(vocabulary: &dyn Vocabulary, prompt: &[Token], marks: &Marks) -> Option<String> {
    let text = end_of(vocabulary, prompt, marks);
    let opened = |tag: &&Tag| tag.1.is_some() && text.ends_with(tag.0.trim_end().as_bytes());
    marks.tags.iter().find(opened).and_then(|tag| tag.1.clone())
}

/// Tokens that open a thought after `prompt`; none if one is already open or the vocabulary does
/// not mark thoughts.
pub fn opening(vocabulary: &dyn Vocabulary, prompt: &[Token]) -> Vec<Token> {
    let marks = vocabulary.marks();
    let opens = marks.are_known(vocabulary) && opens_thinking(vocabulary, prompt, &marks).is_none();
    if opens { vocabulary.continued(&marks.opening()) } else { Vec::new() }
}

/// Tokens of an empty thought to append to `prompt`; none if the vocabulary does not mark thoughts
/// or uses channels, or if the template has already closed the thought.
pub fn thought_of_nothing(vocabulary: &dyn Vocabulary, prompt: &[Token]) -> Vec<Token> {
    let marks = vocabulary.marks();
    if end_of(vocabulary, prompt, &marks).ends_with(marks.close.as_bytes()) {
        return Vec::new();
    }
    let mut whole = match opens_thinking(vocabulary, prompt, &marks).is_some() {
        true => Prompt::default(),
        false if marks.are_known(vocabulary) && !marks.are_channels() => marks.opening(),
        false => return Vec::new(),
    };
    whole.pieces.extend(marks.closing("").pieces);
    whole.pieces.extend(marks.between().pieces);
    vocabulary.continued(&whole)
}

impl TextStream {
    /// A stream for the text generated after `prompt`.
    pub fn after(vocabulary: &dyn Vocabulary, prompt: &[Token]) -> TextStream {
        let marks = vocabulary.marks();
        let thinking = opens_thinking(vocabulary, prompt, &marks);
        TextStream::new(marks, thinking)
    }

    fn new(marks: Arc<Marks>, thinking: Option<String>) -> TextStream {
        TextStream { bytes: Vec::new(), held: String::new(), marks, thinking, is_call: false }
    }

    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Whether the next text belongs to a thought.
    pub fn is_thinking(&self) -> bool {
        self.thinking.is_some()
    }

    /// Whether a call ended the last thought.
    pub fn is_call(&self) -> bool {
        self.is_call
    }

    /// Adds bytes; returns every piece that can no longer change.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        self.bytes.extend_from_slice(bytes);
        self.take_characters();
        self.drain(false)
    }

    /// Ends the generation: returns the text held back, with an incomplete character as `\u{fffd}`.
    pub fn flush(&mut self) -> Vec<Piece> {
        self.held.push_str(&String::from_utf8_lossy(&self.bytes));
        self.bytes.clear();
        self.drain(true)
    }

    /// Moves complete characters from `bytes` to `held`; invalid bytes become `\u{fffd}`.
    fn take_characters(&mut self) {
        let may_go_on = |bytes: &[u8]| std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
        let mut incomplete = Vec::new();
        let mut chunks = self.bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.held.push_str(chunk.valid());
            if chunks.peek().is_none() && may_go_on(chunk.invalid()) {
                incomplete = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                self.held.push('\u{fffd}');
            }
        }
        self.bytes = incomplete;
    }

    /// Removes the tags in `held` and returns the text around them. Unless this is the `last` call,
    /// a partial tag at the end stays in `held`.
    fn drain(&mut self, last: bool) -> Vec<Piece> {
        let (mut pieces, marks) = (Vec::new(), Arc::clone(&self.marks));
        loop {
            let ending = self.thinking.clone().map(|close| [(close, None)]);
            let tags: &[Tag] = ending.as_ref().map_or(&marks.tags, |ending| ending);
            // Calls outside thoughts are parsed elsewhere.
            let calls: &[String] = if self.is_thinking() { &marks.calls } else { &[] };
            let found = tags.iter().filter_map(|(tag, then)| Some((self.held.find(tag.as_str())?, tag, then)));
            let (tag_at, call_at) = (found.min(), calls.iter().filter_map(|call| self.held.find(call.as_str())).min());
            if let Some(at) = call_at.filter(|at| tag_at.is_none_or(|(tag, ..)| *at < tag)) {
                self.give(&mut pieces, at);
                (self.thinking, self.is_call) = (None, true);
                continue;
            }
            if let Some((at, tag, then)) = tag_at {
                self.give(&mut pieces, at);
                self.held.drain(..tag.len());
                (self.thinking, self.is_call) = (then.clone(), false);
                continue;
            }
            let marks = tags.iter().map(|(tag, _)| tag).chain(calls);
            let half = marks.map(|mark| base::half_of(&self.held, mark)).max().unwrap_or(0);
            self.give(&mut pieces, if last { self.held.len() } else { self.held.len() - half });
            return pieces;
        }
    }

    fn give(&mut self, pieces: &mut Vec<Piece>, length: usize) {
        if length > 0 {
            let text: String = self.held.drain(..length).collect();
            pieces.push(if self.thinking.is_some() { Piece::Thinking(text) } else { Piece::Answer(text) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::marks::{CLOSE, OPEN};
    use crate::engine::scripted::Letters;
    use crate::models::dialect::in_notation_of;
    use crate::models::dialect::notation::{Notation, Thoughts};
    use proptest::prelude::*;

    fn check(chunks: &[&[u8]], expected: &[Piece]) {
        check_with(TextStream::new(Marks::in_tags(), None), chunks, expected);
    }

    fn check_with(mut stream: TextStream, chunks: &[&[u8]], expected: &[Piece]) {
        let mut pieces: Vec<Piece> = chunks.iter().flat_map(|chunk| stream.push(chunk)).collect();
        pieces.extend(stream.flush());
        assert_eq!(join(pieces), expected);
    }

    fn join(pieces: Vec<Piece>) -> Vec<Piece> {
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Piece::Answer(old)), Piece::Answer(new)) => old.push_str(&new),
                (Some(Piece::Thinking(old)), Piece::Thinking(new)) => old.push_str(&new),
                (_, piece) => joined.push(piece),
            }
        }
        joined
    }

    fn answer(text: &str) -> Piece {
        Piece::Answer(text.to_owned())
    }

    fn thinking(text: &str) -> Piece {
        Piece::Thinking(text.to_owned())
    }

    #[test]
    fn thinking_is_separated_however_the_bytes_are_cut() {
        check(&[b"<think>why</think>so"], &[thinking("why"), answer("so")]);
        check(&[b"<thi", b"nk>wh", b"y</thin", b"k>so"], &[thinking("why"), answer("so")]);
        let opened_by_the_prompt = TextStream::new(Marks::in_tags(), Some(CLOSE.to_owned()));
        check_with(opened_by_the_prompt, &[b"why</th", b"ink>so"], &[thinking("why"), answer("so")]);
        for (open, close, label) in [("[THINK]", "[/THINK]", ""), ("<|channel>", "<channel|>", "thought")] {
            let thoughts =
                Thoughts { open: open.into(), close: close.into(), label: label.into(), ..Thoughts::default() };
            let marks = Arc::new(Marks::of(&Notation { thoughts: Some(thoughts), ..Notation::default() }));
            let text = format!("{}{}why{}so", marks.open, marks.inside, marks.close);
            check_with(TextStream::new(marks, None), &[text.as_bytes()], &[thinking("why"), answer("so")]);
        }
    }

    #[test]
    fn a_call_ends_a_thought_and_belongs_to_the_answer() {
        let call = "<tool_call>\n{}";
        let marks = Arc::new(Marks::of(in_notation_of("<tool_call>").notation()));
        let check = |chunks: &[&[u8]], expected: &[Piece]| {
            check_with(TextStream::new(Arc::clone(&marks), None), chunks, expected);
        };
        let thought_and_call = [thinking("I call."), answer(call)];
        check(&[b"<think>I call.<tool_call>\n{}"], &thought_and_call);
        check(&[b"<think>I call.<tool_", b"call>\n{}"], &thought_and_call);
        check(&[b"<think>I call.</think><tool_call>\n{}"], &thought_and_call);
        check(&[b"<think>a <tool", b"s> b"], &[thinking("a <tools> b")]);
    }

    #[test]
    fn the_channels_of_a_reply_are_separated_if_the_vocabulary_has_them() {
        let check = |chunks: &[&[u8]], expected: &[Piece]| {
            check_with(
                TextStream::new(Arc::new(Marks::of(in_notation_of("<|constrain|>").notation())), None),
                chunks,
                expected,
            );
        };
        let reply = b"<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>final<|message|>so";
        check(&[reply], &[thinking("why"), answer("so")]);
        check(&[&reply[..14], &reply[14..40], &reply[40..]], &[thinking("why"), answer("so")]);
        let call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}";
        check(&[b"<|channel|>analysis<|message|>why<|end|>", call.as_bytes()], &[thinking("why"), answer(call)]);
        let preamble = "<|channel|>commentary<|message|>First.<|end|><|start|>assistant";
        check(&[preamble.as_bytes(), call.as_bytes()], &[answer(&format!("First.{call}"))]);
        let text = "<|start|>assistant<|channel|>analysis<|message|>a<|end|>b";
        check_with(TextStream::after(&Letters::new(), &[]), &[text.as_bytes()], &[answer(text)]);
    }

    /// A vocabulary with one control token; the flag says whether the dialect parses calls by it.
    struct OneMark(bool);

    impl Vocabulary for OneMark {
        fn size(&self) -> usize {
            1
        }

        fn tokenize(&self, _: &Prompt) -> Vec<Token> {
            vec![Token(0)]
        }

        fn bytes(&self, _: Token) -> &[u8] {
            b""
        }

        fn control(&self, _: Token) -> Option<&[u8]> {
            Some(b"<|do this|>")
        }

        fn is_said(&self, _: &str) -> bool {
            self.0
        }

        fn is_end(&self, _: Token) -> bool {
            false
        }
    }

    #[test]
    fn control_tokens_are_text_where_calls_are_read_by_them() {
        assert_eq!(bytes(&OneMark(true), Token(0)), b"<|do this|>");
        assert_eq!(bytes(&OneMark(false), Token(0)), b"");
    }

    #[test]
    fn a_prompt_opens_thinking_only_at_its_end() {
        let letters = Letters::new();
        let opens = |text: &str| {
            let prompt = letters.tokenize(&Prompt::default().text(text));
            opens_thinking(&letters, &prompt, &Marks::in_tags()).is_some()
        };
        assert!(opens("<|im_start|>assistant\n<think>\n"));
        assert!(!opens("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
        assert!(!opens("<think> is a tag"));
        assert!(!opens("think>"));
    }

    #[test]
    fn an_empty_thought_is_added_only_if_the_model_marks_thoughts() {
        let check = |letters: &Letters, prompt: &str, expected: &str| {
            let prompt = letters.tokenize(&Prompt::default().text(prompt));
            let thought = thought_of_nothing(letters, &prompt);
            let thought: Vec<u8> = thought.iter().flat_map(|&token| letters.bytes(token)).copied().collect();
            assert_eq!(String::from_utf8_lossy(&thought), expected);
            let whole = [prompt, letters.tokenize(&Prompt::default().text(expected))].concat();
            assert_eq!(opens_thinking(letters, &whole, &Marks::in_tags()), None);
        };
        let mut thoughtful = Letters::new();
        thoughtful.thoughtful = true;
        check(&thoughtful, "assistant\n", "<think>\n\n</think>\n\n");
        check(&thoughtful, "assistant\n<think>\n", "\n</think>\n\n");
        check(&thoughtful, "assistant\n<think>\n\n</think>\n\n", "");
        check(&Letters::new(), "assistant\n", "");
    }

    #[test]
    fn half_a_tag_or_character_is_held_back_and_comes_out_at_the_end() {
        check(&[b"a <thi"], &[answer("a <thi")]);
        check(&[b"<think>never closed"], &[thinking("never closed")]);
        let euro = "€".as_bytes();
        check(&[&euro[..1], &euro[1..]], &[answer("€")]);
        check(&[b"x", &euro[..2]], &[answer("x\u{fffd}")]);
        check(&[b"a\xff", b"b"], &[answer("a\u{fffd}b")]);
    }

    proptest! {
        #[test]
        fn text_without_tags_survives_any_cutting(text in "[a-z<>é€ ]{0,40}", cuts in proptest::collection::vec(0usize..41, 0..6)) {
            prop_assume!(!text.contains(OPEN));
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let whole: &[Piece] = &[answer(&text)];
            check(&chunks, if text.is_empty() { &[] } else { whole });
        }
    }
}
