//! The name that a misspelt one was most likely meant to be.

/// Longest name looked at.
const CHARS_MAX: usize = 128;

/// Edit distance (insert, delete, replace), over at most 128 characters a side.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(CHARS_MAX).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(CHARS_MAX).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The nearest of `names`, unless it is too far to have been meant.
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
    fn a_slip_of_the_pen_is_understood_and_another_word_is_not() {
        check("paralel", Some("parallel"));
        check("bugdet", Some("budget"));
        check("colour", None);
    }
}
