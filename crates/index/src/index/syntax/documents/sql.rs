//! Finds the names that `CREATE` statements in SQL create.
//!
//! The dialects are those of PostgreSQL, MySQL, SQLite, SQL Server and Oracle. Only the ends of
//! statements must be found, so the scanner reads strings, comments, brackets and blocks, and of
//! the grammar only the heads of `CREATE` statements:
//! `create or replace materialized view if not exists shop.sales as …`.

mod tokens;

use std::ops::Range;
use std::time::Instant;

use super::{Mark, is_directly_above, joined};
use crate::base::is_listed;
use crate::index::syntax::outline::Kind;
use tokens::{Sort, Token, next, word_after};

/// The words for everything that can be created, by kind. The first one after `CREATE` counts.
const MADE: &[(Kind, &str)] = &[
    (Kind::Table, "table"),
    (Kind::View, "view"),
    (Kind::Function, "function procedure proc aggregate macro"),
    (Kind::Type, "type domain"),
    (
        Kind::Object,
        "collation database event extension index login package policy publication role rule schema sequence server \
         subscription synonym trigger user",
    ),
];
/// Words between the kind of object and its name.
const BEFORE_NAME: &str = "body concurrently exists if not only";
/// Kinds of objects that may contain blocks.
const WITH_BLOCKS: &str = "event function package proc procedure trigger";
/// Words after a `create` that is not inside a block.
const NEVER_INSIDE: &str = "or function procedure trigger package view";
/// Maximum number of tokens searched for a statement's name: modifiers rarely take half as many.
const HEAD_TOKENS_MAX: usize = 48;

/// The names that a text creates, and whether time ran out.
pub(super) fn marks(source: &str, until: Instant) -> (Vec<Mark>, bool) {
    let mut script = Script { source, marks: Vec::new(), statement: Statement::default(), comment: 0..0 };
    let (mut at, mut delimiter) = (0, ";");
    loop {
        let line_begins = at == 0 || source[..at].ends_with('\n');
        let rest = &source[at..];
        // Lines of data can be long, so the end of a line is searched for only at its beginning.
        let line = if line_begins { rest.lines().next().unwrap_or_default() } else { "" };
        let is_outside = script.statement.is_at_top();
        // psql's `\copy …`; MySQL's `delimiter //`; `go` and `/` on lines of their own.
        if line_begins && script.statement.head.is_empty() && line.starts_with('\\') {
            at += line.len();
        } else if line_begins && line.get(.."delimiter ".len()).is_some_and(|w| w.eq_ignore_ascii_case("delimiter ")) {
            script.end(at);
            delimiter = Some(line["delimiter ".len()..].trim()).filter(|sign| !sign.is_empty()).unwrap_or(";");
            at += line.len();
        } else if line_begins && (line.trim().eq_ignore_ascii_case("go") || line.trim() == "/") {
            script.end(at);
            at += line.len();
        } else if rest.starts_with(delimiter) && (is_outside || delimiter != ";") {
            at += delimiter.len();
            let is_data = script.statement.is_copy(&source[..at]);
            script.end(at);
            if is_data {
                at = source[at..].find("\n\\.").map_or(source.len(), |end| at + end + "\n\\.".len());
            }
        } else {
            let Some(token) = next(source, at) else { break };
            // `create` at the beginning of a line begins a statement if the one above has no end.
            let word = &source[token.bytes.clone()];
            let begins = line_begins && token.is(source, "create");
            if begins && (script.statement.blocks == 0 || is_listed(NEVER_INSIDE, &word_after(source, token.bytes.end)))
            {
                script.end(at);
            }
            at = token.bytes.end;
            // The search for the end of such a string may cover the whole text.
            if word.starts_with('$') && Instant::now() >= until {
                return (script.marks, true);
            }
            script.take(token);
        }
    }
    script.end(source.len());
    (script.marks, false)
}

struct Script<'s> {
    source: &'s str,
    marks: Vec<Mark>,
    statement: Statement,
    /// The consecutive comments before the current position.
    comment: Range<usize>,
}

/// The statement around the current position.
#[derive(Default)]
struct Statement {
    /// Its first tokens.
    head: Vec<Token>,
    /// Whether a `begin` begins a block in it, as in a function, procedure, trigger, event or
    /// package.
    has_blocks: bool,
    blocks: usize,
    brackets: usize,
    /// Where its content begins.
    content: Option<usize>,
}

impl Statement {
    /// Whether a semicolon ends it.
    fn is_at_top(&self) -> bool {
        self.blocks == 0 && self.brackets == 0
    }

    /// Whether it is `copy t from stdin;`, followed by lines of data. `source` ends with it.
    fn is_copy(&self, source: &str) -> bool {
        /// Bytes at its end that are searched for the word `stdin`, which options may follow.
        const END_BYTES: usize = 80;
        let Some(first) = self.head.first().filter(|token| token.is(source, "copy")) else { return false };
        let from = source.floor_char_boundary(source.len().saturating_sub(END_BYTES)).max(first.bytes.start);
        source[from..].to_ascii_lowercase().contains("stdin")
    }
}

impl Script<'_> {
    fn take(&mut self, token: Token) {
        let source = self.source;
        let text = &source[token.bytes.clone()];
        let statement = &mut self.statement;
        if matches!(token.sort, Sort::Blank | Sort::Comment) {
            // A comment after a statement on its line belongs to that statement.
            let before = source[..token.bytes.start].trim_end_matches([' ', '\t']);
            let is_alone = before.is_empty() || before.ends_with('\n');
            if statement.head.is_empty() && token.sort == Sort::Comment && is_alone {
                let is_next =
                    !self.comment.is_empty() && is_directly_above(source, self.comment.end..token.bytes.start);
                let start = if is_next { self.comment.start } else { token.bytes.start };
                self.comment = start..token.bytes.end;
            }
            return;
        }
        if statement.head.is_empty() && !is_directly_above(source, self.comment.end..token.bytes.start) {
            self.comment = token.bytes.start..token.bytes.start;
        }
        match token.sort {
            Sort::Mark if text == "(" => statement.brackets += 1,
            Sort::Mark if text == ")" => statement.brackets = statement.brackets.saturating_sub(1),
            Sort::Word if statement.has_blocks => {
                let after = word_after(source, token.bytes.end);
                let is_end_of_other = is_listed("if loop while repeat for", &after);
                if text.eq_ignore_ascii_case("begin") && !is_listed("transaction tran work", &after)
                    || text.eq_ignore_ascii_case("case") && !is_end_of_case(source, token.bytes.start)
                {
                    statement.blocks += 1;
                } else if text.eq_ignore_ascii_case("end") && !is_end_of_other {
                    statement.blocks = statement.blocks.saturating_sub(1);
                }
            }
            _ => {}
        }
        let begins_content = || {
            token.sort == Sort::Dollar
                || text == "(" && statement.head.iter().any(|token| token.is(source, "table"))
                || token.is(source, "as")
                || token.is(source, "begin")
        };
        if statement.content.is_none() && begins_content() {
            statement.content = Some(token.bytes.start);
        }
        if statement.head.len() < HEAD_TOKENS_MAX {
            statement.head.push(token);
            if !statement.has_blocks && statement.head.len() > 1 && statement.head[0].is(source, "create") {
                statement.has_blocks = is_listed(WITH_BLOCKS, &text.to_ascii_lowercase());
            }
        }
    }

    /// Ends the statement and records what it creates.
    fn end(&mut self, end: usize) {
        let statement = std::mem::take(&mut self.statement);
        let Some(first) = statement.head.first() else { return };
        let comment = std::mem::replace(&mut self.comment, end..end);
        let Some((kind, name)) = made(&statement.head, self.source) else { return };
        let bytes = first.bytes.start..end;
        let signature = &self.source[bytes.start..statement.content.unwrap_or(end)];
        let signature = joined(signature.trim_end_matches([';', ' ', '\n']));
        self.marks.push(Mark { name, kind, bytes, signature, comment });
    }
}

/// Whether `case` at this byte follows `end`, in MySQL's blocks.
fn is_end_of_case(source: &str, at: usize) -> bool {
    let before = source[..at].trim_end();
    before.len() < at
        && before.get(before.len().saturating_sub(3)..).is_some_and(|word| word.eq_ignore_ascii_case("end"))
}

/// Kind and name of the object that a statement creates.
fn made(head: &[Token], source: &str) -> Option<(Kind, String)> {
    if !head.first()?.is(source, "create") {
        return None;
    }
    let kind_of = |token: &Token| {
        let word = source[token.bytes.clone()].to_ascii_lowercase();
        let kind = MADE.iter().find(|(_, words)| is_listed(words, &word)).map(|(kind, _)| *kind);
        kind.filter(|_| token.sort == Sort::Word)
    };
    let mut at = head.iter().position(|token| kind_of(token).is_some())?;
    // `create event trigger`.
    if head[at].is(source, "event") && head.get(at + 1).is_some_and(|token| token.is(source, "trigger")) {
        at += 1;
    }
    let kind = kind_of(&head[at])?;
    let is_before_name = |token: &&Token| {
        token.sort == Sort::Word && is_listed(BEFORE_NAME, &source[token.bytes.clone()].to_ascii_lowercase())
    };
    let from = at + 1 + head[at + 1..].iter().take_while(is_before_name).count();
    let mut name = head.get(from)?;
    // An index without a name: `create index on t (c)`.
    if name.is(source, "on") || !matches!(name.sort, Sort::Word | Sort::Quoted) {
        return None;
    }
    let mut rest = head[from + 1..].chunks_exact(2);
    while let Some([dot, part]) = rest.next()
        && &source[dot.bytes.clone()] == "."
        && matches!(part.sort, Sort::Word | Sort::Quoted)
    {
        name = part;
    }
    let text = &source[name.bytes.clone()];
    Some((kind, if name.sort == Sort::Quoted { text[1..text.len() - 1].to_owned() } else { text.to_owned() }))
}
