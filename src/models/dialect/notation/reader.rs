//! Reads a reply as it comes: words, thoughts and calls, told apart by the marks of the notation.
//!
//! The result of a reader depends on the text alone, not on where it was cut: it decides only where more text cannot change the decision.

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
    /// `is_certain`: closed and written as the notation demands. Other calls are a guess at what was meant.
    Call {
        call: RawCall,
        is_certain: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// Behind the mark that opens a thought.
    Opened,
    Thinking,
    Words,
    /// Behind a call, where separators of calls do not count as text.
    AfterCall {
        in_section: bool,
        is_exact: bool,
    },
    /// In the header or the body of a message of a family that writes in channels.
    Header,
    Body(Channel),
}

/// The reader of one reply.
#[derive(Clone, Debug)]
pub struct Reader<'n> {
    pub(super) notation: &'n Notation,
    pub(super) tools: &'n [ToolText],
    openers: Vec<(String, Opener)>,
    pub(super) state: State,
    pub(super) held: String,
    /// Nothing is tried again before so much text is held.
    retry_at: usize,
    /// Words came already, or a thought.
    has_words: bool,
    has_thought: bool,
    /// The words so far end with a line break, or there are none.
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
    /// A reader of replies that may call `tools`; `opened`: the prompt ends inside a thought.
    pub fn reader<'n>(&'n self, tools: &'n [ToolText], opened: bool) -> Reader<'n> {
        let openers = if tools.is_empty() { Vec::new() } else { parse::openers(&self.calls) };
        let is_channels = self.calls.form == Form::Channels || self.has_channels();
        // If words always stand in marks of their own, what stands before them is a thought that the prompt has opened.
        let always = self.thoughts.as_ref().is_some_and(|thoughts| thoughts.opened_by_prompt && thoughts.off.is_none());
        let opened = self.thoughts.is_some() && (opened || always && !self.words.open.trim().is_empty());
        let state = match opened {
            _ if is_channels => State::Header,
            true => State::Opened,
            false => State::Words,
        };
        let held = self.begun.clone();
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
            pieces: Vec::new(),
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

    /// Waits for more text; a long call is not read again for each token of it.
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
        // Without marks of its own a call among words may be an example.
        let may = self.notation.calls.is_marked() || !self.has_words;
        let is_exact = found.calls.iter().all(|(_, is_exact)| *is_exact);
        let calls = found.calls.into_iter();
        self.pieces.extend(calls.map(|(call, is_exact)| Piece::Call { call, is_certain: is_exact && may }));
        self.held.drain(..end);
        self.at_line = true;
        self.state = State::AfterCall { in_section: found.in_section, is_exact };
    }

    /// Drops the word behind the mark that opens a thought.
    fn label(&mut self, last: bool) -> Step {
        let thoughts = self.notation.thoughts.as_ref().expect("a notation with thoughts");
        let mut cursor = Cursor::new(&self.held, 0, last);
        // Behind a prompt that has opened the thought, such a family may write the mark again.
        let may_come_again = !thoughts.label.is_empty() || !self.notation.words.open.trim().is_empty();
        let again = if !may_come_again { Ok(false) } else { cursor.eat(&thoughts.open) };
        match again.and_then(|_| cursor.eat(&thoughts.label)) {
            Err(Stop::More) => return Step::Wait,
            _ => drop(self.held.drain(..cursor.at)),
        }
        self.state = State::Thinking;
        self.has_thought = true;
        Step::Go
    }

    fn thinking(&mut self, last: bool) -> Step {
        let thoughts = self.notation.thoughts.as_ref().expect("a notation with thoughts");
        let words = self.notation.words.open.trim();
        let ends = [thoughts.close.as_str(), words];
        let ends = if words.is_empty() { &ends[..1] } else { &ends[..] };
        let cursor = Cursor::new(&self.held, 0, last);
        match cursor.find(ends) {
            Ok((at, number)) => {
                self.give(at, Piece::Thinking);
                if number == 0 {
                    let mut cursor = Cursor::new(&self.held, 0, last);
                    let eaten = cursor.eat(&thoughts.close);
                    debug_assert_eq!(eaten, Ok(true));
                    self.held.drain(..cursor.at);
                }
                self.state = State::Words;
                return Step::Go;
            }
            Err(Stop::More | Stop::Not) => {}
        }
        // A call ends a thought, unless the thought goes on and is closed later.
        let own = self.openers.iter().filter(|(_, opener)| matches!(opener, Opener::Own | Opener::Inner));
        let marks: Vec<&str> = own.map(|(mark, _)| mark.as_str()).collect();
        match cursor.find(&marks) {
            Ok((at, number)) if last => {
                let opener =
                    self.openers.iter().find(|(mark, _)| mark == marks[number]).map(|(_, opener)| opener.clone());
                let mut probe = Cursor { at, ..cursor };
                let opener = opener.expect("one of the openers");
                match parse::begin(&mut probe, &self.notation.calls, &opener, self.tools, false) {
                    Ok(_) => {
                        self.give(at, Piece::Thinking);
                        self.state = State::Words;
                        Step::Go
                    }
                    Err(_) => {
                        let first = self.held[at..].chars().next().map_or(0, char::len_utf8);
                        self.give(at + first, Piece::Thinking);
                        Step::Go
                    }
                }
            }
            Ok((at, _)) => {
                self.give(at, Piece::Thinking);
                Step::Wait
            }
            Err(_) if last => {
                self.give(self.held.len(), Piece::Thinking);
                Step::Wait
            }
            Err(_) => {
                let all = ends.iter().chain(&marks);
                let half = all.map(|mark| half(&self.held, mark)).max().unwrap_or(0);
                self.give(self.held.len() - half, Piece::Thinking);
                Step::Wait
            }
        }
    }

    fn words(&mut self, last: bool) -> Step {
        let notation = self.notation;
        let thoughts = notation.thoughts.as_ref();
        let mut marks: Vec<&str> = self.openers.iter().map(|(mark, _)| mark.as_str()).collect();
        let calls = marks.len();
        marks.push(thoughts.map_or("", |thoughts| &thoughts.open));
        marks.push(thoughts.map_or("", |thoughts| &thoughts.close));
        let own = marks.len();
        marks.extend([notation.words.open.as_str(), &notation.words.close]);
        let ends = marks.len();
        marks.extend(notation.ends.iter().map(String::as_str));
        let mut from = 0;
        // The next place of each mark, which is looked for again only once the reading is there.
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
                        self.give(at, Piece::Content);
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
                            // The end of the text may be inside this call: what looks like calls there is none.
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
                        // A plain tag among words is one that they are about.
                        let is_plain = !marks[number].starts_with(['[', '|']) && !marks[number].starts_with("<|");
                        let is_first = !self.has_words && !self.has_thought && self.held[..at].trim().is_empty();
                        if is_plain && !is_first {
                            continue;
                        }
                        let end = cursor.at - at;
                        self.give(at, Piece::Content);
                        self.held.drain(..end);
                        self.state = State::Opened;
                        return Step::Go;
                    }
                    // The end of a thought that was never opened, or one too many, is text behind the first word.
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
                    // The end of the turn: nothing but other ends may follow.
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
        self.give(self.held.len() - half, Piece::Content);
        Step::Wait
    }

    /// Whether nothing but ends of turns follows.
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

    /// Skips what separates calls and what closes their section; other text is words again.
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

/// How much of the end of `text` may be the beginning of `mark`.
pub(super) fn half(text: &str, mark: &str) -> usize {
    words(mark).next().map_or(0, |word| half_of(text, word))
}
