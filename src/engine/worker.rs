//! The thread that owns a model: takes jobs in, gives slots away, makes one call after another, sends tokens out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use super::decoder::{DecodeError, Decoder, Limits, Row, Token, Vocabulary};
use super::grammar::Constraint;
use super::handle::{EngineError, Finish, Request, Standing, Tally};
use super::repetition::Repetition;
use super::sampler::{self, Choice};
use super::scheduler::{self, Phase, Scheduler, View, Waiting, Work};
use super::slot::{self, Reuse, Slot};
use crate::budget::permit::{Permit, Priority};

/// What a handle asks of the worker.
pub struct Job {
    pub task: Task,
    pub updates: UnboundedSender<Update>,
    pub standing: Arc<Standing>,
    pub submitted: Instant,
    pub deadline: Duration,
}

pub enum Task {
    Generate { request: Request, constraint: Option<Box<Constraint>> },
    Score { prefix: Vec<Token>, continuations: Vec<Vec<Token>>, priority: Priority },
}

/// What the worker sends back. `Finished`, `Scored` and `Failed` are last.
#[derive(Debug)]
pub enum Update {
    Token(Choice),
    Finished { finish: Finish, tally: Tally },
    Scored { sums: Vec<f64>, tally: Tally },
    Failed(EngineError),
}

/// The worker's end of a handle.
pub struct Inbox {
    pub jobs: Receiver<Job>,
    pub ready: Sender<Result<Limits, String>>,
    pub queued: Arc<AtomicUsize>,
    pub permit: Permit,
}

impl Inbox {
    /// Serves jobs until every handle is gone.
    pub fn serve(self, decoder: impl Decoder, vocabulary: &dyn Vocabulary) -> Result<(), String> {
        let limits = decoder.limits();
        let slots = (0..limits.sequences).map(|_| Occupied::default()).collect();
        self.ready.send(Ok(limits)).map_err(|_| "nobody waits for it any more".to_owned())?;
        let Inbox { jobs, queued, permit, .. } = self;
        Worker {
            decoder,
            vocabulary,
            limits,
            permit,
            queued,
            slots,
            waiting: VecDeque::new(),
            scheduler: Scheduler::default(),
            clock: 0,
            service_ms: 0.0,
        }
        .run(jobs);
        Ok(())
    }
}

/// A slot and the job that has it.
#[derive(Default)]
struct Occupied {
    slot: Slot,
    active: Option<Active>,
}

struct Active {
    job: Job,
    /// All prompt tokens; for a score its prefix.
    prompt: Vec<Token>,
    started: Instant,
    prompted: Option<Instant>,
    cached: usize,
    served: u64,
    progress: Progress,
}

enum Progress {
    /// Prompt tokens are being evaluated; `Slot::tokens` says how far it is.
    Prompt,
    /// Tokens are being generated; the last one is not in the slot yet.
    Decode { generated: Vec<Token>, random: fastrand::Rng, repetition: Repetition },
    /// Continuations are being scored; `after` are the logits at the end of the prefix.
    Score { after: Vec<f32>, sums: Vec<f64> },
}

struct Worker<'v, D> {
    decoder: D,
    vocabulary: &'v dyn Vocabulary,
    limits: Limits,
    permit: Permit,
    queued: Arc<AtomicUsize>,
    slots: Vec<Occupied>,
    waiting: VecDeque<Job>,
    scheduler: Scheduler,
    /// Counts calls and admissions, to tell what is older.
    clock: u64,
    /// Mean time a job holds a slot, for the expected wait.
    service_ms: f64,
}

impl<D: Decoder> Worker<'_, D> {
    fn run(mut self, jobs: Receiver<Job>) {
        loop {
            if self.idle() {
                match jobs.recv() {
                    Ok(job) => self.waiting.push_back(job),
                    Err(_) => return,
                }
            }
            loop {
                match jobs.try_recv() {
                    Ok(job) => self.waiting.push_back(job),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) if self.idle() => return,
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            self.drop_the_abandoned();
            self.admit();
            let views: Vec<View> = self.slots.iter().map(Occupied::view).collect();
            let work = self.scheduler.next(&views, self.limits.co_batch);
            self.carry_out(work);
        }
    }

    fn idle(&self) -> bool {
        self.waiting.is_empty() && self.slots.iter().all(|slot| slot.active.is_none())
    }

    /// Ends jobs whose stream was dropped or whose time is up.
    fn drop_the_abandoned(&mut self) {
        let over = |job: &Job| job.updates.is_closed() || job.submitted.elapsed() > job.deadline;
        let before = self.waiting.len();
        self.waiting.retain(|job| {
            if over(job) {
                fail(job, EngineError::Deadline(job.deadline));
            }
            !over(job)
        });
        self.queued.fetch_sub(before - self.waiting.len(), Ordering::SeqCst);
        for occupied in &mut self.slots {
            if let Some(active) = occupied.active.take_if(|active| over(&active.job)) {
                fail(&active.job, EngineError::Deadline(active.job.deadline));
            }
        }
    }

    /// Gives idle slots to waiting jobs, and tells the others where they stand.
    fn admit(&mut self) {
        loop {
            let waiting: Vec<Waiting> = self.waiting.iter().map(Job::waiting).collect();
            let Some(next) = scheduler::admit(&waiting) else { break };
            let idle = self.slots.iter().enumerate().filter(|(_, slot)| slot.active.is_none());
            let Some(index) = slot::best(idle.map(|(index, one)| (index, &one.slot)), self.waiting[next].prompt())
            else {
                break;
            };
            if let Some(job) = self.waiting.remove(next) {
                self.queued.fetch_sub(1, Ordering::SeqCst);
                self.start(index, job);
            }
        }
        for (index, job) in self.waiting.iter().enumerate() {
            let eta = self.service_ms * (index + 1) as f64 / self.slots.len() as f64;
            job.standing.position.store(index + 1, Ordering::Relaxed);
            job.standing.eta_ms.store(eta as u64, Ordering::Relaxed);
        }
    }

    fn start(&mut self, index: usize, mut job: Job) {
        job.standing.position.store(0, Ordering::Relaxed);
        self.clock += 1;
        let (prompt, reuse) = match &mut job.task {
            Task::Generate { request, .. } => (std::mem::take(&mut request.prompt), request.reuse),
            Task::Score { prefix, .. } => (std::mem::take(prefix), Reuse::Exact),
        };
        let occupied = &mut self.slots[index];
        let wanted = slot::reusable(occupied.slot.shared(&prompt), prompt.len(), self.limits.chunk, reuse);
        let cached = self.decoder.keep(index, wanted);
        occupied.slot.tokens.truncate(cached);
        occupied.slot.used = self.clock;
        occupied.active = Some(Active {
            job,
            prompt,
            started: Instant::now(),
            prompted: None,
            cached,
            served: self.clock,
            progress: Progress::Prompt,
        });
    }

    fn carry_out(&mut self, work: Work) {
        let indices = match &work {
            Work::Nothing => return,
            Work::Chunk(index) => vec![*index],
            Work::Decode(indices) => indices.clone(),
        };
        let priority = indices.iter().map(|&index| self.slots[index].priority()).max().unwrap_or(Priority::Background);
        let from = Instant::now();
        {
            let permit = self.permit.clone();
            let _turn = permit.take(priority);
            match &work {
                Work::Chunk(index) if matches!(self.slots[*index].phase(), Some(Progress::Score { .. })) => {
                    self.score_one(*index);
                }
                Work::Chunk(index) => self.chunk(*index),
                Work::Decode(_) => self.decode(&indices),
                Work::Nothing => {}
            }
        }
        self.clock += 1;
        for index in indices {
            if let Some(active) = &mut self.slots[index].active {
                active.served = self.clock;
            }
        }
        self.scheduler.spent(&work, from.elapsed().as_millis() as u64);
    }

    /// Evaluates the next chunk of a prompt, and takes the first token after its end.
    fn chunk(&mut self, index: usize) {
        let Some(active) = &self.slots[index].active else { return };
        let from = self.slots[index].slot.tokens.len();
        let to = slot::chunk_end(from, active.prompt.len(), self.limits.chunk);
        let last = to == active.prompt.len();
        let rows: Vec<Row> = (from..to)
            .map(|position| Row {
                sequence: index,
                position,
                token: active.prompt[position],
                logits: last && position + 1 == to,
            })
            .collect();
        if let Err(error) = self.decoder.decode(&rows) {
            return self.abort(&[index], &error);
        }
        self.slots[index].slot.tokens.extend(rows.iter().map(|row| row.token));
        if last || to.is_multiple_of(self.limits.chunk) {
            self.decoder.mark(index);
        }
        if last {
            self.prompt_done(index, rows.len() - 1);
        }
    }

    fn prompt_done(&mut self, index: usize, row: usize) {
        let logits = self.decoder.logits(row).to_vec();
        let Some(active) = &mut self.slots[index].active else { return };
        active.prompted = Some(Instant::now());
        match &active.job.task {
            Task::Generate { request, .. } => {
                let random = fastrand::Rng::with_seed(request.sampling.seed);
                active.progress = Progress::Decode { generated: Vec::new(), random, repetition: Repetition::default() };
                self.take_token(index, logits);
            }
            Task::Score { continuations, .. } => {
                let sums = Vec::with_capacity(continuations.len());
                active.progress = Progress::Score { after: logits, sums };
                self.finish_score_if_done(index);
            }
        }
    }

    /// One more token for every slot in `indices`, in one call.
    fn decode(&mut self, indices: &[usize]) {
        let rows: Vec<Row> = indices
            .iter()
            .filter_map(|&index| {
                let occupied = &self.slots[index];
                let token = *occupied.generated()?.last()?;
                Some(Row { sequence: index, position: occupied.slot.tokens.len(), token, logits: true })
            })
            .collect();
        if let Err(error) = self.decoder.decode(&rows) {
            return self.abort(indices, &error);
        }
        for (number, row) in rows.iter().enumerate() {
            self.slots[row.sequence].slot.tokens.push(row.token);
            let logits = self.decoder.logits(number).to_vec();
            self.take_token(row.sequence, logits);
        }
    }

    /// Chooses the next token from `logits`, sends it out, and ends the job where it ends.
    fn take_token(&mut self, index: usize, mut logits: Vec<f32>) {
        let held = self.slots[index].slot.tokens.len();
        let Some(active) = &mut self.slots[index].active else { return };
        let (Progress::Decode { generated, random, repetition }, Task::Generate { request, constraint }) =
            (&mut active.progress, &mut active.job.task)
        else {
            return;
        };
        if request.max_tokens == 0 {
            return self.finish(index, Finish::MaxTokens);
        }
        let masked = constraint.as_mut().map_or(Ok(()), |constraint| constraint.mask(&mut logits));
        let choice = sampler::choose(&request.sampling, &mut logits, generated, random);
        let token = choice.token;
        let end = self.vocabulary.is_end(token) && !request.ignore_end;
        let accepted = match constraint {
            Some(constraint) if !end => masked.and_then(|()| constraint.accept(token)),
            _ => masked.map(|()| false),
        };
        let stopped = match accepted {
            Ok(stopped) => stopped,
            Err(error) => {
                fail(&active.job, error.into());
                self.slots[index].active = None;
                return;
            }
        };
        if end {
            return self.finish(index, Finish::End);
        }
        generated.push(token);
        // A closed stream is noticed before the next call.
        let _ = active.job.updates.send(Update::Token(choice));
        // A grammar ends by itself, and a benchmark wants its tokens whatever they are.
        let free = constraint.is_none() && !request.ignore_end;
        if stopped {
            self.finish(index, Finish::End);
        } else if free && repetition.push(generated) {
            self.finish(index, Finish::Repetition);
        } else if generated.len() >= request.max_tokens {
            self.finish(index, Finish::MaxTokens);
        } else if held + 1 >= self.limits.context {
            self.finish(index, Finish::ContextFull);
        }
    }

    /// Evaluates the next continuation of a score job and goes back to the end of its prefix.
    fn score_one(&mut self, index: usize) {
        let Some(active) = &self.slots[index].active else { return };
        let (Progress::Score { after, sums }, Task::Score { continuations, .. }) = (&active.progress, &active.job.task)
        else {
            return;
        };
        let continuation = &continuations[sums.len()];
        let base = active.prompt.len();
        let cut = continuation.len().min(self.limits.chunk);
        let mut sum = continuation.first().map_or(0.0, |&token| sampler::log_probability(after, token));
        let rows: Vec<Row> = continuation[..cut.saturating_sub(1)]
            .iter()
            .enumerate()
            .map(|(offset, &token)| Row { sequence: index, position: base + offset, token, logits: true })
            .collect();
        let wanted: Vec<Token> = continuation.iter().copied().skip(1).take(rows.len()).collect();
        if !rows.is_empty() {
            if let Err(error) = self.decoder.decode(&rows) {
                return self.abort(&[index], &error);
            }
            for (row, token) in wanted.into_iter().enumerate() {
                sum += sampler::log_probability(self.decoder.logits(row), token);
            }
            let kept = self.decoder.keep(index, base);
            self.slots[index].slot.tokens.truncate(kept);
            if kept < base {
                let reason = format!("only {kept} of {base} positions could be restored after scoring");
                return self.abort(&[index], &DecodeError { rows: rows.len(), reason });
            }
        }
        if let Some(Active { progress: Progress::Score { sums, .. }, .. }) = &mut self.slots[index].active {
            sums.push(sum);
        }
        self.finish_score_if_done(index);
    }

    fn finish_score_if_done(&mut self, index: usize) {
        let done = match &self.slots[index].active {
            Some(Active { progress: Progress::Score { sums, .. }, job, .. }) => {
                matches!(&job.task, Task::Score { continuations, .. } if continuations.len() == sums.len())
            }
            _ => false,
        };
        if !done {
            return;
        }
        if let Some(active) = self.slots[index].active.take() {
            let tally = active.tally();
            if let Progress::Score { sums, .. } = active.progress {
                let _ = active.job.updates.send(Update::Scored { sums, tally });
            }
        }
    }

    fn finish(&mut self, index: usize, finish: Finish) {
        if let Some(active) = self.slots[index].active.take() {
            let held_ms = active.started.elapsed().as_millis() as f64;
            self.service_ms = if self.service_ms == 0.0 { held_ms } else { 0.8 * self.service_ms + 0.2 * held_ms };
            let tally = active.tally();
            let _ = active.job.updates.send(Update::Finished { finish, tally });
        }
    }

    /// A call failed: its jobs get the error, their sequences are cleared, all other jobs go on.
    fn abort(&mut self, indices: &[usize], error: &DecodeError) {
        for &index in indices {
            if let Some(active) = self.slots[index].active.take() {
                fail(&active.job, error.clone().into());
            }
            let kept = self.decoder.keep(index, 0);
            self.slots[index].slot.tokens.truncate(kept);
        }
    }
}

fn fail(job: &Job, error: EngineError) {
    // Nobody may listen any more: then there is nobody to tell.
    let _ = job.updates.send(Update::Failed(error));
}

impl Job {
    fn prompt(&self) -> &[Token] {
        match &self.task {
            Task::Generate { request, .. } => &request.prompt,
            Task::Score { prefix, .. } => prefix,
        }
    }

    fn priority(&self) -> Priority {
        match &self.task {
            Task::Generate { request, .. } => request.priority,
            Task::Score { priority, .. } => *priority,
        }
    }

    fn waiting(&self) -> Waiting {
        Waiting { priority: self.priority(), waited_ms: self.submitted.elapsed().as_millis() as u64 }
    }
}

impl Occupied {
    fn view(&self) -> View {
        let phase = match self.phase() {
            None => Phase::Idle,
            Some(Progress::Prompt | Progress::Score { .. }) => Phase::Chunk,
            Some(Progress::Decode { .. }) => Phase::Decode,
        };
        let served = self.active.as_ref().map_or(0, |active| active.served);
        View { phase, priority: self.priority(), served }
    }

    fn phase(&self) -> Option<&Progress> {
        self.active.as_ref().map(|active| &active.progress)
    }

    fn priority(&self) -> Priority {
        self.active.as_ref().map_or(Priority::Background, |active| active.job.priority())
    }

    fn generated(&self) -> Option<&[Token]> {
        match self.phase()? {
            Progress::Decode { generated, .. } => Some(generated),
            Progress::Prompt | Progress::Score { .. } => None,
        }
    }
}

impl Active {
    fn tally(&self) -> Tally {
        let prompted = self.prompted.unwrap_or_else(Instant::now);
        let generated_tokens = match &self.progress {
            Progress::Decode { generated, .. } => generated.len(),
            Progress::Prompt | Progress::Score { .. } => 0,
        };
        Tally {
            prompt_tokens: self.prompt.len(),
            cached_tokens: self.cached,
            generated_tokens,
            queue_ms: self.started.duration_since(self.job.submitted).as_millis() as u64,
            prompt_ms: prompted.duration_since(self.started).as_millis() as u64,
            decode_ms: prompted.elapsed().as_millis() as u64,
        }
    }
}
