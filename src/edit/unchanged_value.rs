//! Finds a number that a change replaced in one place and left in another one nearby.

/// A number that was replaced and that another line still has.
#[derive(Debug, PartialEq)]
pub struct Value {
    pub old: String,
    pub new: String,
    /// The line that still has it.
    pub line: String,
}

/// Lines before and after the changed one that are searched, within its block.
const NEAR_LINES: usize = 40;

/// The number that the first changed line has replaced, if nothing else differs in that line and a line of the same block still has it.
pub fn value(before: &str, after: &str) -> Option<Value> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if old.len() != new.len() {
        return None;
    }
    let changed: Vec<usize> = (0..old.len()).filter(|&at| old[at] != new[at]).collect();
    let at = *changed.first()?;
    let (from, to) = replaced(old[at], new[at])?;
    let near = at.saturating_sub(NEAR_LINES)..(at + NEAR_LINES).min(new.len());
    let is_near = |line: usize| same_block(&new, at.min(line), at.max(line));
    let line = near.filter(|&line| is_near(line)).find(|&line| tokens(new[line]).contains(&from))?;
    Some(Value { old: from.to_owned(), new: to.to_owned(), line: new[line].trim().to_owned() })
}

/// Whether two lines are in one block: no line between them follows a blank line without being indented more than the first.
fn same_block(lines: &[&str], first: usize, last: usize) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let begin = indent(lines[first]);
    (first + 1..=last).all(|at| !lines[at - 1].trim().is_empty() || indent(lines[at]) > begin)
}

/// The old and the new number, if nothing else differs between two lines; of at least two characters.
fn replaced<'a>(old: &'a str, new: &'a str) -> Option<(&'a str, &'a str)> {
    let (old, new) = (tokens(old), tokens(new));
    if old.len() != new.len() {
        return None;
    }
    let mut pairs = old.into_iter().zip(new).filter(|(a, b)| a != b);
    let pair = pairs.next()?;
    let is_number = |text: &str| text.len() > 1 && text.starts_with(|c: char| c.is_ascii_digit());
    (is_number(pair.0) && is_number(pair.1) && pairs.all(|other| other == pair)).then_some(pair)
}

/// Words and signs of a line.
fn tokens(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut rest = line;
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, more) = rest.split_at(end);
        rest = more;
        if !token.trim().is_empty() {
            found.push(token);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_left_nearby_is_found() {
        let before = "def f(n=128):\n    return g(128, n)\n\ndef h(n=128):\n    return n\n";
        let found = value(before, &before.replacen("128", "256", 1)).unwrap();
        assert_eq!((found.old.as_str(), found.line.as_str()), ("128", "return g(128, n)"));
        let both = before.replacen("128", "256", 2);
        assert_eq!(value(before, &both), None, "another function keeps its own");
        assert_eq!(value(before, &before.replace("def h", "def k")), None, "a name is no value");
    }
}
