//! The classes of words in the files of this folder.

use serde::Deserialize;

/// A class of words or phrases: what the word does in a sentence, or what a request that has it
/// asks for. The files spell it `before-infinitive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Verbs that begin orders, in the infinitive; in English only those that are almost never nouns.
    Verb,
    /// English verbs that are nouns just as often, and programs whose names begin a command.
    VerbOrNoun,
    /// English nouns and adjectives that are sometimes verbs.
    NounOrVerb,
    /// Imperatives that no ending of the grammar gives.
    Imperative,
    /// Words with the form of a verb that are not verbs.
    NotVerb,
    /// Articles and other words before a noun.
    Determiner,
    /// Pronouns that are objects or refer to something mentioned before.
    Object,
    /// Prepositions.
    Preposition,
    /// Prepositions that can open a request before its verb: `In a.rs rename …`.
    OpensPhrase,
    /// Words and phrases that begin a subordinate clause.
    Subordinator,
    /// Conjunctions that introduce a condition.
    Condition,
    /// Phrases that begin a purpose with an infinitive.
    Purpose,
    /// Auxiliary verbs.
    Auxiliary,
    /// Auxiliaries after which a bare infinitive follows.
    Modal,
    /// Finite verbs of statements.
    Finite,
    /// Pronouns and other words that begin the subject of a statement.
    Subject,
    /// Subjects after `do` and `have` at the beginning of a question.
    Asked,
    /// Pronouns that refer to the reader.
    Addressee,
    /// Question words.
    Question,
    /// Negations.
    Negation,
    /// Words that begin a prohibition.
    Forbids,
    /// Words before the verb of a request that do not affect its meaning.
    Polite,
    /// Polite phrases before a request; the verb follows.
    Lead,
    /// Phrases of wishes: an order even if no verb follows.
    Wants,
    /// Phrases that join a wish to its verb: `je voudrais que tu`.
    Wish,
    /// Words besides objects that may stand between a polite phrase and an infinitive.
    BeforeInfinitive,
    /// Verbs that form a request only after a polite phrase: `I want to know …`.
    Perceives,
    /// Connectives that always join two clauses.
    Joins,
    /// Connectives that order clauses; in English they join only before a comma, a verb or a question.
    Sequence,
    /// Connectives that add something; a verb after one begins a clause.
    Addition,
    /// Words that only join one clause to the next.
    Connective,
    /// Words of connectives that separate two actions.
    Separates,
    /// Words with which a connective that separates two actions can begin.
    OpensJoint,
    /// Adverbs that may be between a connective and its verb.
    Adverb,
    /// Words that end like an adverb.
    NotAdverb,
    /// Particles between a verb and its object.
    Particle,
    /// Verbs that need no object when they refer to a project.
    Deed,
    /// Verbs that say what the reader encounters: `you get an error`.
    Meets,
    /// Verbs for making something that has a purpose of its own (`a script to read …`).
    MakesThing,
    /// Things that concern a matter which somebody else handles (`a task to apply for the job`).
    Matter,
    /// Things that act by themselves: a relative clause about them is not an order.
    Doer,
    /// Verbs that only look something up: a question right after one is about what it found.
    Looks,
    /// Verbs that only report something to the user.
    Tells,
    /// Verbs that show something.
    Shows,
    /// Verbs for work in general.
    Does,
    /// Words that announce a list.
    Following,
    /// Words that refer to something mentioned before.
    Refers,
    /// Objects of `show`, `print`, `give` that refer to an earlier result.
    Outcome,
    /// Words for an earlier result after `the`.
    Result,
    /// Words of sentences that only say where to look.
    Points,
    /// Words that show that a text is English.
    ShowsEnglish,
    /// Words of Italian, Portuguese and Dutch, whose texts would otherwise be taken for another language.
    Foreign,
    /// Verbs of clauses that change something.
    Changing,
    /// Verbs of clauses that run something.
    Runs,
    /// Words of requests to run something.
    Command,
    /// Verbs that change something that exists.
    Changes,
    /// Verbs that rename.
    Renames,
    /// Verbs that remove.
    Removes,
    /// Verbs that insert something into something that exists.
    Inserts,
    /// Verbs that create a file.
    Creates,
    /// Verbs that write a file.
    Writes,
    /// Verbs for the text of a file.
    Documents,
    /// Verbs that add.
    Adds,
    /// Words that make something from something that exists.
    Stores,
    /// Verbs that put something in a place.
    Puts,
    /// Words that ask for a change anywhere in a text.
    Orders,
    /// Verbs that only ask for a repair.
    Repairs,
    /// Words for a need or a duty.
    Obliges,
    /// Words that ask for a change only at the beginning of a text.
    OpensOrder,
    /// Words for dropping or replacing something, besides the verbs that remove.
    GivesWay,
    /// Words that allow text or code to become shorter.
    Shortens,
    /// Words before the verb of a request: `In the file F, please change …`.
    BeforeVerb,
    /// Words that ask a question.
    Asks,
    /// Words that express a wish to be told something.
    Knows,
    /// Words that report a problem.
    Reports,
    /// Words that ask to look at something.
    LooksAt,
    /// Words that ask how a run ended.
    Ended,
    /// Words for the output of a run.
    Printed,
    /// Beginnings of orders in the form of a question.
    PoliteQuestion,
    /// Verbs that ask to write something into a document.
    Says,
    /// Nouns for a few words of a document.
    ShortText,
    /// Words of requests that change text or add more than a few words.
    Rewords,
    /// Words about documentation.
    OfDocs,
    /// Words between a question and an order after it.
    JoinsOrders,
    /// Words that join two steps.
    JoinsSteps,
    /// Connectives at the end of a part that is cut off.
    Connects,
    /// Words of questions about a present result.
    Many,
    /// Words of questions about anything but a present result.
    NotNow,
    /// Words before the means of a change: `with node:test`.
    ByMeans,
    /// Verbs of steps that are no edits, or that may hide one.
    NotPlain,
    /// Words between the verb and the file that it creates.
    BesideFile,
    /// Polite words around a verb.
    Filler,
    /// Verbs that give something to somebody.
    Gives,
    /// Pronouns for the person who asks.
    Me,
    /// Indefinite articles.
    Article,
    /// Verbs of requests in the form of a question that only ask for an answer.
    ToTell,
    /// Verbs that ask for an explanation.
    Telling,
    /// Kinds of definitions: the next word is a name in code.
    Kind,
    /// Words that begin a question about code.
    AsksOfCode,
    /// Words before the name of a symbol.
    BeforeName,
    /// First words of requests to look at something.
    LooksUp,
    /// Words common in requests about code, which are not symbols even if the project has them as names.
    Usual,
    /// Words that show that a path is a folder.
    OfFolder,
    /// Verbs for the dependency of one file on another.
    Depends,
    /// Words about where something is defined.
    Defined,
    /// Words about the definitions in a file.
    Inside,
    /// Nouns besides kinds of definitions for the subject or object of a call.
    OfCode,
    /// Things other than code: the index does not answer an open question about them.
    NotCode,
    /// Words about the effect of a change.
    Impact,
    /// Words before the question word of a request for an answer: `find out what`.
    Seeks,
    /// Nouns for a part of the code that a request describes.
    CodePart,
    /// Words that begin the description of a noun.
    Describes,
    /// Prepositions before the file that something is in.
    Within,
    /// Other prepositions before a file.
    Beside,
    /// Words between an article and the name of a file.
    FileNoun,
    /// Adjectives that give a reason to remove something but do not identify it.
    Stale,
    /// Prepositions before a file that is created.
    Target,
    /// Words at the end of a clause that say nothing about its object.
    Tail,
    /// Words that begin a reason.
    Reason,
    /// Words that may follow a file that is the object of a verb.
    BehindFile,
    /// Words that say where in a file something is added.
    BesideLine,
    /// Words that ask for the content of a file.
    Reads,
    /// Words of requests to list a place, in any order.
    Lists,
    /// Words behind the folder in such a request.
    BehindFolder,
    /// Words for the project itself in such a request.
    ThisProject,
    /// Kinds of files, before `files`.
    FileKind,
    /// Verbs between a file and the text in it.
    Holds,
    /// Words about the occurrences of a text.
    Occurs,
    /// Nouns for a text.
    TextNoun,
    /// Words before the file in a request to find it.
    Locates,
    /// Verbs that ask to see a file.
    Opens,
    /// Words before a file at the beginning of a question about it.
    LeadsFile,
    /// Words for the history of a file.
    GitNoun,
    /// Words for the content of a folder.
    Contents,
    /// Words after the text to search.
    BehindText,
    /// Nouns after the text to search that are not part of it: `unsafe blocks`.
    CodePiece,
    /// Words of requests to test or build the whole project.
    General,
    /// Verbs that run what they name.
    Starts,
    /// First words of requests about a folder.
    Searches,
    /// Words before the name of a folder.
    LeadsFolder,
    /// Nouns for a line.
    LineNoun,
    /// Nouns for something that usually takes one line.
    EntryNoun,
    /// Words around such a noun that do not describe the content of the line.
    AroundEntry,
    /// Words that select a line by order, number, form or exclusion.
    Selector,
    /// Nouns for anything that can be removed.
    GeneralThing,
    /// Words that judge whether something is needed.
    Judged,
    /// Words beside such a judgement that name nothing.
    SaysNothing,
    /// Words for a whole project that is cleaned up.
    AtLarge,
    /// Verbs that clean up.
    Cleans,
    /// Verbs that clean up together with a particle.
    CleansUp,
    /// Verbs that mean removal only together with a particle.
    TakesOut,
    /// Verbs whose object may be a text of the file: `change A to B`.
    OfTexts,
    /// Words that end a value.
    EndsValue,
    /// Words that may connect the words of a value.
    JoinsValue,
    /// Words that mean every place.
    Everywhere,
    /// Words that do not help to find the place of a change.
    EmptyWord,
    /// Verbs that exchange a text for another.
    Exchanges,
    /// Words that switch something on or off.
    Toggles,
    /// Nouns after `run` that are not programs.
    RunNoun,
    /// Words behind a command that are not its arguments.
    NotArgument,
    /// Verbs that ask to see the output of a command.
    ShowsOutput,
    /// Adjectives before a file.
    FileAdjective,
    /// Words before a new name or value.
    ToNew,
    /// Words between the names of several files.
    JoinsNames,
    /// Words after which the next word is the name of an option, parameter or the like.
    Option,
    /// Words for tests.
    TestNoun,
    /// Verbs that ask for something new.
    AsksNew,
    /// Pronouns: a verb that asks for something new adds nothing before one (`add it`).
    Pronoun,
    /// Words after a kind of definition that are not names: `a function that`.
    Stop,
    /// Words before a name.
    Called,
    /// Words that end the object of a verb.
    EndsObject,
    /// Verbs of changes that name the new value.
    Sets,
    /// Greetings and other small talk.
    Greeting,
    /// Words that may follow a greeting without making it a request.
    BehindGreeting,
    /// Words that begin a question about what was said before.
    Recalls,
    /// All words of such a question.
    Recalled,
    /// Words for the request of the user in such a question.
    OfUser,
    /// Words for the answer in such a question.
    OfAssistant,
    /// Words for saying something, one of which such a question has.
    Saying,
    /// Words that such a question may have anywhere.
    AroundRecall,
    /// Words that may follow such a question without giving it another topic.
    BehindRecall,
    /// Words that ask for an empty file.
    Empty,
    /// Words about the wording of a text.
    Wording,
    /// Verbs of orders that a model may repeat instead of carrying them out.
    Echoes,
    /// Words about errors.
    OfErrors,
    /// Words that hint at changes other than the named ones.
    More,
    /// Words for the strings, comments and documents that mention a name.
    OfMentions,
    /// Words of requests to rename, besides the names.
    AroundRename,
    /// Words that ask for files.
    OfFiles,
    /// Words that ask for more than a list.
    AsksMore,
    /// Phrases that put new tests into the file of the tested code.
    SameFile,
    /// Prepositions before the file that is changed.
    BeforeFile,
    /// Stems of words about white space.
    OfSpace,
    /// Stems of words that may ask for less code.
    Less,
    /// Words that ask for reasoning.
    Reasons,
    /// Phrases that ask for a number.
    AsksNumber,
    /// First words of requests that need an answer in words.
    Asking,
    /// Words of an order to read files, besides their paths.
    Reading,
    /// Words before the heading of a section.
    BeforeTitle,
    /// Words between such a word and the heading.
    BetweenTitle,
    /// Words after the heading of a section.
    AfterTitle,
    /// Prepositions before a heading that is written as it stands.
    BeforeHeading,
    /// Beginnings of the names of changelogs.
    LogFile,
    /// Words that show that a sentence is not a claim.
    Unsure,
    /// Words that make a comment a mark for omitted code if it begins with dots.
    Omits,
    /// Words that make a comment a mark for omitted code if it ends with dots.
    OmitsBeforeDots,
    /// Beginnings that make a comment a mark for omitted code without dots.
    BeginsOmission,
    /// Phrases of comments that say that code is still to be written.
    ToWrite,
    /// Words before the result that a call returns.
    ResultsIn,
    /// Words before the result that a call should return.
    Should,
    /// Words that make the result after them an unwanted one.
    Not,
    /// Words after a result that mark it as wrong.
    But,
    /// Words after a result that mark it as right.
    Fine,
    /// Words between such a word and the result.
    BeforeResult,
    /// Words that say that something stays as it is.
    Keeps,
    /// Words for the result of a call before `of`.
    Itself,
    /// Words about default values.
    OfDefaults,
    /// Words about annotations of types.
    OfTypes,
    /// Words about docstrings.
    OfDocstrings,
    /// Words of questions for a value.
    OfValues,
    /// Parts of sentences that say that something is missing.
    SaysMissing,
    /// Abbreviations that keep their full stop.
    Abbreviation,
    /// Abbreviations that often end a sentence.
    EndsOften,
    /// Words with a slash that are not paths.
    Slashed,
    /// Words that do not identify a value by themselves.
    NoValue,
    /// Words that are too common to show what a sentence is about.
    Common,
    /// First words of a wish in the form of a question.
    Could,
    /// Words that show that such a question is a wish.
    AsWell,
    /// Verbs of wishes in the form of a question: `could it also take …?`.
    WishedVerb,
    /// Words between a verb of saying and the text to write.
    There,
    /// Stems of verbs that change a test.
    Alters,
    /// Stems of words about comments or documentation.
    OfWords,
}
