//! The cloneable handle to a model: takes prompts and returns streams of text. Dropping a stream cancels its work.

use std::sync::Arc;
use std::sync::mpsc as jobs;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::decoder::{Laid, Limits, Shown, Token, Vocabulary};
use super::generation::Generation;
use super::grammar::Grammars;
use super::request::{DEADLINE, EngineError, QUEUE_MAX, QueuePosition, Request, Scores};
use super::sharing::Verdicts;
use super::text::{self, TextStream};
use super::thought::{Thinking, Thought};
use super::worker::{Busy, Inbox, Job, Pressure, Task, Update};
use crate::budget::permit::{Permit, Priority};
use crate::models::dialect::Prompt;

/// Handle to a running model. Clones share it; dropping the last one ends the thread and frees the
/// weights and their memory.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    model: String,
    jobs: jobs::Sender<Job>,
    pressure: Arc<Pressure>,
    vocabulary: Arc<dyn Vocabulary>,
    grammars: Grammars,
    limits: Limits,
}

impl Engine {
    /// Starts the thread that owns the model. `body` builds the decoder on that thread and passes
    /// it to [`Inbox::serve`], or returns an error text.
    pub fn spawn(
        model: &str,
        vocabulary: Arc<dyn Vocabulary>,
        permit: Permit,
        body: impl FnOnce(Inbox) -> Result<(), String> + Send + 'static,
    ) -> Result<Engine, EngineError> {
        let (sender, receiver) = jobs::channel();
        let (ready, started) = jobs::channel();
        let pressure = Arc::new(Pressure::default());
        let inbox = Inbox {
            jobs: receiver,
            ready: ready.clone(),
            pressure: pressure.clone(),
            permit,
            prefixes: None,
            verdicts: Verdicts::default(),
            splits: Verdicts::default(),
        };
        let start = |reason: String| EngineError::Start { model: model.to_owned(), reason };
        thread::Builder::new()
            .name(format!("engine {model}"))
            .spawn(move || {
                if let Err(reason) = body(inbox) {
                    // Once the engine has started, the receiver is gone and sending fails.
                    let _ = ready.send(Err(reason));
                }
            })
            .map_err(|error| start(error.to_string()))?;
        let limits =
            started.recv().map_err(|_| start("its thread ended before it was ready".to_owned()))?.map_err(start)?;
        let grammars = Grammars::new(vocabulary.clone());
        let inner = Inner { model: model.to_owned(), jobs: sender, pressure, vocabulary, grammars, limits };
        Ok(Engine { inner: Arc::new(inner) })
    }

    pub fn model(&self) -> &str {
        &self.inner.model
    }

    /// Number of handles, including this one.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.inner)
    }

    pub fn limits(&self) -> Limits {
        self.inner.limits
    }

    pub fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        self.inner.vocabulary.tokenize(prompt)
    }

    /// A greedy request for a rendered prompt, with the length of its fixed part.
    pub fn request(&self, prompt: &Prompt, max_tokens: usize) -> Request {
        let start = self.tokenize(&prompt.fixed_part());
        let (tokens, shown) = match self.inner.vocabulary.lay_out(prompt) {
            Ok(Laid { tokens, shown }) => (tokens, Ok(shown)),
            Err(reason) => (self.tokenize(prompt), Err(reason)),
        };
        // The characters that follow may change how the last characters of the fixed part are
        // tokenised.
        let fixed = start.iter().zip(&tokens).take_while(|(token, whole)| token == whole).count();
        Request { fixed, shown, ..Request::new(tokens, max_tokens) }
    }

    /// The same request with a limit on thoughts. If no thoughts are wanted, an empty one follows
    /// the prompt, unless the answer has a grammar, which leaves no room for a thought that the
    /// prompt has not opened, or the model does not mark thoughts.
    pub fn limited(&self, request: Request, thinking: Thinking) -> Request {
        let (mut prompt, vocabulary) = (request.prompt, &*self.inner.vocabulary);
        if thinking.tokens_max == 0
            && (request.grammar.is_none() || TextStream::after(vocabulary, &prompt).is_thinking())
        {
            prompt.extend(text::thought_of_nothing(vocabulary, &prompt));
        }
        Request { prompt, thinking: Some(thinking), ..request }
    }

    /// Number of requests waiting for a slot. Returns at once, whatever the model is doing.
    pub fn waiting(&self) -> usize {
        self.inner.pressure.waiting()
    }

    /// The work of each slot, `None` if it is free; empty before the first request. Returns at
    /// once, even while the model computes.
    pub fn slots(&self) -> Vec<Option<Busy>> {
        self.inner.pressure.slots()
    }

    /// Number of free slots if slots share calls from the start; otherwise 0, because each may need
    /// its own calls. Returns at once.
    pub fn free_together(&self) -> usize {
        let pressure = &self.inner.pressure;
        let free = pressure.slots().iter().filter(|slot| slot.is_none()).count().saturating_sub(pressure.waiting());
        if self.inner.limits.sharing.is_given() { free } else { 0 }
    }

    /// Number of tokens in a plain text.
    pub fn count(&self, text: &str) -> usize {
        self.tokenize(&Prompt::default().text(text)).len()
    }

    /// Starts a generation, which runs until the returned stream is dropped.
    pub fn generate(&self, mut request: Request) -> Result<Generation, EngineError> {
        let unseen = |reason| EngineError::Unseen { model: self.inner.model.clone(), reason };
        let shown = std::mem::replace(&mut request.shown, Ok(Vec::new())).map_err(unseen)?;
        self.fits(&request.prompt, 1)?;
        let compile = |grammar| self.inner.grammars.compile(grammar).map(Box::new);
        let constraint = request.grammar.as_ref().map(compile).transpose()?;
        let (inner, priority, deadline) = (&*self.inner, request.priority, request.deadline);
        let thought = self.thought(&mut request);
        let text = TextStream::after(&*inner.vocabulary, &request.prompt);
        let prompt = std::mem::take(&mut request.prompt);
        let task = Task::Generate { request: Box::new(request), constraint, thought };
        let (updates, standing) = self.submit((prompt, shown), priority, task, deadline)?;
        Ok(Generation::new(updates, standing, inner.vocabulary.clone(), &inner.model, text))
    }

    /// The limit on the reply's thoughts. If the answer has a grammar and the model may think
    /// before it, the prompt opens the thought and the grammar begins after it.
    fn thought(&self, request: &mut Request) -> Option<Box<Thought>> {
        let vocabulary = &*self.inner.vocabulary;
        let thinking = request.thinking.clone()?;
        if request.grammar.is_some() && thinking.tokens_max > 0 {
            let opened = [request.prompt.as_slice(), &text::opening(vocabulary, &request.prompt)].concat();
            if self.fits(&opened, 1).is_ok() {
                request.prompt = opened;
            }
        }
        let (answer, context) = (request.max_tokens, self.inner.limits.context);
        Some(Box::new(Thought::new(vocabulary, &request.prompt, thinking, answer, context)))
    }

    /// Log-probability of each continuation of `prefix`. Continuations are evaluated one by one,
    /// each truncated to [`Limits::outputs`] + 1 tokens.
    pub async fn score(
        &self,
        prefix: Vec<Token>,
        continuations: Vec<Vec<Token>>,
        priority: Priority,
    ) -> Result<Scores, EngineError> {
        let longest = continuations.iter().map(Vec::len).max().unwrap_or(0);
        self.fits(&prefix, longest)?;
        let (mut updates, _) = self.submit((prefix, Vec::new()), priority, Task::Score { continuations }, DEADLINE)?;
        while let Some(update) = updates.recv().await {
            match update {
                Update::Scored { sums, tally } => return Ok(Scores { sums, tally }),
                Update::Failed(error) => return Err(error),
                Update::Token(..) | Update::Finished { .. } => {}
            }
        }
        Err(self.stopped())
    }

    fn submit(
        &self,
        (prompt, shown): (Vec<Token>, Vec<Shown>),
        priority: Priority,
        task: Task,
        deadline: Duration,
    ) -> Result<(UnboundedReceiver<Update>, Arc<QueuePosition>), EngineError> {
        let (sender, updates) = unbounded_channel();
        let standing = Arc::new(QueuePosition::default());
        let ahead = self.inner.pressure.enter(priority);
        standing.moved_to(ahead + 1, 0);
        let (standing_of_job, submitted) = (standing.clone(), Instant::now());
        let job =
            Job { prompt, shown, priority, task, updates: sender, standing: standing_of_job, submitted, deadline };
        let refused = if ahead >= QUEUE_MAX {
            EngineError::QueueFull { model: self.inner.model.clone() }
        } else if self.inner.jobs.send(job).is_err() {
            self.stopped()
        } else {
            return Ok((updates, standing));
        };
        self.inner.pressure.leave(priority);
        Err(refused)
    }

    /// Fails if the prompt is empty or leaves no room in the context for `more` tokens.
    fn fits(&self, prompt: &[Token], more: usize) -> Result<(), EngineError> {
        let (model, context) = (self.inner.model.clone(), self.inner.limits.context);
        match prompt.len() {
            0 => Err(EngineError::EmptyPrompt { model }),
            prompt if prompt + more > context => Err(EngineError::ContextOverflow { model, prompt, context }),
            _ => Ok(()),
        }
    }

    fn stopped(&self) -> EngineError {
        EngineError::Stopped { model: self.inner.model.clone(), reason: "its thread has ended".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::decoder::Sharing;
    use crate::engine::scripted::{Letters, Script};

    #[test]
    fn a_request_to_an_engine_that_has_ended_does_not_wait() {
        let limits = Limits {
            sequences: 1,
            context: 8,
            chunk: 8,
            part: 8,
            outputs: 8,
            vocabulary: 257,
            sharing: Sharing::Always,
            cuts_anywhere: true,
            calls_in_a_row: 1,
            undo: usize::MAX,
        };
        let ends = move |inbox: Inbox| {
            drop(inbox.jobs);
            inbox.ready.send(Ok(limits)).map_err(|error| error.to_string())
        };
        let engine = Engine::spawn("m", Arc::new(Letters::new()), Permit::new(), ends).unwrap();
        assert!(engine.generate(Request::new(vec![Token(1)], 1)).is_err());
        assert_eq!(engine.waiting(), 0);
    }

    #[test]
    fn a_score_that_its_deadline_stops_says_so() {
        let mut script = Script::saying("");
        script.row_time = Duration::from_millis(10);
        let engine = script.engine(Permit::new()).unwrap();
        let task = Task::Score { continuations: vec![vec![Token(1); 60]] };
        let (mut updates, _) =
            engine.submit((vec![Token(1)], Vec::new()), Priority::Step, task, Duration::from_millis(100)).unwrap();
        let update = updates.blocking_recv();
        assert!(matches!(update, Some(Update::Failed(EngineError::Deadline(_)))), "{update:?}");
    }
}
