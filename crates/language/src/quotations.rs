//! Finds text in quotation marks; apostrophes do not count.

use std::ops::Range;

use crate::base::pattern::static_regex;

/// A text in quotation marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Quotation<'a> {
    /// Its byte range, including the quotation marks.
    pub range: Range<usize>,
    /// The text without the quotation marks.
    pub text: &'a str,
}

const PAIRS: [(char, char); 5] = [('\'', '\''), ('"', '"'), ('«', '»'), ('“', '”'), ('„', '“')];

/// The quotations of `text`, in order.
pub fn of(text: &str) -> Vec<Quotation<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((open, mark)) =
        text[at..].char_indices().find(|(_, mark)| PAIRS.iter().any(|(open, _)| open == mark))
    {
        let (open, inside) = (at + open, at + open + mark.len_utf8());
        let behind_letter = text[..open].ends_with(char::is_alphanumeric);
        let closer = PAIRS.iter().find(|(one, _)| *one == mark).map_or(mark, |(_, closer)| *closer);
        match text[inside..].find(closer).map(|close| inside + close) {
            Some(close) if !behind_letter => {
                at = close + closer.len_utf8();
                found.push(Quotation { range: open..at, text: &text[inside..close] });
            }
            _ => at = inside,
        }
    }
    found
}

/// The texts between quotation marks or backticks, each on one line; an apostrophe may open one.
pub fn marked(text: &str) -> Vec<String> {
    static_regex!(MARKED = r#""([^"\n]{1,80})"|'([^'\n]{1,80})'|`([^`\n]{1,80})`"#);
    let found = MARKED.captures_iter(text).filter_map(|one| one.iter().skip(1).flatten().next());
    found.map(|one| one.as_str().to_owned()).collect()
}

/// Number of parentheses open at byte `at`, ignoring those inside quotations.
pub fn depth(text: &str, quotations: &[Quotation<'_>], at: usize) -> usize {
    let is_quoted = |place: usize| quotations.iter().any(|one| one.range.contains(&place));
    let signs = text[..at].char_indices().filter(|(place, _)| !is_quoted(*place));
    signs.fold(0, |depth, (_, sign)| match sign {
        '(' => depth + 1,
        ')' => usize::saturating_sub(depth, 1),
        _ => depth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_found_beside_apostrophes_and_parentheses() {
        let text = "It's 'a b' and \"c d\", so f('e (f') is “gh”. don't";
        let all = of(text);
        assert_eq!(all.iter().map(|one| one.text).collect::<Vec<_>>(), ["a b", "c d", "e (f", "gh"]);
        let depths: Vec<usize> = all.iter().map(|one| depth(text, &all, one.range.start)).collect();
        assert_eq!(depths, [0, 0, 1, 0]);
    }
}
