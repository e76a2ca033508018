//! The closed word classes for the clause rules, each defined in one place.

/// Whether `word` is an entry of `table`: words or phrases separated by a comma and a space.
pub fn listed(table: &str, word: &str) -> bool {
    entries(table).any(|entry| entry == word)
}

/// The words and phrases of `table`; an empty table has none.
pub fn entries(table: &str) -> impl Iterator<Item = &str> {
    table.split(", ").filter(|entry| !entry.is_empty())
}

/// Turns each row into a function that returns whether a lower-case word is in it.
macro_rules! classes {
    ($($(#[$about:meta])* $vis:vis $name:ident = $words:literal;)*) => {
        $($(#[$about])* $vis fn $name(low: &str) -> bool { listed($words, low) })*
    };
}

classes! {
    /// Words before a noun: articles, possessives, quantities.
    pub is_determiner = "\
        the, a, an, this, that, these, those, my, our, your, his, her, its, their, all, any, each, every, both, some, \
        no, another, whatever, whichever, either";
    /// Words that can be the whole object of a verb.
    pub is_object_pronoun = "\
        it, them, me, us, him, everything, anything, something, everyone, one, those, these, this, that, myself, \
        yourself, itself, what, whether, if, how, why";
    /// Prepositions: what follows one is neither subject nor object.
    pub is_preposition = "\
        for, to, on, with, from, at, through, into, by, in, as, about, against, up, out, down, off, over, under, \
        across, between, until, via, within, inside, back, away, around, onto, per, without, of, upon, along, after, \
        before";
    /// Prepositions that can open a request before its verb: `In a.rs rename …`.
    pub(super) opens_phrase = "\
        in, for, from, on, under, using, with, inside, within, at, to, across, based, via, through, by, regarding, \
        without, instead, per, throughout, given, like";
    pub(super) is_subordinator = "\
        if, when, whenever, unless, once, after, before, while, as, since, because, although, though, until, \
        assuming, whether, where, wherever";
    /// Conjunctions that introduce a condition.
    pub(super) is_condition = "if, unless, when, whenever, assuming, otherwise";
    pub(super) is_auxiliary = "\
        is, are, was, were, do, does, did, can, could, will, would, should, has, have, had, am, may, might, must, \
        isn't, aren't, doesn't, don't, didn't, wasn't, weren't, can't, couldn't, won't, shouldn't, hasn't, haven't";
    pub(super) is_subject = "\
        i, we, you, they, he, she, it, there, this, that, these, those, the, my, our, your, any, anyone, anything, \
        someone, all, a, an, its, their";
    pub(super) is_question_word = "\
        what, which, who, whom, whose, when, where, why, how, what's, where's, who's, how's, when's, why's";
    /// Words before the verb of a request that do not affect its meaning.
    pub is_polite = "\
        please, kindly, now, then, also, and, just, can, could, would, you, i, i'd, want, need, like, help, me, to, \
        пожалуйста, теперь";
    /// Words that only join one clause to the next.
    pub is_connective = "\
        and, then, next, finally, also, now, so, plus, afterwards, afterward, lastly, first, firstly, second, \
        secondly, third, thirdly, fourth, fifth, subsequently, meanwhile, additionally, furthermore, moreover, after, \
        before, that, this, later, but, please, ok, okay, well, as, done, once, step";
    /// Objects of `show`, `print`, `give` that refer to an earlier result.
    pub(super) is_outcome = "\
        result, results, output, outcome, answer, answers, data, findings, total, totals, count, number, numbers, \
        value, values, lines, matches, contents, content, diff, difference, differences, list, sum, names, \
        conclusion, reason";
    /// Pronouns that refer to something mentioned earlier.
    pub(super) points_back = "it, them, its, their, they, one, ones, each, that, this, these, those, same";
    /// Verbs that only look something up: a question right after one is about the findings.
    pub(super) only_looks = "\
        read, open, look, inspect, analyse, analyze, find, search, list, check, count, run, scan, grep, review, \
        compare, examine, parse, trace, see, go, study, query, fetch, load, get, explore, investigate, walk, locate, \
        view, show, diff, retrieve, execute, measure, profile, debug, identify, take, use, browse, build, compile, \
        test, benchmark, lint, figure, determine, summarize, summarise";
    /// Verbs that only report something to the user.
    pub(super) only_tells = "tell, explain, let, say, answer, clarify, elaborate, inform, advise, describe";
    /// Verbs for making something with a purpose of its own (`a script to read … and print …`).
    pub(super) makes_thing = "\
        add, write, create, implement, make, build, define, develop, generate, design, need, want, introduce, \
        provide, compose, draft";
    /// Things concerning a matter that someone else handles (`a task to apply for the job`).
    pub(super) is_matter = "task, todo, reminder, note, event, meeting, appointment, ticket, email, mail, message";
    /// Verbs that show something, and verbs for work in general.
    pub(super) shows = "show, give, print, report, display, return, list, send";
    pub(super) means_any_work = "do, follow, perform, complete, execute, help";
    /// Words that announce a list.
    pub(super) announces = "following, these, below, steps, things, those";
    pub(super) is_listed_adverb = "\
        also, please, just, now, only, simply, again, always, never, not, still, together, instead, either, twice, once, \
        finally, next, first, then";
}

/// Finite verb forms, whose preceding word is a subject, not an object.
pub(super) fn is_finite(low: &str) -> bool {
    is_auxiliary(low) && !matches!(low, "do" | "have")
        || matches!(low, "fails" | "failed" | "crashes" | "crashed" | "returns" | "seems" | "looks" | "gets" | "needs")
}

/// Adverbs that may occur between a connective and its verb.
pub fn is_adverb(low: &str) -> bool {
    let is_no_adverb = matches!(low, "reply" | "apply" | "supply" | "family" | "monthly" | "assembly");
    is_listed_adverb(low) || low.len() > 4 && low.ends_with("ly") && !is_no_adverb
}
