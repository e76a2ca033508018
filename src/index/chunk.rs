//! Cuts a file into chunks: one a definition, large ones split, small neighbours together.

use super::syntax::{Definition, Kind, Outline};
use super::words;

/// A definition up to this many bytes stays whole; what is longer is cut at its members or at blank lines.
const CHUNK_BYTES_MAX: usize = 1_500;
/// Neighbours are put together up to this size (the size at which published rankings of code chunks were measured).
const MERGED_BYTES_MAX: usize = 750;
/// Less than this says too little to stand alone: about a line.
const SCRAP_BYTES_MAX: usize = 80;
/// Most words of the text that is embedded, about 45 tokens. On four projects 24, 28, 32, 36 and 48 words gave a mean nDCG@10 of
/// .876, .885, .885, .883 and .880, all within noise; 256 tokens of code ranked no better at many times the cost.
const SUMMARY_WORDS_MAX: usize = 32;
/// Most chunks of one file.
const CHUNKS_MAX: usize = 4_000;

/// A stretch of whole lines of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Position in the file, from 0.
    pub number: usize,
    /// First and last line, counted from 1.
    pub start: usize,
    pub end: usize,
    pub content: String,
    /// Positions in `Outline::definitions` of what begins in it; the first is what the chunk is named after.
    pub definitions: Vec<usize>,
    /// What is embedded: path words, names, comments.
    pub summary: String,
}

/// A stretch of lines before neighbours are put together.
#[derive(Clone, Debug)]
struct Piece {
    start: usize,
    end: usize,
    /// Pieces of one definition that was cut are not joined with its neighbours.
    alone: bool,
}

/// The chunks of a file: they cover it without overlap, apart from blank stretches.
pub fn chunks(path: &str, source: &str, outline: &Outline) -> Vec<Chunk> {
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let file = Lines { lines: &lines, outline };
    let mut pieces = Vec::new();
    if outline.definitions.is_empty() {
        file.cut(1, lines.len(), false, &mut pieces);
    } else {
        file.split(None, 1, lines.len(), &mut pieces);
    }
    let pieces = file.merged(pieces);
    pieces.into_iter().take(CHUNKS_MAX).enumerate().map(|(number, piece)| file.chunk(path, number, &piece)).collect()
}

struct Lines<'a> {
    lines: &'a [&'a str],
    outline: &'a Outline,
}

impl Lines<'_> {
    fn bytes(&self, start: usize, end: usize) -> usize {
        self.lines[start - 1..end].iter().map(|l| l.len()).sum()
    }

    /// Pieces of the lines `start..=end`, which hold `container` (or the whole file) and its members.
    fn split(&self, container: Option<usize>, start: usize, end: usize, pieces: &mut Vec<Piece>) {
        let mut next = start;
        let members = self.outline.definitions.iter().enumerate().filter(|(_, d)| d.container == container);
        for (at, member) in members {
            let (from, to) = (member.doc_start.max(next), member.end.min(end));
            if from > to || from > end {
                continue;
            }
            self.cut(next, from - 1, false, pieces);
            if self.bytes(from, to) <= CHUNK_BYTES_MAX {
                pieces.push(Piece { start: from, end: to, alone: false });
            } else if self.outline.definitions.iter().any(|d| d.container == Some(at)) {
                self.split(Some(at), from, to, pieces);
            } else {
                self.cut(from, to, true, pieces);
            }
            next = to + 1;
        }
        self.cut(next, end, container.is_some(), pieces);
    }

    /// Cuts lines into pieces that are not too large, at the blank line nearest the end of each, else where it is full.
    fn cut(&self, start: usize, end: usize, alone: bool, pieces: &mut Vec<Piece>) {
        let mut from = start;
        while from <= end {
            let (mut to, mut bytes, mut blank) = (from, 0, None);
            while to <= end {
                bytes += self.lines[to - 1].len();
                if bytes > CHUNK_BYTES_MAX && to > from {
                    break;
                }
                if bytes > CHUNK_BYTES_MAX / 2 && self.begins_paragraph(to + 1, end) {
                    blank = Some(to);
                }
                to += 1;
            }
            let last = if to > end { end } else { blank.unwrap_or(to - 1) };
            pieces.push(Piece { start: from, end: last, alone: alone && (from > start || last < end) });
            from = last + 1;
        }
    }

    fn begins_paragraph(&self, line: usize, end: usize) -> bool {
        line <= end && (self.lines[line - 1].trim().is_empty() || self.lines[line - 1].starts_with('#'))
    }

    /// Puts small neighbours together; a scrap (a closing brace, a lone import) joins its neighbour whatever that is.
    fn merged(&self, pieces: Vec<Piece>) -> Vec<Piece> {
        let mut merged: Vec<Piece> = Vec::new();
        for piece in pieces {
            let joins = |last: &Piece| {
                let (before, own) = (self.bytes(last.start, last.end), self.bytes(piece.start, piece.end));
                let scrap = before.min(own) <= SCRAP_BYTES_MAX && before + own <= CHUNK_BYTES_MAX + 2 * SCRAP_BYTES_MAX;
                scrap || (!last.alone && !piece.alone && before + own <= MERGED_BYTES_MAX)
            };
            match merged.last_mut().filter(|last| joins(last)) {
                Some(last) => {
                    last.end = piece.end;
                    last.alone |= piece.alone;
                }
                None => merged.push(piece),
            }
        }
        merged.retain(|p| self.lines[p.start - 1..p.end].iter().any(|l| !l.trim().is_empty()));
        merged
    }

    fn chunk(&self, path: &str, number: usize, piece: &Piece) -> Chunk {
        let content = self.lines[piece.start - 1..piece.end].concat();
        let definitions = self.named_after(piece);
        let summary = summary(path, &content, definitions.iter().map(|d| &self.outline.definitions[*d]));
        Chunk { number, start: piece.start, end: piece.end, content, definitions, summary }
    }

    /// Definitions that begin in the piece, largest first; if none does, the innermost one around it.
    fn named_after(&self, piece: &Piece) -> Vec<usize> {
        let all = &self.outline.definitions;
        let mut inside: Vec<usize> =
            (0..all.len()).filter(|d| (piece.start..=piece.end).contains(&all[*d].start)).collect();
        inside.sort_by_key(|d| (std::cmp::Reverse(all[*d].end.min(piece.end) - all[*d].start), *d));
        if inside.is_empty() {
            inside.extend((0..all.len()).rev().find(|d| all[*d].start <= piece.start && all[*d].end >= piece.end));
        }
        inside
    }
}

/// Path words, names of what is defined, comments; if that is little, the words of the content.
fn summary<'a>(path: &str, content: &str, definitions: impl Iterator<Item = &'a Definition>) -> String {
    /// With fewer words than this the content itself has to speak.
    const WORDS_MIN: usize = 12;
    let mut text: Vec<String> = words::path_words(path);
    for definition in definitions {
        let name = words::parts(&definition.name);
        if definition.kind != Kind::Impl && !text.ends_with(&name) {
            text.extend(name);
        }
    }
    let comments = content
        .lines()
        .map(str::trim)
        .filter(|l| l.starts_with("//") || l.starts_with(['*', '#']) || l.starts_with("/*"));
    let comments: Vec<&str> = comments.flat_map(words::identifiers).collect();
    text.extend(comments.iter().map(|w| (*w).to_owned()));
    if text.len() < WORDS_MIN {
        text.extend(words::identifiers(content).flat_map(words::parts));
    }
    text.truncate(SUMMARY_WORDS_MAX);
    text.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::syntax;
    use super::*;

    fn check(path: &str, source: &str, expected: &[(usize, usize, &str)]) -> Vec<Chunk> {
        let outline = syntax::outline(syntax::language_of(path), source);
        let chunks = chunks(path, source, &outline);
        let name = |c: &Chunk| c.definitions.first().map_or("", |d| outline.definitions[*d].name.as_str()).to_owned();
        let found: Vec<(usize, usize, String)> = chunks.iter().map(|c| (c.start, c.end, name(c))).collect();
        let expected: Vec<(usize, usize, String)> =
            expected.iter().map(|(s, e, n)| (*s, *e, (*n).to_owned())).collect();
        assert_eq!(found, expected);
        chunks
    }

    fn function(name: &str, lines: usize) -> String {
        format!("export function {name}() {{\n{}}}\n", "  work(this, that, other, more);\n".repeat(lines))
    }

    #[test]
    fn small_neighbours_share_a_chunk_and_large_ones_stand_alone() {
        let source = format!("{}{}{}", function("a", 2), function("b", 2), function("c", 30));
        check("x.ts", &source, &[(1, 8, "a"), (9, 40, "c")]);
    }

    #[test]
    fn a_doc_comment_stays_with_what_it_explains() {
        let source = format!("{}\n/** Counts the\n * attempts. */\n{}", function("a", 30), function("retry", 30));
        let chunks = check("src/net.ts", &source, &[(1, 33, "a"), (34, 67, "retry")]);
        assert!(chunks[1].summary.starts_with("src net retry Counts the attempts "), "{}", chunks[1].summary);
        assert_eq!(chunks[1].summary.split(' ').count(), SUMMARY_WORDS_MAX);
    }

    #[test]
    fn a_large_class_is_cut_at_its_methods() {
        let method = |name: &str| format!("  {name}() {{\n{}  }}\n", "    work(this, that, other);\n".repeat(28));
        let source = format!("class Big {{\n{}{}}}\n", method("first"), method("second"));
        check("x.js", &source, &[(1, 31, "Big"), (32, 62, "second")]);
    }

    #[test]
    fn text_without_syntax_is_cut_at_blank_lines() {
        let paragraph = "words of a paragraph that goes on for a while\n".repeat(20);
        check("a.md", &format!("{paragraph}\n{paragraph}"), &[(1, 20, ""), (21, 41, "")]);
    }

    #[test]
    fn chunks_cover_every_line_that_says_something() {
        let source = format!("import x from 'y';\n\n{}\nrun();\n{}", function("a", 60), function("b", 3));
        let outline = syntax::outline("typescript", &source);
        let all: String = chunks("x.ts", &source, &outline).into_iter().map(|c| c.content).collect();
        assert_eq!(all, source);
    }
}
