//! Reads the head of a function: its parameter types, by which overloads differ.

use std::ops::Range;

use crate::base::is_listed;

/// Words before a parameter that do not belong to its type.
const BESIDE_TYPE: &str = "final var val params crossinline noinline using implicit inout this";

/// A text without white space.
pub fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The features of `head` that distinguish the function `name` from others of that name: its type
/// arguments and receiver, if any, followed by the types of its parameters.
pub fn parameters(language: &str, name: &str, head: &str) -> Vec<String> {
    let Some(place) = place_of(name, head) else { return Vec::new() };
    let mut found = Vec::new();
    let before = head[..place.start].rfind("fun ").filter(|_| language == "kotlin");
    found.extend(before.map(|at| squeezed(&head[at + 4..place.start])).filter(|receiver| !receiver.is_empty()));
    let mut rest = head[place.end..].trim_start_matches(['?', '!']).trim_start();
    while let Some(list) = group(rest) {
        let inside = &rest[1..list - 1];
        if rest.starts_with('(') {
            found.push("(".to_owned());
            found.extend(entries(inside).map(|one| type_of(language, one)));
        } else {
            found.push(squeezed(&rest[..list]));
        }
        rest = rest[list..].trim_start();
    }
    if language == "cpp" {
        // `int at(int) const` is an overload of `int at(int)`.
        let end = rest.find([':', ';', '{', '=']).unwrap_or(rest.len());
        let words = rest[..end].split_whitespace().filter(|word| matches!(*word, "const" | "volatile" | "&" | "&&"));
        found.extend(words.map(str::to_owned));
    }
    // In some languages, an empty parameter list may be left out.
    if found.last().is_some_and(|last| last == "(") {
        found.pop();
    }
    found
}

/// The place of the name in a head: the first whole word before a parameter list, else the last.
fn place_of(name: &str, head: &str) -> Option<Range<usize>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_whole = |at: usize| !head[..at].ends_with(is_part) && !head[at + name.len()..].starts_with(is_part);
    let places = || head.match_indices(name).map(|(at, _)| at).filter(|at| !name.is_empty() && is_whole(*at));
    let has_list = |at: &usize| {
        let rest = head[at + name.len()..].trim_start_matches(['?', '!']).trim_start();
        let behind = group(rest).filter(|_| rest.starts_with(['<', '['])).map_or(rest, |end| &rest[end..]);
        behind.trim_start().starts_with('(')
    };
    let at = places().find(has_list).or_else(|| places().last())?;
    Some(at..at + name.len())
}

/// The number of open brackets after `letter`, which follows `before`.
fn depth_after(depth: usize, before: char, letter: char) -> usize {
    match letter {
        '(' | '[' | '{' | '<' => depth + 1,
        // `->` and `=>` close nothing.
        '>' if matches!(before, '-' | '=') => depth,
        ')' | ']' | '}' | '>' => depth.saturating_sub(1),
        _ => depth,
    }
}

/// The length of the bracketed group at the beginning of a text.
pub fn group(text: &str) -> Option<usize> {
    if !text.starts_with(['(', '<', '[']) {
        return None;
    }
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        depth = depth_after(depth, before, letter);
        before = letter;
        if depth == 0 {
            return Some(at + letter.len_utf8());
        }
    }
    None
}

/// The parts of a list between its outer commas.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let mut before = ' ';
    let parts = list.split(move |letter: char| {
        depth = depth_after(depth, before, letter);
        before = letter;
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// The type of a parameter, without its name and its default.
fn type_of(language: &str, parameter: &str) -> String {
    let is_default = |at: &usize| !parameter[*at..].starts_with("=>") && !parameter[*at..].starts_with("==");
    let default = parameter.match_indices('=').map(|(at, _)| at).find(is_default);
    let mut words = parameter[..default.unwrap_or(parameter.len())].trim();
    // Annotations precede the type.
    while words.starts_with('@') {
        let end = words.find([' ', '(', '\n']).unwrap_or(words.len());
        let list = if words[end..].starts_with('(') { group(&words[end..]).unwrap_or_default() } else { 0 };
        words = words[end + list..].trim_start();
    }
    while let Some((word, rest)) = words.split_once(char::is_whitespace) {
        if !is_listed(BESIDE_TYPE, word) {
            break;
        }
        words = rest.trim_start();
    }
    if is_listed("kotlin scala swift", language) {
        let Some((label, ty)) = words.split_once(':') else { return squeezed(words) };
        // The outer name of a Swift parameter belongs to the function's name.
        let label = label.split_whitespace().next().filter(|_| language == "swift").unwrap_or_default();
        return squeezed(label) + ":" + &squeezed(ty);
    }
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    // `int tiles[]`: the brackets belong to the type.
    let name_end = words.trim_end_matches(['[', ']', ' ']).len();
    let name = words[..name_end].trim_end_matches(is_part).len();
    let ty = words[..name].trim();
    let is_name = name < name_end && !ty.is_empty() && !ty.ends_with([':', '.', '<', ',']);
    if is_name { squeezed(ty) + &squeezed(&words[name_end..]) } else { squeezed(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overloads_differ_by_the_types_of_their_parameters() {
        let same = |language: &str, name: &str, one: &str, other: &str, expected: bool| {
            let [left, right] = [one, other].map(|head| parameters(language, name, head));
            assert_eq!(left == right, expected, "{one} / {other}: {left:?} {right:?}");
        };
        same("java", "heat", "public int heat(int by)", "int heat(final int cone) throws IOException", true);
        same("java", "heat", "int heat(Map<String, Integer> by)", "int heat(Map<String, Long> by)", false);
        same("java", "heat", "int heat(int[] by)", "int heat(int by[])", true);
        same("java", "Kiln", "public Kiln(int cone)", "Kiln(@Nonnull(when = X) Integer cone)", false);
        same("csharp", "Heat", "int Heat<T>(ref T by)", "int Heat(ref int by)", false);
        same("csharp", "Heat", "int Heat(int by = 4)", "int Heat(int by)", true);
        same("cpp", "Kiln", "Kiln(int cone) : cone_(cone)", "explicit Kiln(int cone)", true);
        same("cpp", "at", "int at(int at) const", "int at(int)", false);
        same("cpp", "heat", "int Kiln::heat(double)", "int heat(double cone)", true);
        same("cpp", "operator()", "int operator()(int a)", "int operator()(double a)", false);
        same("kotlin", "heat", "fun heat(by: Int = 1): Int", "fun heat(delta: Int)", true);
        same("kotlin", "heat", "fun List<Int>.heat()", "fun List<String>.heat()", false);
        same("kotlin", "heat", "fun heat(by: (Int) -> Int, to: Int)", "fun heat(by: (Int) -> Int)", false);
        same("scala", "rest", "def rest: Int", "def rest()", true);
        same("scala", "heat", "def heat(by: Int)(to: Int)", "def heat(by: Int)", false);
        same("swift", "heat", "func heat(by cone: Int)", "func heat(by tile: Int) -> Int", true);
        same("swift", "heat", "func heat(by cone: Int)", "func heat(to cone: Int)", false);
        same("swift", "init", "convenience init?(cone: Int)", "init(cone: Int)", true);
    }
}
