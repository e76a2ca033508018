//! Reads a reply as it streams in: text, thoughts and calls, separated by the notation's marks.
//!
//! The result depends only on the text, not on how it is split: the reader decides only when more
//! text cannot change the decision.

use super::channels::Channel;
use super::cursor::{Cursor, Read, Stop, words};
use super::parse::{self, Found, Opener};
use super::{Form, Notation};
use crate::base::half_of;
use crate::models::dialect::{RawCall, ToolText};

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Content(String),
    Thinking(String),
    /// `is_certain`: closed and exactly in the notation. Any other call is a guess at the intended
    /// one.
    Call {
        call: RawCall,
        is_certain: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// After the mark that opens a thought.
    Opened,
    Thinking,
    Words,
    /// After a call, where separators between calls are not text.
    AfterCall {
        in_section: bool,
        is_exact: bool,
    },
    /// In the header or body of a message, in families that use channels.
    Header,
    Body(Channel),
}

/// The reader of one reply.
#[derive(Clone, Debug)]
pub struct Reader<'n> {
    pub(super) notation: &'n Notation,
    pub(super) tools: &'n [ToolText],
    pub(super) openers: Vec<(String, Opener)>,
    pub(super) state: State,
    pub(super) held: String,
    /// Nothing is retried until this much text is held.
    retry_at: usize,
    /// Whether text or a thought has already occurred.
    has_words: bool,
    pub(super) has_thought: bool,
    /// Whether the text so far is empty or ends with a line break.
    at_line: bool,
    pub(super) pieces: Vec<Piece>,
}

/// The result of a step of the reader.
pub(super) enum Step {
    /// Another step may follow.
    Go,
    /// More text is needed.
    Wait,
}

impl Notation {
    /// A reader for replies that may call `tools`; `opened`: the prompt ends inside a thought.
    pub fn reader<'n>(&'n self, tools: &'n [ToolText], opened: bool) -> Reader<'n> {
        let openers = if tools.is_empty() { Vec::new() } else { parse::openers(&self.calls) };
        let is_channels = self.calls.form == Form::Channels || self.has_channels();
        let opened = self.thoughts.is_some() && opened;
        let state = match opened {
            _ if is_channels => State::Header,
            true => State::Opened,
            false => State::Words,
        };
        let held = self.begun.clone();
        // Text of a thought that the prompt has already written belongs to the thought.
        let begun = self.thoughts.as_ref().filter(|thoughts| opened && !thoughts.is_marked());
        let begun = begun.map(|thoughts| Piece::Thinking(format!("{}\n", thoughts.open)));
        Reader {
            notation: self,
            tools,
            openers,
            state,
            held,
            retry_at: 0,
            has_words: false,
            has_thought: opened,
            at_line: true,
            pieces: begun.into_iter().collect(),
        }
    }

    pub(super) fn has_channels(&self) -> bool {
        super::channels::head(self).is_some()
    }
}

impl Reader<'_> {
    /// Adds text and returns every piece that can no longer change.
    pub fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        if self.held.len() >= self.retry_at {
            while let Step::Go = self.step(false) {}
        }
        std::mem::take(&mut self.pieces)
    }

    /// Ends the reply.
    pub fn finish(mut self) -> Vec<Piece> {
        while let Step::Go = self.step(true) {}
        std::mem::take(&mut self.pieces)
    }

    fn step(&mut self, last: bool) -> Step {
        self.retry_at = 0;
        match self.state {
            State::Opened => self.label(last),
            State::Thinking => self.thinking(last),
            State::Words => self.words(last),
            State::AfterCall { in_section, is_exact } => self.after_call(in_section, is_exact, last),
            State::Header => self.header(last),
            State::Body(channel) => self.body(channel, last),
        }
    }

    /// Waits for more text, so that a long call is not parsed again after each token.
    pub(super) fn wait(&mut self) -> Step {
        self.retry_at = if self.held.len() < 512 { 0 } else { self.held.len() + self.held.len() / 16 };
        Step::Wait
    }

    pub(super) fn give(&mut self, length: usize, piece: fn(String) -> Piece) {
        if length > 0 {
            let text: String = self.held.drain(..length).collect();
            self.has_words |= matches!(piece(String::new()), Piece::Content(_)) && !text.trim().is_empty();
            if !text.trim_end_matches([' ', '\t']).is_empty() {
                self.at_line = text.trim_end_matches([' ', '\t']).ends_with('\n');
            }
            self.pieces.push(piece(text));
        }
    }

    fn give_calls(&mut self, found: Found, end: usize) {
        // A call within text may be an example, unless calls have their own marks.
        let may = self.notation.calls.is_marked() || !self.has_words;
        let is_exact = found.calls.iter().all(|(_, is_exact)| *is_exact);
        let calls = found.calls.into_iter();
        self.pieces.extend(calls.map(|(call, is_exact)| Piece::Call { call, is_certain: is_exact && may }));
        self.held.drain(..end);
        self.at_line = true;
        self.state = State::AfterCall { in_section: found.in_section, is_exact };
    }

    fn words(&mut self, last: bool) -> Step {
        let notation = self.notation;
        let thoughts = notation.thoughts.as_ref();
        let mut marks: Vec<&str> = self.openers.iter().map(|(mark, _)| mark.as_str()).collect();
        let calls = marks.len();
        marks.push(thoughts.map_or("", |thoughts| &thoughts.open));
        marks.push(thoughts.map_or("", |thoughts| &thoughts.close));
        let own = marks.len();
        marks.extend([&notation.words, &notation.results].into_iter().flat_map(|marks| [&*marks.open, &marks.close]));
        let ends = marks.len();
        marks.extend(notation.ends.iter().map(String::as_str));
        // Whitespace before a thought is not text, so it waits for what follows.
        let spoken = |text: &str| if thoughts.is_some() { text.trim_end().len() } else { text.len() };
        let mut from = 0;
        // The next position of each mark, searched for again only once the reader has reached it.
        let mut places = vec![Some(0); marks.len()];
        loop {
            for (mark, place) in marks.iter().zip(&mut places).filter(|(_, place)| place.is_some_and(|at| at <= from)) {
                *place = words(mark).next().and_then(|word| Some(from + self.held[from..].find(word)?));
            }
            let Some(at) = places.iter().flatten().copied().min() else { break };
            for number in (0..marks.len()).filter(|number| places[*number] == Some(at)) {
                let mut cursor = Cursor::new(&self.held, at, last);
                match cursor.eat(marks[number]) {
                    Err(Stop::More) => {
                        self.give(spoken(&self.held[..at]), Piece::Content);
                        return self.wait();
                    }
                    Ok(true) if number < calls => {
                        let opener = self.openers[number].1.clone();
                        let mut cursor = Cursor::new(&self.held, at, last);
                        cursor.at_line = self.at_line;
                        let first = !self.has_words && self.held[..at].trim().is_empty();
                        match parse::begin(&mut cursor, &notation.calls, &opener, self.tools, first) {
                            Ok(found) => {
                                let end = cursor.at - at;
                                self.give(at, Piece::Content);
                                self.give_calls(found, end);
                                return Step::Go;
                            }
                            Err(Stop::More) => {
                                self.give(at, Piece::Content);
                                return self.wait();
                            }
                            // The text may end inside this call, so nothing in it counts as another
                            // call.
                            Err(Stop::Not) if last => {
                                let mut cursor = Cursor { at, last: false, ..cursor };
                                let read = parse::begin(&mut cursor, &notation.calls, &opener, self.tools, first);
                                if read.is_err_and(|stop| stop == Stop::More) {
                                    self.give(self.held.len(), Piece::Content);
                                    return Step::Wait;
                                }
                            }
                            Err(Stop::Not) => {}
                        }
                    }
                    Ok(true) if number == calls => {
                        // A plain tag within text is probably what the text is about.
                        let is_plain = !marks[number].starts_with(['[', '|']) && !marks[number].starts_with("<|");
                        let is_first = !self.has_words && !self.has_thought && self.held[..at].trim().is_empty();
                        if is_plain && !is_first {
                            continue;
                        }
                        let (end, words) = (cursor.at, spoken(&self.held[..at]));
                        self.give(words, Piece::Content);
                        self.held.drain(..end - words);
                        self.state = State::Opened;
                        return Step::Go;
                    }
                    // Once text has begun, the end mark of a thought that was never opened, or an
                    // extra end mark, is text.
                    Ok(true) if number < own && (self.has_words || !self.held[..at].trim().is_empty()) => {}
                    Ok(true) if number < own => {
                        self.held.drain(..cursor.at);
                        return Step::Go;
                    }
                    Ok(true) if number < ends => {
                        let end = cursor.at - at;
                        self.give(at, Piece::Content);
                        self.held.drain(..end);
                        return Step::Go;
                    }
                    // At the end of the turn, only other end marks may follow.
                    Ok(true) => match self.only_ends(cursor) {
                        Err(_) => {
                            self.give(at, Piece::Content);
                            return self.wait();
                        }
                        Ok(true) => {
                            self.give(at, Piece::Content);
                            self.held.clear();
                            return Step::Wait;
                        }
                        Ok(false) => {}
                    },
                    _ => {}
                }
            }
            from = at + self.held[at..].chars().next().map_or(1, char::len_utf8);
        }
        let half = if last { 0 } else { marks.iter().map(|mark| half(&self.held, mark)).max().unwrap_or(0) };
        let whole = &self.held[..self.held.len() - half];
        self.give(if last { whole.len() } else { spoken(whole) }, Piece::Content);
        self.wait()
    }

    /// Whether only end-of-turn marks follow.
    fn only_ends(&self, mut cursor: Cursor<'_>) -> Read<bool> {
        loop {
            cursor.skip_blank();
            if cursor.is_at_end() {
                return if cursor.last { Ok(true) } else { Err(Stop::More) };
            }
            let mut found = false;
            for mark in self.notation.ends.iter().filter(|mark| !mark.trim().is_empty()) {
                found = found || cursor.eat(mark)?;
            }
            if !found {
                return Ok(false);
            }
        }
    }

    /// Skips separators between calls and the end of their section; anything else is treated as
    /// text again.
    fn after_call(&mut self, in_section: bool, is_exact: bool, last: bool) -> Step {
        let calls = &self.notation.calls;
        let mut cursor = Cursor::new(&self.held, 0, last);
        let separators: &[char] = if is_exact && !in_section { &[',', ';'] } else { &[',', ';', '}', ']', ')'] };
        let length = self.held.len()
            - self.held.trim_start_matches(|c: char| c.is_whitespace() || separators.contains(&c)).len();
        cursor.at = length;
        if cursor.is_at_end() {
            if last {
                self.held.clear();
            }
            return Step::Wait;
        }
        let closers = [&calls.section.close, &calls.call.close];
        let mut closed: Read<bool> = Ok(false);
        for mark in closers.into_iter().filter(|mark| !mark.trim().is_empty()) {
            closed = closed.and_then(|closed| Ok(closed || cursor.eat(mark)?));
        }
        match closed {
            Err(_) => return self.wait(),
            Ok(true) => {
                self.held.drain(..cursor.at);
                self.state = State::AfterCall { in_section: false, is_exact: true };
                return Step::Go;
            }
            Ok(false) => {}
        }
        if in_section {
            match parse::next(&mut cursor, calls, self.tools) {
                Ok(found) => {
                    let end = cursor.at;
                    self.give_calls(found, end);
                    return Step::Go;
                }
                Err(Stop::More) => return self.wait(),
                Err(Stop::Not) => {}
            }
        }
        let mut begins: Read<bool> = Ok(false);
        for (mark, _) in &self.openers {
            begins = begins.and_then(|begins| Ok(begins || { cursor }.eat(mark)?));
        }
        match begins {
            Err(_) => return self.wait(),
            Ok(true) => drop(self.held.drain(..length)),
            Ok(false) => {}
        }
        self.state = State::Words;
        Step::Go
    }
}

/// The length of the longest suffix of `text` that may be the beginning of `mark`.
pub(super) fn half(text: &str, mark: &str) -> usize {
    words(mark).next().map_or(0, |word| half_of(text, word))
}
