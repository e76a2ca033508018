//! Finds the known name nearest to a misspelt one.

/// Maximum number of characters compared; bounds the running time.
const CHARS_MAX: usize = 128;

/// Edit distance (insert, delete, replace, swap neighbours) of the first 128 characters of each.
pub fn distance(a: &str, b: &str) -> usize {
    let first = |text: &str| text.chars().take(CHARS_MAX).collect::<String>();
    strsim::osa_distance(&first(a), &first(b))
}

/// The nearest of `names`; `None` if it differs in more than 2 characters or in more than a third
/// of its bytes.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (far, near) = names.into_iter().map(|one| (distance(name, one), one)).min_by_key(|(far, _)| *far)?;
    (far <= (near.len() / 3).max(2)).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(nearest(name, ["parallel", "budget", "threads"]), expected, "{name}");
    }

    #[test]
    fn a_typo_finds_the_nearest_name_and_an_unrelated_word_finds_none() {
        check("paralel", Some("parallel"));
        check("bugdet", Some("budget"));
        check("colour", None);
    }
}
