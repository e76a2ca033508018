//! Splits a request into parts, one per thing it asks for: the steps of a plan made without a
//! model. Pure.
//!
//! `Read src/a.rs and tell me what it does, then run the tests.` has three parts: an act, an answer
//! that only reports the findings of the first act, and another act. English has its own clause
//! rules (`english`), because many of its verbs are also nouns. German, French, Spanish and Russian
//! have tables of words (`table`) and share one set of rules (`by_table`). In all other languages,
//! each sentence or list item is a part.

mod by_table;
mod clause;
mod english;
mod head;
mod lists;
mod lookahead;
pub mod names;
pub mod roles;
pub mod scan;
mod table;
mod tongue;
mod verbs;
pub mod words;

#[cfg(test)]
mod tests;

/// The role of a part in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Work for a tool: something to do or to find out.
    Act,
    /// Only asks for the findings of earlier parts; the turn's answer covers it.
    Answer,
    /// Only states facts. A separate part only if the request asks for nothing.
    Given,
}

/// One thing a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The clause as written, without the preceding connective, starting with a capital letter.
    pub text: String,
    /// Sentences around the clause that only state facts about it.
    pub context: String,
    /// The verb: in English its base form, in other languages the form as written.
    pub verb: Option<String>,
    /// Paths, file names and URLs in clause and context.
    pub paths: Vec<String>,
    /// Quoted texts, without their quotation marks or backticks.
    pub quoted: Vec<String>,
    /// Whether it refers to something that an earlier part mentions or creates (`it`, `them`,
    /// `this`, `each`).
    pub refers_back: bool,
    /// Whether a tool has to do it, the answer covers it, or it only states facts.
    pub kind: PartKind,
    /// Indexes of earlier parts whose results this one needs.
    pub depends_on: Vec<usize>,
}

impl Part {
    /// Context and clause together: everything the user wrote about this part.
    pub fn full_text(&self) -> String {
        roles::join(&self.context, &self.text)
    }
}

/// Maximum length to split into clauses; the rest is added to the last part's context.
const SCANNED_BYTES_MAX: usize = 64 << 10;

/// Maximum number of parts per request: nobody reads and approves a longer plan. Further clauses
/// are added to the last part's context.
const PARTS_MAX: usize = 100;

/// Whether the request's language has clause rules.
pub fn has_rules(request: &str) -> bool {
    !matches!(tongue::Tongue::of(request, &scan::scan(request)), tongue::Tongue::Other)
}

/// Whether a request is in English.
pub fn is_english(request: &str) -> bool {
    matches!(tongue::Tongue::of(request, &scan::scan(request)), tongue::Tongue::English)
}

/// The parts of `request`, in order. Empty only for a blank request; takes time linear in the
/// request's length.
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
