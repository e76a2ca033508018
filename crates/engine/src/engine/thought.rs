//! Limits the number of tokens that a model may think; after that, the closing mark is inserted and the answer follows.
//!
//! Replies are parsed here by the same [`TextStream`] that separates thoughts from answers for the
//! reader, so that both agree on what a thought is: opened by the prompt or by the model, closed by
//! its mark or by a call.

use std::collections::VecDeque;

use super::decoder::{Token, Vocabulary};
use super::sampler::Sampling;
use super::text::{self, TextStream};
use crate::models::dialect::Prompt;

/// Maximum number of mark tokens that do not count as answer tokens: those that open a thought and
/// those that close it.
const MARKS_MAX: usize = 64;

/// How much a model may think before it answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Thinking {
    /// Limit on the total number of tokens in a reply's thoughts; when it is reached, the open one
    /// is closed. With 0, each is closed as soon as it opens.
    pub tokens_max: usize,
    /// Whether thoughts count towards [`Request::max_tokens`](super::Request::max_tokens), as API
    /// clients expect; otherwise those tokens are reserved for the answer.
    pub counts: bool,
    /// Sampling settings for thoughts.
    pub sampling: Sampling,
    /// A sentence that ends a thought that is cut short, for model families trained with one.
    pub last_words: &'static str,
}

impl Thinking {
    /// Fits these settings into the context: of the `room` tokens that a prompt leaves, an answer
    /// of `answer` tokens keeps its share, but at most half; if thoughts count towards the answer,
    /// it keeps a quarter.
    fn within(self, room: usize, answer: usize, closing: usize) -> Thinking {
        let whole = if self.counts { answer.min(room) } else { room };
        let kept = if self.counts { whole / 4 } else { answer.min(whole / 2) };
        Thinking { tokens_max: self.tokens_max.min(whole.saturating_sub(kept + closing)), ..self }
    }
}

/// The thoughts of one reply.
pub struct Thought {
    limit: Thinking,
    text: TextStream,
    /// Number of thought tokens that the model chose.
    used: usize,
    /// Number of tokens so far in thoughts and their marks.
    aside: usize,
    /// Tokens to insert into the text next.
    next: VecDeque<Token>,
    /// The tokens that close a thought early: last words, the mark, and the text between it and the
    /// answer.
    closing: Vec<Token>,
    /// The text between a thought that the model closed and an answer in a grammar.
    between: Vec<Token>,
    /// Tokens after which only an answer can follow, for a thought that is opened again after its
    /// limit.
    answer: Vec<Token>,
    /// Whether a thought was cut short.
    closed: bool,
}

impl Thought {
    /// Limits the thoughts of a reply to `prompt` with up to `answer` tokens in a slot of `context`
    /// tokens.
    pub fn new(
        vocabulary: &dyn Vocabulary,
        prompt: &[Token],
        limit: Thinking,
        answer: usize,
        context: usize,
    ) -> Thought {
        let text = TextStream::after(vocabulary, prompt);
        let marks = text.marks();
        let last_words = if limit.last_words.is_empty() { String::new() } else { format!("\n\n{}", limit.last_words) };
        let between = vocabulary.continued(&marks.between());
        let mut closing = vocabulary.continued(&marks.closing(&last_words));
        closing.extend(&between);
        let limit = limit.within(context.saturating_sub(prompt.len()), answer, closing.len());
        let answer = vocabulary.continued(&Prompt::default().special(marks.answer));
        Thought { limit, text, used: 0, aside: 0, closed: false, next: VecDeque::new(), closing, between, answer }
    }

    /// Sampling settings for thoughts.
    pub fn sampling(&self) -> &Sampling {
        &self.limit.sampling
    }

    /// Whether the next token belongs to a thought, if it is not [`Thought::forced`].
    pub fn is_open(&self) -> bool {
        self.text.is_thinking()
    }

    /// The next token, if it is forced rather than chosen by the model.
    pub fn forced(&mut self) -> Option<Token> {
        if self.next.is_empty() && self.text.is_thinking() && self.used >= self.limit.tokens_max {
            self.close();
        }
        self.next.pop_front()
    }

    /// Ends the open thought and uses up the rest of the limit; false if no thought is open or it
    /// is already being closed.
    pub fn close(&mut self) -> bool {
        let closes = self.text.is_thinking() && self.next.is_empty();
        if closes {
            self.used = self.limit.tokens_max;
            let firmly: &[Token] = if self.closed { &self.answer } else { &[] };
            self.next = self.closing.iter().chain(firmly).copied().collect();
            self.closed = true;
        }
        closes
    }

    /// Whether a token with these bytes would end the open thought by beginning a call.
    pub fn would_call(&self, bytes: &[u8]) -> bool {
        self.text.is_thinking() && {
            let mut ahead = self.text.clone();
            ahead.push(bytes);
            ahead.is_call()
        }
    }

    /// Adds the next token of the reply. If it ends the thought and a grammar `follows`, the text
    /// between thought and answer is inserted.
    pub fn push(&mut self, vocabulary: &dyn Vocabulary, token: Token, forced: bool, follows: bool) {
        let before = self.text.is_thinking();
        self.text.push(text::bytes(vocabulary, token));
        let after = self.text.is_thinking();
        self.used += usize::from(before && !forced);
        self.aside += usize::from(before || after || forced);
        if before && !after && !forced && follows {
            self.next = self.between.iter().copied().collect();
        }
    }

    /// Number of tokens so far that are not part of the answer.
    pub fn tokens(&self) -> usize {
        self.aside
    }

    /// Number of tokens so far that do not count as answer tokens. Bounded even if thoughts are
    /// opened again and again.
    pub fn aside(&self) -> usize {
        let most = self.limit.tokens_max + self.closing.len() + MARKS_MAX;
        if self.limit.counts { 0 } else { self.aside.min(most) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budget::permit::Permit;
    use crate::engine::scripted::Script;
    use crate::engine::{Finish, Grammar, Piece, Request, Tally};

    const TURN: &str = "<|im_start|>assistant\n";
    const THOUGHT: &str = "abcdefghijklmnopqrstuvwxyz";

    fn limit(tokens_max: usize) -> Thinking {
        Thinking { tokens_max, counts: false, sampling: Sampling::greedy(), last_words: "" }
    }

    /// Thoughts, answer and end of the reply to `prompt` by a model scripted to `reply`.
    fn said(reply: &str, prompt: &str, change: impl Fn(Request) -> Request) -> (String, String, Finish, Tally) {
        let mut script = Script::saying(reply);
        script.thoughtful = true;
        let engine = script.engine(Permit::new()).unwrap();
        let request = change(engine.request(&Prompt::default().text(format!("{prompt}{TURN}")), 40));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut generation = engine.generate(request).unwrap();
            let (mut thoughts, mut answer) = (String::new(), String::new());
            loop {
                match generation.next().await.unwrap() {
                    Some(Piece::Thinking(text)) => thoughts.push_str(&text),
                    Some(Piece::Answer(text)) => answer.push_str(&text),
                    Some(Piece::Finished { finish, tally }) => return (thoughts, answer, finish, tally),
                    Some(Piece::Queued { .. } | Piece::Pulse { .. }) => {}
                    None => panic!("it ended without its end"),
                }
            }
        })
    }

    fn check(reply: &str, tokens_max: usize, thoughts: &str, answer: &str) {
        let found = said(reply, "", |request| Request { thinking: Some(limit(tokens_max)), ..request });
        assert_eq!(
            (found.0.as_str(), found.1.trim_start(), found.2),
            (thoughts, answer, Finish::End),
            "{reply} {tokens_max}"
        );
    }

    #[test]
    fn a_thought_takes_as_many_tokens_as_it_may_and_the_answer_follows() {
        let reply = format!("<think>{THOUGHT}</think>So.");
        check(&reply, 10, "abcdefghij\n", "So.");
        check(&reply, 0, "\n", "So.");
        check(&reply, 100, THOUGHT, "So.");
        check("At once.", 10, "", "At once.");
    }

    #[test]
    fn a_thought_that_the_prompt_opened_is_closed_and_one_that_never_ends_too() {
        let opened = |request: Request| {
            let open = "<think>\n".bytes().map(|byte| Token(i32::from(byte)));
            Request { prompt: [request.prompt, open.collect()].concat(), thinking: Some(limit(3)), ..request }
        };
        let (thoughts, answer, ..) = said("<think>\nabcdef</think>So.", "", opened);
        assert_eq!((thoughts.as_str(), answer.trim_start()), ("abc\n", "So."));
        check(&format!("<think>{THOUGHT}"), 5, "abcde\n", "");
        // The model ends its turn inside the thought.
        check("<think>abc", 50, "abc\n", "");
    }

    #[test]
    fn a_thought_in_circles_is_closed_before_its_limit() {
        let (thoughts, answer, finish, _) =
            said(&format!("<think>{}</think>So.", "and so on, ".repeat(60)), "", |request| Request {
                thinking: Some(limit(600)),
                ..request
            });
        assert!(thoughts.len() < 100, "{thoughts}");
        assert_eq!((answer.trim_start(), finish), ("So.", Finish::End));
    }

    #[test]
    fn a_call_ends_a_thought_without_its_mark() {
        check("<think>I call.<tool_call>{}", 50, "I call.", "<tool_call>{}");
    }

    #[test]
    fn last_words_stand_in_a_thought_that_is_cut() {
        let limit = Thinking { last_words: "Enough.", ..limit(3) };
        let found =
            said("<think>abcdef</think>So.", "", |request| Request { thinking: Some(limit.clone()), ..request });
        assert_eq!(found.0, "abc\n\nEnough.\n");
    }

    #[test]
    fn a_grammar_begins_behind_the_thought() {
        let check = |reply: &str, tokens_max: usize, thoughts: &str, answer: &str| {
            let grammar = Some(Grammar::Lark("start: \"yes\" | \"no\"\n".to_owned()));
            let thinking = Some(limit(tokens_max));
            let found =
                said(reply, "", |request| Request { grammar: grammar.clone(), thinking: thinking.clone(), ..request });
            assert_eq!((found.0.as_str(), found.1.trim_start()), (thoughts, answer), "{reply} {tokens_max}");
        };
        check("<think>\nabcdef</think>no", 20, "abcdef", "no");
        check("<think>\nabcdef</think>no", 3, "abc\n", "no");
        check("<think>\nabc<tool_call>x</think>no", 20, "abc<tool_call\n", "no");
        check("no", 0, "", "no");
    }

    #[test]
    fn thoughts_count_as_answer_where_the_client_wants_it() {
        let reply = format!("<think>{THOUGHT}</think>{}", "0123456789".repeat(6));
        let with = |counts: bool| {
            let thinking = Thinking { counts, ..limit(20) };
            said(&reply, "", |request| Request { thinking: Some(thinking.clone()), ..request })
        };
        let (thoughts, answer, finish, tally) = with(false);
        // If an opening mark consists of several tokens, only the last one is recognised as a mark.
        let first_tokens = "<think".len();
        assert_eq!((thoughts.len(), answer.trim_start().len() + first_tokens, finish), (21, 40, Finish::MaxTokens));
        assert_eq!(tally.generated_tokens - tally.thought_tokens, 40);
        let (.., finish, tally) = with(true);
        assert_eq!((tally.generated_tokens, finish), (40, Finish::MaxTokens));
    }

    #[test]
    fn an_answer_keeps_its_room_in_the_context() {
        let check = |counts, room, answer, expected| {
            let wanted = Thinking { counts, ..limit(1_000) };
            assert_eq!(wanted.within(room, answer, 10).tokens_max, expected, "{counts} {room} {answer}");
        };
        check(false, 5_000, 500, 1_000);
        check(false, 800, 300, 490);
        check(false, 800, 700, 390);
        check(false, 8, 300, 0);
        check(true, 5_000, 500, 365);
        check(true, 5_000, 4_000, 1_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn guesses_change_no_token_of_a_thought_and_its_answer(tokens_max in 0usize..60, thought in "[ab ]{0,50}") {
            let prompt = format!("{thought}\n</think>\n\n{thought} is the answer. ");
            let reply = format!("<think>{thought}</think>{thought} is the answer.");
            let run = |lookup: bool| said(&reply, &prompt, |request| {
                Request { lookup, thinking: Some(limit(tokens_max)), ..request }
            });
            let (plain, guessed) = (run(false), run(true));
            prop_assert_eq!((&plain.0, &plain.1, plain.2), (&guessed.0, &guessed.1, guessed.2));
            prop_assert!(plain.0.chars().count() <= tokens_max + 1, "{:?}", plain.0);
        }
    }
}
