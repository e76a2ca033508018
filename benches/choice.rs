//! Measures the cost of a generated token apart from the model: choosing it, sending it, and the worker's own bookkeeping.
//!
//! A decoder whose logits are ready at once stands in for a model, with vocabularies of two sizes.
//! If a model makes a token in 2 ms, as on a GPU, a token for each of 16 slots must not take as
//! long again. Left out: the model, and turning tokens into text. Figures depend on the machine and
//! its number of cores.
//!
//! Run it: `cargo bench --bench choice`

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::Instant;

use monobloc::budget::permit::Permit;
use monobloc::engine::decoder::{DecodeError, Saved, Sharing, Stop};
use monobloc::engine::{Decoder, Engine, Grammar, Limits, Request, Row, Sampling, Token, Vocabulary};
use monobloc::models::dialect::Prompt;

const TOKENS: usize = 400;
const SIZES: [usize; 2] = [65_536, 151_936];

/// Every letter and number below the size, then the token that ends a text.
struct Words(Vec<String>);

impl Vocabulary for Words {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        vec![Token(7); prompt.flat().len()]
    }

    fn bytes(&self, token: Token) -> &[u8] {
        if self.is_end(token) { &[] } else { self.0[token.0 as usize].as_bytes() }
    }

    fn control(&self, token: Token) -> Option<&[u8]> {
        self.is_end(token).then_some(b"<|end|>")
    }

    fn is_end(&self, token: Token) -> bool {
        token.0 as usize + 1 == self.0.len()
    }
}

/// Returns rows of noise in turn.
struct Noise {
    rows: Vec<Vec<f32>>,
    slots: usize,
    calls: usize,
}

impl Noise {
    fn new(size: usize, slots: usize) -> Noise {
        let mut random = fastrand::Rng::with_seed(1);
        // A sum of six is nearly normal, as logits are.
        let mut row = || (0..size).map(|_| (0..6).map(|_| random.f32() * 4.0 - 2.0).sum()).collect();
        Noise { rows: (0..64).map(|_| row()).collect(), slots, calls: 0 }
    }
}

impl Decoder for Noise {
    fn limits(&self) -> Limits {
        Limits {
            sequences: self.slots,
            context: 4096,
            chunk: 256,
            part: 256,
            outputs: 16,
            vocabulary: self.rows[0].len(),
            sharing: Sharing::Wanted,
            cuts_anywhere: true,
            calls_in_a_row: 16,
            undo: usize::MAX,
        }
    }

    fn decode(&mut self, _: &[Row], _: Stop<'_>) -> Result<(), DecodeError> {
        self.calls += 1;
        Ok(())
    }

    fn logits(&self, row: usize) -> &[f32] {
        &self.rows[(self.calls + 5 * row) % self.rows.len()]
    }

    fn mark(&mut self, _: usize) {}

    fn keep(&mut self, _: usize, wanted: usize) -> usize {
        wanted
    }

    fn save(&mut self, _: usize) -> Option<Saved> {
        None
    }

    fn restore(&mut self, _: usize, _: &Saved) -> bool {
        false
    }
}

/// Microseconds from one token of all slots to the next.
fn step_us(runtime: &tokio::runtime::Runtime, engine: &Engine, slots: usize, like: &Request) -> f64 {
    let run = || {
        let streams: Vec<_> = (0..slots).map(|_| engine.generate(like.clone()).expect("accepted")).collect();
        let readers: Vec<_> = streams.into_iter().map(|stream| runtime.spawn(stream.collect())).collect();
        for reader in readers {
            runtime.block_on(reader).expect("no panic").expect("finishes");
        }
    };
    run();
    let from = Instant::now();
    run();
    from.elapsed().as_secs_f64() * 1e6 / TOKENS as f64
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    println!("microseconds a step, all slots together\n");
    println!("{:<12} {:<22} {:>8} {:>8} {:>8}", "vocabulary", "choice", "1 slot", "4 slots", "16 slots");
    for size in SIZES {
        let words: Vec<String> = (0..size).map(|number| format!("{number} ")).collect();
        let words: Arc<dyn Vocabulary> = Arc::new(Words(words));
        let greedy = Request { ignore_end: true, ..Request::new(vec![Token(7); 8], TOKENS) };
        let drawn = Sampling { temperature: 0.7, top_k: 40, top_p: 0.95, min_p: 0.05, ..Sampling::greedy() };
        let penalised = Sampling { repetition_penalty: 1.05, ..drawn };
        let digits = Grammar::Lark("start: /[0-9 ]*/\n".to_owned());
        let ways = [
            ("greedy", greedy.clone()),
            ("drawn", Request { sampling: drawn, ..greedy.clone() }),
            ("drawn, penalised", Request { sampling: penalised, ..greedy.clone() }),
            ("greedy in a grammar", Request { grammar: Some(digits), ..greedy.clone() }),
            ("greedy, logprobs", Request { logprobs: Some(5), ..greedy }),
        ];
        for (name, request) in ways {
            let times = [1, 4, 16].map(|slots| {
                let words = words.clone();
                let engine = Engine::spawn("noise", words.clone(), Permit::default(), move |inbox| {
                    inbox.serve(Noise::new(size, slots), &*words)
                });
                step_us(&runtime, &engine.expect("the engine starts"), slots, &request)
            });
            println!("{size:<12} {name:<22} {:>8.0} {:>8.0} {:>8.0}", times[0], times[1], times[2]);
        }
    }
}
