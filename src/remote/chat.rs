//! Carries out one request: retries while the server is unreachable or busy, reads the stream, and ends it if it
//! stalls.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::ask::Ask;
use super::error::Why;
use super::http::{Answer, Failure};
use super::piece::{Finish, Piece};
use super::read::Chunks;
use super::reply::Pieces;
use super::sse::{Events, Heard};
use super::veil::{Lifting, Veil};
use super::{Remote, body, form, said};
use crate::models::dialect::notation::Notation;

/// The pauses after consecutive failures. Nothing is retried once a piece of the reply has arrived.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
/// Maximum pause that a server may request with `Retry-After`.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Maximum time for which a server may load a model or be busy.
const BUSY_MAX: Duration = Duration::from_secs(600);
/// A server may send only signs of life for this many times the silence limit.
const SIGNS_MAX: u32 = 6;
/// Maximum time between the end of the model's output and the end of the stream.
const END_MAX: Duration = Duration::from_secs(5);
/// A reply may not exceed this many bytes per token plus a constant.
const TOKEN_BYTES: usize = 64;
const REPLY_BYTES: usize = 64 << 10;
/// Maximum number of consecutive chunks without content.
const EMPTY_MAX: usize = 100_000;

/// Why one attempt failed.
enum Failed {
    /// The server was unreachable or disconnected before the first piece.
    Away(String),
    /// The server is loading or overloaded, with the wait that it requests, if any.
    Busy(String, Option<Duration>),
    Final(Why),
}

/// Sends the pieces of the reply to `ask`, whose private data `veil` hides; returns the final
/// error, if any.
pub async fn run(remote: &Remote, (ask, veil): (&Ask, &Veil), pieces: &Pieces) -> Result<(), Why> {
    let start = Instant::now();
    let (mut away, mut busy) = (0, 0);
    let mut begins_in_words = false;
    loop {
        let (why, pause) = match attempt(remote, (ask, veil), begins_in_words, pieces, start).await {
            Ok(()) => return Ok(()),
            Err(Failed::Final(Why::Status { status: 400 | 422, said }))
                if !begins_in_words && body::goes_on(ask, &remote.can()) =>
            {
                tracing::debug!(said, "continuing an answer was refused; it is asked for in words");
                begins_in_words = true;
                continue;
            }
            Err(Failed::Final(why)) => return Err(why),
            Err(Failed::Away(last)) => match PAUSES.get(away) {
                Some(pause) => {
                    away += 1;
                    (last, *pause)
                }
                None => return Err(Why::Unreachable { tries: away as u32 + 1, last }),
            },
            Err(Failed::Busy(last, wanted)) => {
                let pause = wanted.unwrap_or(PAUSES[busy.min(PAUSES.len() - 1)]).min(PAUSE_MAX);
                busy += 1;
                if start.elapsed() + pause > BUSY_MAX {
                    return Err(Why::Busy { tries: busy as u32, last });
                }
                (last, pause)
            }
        };
        let _ = pieces.send(Ok(Piece::Waiting { why, pause })).await;
        tokio::time::sleep(pause).await;
    }
}

async fn attempt(
    remote: &Remote,
    (ask, veil): (&Ask, &Veil),
    in_words: bool,
    pieces: &Pieces,
    start: Instant,
) -> Result<(), Failed> {
    let mut can = remote.can();
    can.goes_on &= !in_words;
    let body = body::body(ask, &can).to_string();
    let answer = match remote.send("chat/completions", Some(body)).await {
        Ok(answer) => answer,
        Err(Failure::Passing(why)) => return Err(Failed::Away(why)),
        Err(Failure::Final(why)) => return Err(Failed::Final(why)),
    };
    let answer = accepted(remote, answer, "chat/completions").await?;
    let is_stream = answer.header("content-type").to_lowercase().starts_with("text/event-stream");
    let mut stream =
        Stream { remote, ask, veil, pieces, start, first: None, text: Lifting::default(), thought: Lifting::default() };
    let read = if is_stream { stream.events(answer).await } else { stream.whole(answer).await };
    match read {
        Err(Why::Cut(why)) if stream.first.is_none() => Err(Failed::Away(why)),
        Err(why) => Err(Failed::Final(why)),
        Ok(()) => Ok(()),
    }
}

/// The answer if its status is 200.
async fn accepted(remote: &Remote, answer: Answer, path: &str) -> Result<Answer, Failed> {
    let status = answer.status();
    if status == 200 {
        return Ok(answer);
    }
    if (300..400).contains(&status) {
        return Err(Failed::Final(Why::Redirected(remote.place(answer.header("location")))));
    }
    let wanted = answer.header("retry-after").trim().parse().ok().map(Duration::from_secs);
    let text = answer.error_text().await;
    if matches!(status, 429 | 502 | 503 | 504) || said::is_loading(status, &text) {
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let said = said::error_in(&value).unwrap_or_default();
        return Err(Failed::Busy(remote.shown(&format!("status {status} {said}")), wanted));
    }
    Err(Failed::Final(said::judged(status, path, &text, remote.key())))
}

/// Like [`accepted`], for requests that are not retried.
pub async fn accepted_or_why(remote: &Remote, answer: Answer, path: &str) -> Result<Answer, Why> {
    accepted(remote, answer, path).await.map_err(|failed| match failed {
        Failed::Final(why) => why,
        Failed::Away(last) => Why::Unreachable { tries: 1, last },
        Failed::Busy(last, _) => Why::Busy { tries: 1, last },
    })
}

/// A reply being read.
struct Stream<'a> {
    remote: &'a Remote,
    ask: &'a Ask,
    veil: &'a Veil,
    pieces: &'a Pieces,
    /// Lifts the veil from text and thoughts as they arrive.
    text: Lifting,
    thought: Lifting,
    start: Instant,
    /// When the first thought, text or call arrived.
    first: Option<Instant>,
}

impl Stream<'_> {
    /// Reads an answer of server-sent events.
    async fn events(&mut self, mut answer: Answer) -> Result<(), Why> {
        let notation = Notation::usual();
        let mut chunks = Chunks::new(&notation, &self.ask.tools);
        let mut words = form::Words::of(self.ask);
        let mut events = Events::default();
        let silence = self.remote.endpoint().silence;
        let (mut last, mut empty, mut done) = (Instant::now(), 0, false);
        let mut ended: Option<Instant> = None;
        let too_long = |_| Why::Unreadable("a line of it has more than 1 MiB".to_owned());
        while !done {
            let next = match ended {
                None => answer.next().await?,
                // The model has finished; token counts may still follow.
                Some(at) => match tokio::time::timeout_at((at + END_MAX).into(), answer.next()).await {
                    Ok(Ok(Some(bytes))) => Some(bytes),
                    _ => None,
                },
            };
            let mut heard = match &next {
                Some(bytes) => events.push(bytes).map_err(too_long)?,
                None => std::mem::take(&mut events).finish().map_err(too_long)?.map(Heard::Data).into_iter().collect(),
            };
            for data in heard.drain(..).filter_map(|one| if let Heard::Data(data) = one { Some(data) } else { None }) {
                if data.trim() == "[DONE]" {
                    done = true;
                    break;
                }
                if data.trim().is_empty() {
                    continue;
                }
                let value: Value = match serde_json::from_str(&data) {
                    Ok(value) => value,
                    // A partial event at the end of a closed stream.
                    Err(_) if next.is_none() => break,
                    Err(_) => return Err(Why::Unreadable(format!("`{}` is not JSON", self.remote.shown(&data)))),
                };
                let before = chunks.bytes;
                let got = chunks.take(&value).map_err(|why| self.cleaned(why))?;
                let is_news = chunks.bytes > before || !got.is_empty();
                empty = if is_news { 0 } else { empty + 1 };
                if is_news {
                    last = Instant::now();
                }
                if chunks.bytes > before {
                    self.first.get_or_insert_with(Instant::now);
                }
                self.pass(got, &mut words).await;
                ended = ended.or_else(|| chunks.finish.map(|_| Instant::now()));
            }
            if next.is_none() && !done {
                if chunks.finish.is_none() {
                    return Err(Why::Cut("the connection closed mid-answer".to_owned()));
                }
                done = true;
            }
            if last.elapsed() > silence.saturating_mul(SIGNS_MAX) {
                return Err(Why::Silent(silence.saturating_mul(SIGNS_MAX)));
            }
            if empty > EMPTY_MAX {
                return Err(Why::Cut(format!("{EMPTY_MAX} chunks without content came in a row")));
            }
            if chunks.bytes > self.ask.max_tokens.saturating_mul(TOKEN_BYTES).saturating_add(REPLY_BYTES) {
                // The server ignores max_tokens.
                chunks.finish = Some(Finish::Length);
                done = true;
            }
        }
        drop(answer);
        self.end(chunks, words).await
    }

    /// Reads an answer that arrives as one JSON object.
    async fn whole(&mut self, answer: Answer) -> Result<(), Why> {
        let kind = self.remote.shown(answer.header("content-type"));
        let text = answer.text(super::http::WHOLE_MAX).await?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|_| Why::Unreadable(format!("its content is `{kind}`, neither a stream of events nor JSON")))?;
        let notation = Notation::usual();
        let mut chunks = Chunks::new(&notation, &self.ask.tools);
        let mut words = form::Words::of(self.ask);
        let got = chunks.take(&value).map_err(|why| self.cleaned(why))?;
        if !value["choices"][0].is_object() {
            return Err(Why::Unreadable("it has no `choices`".to_owned()));
        }
        self.first = Some(Instant::now());
        self.pass(got, &mut words).await;
        self.end(chunks, words).await
    }

    async fn end(&mut self, chunks: Chunks<'_>, mut words: form::Words<'_>) -> Result<(), Why> {
        let bytes = chunks.bytes;
        let (last, finish, mut usage) = chunks.end()?;
        let (calls, texts): (Vec<Piece>, Vec<Piece>) =
            last.into_iter().partition(|piece| matches!(piece, Piece::Call { .. } | Piece::LeftOut { .. }));
        self.pass(texts, &mut words).await;
        let rest = words.finish();
        if !rest.is_empty() {
            self.give(Piece::Text(rest)).await;
        }
        for (held, piece) in
            [(self.thought.finish(), Piece::Thinking as fn(String) -> Piece), (self.text.finish(), Piece::Text)]
        {
            if !held.is_empty() {
                let _ = self.pieces.send(Ok(piece(held))).await;
            }
        }
        for call in calls {
            self.give(call).await;
        }
        let millis = |at: Instant| at.duration_since(self.start).as_millis() as u64;
        usage.first_ms = millis(self.first.unwrap_or_else(Instant::now));
        usage.total_ms = millis(Instant::now());
        let sent = super::tokens::of_ask(self.ask);
        if usage.is_estimate {
            usage.prompt_tokens = self.remote.tokens.of(sent);
            usage.generated_tokens = usage.generated_tokens.max(bytes.div_ceil(3));
        } else {
            self.remote.tokens.learn(sent, usage.prompt_tokens);
        }
        crate::base::lock(&self.remote.spent).add(&usage);
        self.give(Piece::Finished { finish, usage }).await;
        Ok(())
    }

    /// Passes pieces on, with text in the requested form.
    async fn pass(&mut self, got: Vec<Piece>, words: &mut form::Words<'_>) {
        for piece in got {
            let piece = match piece {
                Piece::Text(text) => Piece::Text(words.push(&text)),
                other => other,
            };
            self.give(piece).await;
        }
    }

    async fn give(&mut self, piece: Piece) {
        let piece = match piece {
            Piece::Text(text) => Piece::Text(self.text.push(self.veil, &text)),
            Piece::Thinking(text) => Piece::Thinking(self.thought.push(self.veil, &text)),
            Piece::Call { mut call, is_certain, in_fields } => {
                call.arguments.values_mut().for_each(|value| self.veil.lift(value));
                Piece::Call { call, is_certain, in_fields }
            }
            other => other,
        };
        if matches!(&piece, Piece::Text(text) | Piece::Thinking(text) if text.is_empty()) {
            return;
        }
        // If the receiver is gone, the task ends with the reply.
        let _ = self.pieces.send(Ok(piece)).await;
    }

    /// A reason without the key, in case the server repeated it.
    fn cleaned(&self, why: Why) -> Why {
        match why {
            Why::InAnswer(said) => Why::InAnswer(self.remote.shown(&said)),
            Why::TooLong { said } => Why::TooLong { said: self.remote.shown(&said) },
            other => other,
        }
    }
}
