//! What a request asks for, part by part: the floor under the number of steps of a plan. Pure, no model.
//!
//! `Read src/a.rs and tell me what it does, then run the tests.` has three parts: an act, an answer that only tells
//! what the first found, and an act. English and Russian have clause rules; in every other language a sentence or a
//! list item is a part.

mod english;
mod head;
mod lists;
pub(in crate::orchestrate) mod names;
mod openings;
mod refer;
pub(in crate::orchestrate) mod roles;
mod russian;
pub(in crate::orchestrate) mod scan;
mod signs;
mod tongue;
pub(in crate::orchestrate) mod verbs;
pub(in crate::orchestrate) mod words;

#[cfg(test)]
mod tests;

/// What a part is for a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Something for a tool: a deed, or a thing to find out.
    Act,
    /// Only tells what earlier parts found; the synthesis answers it.
    Answer,
    /// Only says how things are. A part of its own only where nothing is asked at all.
    Given,
}

/// One thing a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The clause as written, without the connective before it, its first letter a capital.
    pub text: String,
    /// Sentences around it that only say how things are; they belong to its understanding.
    pub context: String,
    /// The verb: in English its base form, in Russian the form that was written.
    pub verb: Option<String>,
    /// Paths, file names and URLs in clause and context.
    pub paths: Vec<String>,
    /// What stands in quotation marks or backticks, without them.
    pub quoted: Vec<String>,
    /// Speaks of something that an earlier part names or produces (`it`, `them`, `this`, `each`).
    pub refers_back: bool,
    pub kind: PartKind,
    /// Earlier parts whose outcome this one needs, as places in the list.
    pub depends_on: Vec<usize>,
}

impl Part {
    /// Context and clause together: all that the user said for this part.
    pub fn full_text(&self) -> String {
        if self.context.is_empty() { self.text.clone() } else { format!("{} {}", self.context, self.text) }
    }
}

/// How much of a request is cut into clauses; what lies behind it stays with the last part.
const SCANNED_BYTES_MAX: usize = 64 << 10;

/// Most parts of one request; a plan of more steps is not shown or approved by anyone. The rest stays with the last one.
const PARTS_MAX: usize = 100;

/// The parts of `request`, in order. Empty only for a request without a word; linear in its length.
pub fn parts(request: &str) -> Vec<Part> {
    let cut = (0..=SCANNED_BYTES_MAX.min(request.len())).rev().find(|&at| request.is_char_boundary(at)).unwrap_or(0);
    let (scanned, rest) = request.split_at(cut);
    let tokens = scan::scan(scanned);
    let mut parts = roles::assemble(tongue::pieces(scanned, &tokens));
    match parts.last_mut() {
        Some(last) if !rest.trim().is_empty() => {
            last.context = format!("{} {}", last.context, rest.trim()).trim().to_owned()
        }
        None if !request.trim().is_empty() => parts.push(roles::plain(request.trim())),
        _ => {}
    }
    parts
}
