//! Finds the sections of Markdown: from a heading to the next one of the same or a higher level.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::Mark;
use crate::index::syntax::outline::Kind;

/// The sections of a text. Headings in lists, quotes, code and HTML do not count.
pub(super) fn marks(source: &str) -> Vec<Mark> {
    let options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_TABLES;
    let mut sections: Vec<Mark> = Vec::new();
    // Level and position in `sections` of the sections around the current line.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut heading: Option<(usize, Range<usize>, String)> = None;
    let mut depth = 0_usize;
    for (event, bytes) in Parser::new_ext(source, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                heading = Some((level as usize, bytes, String::new()));
            }
            Event::End(TagEnd::Heading(_)) => {
                let Some((level, bytes, name)) = heading.take() else { continue };
                while let Some((_, outer)) = open.pop_if(|(outer, _)| *outer >= level) {
                    sections[outer].bytes.end = bytes.start;
                }
                open.push((level, sections.len()));
                let name = super::joined(&name);
                let signature = format!("{} {name}", "#".repeat(level));
                let (bytes, comment) = (bytes.start..source.len(), bytes.start..bytes.start);
                sections.push(Mark { name, kind: Kind::Section, bytes, signature, comment });
            }
            Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::FootnoteDefinition(_)) => depth += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::FootnoteDefinition) => {
                depth = depth.saturating_sub(1);
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((.., name)) = &mut heading {
                    name.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((.., name)) = &mut heading {
                    name.push(' ');
                }
            }
            _ => {}
        }
    }
    sections
}
