//! Picks the number of a step that a parameter means, in the unit it wants.

use serde_json::Value;

use super::dates::When;
use super::said::NumberSaid;
use super::wants;
use crate::tools::spec::Parameter;

/// Seconds of the units of time that parameters and people use.
const UNITS: &[(&str, f64)] = &[
    ("ms", 0.001),
    ("millisecond", 0.001),
    ("msec", 0.001),
    ("second", 1.0),
    ("sec", 1.0),
    ("s", 1.0),
    ("minute", 60.0),
    ("min", 60.0),
    ("mins", 60.0),
    ("hour", 3600.0),
    ("hr", 3600.0),
    ("h", 3600.0),
    ("day", 86_400.0),
    ("week", 604_800.0),
];

const COUNTING: &[&str] =
    &["limit", "max", "maximum", "top", "k", "count", "num", "n", "result", "amount", "number", "size", "per"];

/// A JSON number: whole where it is whole.
pub(super) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9.0e15 { Value::from(value as i64) } else { Value::from(value) }
}

/// How long `9 to 11am` lasts, for a parameter that asks for a duration.
pub(super) fn length(parameter: &Parameter, dates: &[When]) -> Option<Value> {
    let words = wants::name_words(parameter.name);
    let [when] = dates else { return None };
    let asked = words.iter().any(|word| matches!(word.as_str(), "duration" | "length")) && when.timed && when.ranged;
    let seconds = words.iter().find_map(|word| unit(word)).filter(|_| asked)?;
    let lasts =
        when.from.until(when.to).ok()?.total(jiff::SpanTotal::from(jiff::Unit::Second).days_are_24_hours()).ok()?;
    (lasts > 0.0).then(|| number(lasts / seconds))
}

fn unit(word: &str) -> Option<f64> {
    let bare = if word.len() > 3 { word.trim_end_matches('s') } else { word };
    UNITS.iter().find(|(name, _)| *name == bare || *name == word).map(|(_, seconds)| *seconds)
}

/// The number for `parameter` among `numbers`, by place. `required` are all required parameters that take a number: where the step says just
/// as many numbers, each gets its own, in the order in which they are said, unless words beside a number name its parameter.
pub(super) fn pick(
    parameter: &Parameter,
    numbers: &[NumberSaid],
    used: &[usize],
    required: &[String],
) -> Option<(usize, Value)> {
    let in_order = required.iter().position(|name| name == parameter.name).filter(|_| required.len() == numbers.len());
    let words = wants::name_words(parameter.name);
    let described = parameter.description().to_lowercase();
    let wanted = words.iter().find_map(|word| unit(word).filter(|_| word.len() > 1)).or_else(|| {
        described.split(|c: char| !c.is_alphanumeric()).find_map(|word| unit(word).filter(|_| word.len() > 2))
    });
    let mut best: Option<(i32, usize, f64)> = None;
    for (i, said) in numbers.iter().enumerate().filter(|(i, _)| !used.contains(i)) {
        let (score, value) = score(said, &words, &described, wanted, parameter.required);
        let score = if in_order == Some(i) { score.max(IN_ORDER) } else { score };
        let enough = if parameter.required { 1 } else { 3 };
        if score >= enough && best.is_none_or(|(top, _, _)| score > top) && fits(parameter, value) {
            best = Some((score, i, value));
        }
    }
    let (_, at, value) = best?;
    (parameter.kind() != "integer" || value.fract() == 0.0).then(|| (at, number(value)))
}

/// What the place in a row speaks for a number: more than nothing, less than a word beside it.
const IN_ORDER: i32 = 3;

fn fits(parameter: &Parameter, value: f64) -> bool {
    let bound = |name: &str| parameter.schema.get(name).and_then(Value::as_f64);
    bound("minimum").is_none_or(|low| value >= low) && bound("maximum").is_none_or(|high| value <= high)
}

/// How much speaks for this number, with its value in the wanted unit.
fn score(said: &NumberSaid, words: &[String], described: &str, wanted: Option<f64>, required: bool) -> (i32, f64) {
    let after = said.after.first().map_or("", String::as_str);
    let unit_word = after.trim_start_matches('-');
    if let (Some(wanted), Some(given)) = (wanted, unit(unit_word)) {
        return (5, said.value * given / wanted);
    }
    if unit(unit_word).is_some()
        && wanted.is_none()
        && !words
            .iter()
            .any(|word| matches!(word.as_str(), "duration" | "timeout" | "delay" | "interval" | "length" | "time"))
    {
        return (0, said.value);
    }
    let stem = |word: &str| if word.len() > 3 { word.trim_end_matches('s').to_owned() } else { word.to_owned() };
    let near: Vec<String> =
        said.before.iter().take(3).chain(said.after.iter().take(2)).map(|word| stem(word)).collect();
    if words.iter().any(|word| near.contains(word) && (word.len() > 1 || word == "k")) {
        return (4, said.value);
    }
    let counting = words.iter().any(|word| COUNTING.contains(&word.as_str()));
    let led = said.before.iter().take(2).any(|word| {
        matches!(
            word.as_str(),
            "top" | "first" | "last" | "latest" | "limit" | "max" | "maximum" | "most" | "only" | "recent" | "up"
        )
    });
    if counting && led {
        return (4, said.value);
    }
    if counting
        && matches!(
            stem(after).as_str(),
            "result" | "item" | "entry" | "entrie" | "match" | "matche" | "record" | "row" | "hit" | "example" | "line"
        )
    {
        return (3, said.value);
    }
    let money = matches!(stem(after).as_str(), "dollar" | "euro" | "usd" | "eur" | "pound")
        && words.iter().any(|word| {
            matches!(word.as_str(), "amount" | "price" | "cost" | "budget" | "total" | "sum" | "payment" | "salary")
        });
    let share = (after.starts_with('%') || matches!(after, "percent"))
        && (words.iter().any(|word| {
            matches!(word.as_str(), "percent" | "percentage" | "volume" | "level" | "brightness" | "rate")
        }) || described.contains("percent")
            || described.contains("0-100"));
    if money || share {
        return (4, said.value);
    }
    if after.len() > 3 && described.contains(&stem(after)) {
        return (if required { 2 } else { 3 }, said.value);
    }
    let set = said.before.first().is_some_and(|word| matches!(word.as_str(), "to" | "=" | "at"));
    (if set && required { 2 } else { 0 }, said.value)
}
