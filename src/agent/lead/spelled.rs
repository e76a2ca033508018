//! Recognises requests that spell out beyond doubt what is to be done: code does it at once, and no model is asked.

use crate::agent::guide;
use crate::agent::toolkit::Toolkit;
use crate::language::clauses::{Part, PartKind};
use crate::request::{Kind, forms, kind, renames, substitution};

/// Longest clause that says from which value to which, in words; a longer one asks for more.
const VALUE_WORDS: usize = 18;

/// Whether every part of the request is a rename, a move, a new value for an old one in one file, a list that the index has, or a command.
pub fn is_all(toolkit: &Toolkit, request: &str, parts: &[Part]) -> bool {
    let Some(context) = &toolkit.context else { return false };
    let of_values = |part: &Part| {
        let is_named = substitution::of(&part.text).is_some() || substitution::of_names(&part.text).is_some();
        is_named && part.paths.len() == 1 && part.text.split_whitespace().count() <= VALUE_WORDS
    };
    let runs = |part: &Part| {
        let of_project = || part.paths.is_empty() && forms::project_command(part, context.root.path()).is_some();
        kind::of_clause(part) == Kind::Run && (kind::quoted_command(&part.text).is_some() || of_project())
    };
    let is_spelled_out = |part: &Part| {
        let is_order = part.kind == PartKind::Act && part.context.is_empty() && !part.text.contains('?');
        is_order && (renames::all(&part.text).is_some() || of_values(part) || runs(part))
    };
    let is_renaming = || renames::all(&request.split_whitespace().collect::<Vec<_>>().join(" ")).is_some();
    guide::is_list(toolkit, parts) || is_renaming() || !parts.is_empty() && parts.iter().all(is_spelled_out)
}
