//! Splits a Russian sentence into clauses.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::english::{Clause, finish};
use super::head::{Head, Line, Mode};
use super::scan::Kind;
use super::words::{entries, listed};
use crate::language::clauses::lookahead::low;

/// Imperatives that their ending alone does not show.
const IMPERATIVES: &str = "
прочитай прочти открой закрой найди создай удали запусти останови покажи скажи расскажи объясни поясни исправь почини
переименуй добавь измени замени поменяй обнови проверь напиши запиши сохрани отправь пришли скопируй перемести перенеси сделай
выведи перечисли сравни установи собери посчитай подсчитай вычисли опиши перепиши переведи загрузи скачай выгрузи включи выключи
отключи подключи настрой построй сгенерируй отсортируй отфильтруй извлеки вытащи посмотри глянь изучи разбери раздели объедини слей
зашифруй расшифруй распакуй упакуй выполни сформируй подготовь составь назначь запланируй напомни отмени повтори перезапусти вставь вырежи
убери верни дай поставь поищи ищи читай пиши создавай удаляй оставь определи узнай ответь сообщи предложи оцени протестируй
закоммить запушь оформи оптимизируй упрости вынеси выдели внеси подними понизь повысь увеличь уменьши задай спроси позвони забронируй";

static KNOWN: LazyLock<HashSet<&'static str>> = LazyLock::new(|| IMPERATIVES.split_whitespace().collect());

/// Verbs that only say something back to the user.
const TELLING: &[&str] = &["скажи", "расскажи", "объясни", "поясни", "сообщи", "ответь", "опиши"];

const JOINING: &str = "\
    а затем, и затем, а потом, и потом, затем, потом, после этого, после чего, а после этого, и после этого, \
    наконец, и наконец, далее, а также, и ещё, и еще, ещё, еще, также, сначала, во-первых, во-вторых, \
    в-третьих, в конце, и в конце, и, а";

/// The plain form of a polite imperative: `прочитайте` -> `прочитай`.
fn root(low: &str) -> &str {
    low.strip_suffix("-ка").unwrap_or(low).strip_suffix("те").filter(|rest| rest.chars().count() > 2).unwrap_or(low)
}

pub(super) fn is_imperative(low: &str) -> bool {
    if !low.chars().any(is_cyrillic) {
        return false;
    }
    let stem = root(low);
    if KNOWN.contains(stem) {
        return true;
    }
    let polite = stem.len() < low.len() && (stem.ends_with(['и', 'й', 'ь']));
    let productive = stem.chars().count() > 5 && ["уй", "айся", "ивай", "ывай"].iter().any(|end| stem.ends_with(end));
    polite && low.chars().count() > 6 || productive
}

pub(super) fn only_tells(low: &str) -> bool {
    TELLING.contains(&root(low))
}

pub(super) fn is_cyrillic(c: char) -> bool {
    ('\u{0400}'..='\u{04FF}').contains(&c)
}

fn is_infinitive(low: &str) -> bool {
    low.chars().count() > 4
        && ["ать", "ить", "еть", "ять", "уть", "ыть", "сти", "чь", "ться", "йти"].iter().any(|end| low.ends_with(end))
}

fn is_question_word(low: &str) -> bool {
    listed(
        "что, кто, где, когда, почему, зачем, как, сколько, какой, какая, какие, какое, чей, куда, \
        откуда",
        low,
    )
}

/// Skips connectives, commas and dashes.
fn skip(line: &Line, from: usize) -> usize {
    let mut at = from;
    for _ in 0..4 {
        let end = if line.get(at).is_some_and(|token| matches!(token.kind, Kind::Comma | Kind::Dash)) {
            Some(at + 1)
        } else {
            let matching = |phrase: &&str| phrase.split(' ').enumerate().all(|(i, word)| low(line, at + i) == word);
            entries(JOINING).filter(matching).map(|phrase| at + phrase.split(' ').count()).max()
        };
        match end.filter(|&end| end < line.len()) {
            Some(end) => at = end,
            None => break,
        }
    }
    at
}

fn head(line: &Line, from: usize) -> Head {
    let start = skip(line, from);
    let new = |mode, verb, conditional| Head { mode, start, verb, conditional, infinitive: false };
    let mut at = start;
    while listed(
        "пожалуйста, давай, ты, вы, мне, можешь, можете, нужно, надо, хочу, необходимо, следует, бы, \
        мог, могли",
        low(line, at),
    ) || at > start && line.get(at).is_some_and(|t| t.kind == Kind::Comma)
    {
        at += 1;
    }
    let wants = at > start && is_infinitive(low(line, at));
    if is_imperative(low(line, at)) || wants || is_infinitive(low(line, at)) && at == from {
        return new(Mode::Request, Some(at), false);
    }
    if low(line, at) == "не" && is_imperative(low(line, at + 1)) {
        return new(Mode::Statement, None, false);
    }
    if is_question_word(low(line, at)) || line.last().is_some_and(|token| token.kind == Kind::Question) {
        return new(Mode::Question, None, false);
    }
    // `В файле a.rs замени …`, `Если тесты падают, исправь …`
    let conditional = matches!(low(line, at), "если" | "когда");
    let verb = (at + 1..line.len().min(at + 16)).find(|&i| is_imperative(low(line, i)));
    let opening = listed("в, во, для, из, на, по, с, используя, если, когда, после, перед, к", low(line, at));
    match verb.filter(|_| opening) {
        Some(verb) => new(Mode::Request, Some(verb), conditional),
        None => new(Mode::Statement, None, false),
    }
}

/// The clauses of `line`, in order. With `whole` only words like `затем` split it.
pub(super) fn cut(line: &Line, whole: bool) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let mut opening = head(line, 0);
    let mut from = opening.start;
    let mut at = opening.verb.unwrap_or(from) + 1;
    while at < line.len() {
        let joins = line[at].kind == Kind::Comma
            || matches!(low(line, at), "и" | "а" | "затем" | "потом" | "после" | "далее" | "наконец");
        let next = if joins { skip(line, at) } else { at };
        if next > at && next < line.len() {
            let right = head(line, next);
            let strong =
                (at..next).any(|i| matches!(low(line, i), "затем" | "потом" | "после" | "далее" | "наконец" | "также"));
            let infinitive =
                is_infinitive(low(line, next)) && opening.verb.is_some_and(|verb| is_infinitive(low(line, verb)));
            let opens = right.mode == Mode::Request
                && right.verb == Some(next)
                && (infinitive || is_imperative(low(line, next)));
            let later = strong && right.mode != Mode::Statement;
            if (opens && !opening.conditional && (!whole || strong)) || later {
                finish(line, &mut clauses, from, at, opening, false);
                opening = if infinitive { Head { mode: Mode::Request, verb: Some(next), ..right } } else { right };
                from = next;
                at = opening.verb.unwrap_or(from);
            }
        }
        at += 1;
    }
    finish(line, &mut clauses, from, line.len(), opening, false);
    clauses
}
