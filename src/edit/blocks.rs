//! Makes changes that are written as passages: SEARCH/REPLACE blocks, or some lines written anew.
//!
//! ```text
//! <<<<<<< SEARCH
//! lines as they are in the file
//! =======
//! lines as they are to be
//! >>>>>>> REPLACE
//! ```

mod near;

use std::ops::RangeInclusive;

use crate::edit::indent::indent;
use crate::edit::text::{Edit, Source, line_end, line_of};

/// Most blocks of one answer.
const BLOCKS_MAX: usize = 200;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub search: Vec<String>,
    pub replace: Vec<String>,
}

/// Why blocks could not be made out or put into a file. Messages are meant for the model that wrote them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    #[error(
        "no SEARCH/REPLACE block was written; write <<<<<<< SEARCH, the lines as they are, =======, the new lines, >>>>>>> REPLACE"
    )]
    NoBlock,
    #[error("block {block} is not closed: {missing} is missing")]
    Open { block: usize, missing: &'static str },
    #[error("{blocks} blocks were written, at most {most} are made; write only what changes")]
    TooMany { blocks: usize, most: usize },
    #[error("the SEARCH part of block {block} is not in {path}{nearest}")]
    NotFound { block: usize, path: String, nearest: String },
    #[error("the SEARCH part of block {block} is in {path} {} times, at lines {}; add a line above or below that tells them apart", lines.len(), listed(lines))]
    Ambiguous { block: usize, path: String, lines: Vec<usize> },
    #[error("nothing changed: what was written is what the file has already")]
    NothingChanged,
    #[error("{path} has {lines} lines; lines {first} to {last} cannot be rewritten")]
    NoSuchLines { path: String, lines: usize, first: usize, last: usize },
}

fn listed(lines: &[usize]) -> String {
    lines.iter().take(8).map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// A file with the changes in it, and the lines (counted from 1, in the new text) at which they begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    pub lines: Vec<usize>,
}

/// Whether an answer is written in blocks.
pub fn are_blocks(written: &str) -> bool {
    written.lines().any(|line| is_marker(line, '<')) && written.lines().any(|line| is_marker(line, '='))
}

/// `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`, with any word behind them.
fn is_marker(line: &str, sign: char) -> bool {
    const SIGNS_MIN: usize = 5;
    let line = line.trim();
    let signs = line.chars().take_while(|c| *c == sign).count();
    let rest = line[signs..].trim();
    signs >= SIGNS_MIN
        && if sign == '=' { rest.is_empty() } else { rest.chars().all(|c| c.is_ascii_uppercase() || c == ' ') }
}

/// The blocks of an answer, with anything between them left out.
pub fn blocks(written: &str) -> Result<Vec<Block>, BlockError> {
    let (mut found, mut open): (Vec<Block>, Option<(Block, bool)>) = (Vec::new(), None);
    for line in written.lines() {
        let line = line.trim_end_matches('\r');
        open = match open {
            None if is_marker(line, '<') => Some((Block { search: Vec::new(), replace: Vec::new() }, false)),
            None => None,
            Some((block, false)) if is_marker(line, '=') => Some((block, true)),
            Some((block, true)) if is_marker(line, '>') => {
                found.push(block);
                None
            }
            Some((mut block, second)) => {
                if second { &mut block.replace } else { &mut block.search }.push(line.to_owned());
                Some((block, second))
            }
        };
    }
    let block = found.len() + 1;
    match open {
        Some((_, second)) => {
            Err(BlockError::Open { block, missing: if second { ">>>>>>> REPLACE" } else { "=======" } })
        }
        None if found.is_empty() => Err(BlockError::NoBlock),
        None if found.len() > BLOCKS_MAX => Err(BlockError::TooMany { blocks: found.len(), most: BLOCKS_MAX }),
        None => Ok(found),
    }
}

/// Makes the changes of the blocks in `written`. Lines that no block names stay as they are, to the byte.
pub fn apply(path: &str, before: &str, written: &str) -> Result<Edited, BlockError> {
    let source = Source::new(before);
    let mut edits = Vec::new();
    for (at, block) in blocks(written)?.iter().enumerate() {
        edits.extend(edit_of(path, &source.text, at + 1, block)?);
    }
    if edits.is_empty() {
        return Err(BlockError::NothingChanged);
    }
    let (text, lines) = source.apply(&edits);
    Ok(Edited { text, lines: lines.into_iter().filter(|line| *line > 0).collect() })
}

/// The change of one block; `None` if the file has its new lines already.
fn edit_of(path: &str, text: &str, number: usize, block: &Block) -> Result<Option<Edit>, BlockError> {
    let (search, replace) = (trimmed(&block.search), trimmed(&block.replace));
    if search.is_empty() {
        let new = block.replace.join("\n");
        return Ok((!replace.is_empty() && !text.contains(&new)).then(|| at_end(text, new)));
    }
    if block.search == block.replace {
        return Ok(None);
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let places = near::places(&lines, &search);
    let first = match places.as_slice() {
        [first] => *first,
        [] if !near::places(&lines, &replace).is_empty() && !replace.is_empty() => return Ok(None),
        [] => match near::nearest(&lines, &search) {
            Some(found) if found.is_sure => found.first,
            found => {
                let nearest = found.map(|found| found.shown(&lines)).unwrap_or_default();
                return Err(BlockError::NotFound { block: number, path: path.to_owned(), nearest });
            }
        },
        many => {
            let lines = many.iter().map(|line| line + 1).collect();
            return Err(BlockError::Ambiguous { block: number, path: path.to_owned(), lines });
        }
    };
    let actual = &lines[first..first + search.len()];
    let new = near::rewritten(actual, &search, &replace);
    let start: usize = lines[..first].iter().map(|line| line.len() + 1).sum();
    let end = start + actual.iter().map(|line| line.len() + 1).sum::<usize>() - 1;
    let gone_whole = new.is_empty();
    // Lines that are taken away take their line feed along.
    let end = if gone_whole { (end + 1).min(text.len()) } else { end };
    let new = new.join("\n");
    Ok((text[start..end] != new).then_some(Edit { range: start..end, new }))
}

fn at_end(text: &str, new: String) -> Edit {
    let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let tail = if text.is_empty() || text.ends_with('\n') { "\n" } else { "" };
    Edit { range: text.len()..text.len(), new: format!("{lead}{new}{tail}") }
}

/// Without empty lines at both ends.
fn trimmed(lines: &[String]) -> Vec<&str> {
    let filled = |line: &&str| !line.trim().is_empty();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let Some(first) = lines.iter().position(&filled) else { return Vec::new() };
    let last = lines.iter().rposition(filled).unwrap_or(first);
    lines[first..=last].to_vec()
}

/// Puts what was written in the place of some lines (counted from 1), at the indentation that they have.
pub fn rewrite(path: &str, before: &str, lines: RangeInclusive<usize>, written: &str) -> Result<Edited, BlockError> {
    let source = Source::new(before);
    let text = source.text.as_str();
    let (first, last) = (*lines.start(), *lines.end());
    let count = text.lines().count();
    if first == 0 || last < first || last > count {
        return Err(BlockError::NoSuchLines { path: path.to_owned(), lines: count, first, last });
    }
    let start: usize = text.split('\n').take(first - 1).map(|line| line.len() + 1).sum();
    let end = line_end(text, text.split('\n').take(last - 1).map(|line| line.len() + 1).sum());
    let written = written.replace("\r\n", "\n");
    let kept: Vec<String> =
        written.lines().filter(|line| !line.trim_start().starts_with("```")).map(str::to_owned).collect();
    let new = trimmed(&kept);
    let (was, now) = (indent(&text[start..end]), new.first().map_or("", |line| indent(line)));
    let moved = new.iter().map(|line| match line.strip_prefix(now) {
        _ if line.trim().is_empty() => String::new(),
        Some(rest) => format!("{was}{rest}"),
        None => line.to_string(),
    });
    let new = moved.collect::<Vec<_>>().join("\n");
    if text[start..end] == new {
        return Err(BlockError::NothingChanged);
    }
    let (text, _) = source.apply(&[Edit { range: start..end, new }]);
    Ok(Edited { lines: vec![line_of(&source.text, start)], text })
}

#[cfg(test)]
mod tests;
