//! A position in a text that may grow: every read reports whether more text could change its result.

/// Why nothing was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The text so far may be the beginning of what is wanted.
    More,
    /// The text is something else.
    Not,
}

pub type Read<T> = Result<T, Stop>;

/// The parts of a mark, between which whitespace is optional.
pub fn words(mark: &str) -> impl Iterator<Item = &str> {
    mark.split_whitespace().flat_map(|word| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let end = rest.find("><").map_or(rest.len(), |at| at + 1);
            let (first, others) = rest.split_at(end);
            rest = others;
            Some(first).filter(|first| !first.is_empty())
        })
    })
}

#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    pub text: &'a str,
    pub at: usize,
    /// Whether no more text will follow.
    pub last: bool,
    /// Whether the preceding text ended a line.
    pub at_line: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str, at: usize, last: bool) -> Cursor<'a> {
        Cursor { text, at, last, at_line: true }
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// What reaching the end of the text means here.
    pub fn end(&self) -> Stop {
        if self.last { Stop::Not } else { Stop::More }
    }

    pub fn skip_blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// The next character after whitespace; `None` at the end of the complete text.
    pub fn peek(&mut self) -> Read<Option<char>> {
        self.skip_blank();
        match self.rest().chars().next() {
            None if !self.last => Err(Stop::More),
            next => Ok(next),
        }
    }

    /// Skips `mark` if it is here, ignoring whitespace before and inside it. An empty mark always
    /// matches.
    pub fn eat(&mut self, mark: &str) -> Read<bool> {
        let mut probe = *self;
        for word in words(mark) {
            probe.skip_blank();
            let rest = probe.rest();
            if !rest.starts_with(word) {
                return if !self.last && word.starts_with(rest) { Err(Stop::More) } else { Ok(false) };
            }
            probe.at += word.len();
        }
        *self = probe;
        Ok(true)
    }

    pub fn expect(&mut self, mark: &str) -> Read<()> {
        if self.eat(mark)? { Ok(()) } else { Err(Stop::Not) }
    }

    /// The first position of any of `marks` from here on, and the index of that mark. Whitespace in
    /// a mark is treated as in [`Cursor::eat`].
    pub fn find(&self, marks: &[&str]) -> Read<(usize, usize)> {
        let mut from = self.at;
        loop {
            let found = marks.iter().enumerate().filter_map(|(number, mark)| {
                let word = words(mark).next()?;
                Some((from + self.text[from..].find(word)?, number))
            });
            let Some((at, number)) = found.min() else { return Err(self.end()) };
            // An incomplete mark that begins earlier cannot match, because the text after it is
            // known.
            let mut probe = Cursor { at, ..*self };
            if probe.eat(marks[number])? {
                return Ok((at, number));
            }
            from = at + self.text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }

    /// The first position where `mark` begins without being complete yet.
    pub fn begun(&self, mark: &str) -> Option<usize> {
        let word = words(mark).next()?;
        let mut places = self.rest().match_indices(word).map(|(at, _)| self.at + at);
        places.find(|at| Cursor { at: *at, ..*self }.eat(mark) == Err(Stop::More))
    }

    /// The text up to `end`, which is another position of the same text.
    pub fn until(&self, end: usize) -> &'a str {
        &self.text[self.at..end]
    }

    pub fn is_at_line_start(&self) -> bool {
        let before = self.text[..self.at].trim_end_matches([' ', '\t']);
        before.chars().next_back().map_or(self.at_line, |c| c == '\n')
    }
}
