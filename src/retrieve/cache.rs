//! Caches search results: a question asked before, or one of the same meaning, is not searched again until the index changes.

use crate::base::lock;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use super::query::Query;
use super::{Hits, search};
use crate::embed::Embedder;
use crate::index::{Index, IndexError};

/// Maximum number of cached answers, each of some hits of a few kilobytes; the least recently used is dropped first.
const ANSWERS_MAX: usize = 64;
/// Cosine from which two questions have the same meaning, if they also contain the same names.
const SAME_MEANING: f32 = 0.95;
/// Characters of a question that are embedded if embedding all of it fails.
const SHORTER_CHARS: usize = 200;

struct Answer {
    question: String,
    query: Query,
    vector: Option<Vec<f32>>,
    /// Number of hits asked for.
    k: usize,
    hits: Hits,
}

/// The cached answers of one index; emptied whenever the index changes.
#[derive(Default)]
pub struct Cache {
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// State of the index for which the answers hold, and its number of vectors.
    state: Option<(i64, usize)>,
    /// Least recently used first.
    answers: VecDeque<Answer>,
}

/// Computes the vector of a text; the error says why it failed.
type Embed<'a> = dyn Fn(&str) -> Result<Vec<f32>, String> + 'a;

impl Cache {
    /// Like [`search`], but embeds the question itself. Without an embedder, or if it fails, the search uses words and graph, and
    /// the notes say so.
    pub fn search(
        &self,
        index: &Index,
        embedder: Option<&Embedder>,
        question: &str,
        k: usize,
    ) -> Result<Hits, IndexError> {
        let embed =
            embedder.map(|embedder| move |text: &str| embedder.embed_one(text).map_err(|error| error.to_string()));
        self.search_with(index, embed.as_ref().map(|embed| embed as &Embed), question, k)
    }

    fn search_with(&self, index: &Index, embed: Option<&Embed>, question: &str, k: usize) -> Result<Hits, IndexError> {
        let state = (index.state()?, index.vector_count());
        let question = question.trim();
        if let Some(hits) = self.held(state).same(k, |answer| answer.question == question) {
            return Ok(hits);
        }
        let query = Query::read(question);
        let mut notes = Vec::new();
        let vector = embed.and_then(|embed| vector_of(embed, question, &mut notes));
        let alike = |answer: &Answer| match (&answer.vector, &vector) {
            (Some(a), Some(b)) if a.len() == b.len() => {
                let is_near = kernels::cosine(a, b).first().is_some_and(|cosine| *cosine >= SAME_MEANING);
                is_near && names_the_same(&answer.query, &query)
            }
            _ => false,
        };
        if let Some(mut hits) = self.held(state).same(k, alike) {
            hits.notes.push("answered as a question of the same meaning was".into());
            return Ok(hits);
        }
        let mut hits = search(index, question, vector.as_deref(), k)?;
        if !notes.is_empty() {
            // The exact reason replaces the note that there is no embedder.
            hits.notes.retain(|note| !note.ends_with("no embedder"));
            hits.notes.splice(0..0, notes);
        }
        // The next search may find the embedder working again.
        if vector.is_some() || embed.is_none() {
            self.held(state).keep(Answer { question: question.to_owned(), query, vector, k, hits: hits.clone() });
        }
        Ok(hits)
    }

    /// The answers for this state of the index; older ones are dropped.
    fn held(&self, state: (i64, usize)) -> MutexGuard<'_, Held> {
        let mut held = lock(&self.held);
        if held.state != Some(state) {
            *held = Held { state: Some(state), answers: VecDeque::new() };
        }
        held
    }
}

impl Held {
    /// The first `k` hits of an answer that fits and was asked for at least `k`.
    fn same(&mut self, k: usize, fits: impl Fn(&Answer) -> bool) -> Option<Hits> {
        let at = self.answers.iter().position(|answer| answer.k >= k && fits(answer))?;
        let answer = self.answers.remove(at)?;
        let mut hits = answer.hits.clone();
        hits.hits.truncate(k);
        self.answers.push_back(answer);
        Some(hits)
    }

    fn keep(&mut self, answer: Answer) {
        if self.answers.len() >= ANSWERS_MAX {
            self.answers.pop_front();
        }
        self.answers.push_back(answer);
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

/// Whether two questions contain the same names: vectors barely distinguish `parseInt` from `parseFloat`.
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
    use crate::base::Cancel;

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
    fn check(cache: &Cache, index: &Index, embedded: &Cell<usize>, question: &str, k: usize) -> Hits {
        let embed = |text: &str| {
            embedded.set(embedded.get() + 1);
            // Questions about trying have the same vector.
            Ok(if text.contains("tr") { vec![1.0, 0.0] } else { vec![0.0, 1.0] })
        };
        cache.search_with(index, Some(&embed), question, k).unwrap()
    }

    #[test]
    fn a_question_is_searched_once_until_the_index_changes() {
        let (project, cache, embedded) = (Project::new(), Cache::default(), Cell::new(0));
        let first = check(&cache, &project.index, &embedded, "how to retry", 5);
        assert_eq!(check(&cache, &project.index, &embedded, " how to retry", 5).hits, first.hits);
        assert_eq!(embedded.get(), 1);
        project.write("again.ts", "export function retryAgain() {} // how to retry\n");
        let second = check(&cache, &project.index, &embedded, "how to retry", 5);
        assert_eq!((second.hits.len(), embedded.get()), (2, 2));
    }

    #[test]
    fn a_question_of_the_same_meaning_is_answered_from_the_cache_unless_its_names_differ() {
        let (project, cache, embedded) = (Project::new(), Cache::default(), Cell::new(0));
        check(&cache, &project.index, &embedded, "how to retry", 5);
        let alike = check(&cache, &project.index, &embedded, "trying again", 5);
        assert!(alike.hits[0].path == "retry.ts" && alike.notes.iter().any(|note| note.contains("same meaning")));
        for other in ["how to `try`", "retry", "what is a buffer"] {
            let notes = check(&cache, &project.index, &embedded, other, 5).notes;
            assert!(!notes.iter().any(|note| note.contains("same meaning")), "{other}");
        }
        let more = check(&cache, &project.index, &embedded, "trying again", 50);
        assert!(!more.notes.iter().any(|note| note.contains("same meaning")), "fewer hits are held than asked for");
    }

    #[test]
    fn with_a_failing_embedder_the_search_uses_words_and_says_so() {
        let (project, cache) = (Project::new(), Cache::default());
        let broken = |_: &str| Err("out of memory".to_owned());
        let found = cache.search_with(&project.index, Some(&broken), "retry", 5).unwrap();
        assert_eq!((found.hits.len(), found.notes.len()), (1, 1));
        assert!(
            found.notes[0].contains("lexical only") && found.notes[0].contains("out of memory"),
            "{:?}",
            found.notes
        );
        let working = |_: &str| Ok(vec![0.0, 1.0]);
        let found = cache.search_with(&project.index, Some(&working), "retry", 5).unwrap();
        assert!(!found.notes[0].contains("out of memory"), "{:?}", found.notes);
        let short_only = |text: &str| if text.len() > 300 { Err("too long".to_owned()) } else { Ok(vec![1.0]) };
        let found = cache.search_with(&project.index, Some(&short_only), &"retry ".repeat(99), 5).unwrap();
        assert!(found.notes[0].contains("first 200 characters"), "{:?}", found.notes);
    }

    #[test]
    fn the_number_of_cached_answers_is_limited() {
        let (project, cache, embedded) = (Project::new(), Cache::default(), Cell::new(0));
        for n in 0..ANSWERS_MAX + 5 {
            check(&cache, &project.index, &embedded, &format!("`name{n}`"), 1);
        }
        assert_eq!(cache.held.lock().unwrap().answers.len(), ANSWERS_MAX);
    }
}
