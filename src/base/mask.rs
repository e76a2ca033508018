//! Masks private data before text is stored: patterns find keys and numbers, and a [`Judge`] finds names and addresses.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::names::{Candidate, Form, candidates};
use super::private;

/// Judges whether a text is the name of a person or a home address.
pub trait Judge: Send + Sync {
    /// For each text, the log odds that it is a name or an address, depending on its form.
    fn odds(&self, asked: &[(Form, &str)]) -> Vec<f64>;
}

/// Which private data is masked.
#[derive(Clone, Default)]
pub enum Mask {
    #[default]
    Nothing,
    /// Only matches of the patterns of [`private`].
    Forms,
    /// As `Forms`, plus anything that the judge considers a name or an address.
    Names(Arc<dyn Judge>),
}

/// Minimum log odds for masking a candidate: the lowest value that cost no precision on one half of
/// `tests/data/personal.txt`.
pub const ODDS_LEAST: f64 = 1.0;
/// Maximum number of candidates judged per text, which already takes a model several seconds; any
/// others are masked without being judged.
const JUDGED_MAX: usize = 64;

impl Mask {
    /// The text with each private part replaced by its kind, such as `[email]`.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self {
            Mask::Nothing => Cow::Borrowed(text),
            Mask::Forms => private::mask(text),
            Mask::Names(judge) => {
                let plain = private::mask(text);
                match without_names(&plain, &**judge) {
                    Some(masked) => Cow::Owned(masked),
                    None => plain,
                }
            }
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mask::Nothing => "Nothing",
            Mask::Forms => "Forms",
            Mask::Names(_) => "Names",
        })
    }
}

/// The text with names and addresses masked; `None` if there are none.
fn without_names(text: &str, judge: &dyn Judge) -> Option<String> {
    let all = candidates(text);
    let judged = &all[..all.len().min(JUDGED_MAX)];
    let reading = |one: &Candidate| one.readings.iter().map(|at| (one.form, &text[at.clone()])).collect::<Vec<_>>();
    let asked: Vec<(Form, &str)> = judged.iter().flat_map(reading).collect();
    let mut odds = if asked.is_empty() { Vec::new() } else { judge.odds(&asked) }.into_iter();
    let (mut masked, mut at) = (String::new(), 0);
    for (place, one) in all.iter().enumerate() {
        let is_judged = place < JUDGED_MAX;
        let readings = one.readings.iter().map(|range| (range, if is_judged { odds.next() } else { None }));
        let likeliest = readings.map(|(range, odds)| (range, odds.unwrap_or(f64::INFINITY)));
        let Some((range, odds)) = likeliest.reduce(|best, one| if one.1 > best.1 { one } else { best }) else {
            continue;
        };
        if odds >= ODDS_LEAST {
            masked.push_str(&text[at..range.start]);
            masked.push_str(match one.form {
                Form::Name => "[name]",
                Form::Address => "[address]",
            });
            at = range.end;
        }
    }
    (at > 0).then(|| masked + &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A judge that considers texts beginning with `Ada` or `14` private.
    struct Knows;

    impl Judge for Knows {
        fn odds(&self, asked: &[(Form, &str)]) -> Vec<f64> {
            assert!(asked.len() <= 2 * JUDGED_MAX);
            let odds = |text: &str| if text.starts_with("Ada") || text.starts_with("14") { 5.0 } else { -5.0 };
            asked.iter().map(|(_, text)| odds(text)).collect()
        }
    }

    #[test]
    fn names_are_masked_if_the_judge_says_so_and_patterns_always() {
        let mask = Mask::Names(Arc::new(Knows));
        let text = "Mail Ada Lovelace of Spring Boot, 14 Birch Lane, at ada@lovelace.org";
        assert_eq!(mask.apply(text), "Mail [name] of Spring Boot, [address], at [email]");
        assert_eq!(Mask::Forms.apply("Ada at ada@lovelace.org"), "Ada at [email]");
        assert!(matches!(mask.apply("nothing to see"), Cow::Borrowed(_)));
        assert_eq!(Mask::Nothing.apply(text), text);
    }

    #[test]
    fn candidates_beyond_the_judged_maximum_are_all_masked() {
        let many = "about Spring Boot, ".repeat(JUDGED_MAX + 2);
        let masked = Mask::Names(Arc::new(Knows)).apply(&many).into_owned();
        assert_eq!((masked.matches("Spring Boot").count(), masked.matches("[name]").count()), (JUDGED_MAX, 2));
    }
}
