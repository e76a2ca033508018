//! Combines the vectors of a text's tokens into one, as `1_Pooling/config.json` specifies.

use std::path::Path;

use candle_core::{IndexOp, Result, Tensor};
use serde_json::{Value, json};

use super::error::EmbedError;
use super::files::{damaged, number, unsupported};
use crate::models::Pooling;

/// The modes by name, older files' flags first.
const MODES: [(&str, &str, Pooling); 3] = [
    ("pooling_mode_mean_tokens", "mean", Pooling::Mean),
    ("pooling_mode_cls_token", "cls", Pooling::First),
    ("pooling_mode_lasttoken", "lasttoken", Pooling::Last),
];
const SUPPORTED: &str = "one of mean, cls and lasttoken";

/// Reads the content of `file`. Older files have a flag for every mode, newer ones the name of one;
/// a file with neither uses the mean, as in sentence-transformers. `width` is the model's.
pub fn read(file: &Path, value: &Value, width: usize) -> std::result::Result<Pooling, EmbedError> {
    let field = ["word_embedding_dimension", "embedding_dimension"].into_iter().find(|field| !value[field].is_null());
    if let Some(field) = field
        && number(file, value, field)? != width
    {
        return Err(damaged(
            file,
            format!("`{field}` is {}, but the model's vectors have {width} numbers", value[field]),
        ));
    }
    if let Some(mode) = value.get("pooling_mode").filter(|mode| !mode.is_null()) {
        let known = MODES.iter().find(|(_, name, _)| mode == name);
        return known.map(|(.., pooling)| *pooling).ok_or_else(|| unsupported(file, "pooling_mode", mode, SUPPORTED));
    }
    let flags = value.as_object().into_iter().flatten();
    let set: Vec<&String> = flags
        .filter(|(name, flag)| name.starts_with("pooling_mode_") && **flag == true)
        .map(|(name, _)| name)
        .collect();
    match set[..] {
        [] if value["pooling_mode_mean_tokens"] == false => {
            Err(unsupported(file, "pooling_mode_mean_tokens", &json!(false), SUPPORTED))
        }
        [] => Ok(Pooling::Mean),
        [one] => {
            let known = MODES.iter().find(|(flag, ..)| one == flag);
            known.map(|(.., pooling)| *pooling).ok_or_else(|| unsupported(file, one, &json!(true), SUPPORTED))
        }
        [_, other, ..] => Err(unsupported(file, other, &json!("true together with another mode"), SUPPORTED)),
    }
}

/// From the tokens' vectors [texts, tokens, width] to the texts' [texts, width].
pub fn of(pooling: Pooling, hidden: &Tensor) -> Result<Tensor> {
    match pooling {
        Pooling::Mean => hidden.mean(1),
        Pooling::First => hidden.i((.., 0)),
        Pooling::Last => hidden.i((.., hidden.dim(1)? - 1)),
    }?
    .contiguous()
}

/// The unit vectors of packed sequences: [n, d] from `hidden` [total tokens, d]. An empty
/// sequence gives zeros.
pub fn of_packed(pooling: Pooling, hidden: &[f32], d: usize, lengths: &[usize]) -> Vec<f32> {
    if pooling == Pooling::Mean {
        return kernels::mean_pool(hidden, d, lengths);
    }
    let (mut start, mut rows) = (0, Vec::with_capacity(lengths.len() * d));
    for length in lengths {
        let row = if pooling == Pooling::First { start } else { start + length.saturating_sub(1) };
        match length {
            0 => rows.resize(rows.len() + d, 0.0),
            _ => rows.extend_from_slice(&hidden[row * d..(row + 1) * d]),
        }
        start += length;
    }
    unit(&rows, d)
}

/// Rows of `d` numbers, each scaled to unit length.
pub fn unit(rows: &[f32], d: usize) -> Vec<f32> {
    kernels::mean_pool(rows, d, &vec![1; rows.len() / d.max(1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modes_of_old_and_new_files_are_read() {
        let check = |value: Value, expected: std::result::Result<Pooling, &str>| {
            let read = read(Path::new("1_Pooling/config.json"), &value, 8).map_err(|error| error.to_string());
            match (read, expected) {
                (Ok(found), expected) => assert_eq!(Ok(found), expected, "{value}"),
                (Err(found), Err(part)) => assert!(found.contains(part) && found.contains("1_Pooling"), "{found}"),
                (Err(found), Ok(_)) => panic!("{value}: {found}"),
            }
        };
        check(json!({}), Ok(Pooling::Mean));
        check(json!({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}), Ok(Pooling::Mean));
        check(json!({"pooling_mode_cls_token": true, "word_embedding_dimension": 8}), Ok(Pooling::First));
        check(json!({"pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": false}), Ok(Pooling::Last));
        check(json!({"pooling_mode": "lasttoken"}), Ok(Pooling::Last));
        check(json!({"pooling_mode": "max"}), Err("`pooling_mode` is \"max\"; supported: one of mean, cls"));
        check(json!({"pooling_mode_max_tokens": true}), Err("`pooling_mode_max_tokens` is true"));
        check(json!({"pooling_mode_mean_tokens": false}), Err("`pooling_mode_mean_tokens` is false"));
        check(
            json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}),
            Err("together with another mode"),
        );
        check(
            json!({"word_embedding_dimension": 9}),
            Err("`word_embedding_dimension` is 9, but the model's vectors have 8"),
        );
    }

    #[test]
    fn packed_rows_are_pooled_sequence_by_sequence() {
        let hidden = [3.0, 4.0, 0.0, 2.0, 5.0, 0.0];
        let of = |pooling: Pooling| of_packed(pooling, &hidden, 2, &[2, 0, 1]);
        assert_eq!(of(Pooling::First), [0.6, 0.8, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(of(Pooling::Last), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    }
}
