//! Small closed classes of English words for the clause rules.

/// Whether `word` is an entry of `table`: words or phrases with a comma and a space between them.
pub fn listed(table: &str, word: &str) -> bool {
    !word.is_empty() && entries(table).any(|entry| entry == word)
}

pub fn entries(table: &str) -> impl Iterator<Item = &str> {
    table.split(", ")
}

pub fn is_determiner(low: &str) -> bool {
    listed(
        "the, a, an, this, that, these, those, my, our, your, his, her, its, their, all, any, each, every, both, \
        some, no, another, whatever, whichever, either",
        low,
    )
}

pub fn is_object_pronoun(low: &str) -> bool {
    listed(
        "it, them, me, us, him, everything, anything, something, everyone, one, those, these, this, that, \
        myself, yourself, itself, what, whether, if, how, why",
        low,
    )
}

pub fn is_preposition(low: &str) -> bool {
    listed(
        "for, to, on, with, from, at, through, into, by, in, as, about, against, up, out, down, off, over, \
        under, across, between, until, via, within, inside, back, away, around, onto, per, without, of, upon, \
        along, after, before",
        low,
    )
}

/// Prepositions that can open a request before its verb: `In a.rs rename …`.
pub fn opens_phrase(low: &str) -> bool {
    listed(
        "in, for, from, on, under, using, with, inside, within, at, to, across, based, via, through, by, \
        regarding, without, instead, per, throughout, given, like",
        low,
    )
}

pub fn is_subordinator(low: &str) -> bool {
    listed(
        "if, when, whenever, unless, once, after, before, while, as, since, because, although, though, until, \
        assuming, whether, where, wherever",
        low,
    )
}

/// Subordinators of a condition.
pub fn is_condition(low: &str) -> bool {
    matches!(low, "if" | "unless" | "when" | "whenever" | "assuming" | "otherwise")
}

pub fn is_auxiliary(low: &str) -> bool {
    listed(
        "is, are, was, were, do, does, did, can, could, will, would, should, has, have, had, am, may, might, \
        must, isn't, aren't, doesn't, don't, didn't, wasn't, weren't, can't, couldn't, won't, shouldn't, \
        hasn't, haven't",
        low,
    )
}

/// Finite verb forms: the word before one is a subject, not an object.
pub fn is_finite(low: &str) -> bool {
    is_auxiliary(low) && !matches!(low, "do" | "have")
        || matches!(low, "fails" | "failed" | "crashes" | "crashed" | "returns" | "seems" | "looks" | "gets" | "needs")
}

pub fn is_subject(low: &str) -> bool {
    listed(
        "i, we, you, they, he, she, it, there, this, that, these, those, the, my, our, your, any, anyone, \
        anything, someone, all, a, an, its, their",
        low,
    )
}

pub fn is_question_word(low: &str) -> bool {
    listed("what, which, who, whom, whose, when, where, why, how, what's, where's, who's, how's, when's, why's", low)
}

/// Adverbs that may stand between a connective and its verb.
pub fn is_adverb(low: &str) -> bool {
    listed(
        "also, please, just, now, kindly, maybe, perhaps, again, afterwards, only, simply, even, always, never, \
        not, either, still, together, separately, instead, here, there, everywhere, twice, once, immediately, \
        later, optionally, finally, next, first, then, lastly, subsequently, eventually, thoroughly",
        low,
    ) || low.len() > 4
        && low.ends_with("ly")
        && !matches!(low, "reply" | "apply" | "supply" | "family" | "monthly" | "assembly")
}

/// Words that stand before the verb of a request and change nothing about it.
pub fn is_polite(low: &str) -> bool {
    listed(
        "please, kindly, now, then, also, and, just, can, could, would, you, i, i'd, want, need, like, help, me, to, пожалуйста, теперь",
        low,
    )
}

/// Words that only join one clause to the next.
pub fn is_connective(low: &str) -> bool {
    listed(
        "and, then, next, finally, also, now, so, plus, afterwards, afterward, lastly, first, firstly, second, \
        secondly, third, thirdly, fourth, fifth, subsequently, meanwhile, additionally, furthermore, moreover, \
        after, before, that, this, later, but, please, ok, okay, well, as, done, once, step",
        low,
    )
}

/// Objects of `show`, `print`, `give` that mean an earlier result.
pub fn is_outcome(low: &str) -> bool {
    listed(
        "result, results, output, outcome, answer, answers, data, findings, total, totals, count, number, \
        numbers, value, values, lines, matches, contents, content, diff, difference, differences, list, sum, \
        names, conclusion, reason",
        low,
    )
}

/// Pronouns that refer to something mentioned before.
pub fn points_back(low: &str) -> bool {
    listed("it, them, its, their, they, one, ones, each, that, this, these, those, same", low)
}

/// Nouns for things that are written to do something later.
pub fn is_made_thing(low: &str) -> bool {
    listed(
        "script, function, program, method, class, command, tool, helper, cli, component, test, tests, macro, \
        workflow, job, hook, endpoint, pipeline, module, service, bot, app, application, flag, option, button, \
        feature, trait, handler, middleware, code, way, api, struct, regex, routine, wrapper, page, plugin, \
        loop, check, decorator",
        low,
    )
}
