//! Reads server-sent events from bytes as they arrive, with lines of at most 1 MiB.
//!
//! ```text
//! : a comment, which servers send while they are silent
//! data: {"choices":[{"delta":{"content":"Hel"}}]}
//!
//! data: [DONE]
//! ```
//!
//! The crates for this (eventsource-stream, sse-stream) buffer a line of any length, so a server
//! could fill the memory.

/// Maximum length of a line, and of an event.
pub const LINE_MAX: usize = 1 << 20;

/// An event or a sign of life.
#[derive(Debug, PartialEq)]
pub enum Heard {
    /// The data of an event.
    Data(String),
    /// A comment: the server is alive.
    Comment,
}

/// A line or an event is longer than [`LINE_MAX`].
#[derive(Debug, PartialEq)]
pub struct TooLong;

/// The reader of one stream.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    data: String,
    has_data: bool,
    /// Whether the last byte was a carriage return, so that a following line feed belongs to it.
    after_return: bool,
    begun: bool,
}

impl Events {
    /// Adds bytes, split anywhere, and returns everything that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Heard>, TooLong> {
        let mut heard = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (before, end) = (&rest[..at], rest[at]);
            let is_second_half = end == b'\n' && at == 0 && self.after_return;
            self.after_return = end == b'\r';
            if !is_second_half {
                self.hold(before)?;
                heard.extend(self.end_line()?);
            }
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            self.after_return = false;
            self.hold(rest)?;
        }
        Ok(heard)
    }

    /// The last event of the stream if its closing empty line is missing.
    pub fn finish(mut self) -> Result<Option<String>, TooLong> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        Ok(self.has_data.then_some(self.data))
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > LINE_MAX {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Heard>, TooLong> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if self.begun { &line } else { line.trim_start_matches('\u{feff}') };
        self.begun = true;
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return Ok(std::mem::take(&mut self.has_data).then_some(Heard::Data(data)));
        }
        if line.starts_with(':') {
            return Ok(Some(Heard::Comment));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            if self.data.len() + value.len() > LINE_MAX {
                return Err(TooLong);
            }
            if self.has_data {
                self.data.push('\n');
            }
            self.data.push_str(value);
            self.has_data = true;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn data(texts: &[&str]) -> Vec<Heard> {
        texts.iter().map(|text| Heard::Data((*text).to_owned())).collect()
    }

    fn check(text: &str, expected: &[&str]) {
        let mut events = Events::default();
        let heard = events.push(text.as_bytes()).unwrap();
        let heard: Vec<Heard> = heard.into_iter().filter(|one| *one != Heard::Comment).collect();
        let last = events.finish().unwrap().map(Heard::Data);
        assert_eq!(heard.into_iter().chain(last).collect::<Vec<_>>(), data(expected), "{text:?}");
    }

    #[test]
    fn an_event_is_its_data_lines_until_an_empty_line() {
        check("data: a\n\ndata:b\n\n", &["a", "b"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("event: x\nid: 7\ndata: a\nretry: 1\n\n: ping\n\n", &["a"]);
        check("\u{feff}data: a\r\n\r\ndata: b\r\r", &["a", "b"]);
        check("data\n\n", &[""]);
        check("\n\n\n", &[]);
        check("data: [DONE]", &["[DONE]"]);
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        let mut events = Events::default();
        let part = vec![b'x'; 1 << 16];
        let refused = (0..17).map(|_| events.push(&part)).position(|pushed| pushed == Err(TooLong));
        assert_eq!(refused, Some(16));
        let mut events = Events::default();
        let line = format!("data: {}\n", "x".repeat(1 << 10));
        assert!((0..1_100).any(|_| events.push(line.as_bytes()) == Err(TooLong)), "an event is bounded too");
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(text in "(data: |: |é|日|\r\n|\n|\r|x){0,30}", at in 0usize..80) {
            let bytes = text.as_bytes();
            let mut whole = Events::default();
            let expected = whole.push(bytes).unwrap();
            let mut cut = Events::default();
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            let mut heard = cut.push(first).unwrap();
            heard.extend(cut.push(second).unwrap());
            prop_assert_eq!(heard, expected);
            prop_assert_eq!(cut.finish(), whole.finish());
        }
    }
}
