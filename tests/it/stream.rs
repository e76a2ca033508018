//! The stream of one generation: thoughts are separated, held-back text is not lost, repetitive text is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use monobloc::budget::permit::Permit;
use monobloc::engine::decoder::{DecodeError, Saved, Sharing, Stop};
use monobloc::engine::scripted::{Letters, Script};
use monobloc::engine::{
    Decoder, Engine, EngineError, Finish, Generation, Grammar, Limits, Output, Piece, Request, Row, Token,
};
use monobloc::models::dialect::Prompt;

/// A decoder that generates some bytes and then fails; it never ends by itself.
struct Faltering {
    says: &'static [u8],
    held: usize,
    prompt: usize,
    row: Vec<f32>,
}

impl Decoder for Faltering {
    fn limits(&self) -> Limits {
        Limits {
            sequences: 1,
            context: 4096,
            chunk: 64,
            part: 64,
            vocabulary: 257,
            outputs: 64,
            sharing: Sharing::Always,
            cuts_anywhere: true,
            calls_in_a_row: 1,
            undo: usize::MAX,
        }
    }

    fn decode(&mut self, rows: &[Row], _: Stop<'_>) -> Result<(), DecodeError> {
        self.held += rows.len();
        let generated = self.held - self.prompt;
        let Some(&next) = self.says.get(generated) else {
            return Err(DecodeError::Failed { rows: rows.len(), reason: "out of words".to_owned() });
        };
        self.row = vec![0.0; 257];
        self.row[usize::from(next)] = 20.0;
        Ok(())
    }

    fn logits(&self, _: usize) -> &[f32] {
        &self.row
    }

    fn mark(&mut self, _: usize) {}

    fn keep(&mut self, _: usize, wanted: usize) -> usize {
        self.held = self.held.min(wanted);
        self.held
    }

    fn save(&mut self, _: usize) -> Option<Saved> {
        None
    }

    fn restore(&mut self, _: usize, _: &Saved) -> bool {
        false
    }
}

/// An engine whose model answers `prompt` with `says` and then fails.
fn faltering(prompt: &str, says: &'static [u8]) -> Engine {
    let length = prompt.len();
    Engine::spawn("faltering", Arc::new(Letters::new()), Permit::default(), move |inbox| {
        inbox.serve(Faltering { says, held: 0, prompt: length, row: Vec::new() }, &Letters::new())
    })
    .expect("the engine starts")
}

fn start(engine: &Engine, prompt: &str) -> Generation {
    let prompt = engine.tokenize(&Prompt::default().text(prompt));
    engine.generate(Request::new(prompt, 1000)).expect("accepted")
}

/// Reads the stream to its end: answer, thoughts, and the error if there was one.
async fn heard(mut stream: Generation) -> (String, String, Option<EngineError>) {
    let (mut answer, mut thinking) = (String::new(), String::new());
    loop {
        match stream.next().await {
            Ok(Some(Piece::Answer(text))) => answer.push_str(&text),
            Ok(Some(Piece::Thinking(text))) => thinking.push_str(&text),
            Ok(Some(_)) => {}
            Ok(None) => return (answer, thinking, None),
            Err(error) => {
                assert_eq!(stream.next().await, Ok(None), "nothing comes after an error");
                return (answer, thinking, Some(error));
            }
        }
    }
}

/// A decoder whose logits depend on how many sequences share a call; it records the largest number.
struct Crowd {
    sharing: Sharing,
    row: Vec<f32>,
    held: [usize; 2],
    most: Arc<AtomicUsize>,
}

impl Decoder for Crowd {
    fn limits(&self) -> Limits {
        let faltering = Faltering { says: b"", held: 0, prompt: 0, row: Vec::new() };
        Limits { sequences: 2, sharing: self.sharing, ..faltering.limits() }
    }

    fn decode(&mut self, rows: &[Row], _: Stop<'_>) -> Result<(), DecodeError> {
        let sequences = rows.iter().filter(|row| row.logits).count();
        self.most.fetch_max(sequences, Ordering::Relaxed);
        // Long enough for the second request to arrive during the first.
        std::thread::sleep(Duration::from_millis(1));
        rows.iter().for_each(|row| self.held[row.sequence] = row.position + 1);
        self.row = vec![0.0; 257];
        self.row[usize::from(b'a') + sequences] = 20.0;
        Ok(())
    }

    fn logits(&self, _: usize) -> &[f32] {
        &self.row
    }

    fn mark(&mut self, _: usize) {}

    fn keep(&mut self, sequence: usize, wanted: usize) -> usize {
        self.held[sequence] = self.held[sequence].min(wanted);
        self.held[sequence]
    }

    fn save(&mut self, _: usize) -> Option<Saved> {
        None
    }

    fn restore(&mut self, _: usize, _: &Saved) -> bool {
        false
    }
}

/// Two parallel answers of forty tokens: their texts, and the largest number of sequences in a
/// call.
async fn two_at_once(sharing: Sharing) -> ([String; 2], usize) {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let engine = Engine::spawn("crowd", Arc::new(Letters::new()), Permit::default(), move |inbox| {
        inbox.serve(Crowd { sharing, row: Vec::new(), held: [0; 2], most: seen }, &Letters::new())
    })
    .expect("the engine starts");
    let ask = || {
        let mut request = Request::new(engine.tokenize(&Prompt::default().text("x")), 40);
        request.ignore_end = true;
        engine.generate(request).expect("accepted")
    };
    let (one, two) = (ask(), ask());
    let (one, two) = tokio::join!(one.collect(), two.collect());
    ([one.expect("finishes").text, two.expect("finishes").text], most.load(Ordering::Relaxed))
}

/// If a shared call gives different logits, slots share calls only if the user wants that.
#[tokio::test]
async fn slots_share_a_call_that_changes_their_tokens_only_if_that_is_wanted() {
    let (texts, _) = two_at_once(Sharing::IfProved).await;
    assert_eq!(texts, ["b".repeat(40), "b".repeat(40)], "the tokens of a lone answer");
    let (texts, most) = two_at_once(Sharing::Wanted).await;
    assert_eq!(most, 2);
    assert!(texts.iter().all(|text| text.contains('c')), "{texts:?}");
}

#[tokio::test]
async fn held_back_text_is_sent_before_an_error() {
    let (answer, thinking, error) = heard(start(&faltering("x", b"sum <thi"), "x")).await;
    assert_eq!((answer.as_str(), thinking.as_str()), ("sum <thi", ""));
    assert!(error.is_some_and(|error| error.to_string().contains("out of words")));
    let (answer, _, error) = heard(start(&faltering("x", b"10 \xe2\x82"), "x")).await;
    assert_eq!(answer, "10 \u{fffd}");
    assert!(error.is_some());
}

#[tokio::test]
async fn cancelling_returns_held_back_text() {
    let engine = faltering("x", b"sum <thi");
    let (first, second) = (start(&engine, "x"), start(&engine, "x"));
    // There is only one slot, so when the second stream has ended, the first one has been sent
    // completely.
    heard(second).await;
    let pieces: Vec<Piece> = first.cancel();
    let text: String = pieces.iter().map(|piece| if let Piece::Answer(part) = piece { part } else { "" }).collect();
    assert_eq!(text, "sum <thi", "{pieces:?}");
}

#[tokio::test]
async fn an_answer_to_a_prompt_that_opens_thinking_begins_as_thinking() {
    let prompt = "<|im_start|>assistant\n<think>\n";
    let (answer, thinking, _) = heard(start(&faltering(prompt, b"why</think>so"), prompt)).await;
    assert_eq!((answer.as_str(), thinking.as_str()), ("so", "why"));
}

/// Generates from a model that repeats itself for five hundred characters and then ends.
async fn circling(change: impl FnOnce(&mut Request)) -> Output {
    let script = Script::saying(&"round we go. ".repeat(38));
    let engine = script.engine(Permit::default()).expect("the engine starts");
    let mut request = Request::new(engine.tokenize(&Prompt::default().text("<|im_start|>assistant\n")), 1000);
    change(&mut request);
    engine.generate(request).expect("accepted").collect().await.expect("finishes")
}

#[tokio::test]
async fn repetitive_text_is_stopped_unless_the_end_is_ignored() {
    let stopped = circling(|_| ()).await;
    assert_eq!((stopped.finish, stopped.text.as_str()), (Finish::Repetition, &*"round we go. ".repeat(4)));
    let measured = circling(|request| request.ignore_end = true).await;
    assert_eq!((measured.finish, measured.tokens.len()), (Finish::MaxTokens, 1000));
    let ruled = circling(|request| request.grammar = Some(Grammar::Lark("start: /[a-z. ]{300}/".to_owned()))).await;
    assert_eq!((ruled.finish, ruled.text.len()), (Finish::Repetition, 52));
}

#[tokio::test]
async fn every_token_comes_with_its_entropy() {
    let engine = Script::saying("yes").engine(Permit::default()).expect("the engine starts");
    let prompt = engine.tokenize(&Prompt::default().text("<|im_start|>assistant\n"));
    let mut stream = engine.generate(Request::new(prompt, 10)).expect("accepted");
    while stream.next().await.expect("no error").is_some() {}
    assert_eq!(stream.choices().iter().map(|choice| choice.token).collect::<Vec<Token>>(), stream.tokens());
    assert_eq!(stream.tokens().len(), 3);
    // The entropy of one logit of 20 and 256 logits of 0.
    let others = 256.0 * (-20f32).exp();
    let expected = others * (20.0 + 1.0);
    assert!(stream.choices().iter().all(|choice| (choice.entropy / expected - 1.0).abs() < 0.01));
}
