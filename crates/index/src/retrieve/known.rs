//! Reuses the answers to earlier questions, from this process or another, until the index changes.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::judged::blocking;
use super::query::Query;
use super::{Hit, Hits, Judged, judged};
use crate::base::Cancel;
use crate::embed::Embedder;
use crate::embed::rerank::RerankError;
use crate::index::{Answer, ChunkRow, Index, IndexError};

/// Minimum cosine at which two questions count as having the same meaning, if they also contain the
/// same names.
const SAME_MEANING: f32 = 0.95;
/// Number of characters of a question that are embedded if embedding the whole question fails.
const SHORTER_CHARS: usize = 200;

/// A hit as stored: chunk, score and the score's parts.
type KeptHit = (i64, f64, Vec<(String, f64)>);

/// The stored form of an answer's hits.
#[derive(Serialize, Deserialize)]
struct Kept {
    hits: Vec<KeptHit>,
    notes: Vec<String>,
}

/// Computes the vector of a text; the error gives the cause.
type Embed<'a> = dyn Fn(&str) -> Result<Vec<f32>, String> + 'a;

/// Like [`judged`], but embeds the question itself, and reuses the answer to an earlier question of
/// the same text or meaning. Without an embedder, or if it fails, the search uses words and graph,
/// and the notes say so.
pub fn answer(
    index: &Index,
    embedder: Option<&Embedder>,
    question: &str,
    k: usize,
    cancel: &Cancel,
) -> Result<Hits, IndexError> {
    let embed = embedder.map(|embedder| move |text: &str| embedder.embed_one(text).map_err(|error| error.to_string()));
    answer_with(index, embed.as_ref().map(|embed| embed as &Embed), question, k, cancel)
}

/// Like [`judged`], but reuses the answer to an earlier question, with or without a vector.
pub fn known(
    index: &Index,
    question: &str,
    vector: Option<&[f32]>,
    k: usize,
    cancel: &Cancel,
) -> Result<Hits, IndexError> {
    let lookup = Lookup::of(index, question, vector.is_some(), k)?;
    match lookup.same(|answer| answer.question == lookup.question)? {
        Some(hits) => Ok(hits),
        None => {
            let judged = judged(index, question, vector, k, cancel)?;
            lookup.keep(vector, &judged);
            Ok(judged.noted())
        }
    }
}

fn answer_with(
    index: &Index,
    embed: Option<&Embed>,
    question: &str,
    k: usize,
    cancel: &Cancel,
) -> Result<Hits, IndexError> {
    let lookup = Lookup::of(index, question, embed.is_some(), k)?;
    let question = lookup.question;
    if let Some(hits) = lookup.same(|answer| answer.question == question)? {
        return Ok(hits);
    }
    let query = Query::read(question);
    let mut notes = Vec::new();
    let vector = embed.and_then(|embed| vector_of(embed, question, &mut notes));
    let alike = |answer: &Answer| match &vector {
        Some(vector) if answer.vector.len() == vector.len() => {
            let is_near = kernels::cosine(&answer.vector, vector).first().is_some_and(|cosine| *cosine >= SAME_MEANING);
            is_near && names_the_same(&Query::read(&answer.question), &query)
        }
        _ => false,
    };
    if let Some(mut hits) = lookup.same(alike)? {
        hits.notes.push("answered like an earlier question with the same meaning".into());
        return Ok(hits);
    }
    let mut judged = judged(index, question, vector.as_deref(), k, cancel)?;
    if !notes.is_empty() {
        let shown = &mut judged.hits.notes;
        // The exact reason replaces the note that there is no embedder.
        shown.retain(|note| !note.ends_with("no embedder"));
        shown.splice(0..0, notes);
    }
    // The embedder may work again at the next search.
    if vector.is_some() || embed.is_none() {
        lookup.keep(vector.as_deref(), &judged);
    }
    Ok(judged.noted())
}

/// A question, with the stored answers to questions of the same kind.
struct Lookup<'a> {
    index: &'a Index,
    question: &'a str,
    k: usize,
    generation: i64,
    /// The kind of search: without vectors, or with these; and with which re-ranker, if it can be
    /// used.
    kind: String,
    /// The same kind of search without a re-ranker.
    plain: String,
    /// Why the re-ranker cannot be used.
    unusable: Option<RerankError>,
    answers: Vec<Answer>,
}

impl<'a> Lookup<'a> {
    fn of(index: &'a Index, question: &'a str, has_vector: bool, k: usize) -> Result<Lookup<'a>, IndexError> {
        let plain = if has_vector { format!("vectors {}", index.vectors_of()) } else { "words".to_owned() };
        let (kind, unusable) = match index.judges().map(|judges| blocking(|| judges.fingerprint())) {
            Some(Ok(fingerprint)) => (format!("{plain}, judged by {fingerprint}"), None),
            Some(Err(why)) => (plain.clone(), Some(why)),
            None => (plain.clone(), None),
        };
        let (generation, answers) = (index.generation()?, index.answers(&kind)?);
        Ok(Lookup { index, question: question.trim(), k, generation, kind, plain, unusable, answers })
    }

    /// The first `k` hits of a matching answer that was computed for at least `k`.
    fn same(&self, fits: impl Fn(&Answer) -> bool) -> Result<Option<Hits>, IndexError> {
        let found = self.answers.iter().find(|answer| answer.most >= self.k && fits(answer));
        let Some(kept) = found.and_then(|answer| postcard::from_bytes::<Kept>(&answer.found).ok()) else {
            return Ok(None);
        };
        let ids: Vec<i64> = kept.hits.iter().take(self.k).map(|(chunk, ..)| *chunk).collect();
        let mut rows: HashMap<i64, ChunkRow> = self.index.chunks(&ids)?.into_iter().map(|row| (row.id, row)).collect();
        let hit = |(chunk, score, parts): (i64, f64, Vec<(String, f64)>)| {
            let parts = parts.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect();
            Some(Hit::new(rows.remove(&chunk)?, score, parts))
        };
        let hits: Option<Vec<Hit>> = kept.hits.into_iter().take(self.k).map(hit).collect();
        // The index may have been refreshed since the answers were read.
        let judged = |hits| Judged {
            hits: Hits { hits, notes: kept.notes },
            is_partial: false,
            unranked: self.unusable.clone(),
        };
        Ok(hits.map(|hits| judged(hits).noted()))
    }

    /// Stores the answer, if the index is not being written to. While the re-ranker is unusable, it
    /// is stored as without one; if it may work, or score more hits, at the next search, nothing is
    /// stored.
    fn keep(&self, vector: Option<&[f32]>, Judged { hits: found, unranked, is_partial }: &Judged) {
        let kind = match unranked {
            None if *is_partial => return,
            None => &self.kind,
            Some(RerankError::Refused(_)) => &self.plain,
            Some(_) => return,
        };
        let parts = |hit: &Hit| hit.parts.iter().map(|(name, value)| (name.clone().into_owned(), *value)).collect();
        let hits = found.hits.iter().map(|hit| (hit.chunk, hit.score, parts(hit))).collect();
        let kept = postcard::to_stdvec(&Kept { hits, notes: found.notes.clone() });
        let Ok(kept) = kept else { return };
        let answer = Answer {
            question: self.question.to_owned(),
            most: self.k,
            vector: vector.unwrap_or_default().to_vec(),
            found: kept,
        };
        if let Err(error) = self.index.keep_answer(self.generation, kind, &answer) {
            tracing::debug!(%error, "an answer could not be stored");
        }
    }
}

/// The vector of a question, or of its beginning if that fails; `None` with a note if both fail.
fn vector_of(embed: &Embed, question: &str, notes: &mut Vec<String>) -> Option<Vec<f32>> {
    let error = match embed(question) {
        Ok(vector) => return Some(vector),
        Err(error) => error,
    };
    let shorter: String = question.chars().take(SHORTER_CHARS).collect();
    if shorter.len() < question.len()
        && let Ok(vector) = embed(&shorter)
    {
        notes.push(format!("only the first {SHORTER_CHARS} characters were embedded: {error}"));
        return Some(vector);
    }
    notes.push(format!("lexical only: the question could not be embedded: {error}"));
    None
}

/// Whether two questions contain the same names: vectors barely distinguish `parseInt` from
/// `parseFloat`.
fn names_the_same(a: &Query, b: &Query) -> bool {
    let sorted = |query: &Query| {
        let mut names = query.code_names.clone();
        names.sort_unstable();
        names
    };
    !a.is_symbol && !b.is_symbol && sorted(a) == sorted(b)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct Project {
        folder: tempfile::TempDir,
        index: Index,
    }

    impl Project {
        fn new() -> Project {
            let folder = tempfile::tempdir().unwrap();
            let index = Index::open(folder.path()).unwrap();
            let project = Project { folder, index };
            project.write("retry.ts", "export function retry() {}\n");
            project
        }

        fn write(&self, path: &str, text: &str) {
            std::fs::write(self.folder.path().join(path), text).unwrap();
            self.index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
        }
    }

    /// Searches, and counts in `embedded` how often a text was embedded.
    fn check(index: &Index, embedded: &Cell<usize>, question: &str, k: usize) -> Hits {
        let embed = |text: &str| {
            embedded.set(embedded.get() + 1);
            // Questions that contain "tr" have the same vector.
            Ok(if text.contains("tr") { vec![1.0, 0.0] } else { vec![0.0, 1.0] })
        };
        answer_with(index, Some(&embed), question, k, &Cancel::new()).unwrap()
    }

    #[test]
    fn a_question_is_searched_once_until_the_index_changes() {
        let (project, embedded) = (Project::new(), Cell::new(0));
        let first = check(&project.index, &embedded, "how to retry", 5);
        assert_eq!(check(&project.index, &embedded, " how to retry", 5).hits, first.hits);
        assert_eq!(embedded.get(), 1);
        project.write("again.ts", "export function retryAgain() {} // how to retry\n");
        let second = check(&project.index, &embedded, "how to retry", 5);
        assert_eq!((second.hits.len(), embedded.get()), (2, 2));
    }

    #[test]
    fn a_question_of_the_same_meaning_is_answered_from_the_cache_unless_its_names_differ() {
        let (project, embedded) = (Project::new(), Cell::new(0));
        check(&project.index, &embedded, "how to retry", 5);
        let alike = check(&project.index, &embedded, "trying again", 5);
        assert!(alike.hits[0].path == "retry.ts" && alike.notes.iter().any(|note| note.contains("same meaning")));
        for other in ["how to `try`", "retry", "what is a buffer"] {
            let notes = check(&project.index, &embedded, other, 5).notes;
            assert!(!notes.iter().any(|note| note.contains("same meaning")), "{other}");
        }
        let more = check(&project.index, &embedded, "trying again", 50);
        assert!(!more.notes.iter().any(|note| note.contains("same meaning")), "fewer hits are held than asked for");
    }

    #[test]
    fn with_a_failing_embedder_the_search_uses_words_and_says_so() {
        let project = Project::new();
        let broken = |_: &str| Err("out of memory".to_owned());
        let found = answer_with(&project.index, Some(&broken), "retry", 5, &Cancel::new()).unwrap();
        assert_eq!((found.hits.len(), found.notes.len()), (1, 1));
        assert!(
            found.notes[0].contains("lexical only") && found.notes[0].contains("out of memory"),
            "{:?}",
            found.notes
        );
        let working = |_: &str| Ok(vec![0.0, 1.0]);
        let found = answer_with(&project.index, Some(&working), "retry", 5, &Cancel::new()).unwrap();
        assert!(!found.notes[0].contains("out of memory"), "{:?}", found.notes);
        let short_only = |text: &str| if text.len() > 300 { Err("too long".to_owned()) } else { Ok(vec![1.0]) };
        let found = answer_with(&project.index, Some(&short_only), &"retry ".repeat(99), 5, &Cancel::new()).unwrap();
        assert!(found.notes[0].contains("first 200 characters"), "{:?}", found.notes);
    }

    #[test]
    fn a_question_that_a_step_asks_again_is_answered_as_before_in_another_process_too() {
        let project = Project::new();
        let first = known(&project.index, "how to retry", Some(&[1.0, 0.0]), 5, &Cancel::new()).unwrap();
        let kind = format!("vectors {}", project.index.vectors_of());
        assert_eq!(project.index.answers(&kind).unwrap().len(), 1);
        let other = Index::open(project.folder.path()).unwrap();
        let again = known(&other, "how to retry", Some(&[0.0, 1.0]), 3, &Cancel::new()).unwrap();
        assert_eq!((&again.hits, &again.notes), (&first.hits, &first.notes));
        assert!(!again.hits.is_empty() && !again.hits[0].parts.is_empty());
        let embed = |_: &str| -> Result<Vec<f32>, String> { panic!("the answer is known") };
        assert_eq!(answer_with(&other, Some(&embed), "how to retry", 5, &Cancel::new()).unwrap().hits, first.hits);
        assert_eq!(
            known(&other, "how to retry", None, 3, &Cancel::new()).unwrap().hits.len(),
            1,
            "without a vector it is another question"
        );
    }
}
