//! The `index_…` tools about files: which file defines a name, what a file defines, where names
//! occur.

use super::{PROPOSED, index, left_out, near_symbols, said, show, there_is};
use crate::base::near;
use crate::index::{Index, SymbolRow};
use crate::retrieve;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::outcome::{Finding, Outcome, cut_line};
use show::Item;

/// Maximum number of lines of a file that is shown in full.
const WHOLE_LINES_MAX: usize = 60;
const CHUNKS_MAX: usize = 60;
const LINES_PER_CHUNK: usize = 8;
const SIGNATURE_CHARS: usize = 200;
/// Maximum nesting depth of definitions.
const DEPTH_MAX: usize = 16;

/// `index_find_files`: files that define a name or whose path contains it.
pub(in crate::tools) fn find(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let wanted = arguments.text("symbol")?.trim();
    if wanted.is_empty() {
        return Err("`symbol` is empty; give the name of something a file defines, or a part of its path".to_owned());
    }
    let index = index(context)?;
    let last = wanted.rsplit(['.', ':']).next().unwrap_or(wanted);
    // A heading or a selector may contain dots.
    let defined = index.symbols_named(&[wanted.to_owned(), last.to_owned()]).map_err(said)?;
    let mut items = definitions_of(index, defined)?;
    let lower = wanted.to_lowercase();
    let paths = index.paths().map_err(said)?;
    let named = paths.into_iter().filter(|path| path.to_lowercase().contains(&lower));
    items.extend(named.map(|path| whole_file(path, "by its path".to_owned())));
    if items.is_empty() {
        let near = near_symbols(index, wanted)?;
        let gaps = index.gaps().map_err(said)?.map(|gaps| format!("; {gaps}")).unwrap_or_default();
        return Err(format!("no indexed file defines `{wanted}` or has it in its path{near}{gaps}"));
    }
    Ok(show::outcome(&format!("{} places for `{wanted}`", items.len()), &items, &left_out(index)?))
}

/// `index_read_file`: the outline of a file, the whole text of a short one, or one of its
/// definitions.
pub(in crate::tools) fn read(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let path = arguments.text("path")?.trim().trim_start_matches("./");
    let index = index(context)?;
    let symbols = index.file_symbols(path).map_err(said)?;
    if symbols.is_empty() {
        return Err(unknown_path(index, path)?);
    }
    let (module, definitions): (Vec<SymbolRow>, Vec<SymbolRow>) =
        symbols.into_iter().partition(|s| s.kind == "module" && s.container.is_none());
    let lines = module.first().map_or(0, |m| m.end);
    if let Some(name) = arguments.optional_text("symbol")?.map(str::trim).filter(|name| !name.is_empty()) {
        return one_definition(index, path, name, definitions);
    }
    if lines <= WHOLE_LINES_MAX {
        let (body_start, body) = lines_of(index, path, 1, lines)?;
        let about = format!("{lines} lines");
        let item = Item { body, body_start, ..whole_file(path.to_owned(), about) };
        return Ok(show::outcome(&format!("{path}, {lines} lines"), &[item], &[]));
    }
    let items: Vec<Item> = definitions.into_iter().map(outlined).collect();
    let title = format!("{path}, {lines} lines, {} definitions", items.len());
    Ok(show::outcome(&title, &items, &["read_file shows lines; `symbol` shows one definition".to_owned()]))
}

/// `outline`: all definitions of a file, or one of them, with signatures.
pub(in crate::tools) fn outline(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let path = arguments.text("path")?.trim().trim_start_matches("./");
    let index = index(context)?;
    let symbols = index.file_symbols(path).map_err(said)?;
    if symbols.is_empty() {
        return Err(unknown_path(index, path)?);
    }
    let is_file = |symbol: &&SymbolRow| symbol.kind == "module" && symbol.container.is_none();
    let lines = symbols.iter().find(is_file).map_or(0, |file| file.end);
    let definitions: Vec<SymbolRow> = symbols.iter().filter(|symbol| !is_file(symbol)).cloned().collect();
    if let Some(name) = arguments.optional_text("name")?.map(str::trim).filter(|name| !name.is_empty()) {
        return one_definition(index, path, name, definitions);
    }
    let mut text = format!("{path}, {lines} lines, {} definitions\n", definitions.len());
    for one in &definitions {
        let signature =
            if one.signature.is_empty() { format!("{} {}", one.kind, one.name) } else { one.signature.clone() };
        let signature = cut_line(&signature.split_whitespace().collect::<Vec<_>>().join(" "), SIGNATURE_CHARS);
        text.push_str(&format!("{}{}-{} {signature}\n", "  ".repeat(depth(one, &definitions)), one.start, one.end));
    }
    let findings =
        definitions.iter().map(|one| Finding::at(path, one.start, cut_line(&one.signature, SIGNATURE_CHARS)));
    Ok(Outcome::ok(text).with_findings(findings.collect()))
}

/// The number of the file's definitions that enclose this one.
fn depth(symbol: &SymbolRow, all: &[SymbolRow]) -> usize {
    let container = |symbol: &SymbolRow| all.iter().find(|one| Some(one.id) == symbol.container);
    let around = std::iter::successors(container(symbol), |outer| container(outer));
    around.take(DEPTH_MAX).count()
}

fn one_definition(index: &Index, path: &str, name: &str, definitions: Vec<SymbolRow>) -> Result<Outcome, String> {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    let known: Vec<String> = definitions.iter().map(|d| d.name.clone()).collect();
    let called = if known.iter().any(|known| known == name) { name } else { last };
    let items = definitions_of(index, definitions.into_iter().filter(|d| d.name == called).collect())?;
    if items.is_empty() {
        return Err(format!("{path} defines no `{name}`{}", there_is(&similar_to(last, &known))));
    }
    Ok(show::outcome(&format!("{name} in {path}"), &items, &[]))
}

/// `index_search_text`: code in which names occur, with the enclosing definitions.
pub(in crate::tools) fn text(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let wanted = arguments.text("names")?;
    let words: Vec<String> = names_in(wanted);
    if words.is_empty() {
        return Err(format!("`{wanted}` contains no name to search for; give identifiers such as `retry_after`"));
    }
    let index = index(context)?;
    let found = retrieve::search(index, wanted, None, CHUNKS_MAX).map_err(said)?;
    let mut items: Vec<(usize, Item)> = Vec::new();
    let most = format!("only the {CHUNKS_MAX} likeliest places were examined; search_text finds every line");
    let notes = if found.hits.len() < CHUNKS_MAX { Vec::new() } else { vec![most] };
    for hit in found.hits {
        let lower = hit.snippet.to_lowercase();
        let held = words.iter().filter(|word| lower.contains(word.as_str())).count();
        let holds = |line: &str| words.iter().any(|word| line.to_lowercase().contains(word.as_str()));
        let lines: Vec<(usize, &str)> = hit.snippet.lines().enumerate().filter(|(_, line)| holds(line)).collect();
        let Some((first, _)) = lines.first() else { continue };
        let head = lines
            .iter()
            .take(LINES_PER_CHUNK)
            .map(|(at, line)| format!("{}| {}", hit.start + at, line.trim()))
            .collect();
        let name = hit.symbol.clone().unwrap_or_else(|| "the file".into());
        let about = format!("{}, {} lines", hit.kind.as_deref().unwrap_or("text"), lines.len());
        items.push((held, Item { path: hit.path, line: hit.start + first, name, about, head, ..Item::default() }));
    }
    // Chunks with more of the words come first; otherwise the search order is kept.
    items.sort_by_key(|(held, _)| std::cmp::Reverse(*held));
    let items: Vec<Item> = items.into_iter().map(|(_, item)| item).collect();
    if items.is_empty() {
        let near = near_symbols(index, wanted)?;
        let gaps = index.gaps().map_err(said)?.map(|gaps| format!("; {gaps}")).unwrap_or_default();
        return Err(format!("`{wanted}` does not occur in the indexed files{near}{gaps}"));
    }
    Ok(show::outcome(
        &format!("{} places with {}", items.len(), words.join(", ")),
        &items,
        &[notes, left_out(index)?].concat(),
    ))
}

fn names_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.chars().count() > 1);
    let mut words: Vec<String> = words.map(str::to_lowercase).collect();
    words.sort();
    words.dedup();
    words
}

fn whole_file(path: String, about: String) -> Item {
    Item { path, line: 1, name: "the file".to_owned(), about, ..Item::default() }
}

fn definitions_of(index: &Index, symbols: Vec<SymbolRow>) -> Result<Vec<Item>, String> {
    symbols.into_iter().map(|symbol| definition(index, symbol)).collect()
}

/// A definition with its signature and the first line of its documentation.
fn outlined(symbol: SymbolRow) -> Item {
    let doc = symbol.doc.lines().next().unwrap_or_default().to_owned();
    Item {
        path: symbol.path,
        line: symbol.start,
        name: symbol.name,
        about: format!("{}, lines {}-{}", symbol.kind, symbol.start, symbol.end),
        head: vec![symbol.signature, doc],
        ..Item::default()
    }
}

/// An entry of the outline with its source lines.
pub(super) fn definition(index: &Index, symbol: SymbolRow) -> Result<Item, String> {
    let (body_start, body) = lines_of(index, &symbol.path, symbol.start, symbol.end)?;
    Ok(Item { body, body_start, ..outlined(symbol) })
}

/// The number of the first line, and the lines of a file in their indexed form.
pub(super) fn lines_of(index: &Index, path: &str, start: usize, end: usize) -> Result<(usize, String), String> {
    let chunks = index.chunks_of_file(path).map_err(said)?;
    let mut body = String::new();
    let mut next = start;
    for chunk in chunks.iter().filter(|chunk| chunk.start <= end && chunk.end >= start) {
        // Blank lines between chunks are not part of any chunk.
        (next..chunk.start).for_each(|_| body.push('\n'));
        let from = start.saturating_sub(chunk.start);
        let wanted = chunk.content.lines().skip(from).take(end + 1 - chunk.start.max(start));
        wanted.for_each(|line| {
            body.push_str(line);
            body.push('\n');
        });
        next = chunk.end + 1;
    }
    Ok((start, body))
}

/// The message for a file that is not in the index, with files of the same or a similar name.
pub(super) fn unknown_path(index: &Index, path: &str) -> Result<String, String> {
    if index.paths().map_err(said)?.is_empty() {
        return Ok("the index contains no files; run `monobloc index`".to_owned());
    }
    let near = there_is(&similar_paths(index, path)?);
    Ok(format!("{path} is not in the index{near}; find_files finds paths"))
}

/// The indexed paths with the file name nearest to that of `path`, else the most similar paths.
pub(in crate::tools) fn similar_paths(index: &Index, path: &str) -> Result<Vec<String>, String> {
    let paths = index.paths().map_err(said)?;
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let names: Vec<String> = paths.iter().map(|path| name(path)).collect();
    Ok(match near::nearest(&name(path), names.iter().map(String::as_str)) {
        Some(nearest) => paths.iter().filter(|known| name(known) == nearest).take(PROPOSED).cloned().collect(),
        None => similar_to(path, &paths),
    })
}

/// The known names that are most similar to `wanted`.
fn similar_to(wanted: &str, known: &[String]) -> Vec<String> {
    /// Minimum similarity of a proposed name; it is high because paths share folders and extensions
    /// anyway.
    const ALIKE_MIN: f32 = 0.75;
    /// Maximum number of names compared; more would take noticeable time.
    const COMPARED_MAX: usize = 20_000;
    let names: Vec<&str> = known.iter().take(COMPARED_MAX).map(String::as_str).collect();
    let near = similar::get_close_matches(wanted, &names, PROPOSED, ALIKE_MIN);
    near.into_iter().map(str::to_owned).collect()
}
