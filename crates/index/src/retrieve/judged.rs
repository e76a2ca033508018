//! Has the first hits of a search scored by a re-ranker, in the time that it has, and orders them by its scores.

use std::borrow::Cow;

use super::{Hit, Hits, search};
use crate::base::Cancel;
use crate::index::{Index, IndexError};

/// Minimum number of hits that can be put in another order.
const LEAST: usize = 2;

/// Hits, and whether the order of the first ones is that of the re-ranker, if there is one.
pub struct Judged {
    pub hits: Hits,
    pub is_final: bool,
}

/// Like [`search`], with the first hits in the order of the index's re-ranker. If there is none, or
/// it cannot score in its time, the order is that of the search, and a note says why.
pub fn judged(
    index: &Index,
    question: &str,
    query_vector: Option<&[f32]>,
    k: usize,
    cancel: &Cancel,
) -> Result<Judged, IndexError> {
    let as_found = |why: Option<String>| {
        let mut hits = search(index, question, query_vector, k)?;
        let is_final = why.is_none();
        hits.notes.extend(why.filter(|_| hits.hits.len() >= LEAST).map(|why| format!("not re-ranked: {why}")));
        Ok(Judged { hits, is_final })
    };
    let Some(judges) = index.judges() else { return as_found(None) };
    let judge = match judges.judge(cancel) {
        Ok(judge) => judge,
        Err(why) => return as_found(Some(why.to_string())),
    };
    let most = judges.most(judge.pairs_a_second());
    if most < LEAST {
        let (name, speed) = (judge.name(), judge.pairs_a_second());
        return as_found(Some(format!(
            "{name} scores {speed:.1} hits a second here, too few for the time of a search"
        )));
    }
    let mut hits = search(index, question, query_vector, k.max(most))?;
    let first = hits.hits.len().min(most);
    let texts: Vec<String> = hits.hits[..first].iter().map(text).collect();
    let mut is_final = true;
    if first >= LEAST {
        match judge.scores(question, &texts, cancel) {
            Ok(scores) => order(&mut hits.hits[..first], &scores),
            Err(why) => {
                is_final = false;
                hits.notes.push(format!("not re-ranked: {why}"));
            }
        }
    }
    hits.hits.truncate(k);
    Ok(Judged { hits, is_final })
}

/// A hit as a re-ranker reads it.
fn text(hit: &Hit) -> String {
    format!("{}\n{}", hit.path, hit.snippet)
}

/// Orders hits by `scores`, the highest first, and equal ones as they were. Each gets the score of
/// the hit that was in its new place, so that scores still fall, and a part that says so.
fn order(hits: &mut [Hit], scores: &[f32]) {
    let falling: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
    let mut places: Vec<usize> = (0..hits.len()).collect();
    let score = |place: &usize| scores.get(*place).copied().unwrap_or(f32::NEG_INFINITY);
    places.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
    let ordered: Vec<Hit> = places.iter().map(|place| hits[*place].clone()).collect();
    for ((hit, mut new), score) in hits.iter_mut().zip(ordered).zip(falling) {
        if score != new.score {
            new.parts.push((Cow::Borrowed("×re-ranked"), score / new.score));
            new.score = score;
        }
        *hit = new;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::embed::rerank::{Judge, Judges, RerankError};
    use crate::retrieve::known;

    /// Prefers hits with the word "lamp".
    struct Scripted {
        speed: f64,
    }

    impl Judge for Scripted {
        fn name(&self) -> &str {
            "tiny.gguf"
        }

        fn pairs_a_second(&self) -> f64 {
            self.speed
        }

        fn scores(&self, _: &str, texts: &[String], cancel: &Cancel) -> Result<Vec<f32>, RerankError> {
            if cancel.is_cancelled() {
                return Err(RerankError::Cancelled);
            }
            Ok(texts.iter().map(|text| if text.contains("lamp") { 1.0 } else { -1.0 }).collect())
        }
    }

    struct Fixed(Result<f64, RerankError>);

    impl Judges for Fixed {
        fn fingerprint(&self) -> String {
            format!("{:?}", self.0)
        }

        fn judge(&self, _: &Cancel) -> Result<Arc<dyn Judge>, RerankError> {
            self.0.clone().map(|speed| Arc::new(Scripted { speed }) as Arc<dyn Judge>)
        }

        fn most(&self, pairs_a_second: f64) -> usize {
            pairs_a_second as usize
        }
    }

    /// Six files that answer "retry", ever worse; the fourth and the last have a lamp.
    fn project(judged: Result<f64, RerankError>) -> (tempfile::TempDir, Index) {
        let folder = tempfile::tempdir().unwrap();
        for number in 1..7_usize {
            let lamp = if number % 3 == 0 || number == 4 { " lamp" } else { "" };
            let text = format!("{}{lamp}{}\n", "retry ".repeat(8 - number), " other words".repeat(number * 3));
            std::fs::write(folder.path().join(format!("{number}.txt")), text).unwrap();
        }
        let index = Index::open(folder.path()).unwrap();
        index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
        (folder, index.judged_by(Some(Arc::new(Fixed(judged)))))
    }

    fn paths(hits: &Hits) -> Vec<&str> {
        hits.hits.iter().map(|hit| &hit.path[..1]).collect()
    }

    #[test]
    fn the_first_hits_get_the_order_of_the_re_ranker_and_later_ones_keep_theirs() {
        let (_folder, index) = project(Ok(4.0));
        let plain = search(&index, "retry", None, 6).unwrap();
        let found = judged(&index, "retry", None, 6, &Cancel::new()).unwrap();
        assert!(found.is_final && !found.hits.notes.iter().any(|note| note.contains("re-ranked")));
        let (first, rest) = plain.hits.split_at(4);
        let (with, without): (Vec<_>, Vec<_>) = first.iter().partition(|hit| hit.snippet.contains("lamp"));
        assert!(!with.is_empty() && !without.is_empty() && first[0] != *with[0]);
        let expected: Vec<&str> = with.into_iter().chain(without).chain(rest).map(|hit| &hit.path[..1]).collect();
        assert_eq!(paths(&found.hits), expected);
        assert!(found.hits.hits.is_sorted_by(|a, b| a.score >= b.score), "scores still fall");
        for hit in &found.hits.hits {
            let sum: f64 = hit.parts.iter().filter(|(name, _)| !name.starts_with('×')).map(|(_, value)| value).sum();
            let factors: f64 =
                hit.parts.iter().filter(|(name, _)| name.starts_with('×')).map(|(_, value)| value).product();
            assert!((sum * factors - hit.score).abs() < 1e-9, "its parts give its score");
        }
        // Of few hits those that were scored highest are shown, whatever place they had.
        let few = judged(&index, "retry", None, 1, &Cancel::new()).unwrap();
        assert_eq!(paths(&few.hits), &expected[..1]);
    }

    #[test]
    fn without_time_or_a_usable_re_ranker_the_order_stays_and_a_note_says_why() {
        let check = |judged_by: Result<f64, RerankError>, cancelled: bool, note: &str| {
            let (_folder, index) = project(judged_by);
            let plain = search(&index, "retry", None, 6).unwrap();
            let cancel = Cancel::new();
            if cancelled {
                cancel.cancel();
            }
            let found = judged(&index, "retry", None, 6, &cancel).unwrap();
            assert_eq!(paths(&found.hits), paths(&plain));
            assert!(!found.is_final && found.hits.notes.iter().any(|one| one.contains(note)), "{:?}", found.hits.notes);
            // It is not kept as the answer of the re-ranker.
            let again = known(&index, "retry", None, 6, &cancel).unwrap();
            assert!(again.notes.iter().any(|one| one.contains(note)));
            assert!(
                index
                    .answers(&format!("words, judged by {}", index.judges().unwrap().fingerprint()))
                    .unwrap()
                    .is_empty()
            );
        };
        check(Ok(1.0), false, "not re-ranked: tiny.gguf scores 1.0 hits a second here, too few");
        check(Ok(4.0), true, "not re-ranked: it was cancelled");
        check(Err(RerankError::Refused("a.gguf is cut".into())), false, "not re-ranked: a.gguf is cut");
    }
}
