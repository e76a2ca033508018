//! Computes, from the tokens of a call, how sure the model was of the tool that it named.

use crate::engine::{Choice, Logprobs};
use crate::protocol::Sure;

/// Number of likeliest tokens needed at each position: the written one and its best rival.
pub const RIVALS: usize = 2;

/// A written token and its lead over the alternatives. Inside a grammar, only the allowed tokens
/// count.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    bytes: Vec<u8>,
    sure: Sure,
}

impl Weighed {
    pub fn of(bytes: &[u8], odds: &Logprobs, drawn: &Choice) -> Weighed {
        let other = odds.top.iter().find(|(token, _)| *token != odds.token);
        let margin = odds.logprob.exp() - other.map_or(0.0, |(_, logprob)| logprob.exp());
        Weighed { bytes: bytes.to_vec(), sure: Sure { margin: margin.max(0.0), entropy: drawn.entropy } }
    }
}

/// How sure the model was of the first occurrence of `name`: the certainty of its least certain
/// token. The token after the name counts too, because a longer name would continue there. `None`
/// if the tokens do not spell the name; models on servers provide no tokens.
pub fn of(tokens: &[Weighed], name: &str) -> Option<Sure> {
    let text: Vec<u8> = tokens.iter().flat_map(|token| &token.bytes).copied().collect();
    let from = text.windows(name.len().max(1)).position(|part| part == name.as_bytes())?;
    let mut end = 0;
    let of_name = tokens.iter().filter(|token| {
        let begin = end;
        end += token.bytes.len();
        begin <= from + name.len() && end > from
    });
    of_name
        .map(|token| token.sure)
        .reduce(|least, one| Sure { margin: least.margin.min(one.margin), entropy: least.entropy.max(one.entropy) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tokens: &[(&str, f32)], name: &str, expected: Option<f32>) {
        let weighed = |&(text, margin): &(&str, f32)| Weighed {
            bytes: text.as_bytes().to_vec(),
            sure: Sure { margin, entropy: 1.0 - margin },
        };
        let tokens: Vec<Weighed> = tokens.iter().map(weighed).collect();
        let expected = expected.map(|margin| Sure { margin, entropy: 1.0 - margin });
        assert_eq!(of(&tokens, name), expected, "{name}");
    }

    #[test]
    fn a_model_is_as_sure_of_a_name_as_of_its_least_sure_token() {
        let call = [("[", 0.1), ("home", 0.9), (".lamp", 0.75), ("_one(", 0.875), ("room=", 0.2)];
        check(&call, "home.lamp_one", Some(0.75));
        check(&call, "home", Some(0.75));
        check(&call, "door", None);
        check(&[], "home", None);
        // Later occurrences of the name, as in an argument, do not count.
        check(&[("{\"name\": \"", 1.0), ("find", 0.5), ("\", ", 0.75), ("find", 0.25)], "find", Some(0.5));
    }

    #[test]
    fn a_longer_name_that_was_nearly_written_counts() {
        check(&[("lamp", 0.875), ("(", 0.25), (")", 0.125)], "lamp", Some(0.25));
    }
}
