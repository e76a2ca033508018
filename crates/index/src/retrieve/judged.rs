//! Has the first hits of a search scored by a re-ranker, in the time that it has, and orders them by its scores.

use std::borrow::Cow;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::{Hit, Hits, search};
use crate::base::Cancel;
use crate::embed::rerank::{PAIRS_MIN, RerankError};
use crate::index::{Index, IndexError};

pub struct Judged {
    pub hits: Hits,
    /// Why the hits are not in the order of the index's re-ranker, if it has one.
    pub unranked: Option<RerankError>,
    /// Whether the time was over before all of the first hits were scored.
    pub is_partial: bool,
}

impl Judged {
    /// The hits; a note says if they are not in the order of the index's re-ranker, and why.
    pub fn noted(self) -> Hits {
        let Judged { mut hits, unranked, .. } = self;
        let why = unranked.filter(|_| hits.hits.len() >= PAIRS_MIN);
        hits.notes.extend(why.map(|why| format!("not re-ranked: {why}")));
        hits
    }
}

/// Runs long work. If this thread runs tasks of tokio, another thread runs them meanwhile.
pub(super) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Like [`search`], with the first hits in the order of the index's re-ranker, and those for which
/// it had no time after them. If there is none, or it cannot score in its time, the order is that
/// of the search.
pub fn judged(
    index: &Index,
    question: &str,
    query_vector: Option<&[f32]>,
    k: usize,
    cancel: &Cancel,
) -> Result<Judged, IndexError> {
    let as_found =
        |unranked| Ok(Judged { hits: search(index, question, query_vector, k)?, unranked, is_partial: false });
    let Some(judges) = index.judges() else { return as_found(None) };
    let judge = match blocking(|| judges.judge(cancel)) {
        Ok(judge) => judge,
        Err(why) => return as_found(Some(why)),
    };
    let (name, speed) = (judge.name(), judge.pairs_a_second());
    let most = judges.most(speed);
    if most < PAIRS_MIN {
        return as_found(Some(RerankError::Failed(format!(
            "{name} scores {speed:.1} hits a second here, too few for the time of a search"
        ))));
    }
    let mut hits = search(index, question, query_vector, k.max(most))?;
    let first = hits.hits.len().min(most);
    let texts: Vec<String> = hits.hits[..first].iter().map(text).collect();
    let (mut unranked, mut is_partial) = (None, false);
    if first >= PAIRS_MIN {
        match blocking(|| judge.scores(question, &texts, judges.time(), cancel)) {
            Ok(scores) if scores.len() >= PAIRS_MIN => {
                is_partial = scores.len() < first;
                order(&mut hits.hits[..first], &scores);
            }
            Ok(scores) => {
                let (scored, time) = (scores.len(), judges.time().as_secs_f64());
                let why = format!("{name} scored {scored} of {first} hits in {time:.1} s, the time of a search");
                unranked = Some(RerankError::Failed(why));
            }
            Err(why) => unranked = Some(why),
        }
    }
    hits.hits.truncate(k);
    Ok(Judged { hits, unranked, is_partial })
}

/// A hit as a re-ranker reads it.
fn text(hit: &Hit) -> String {
    format!("{}\n{}", hit.path, hit.snippet)
}

/// Orders hits by `scores`, the highest first, equal ones as they were, and those without a score
/// last. Each gets the score of the hit that was in its new place, so that scores still fall, and a
/// part that says so.
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
    use std::sync::{Arc, Mutex, mpsc};
    use std::time::Duration;

    use super::*;
    use crate::embed::rerank::{Judge, Judges};
    use crate::retrieve::known;

    /// Prefers hits with the word "lamp", and scores one a second.
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

        fn scores(&self, _: &str, texts: &[String], time: Duration, cancel: &Cancel) -> Result<Vec<f32>, RerankError> {
            if cancel.is_cancelled() {
                return Err(RerankError::Cancelled);
            }
            let scored = texts.iter().take(time.as_secs() as usize);
            Ok(scored.map(|text| if text.contains("lamp") { 1.0 } else { -1.0 }).collect())
        }
    }

    /// Gives a judge of this speed, or fails when it is loaded.
    #[derive(Clone)]
    struct Fixed {
        speed: Result<f64, RerankError>,
        fingerprint: Result<String, RerankError>,
        time: u64,
    }

    impl Fixed {
        fn of(speed: Result<f64, RerankError>) -> Fixed {
            Fixed { speed, fingerprint: Ok("tiny".to_owned()), time: 60 }
        }
    }

    impl Judges for Fixed {
        fn fingerprint(&self) -> Result<String, RerankError> {
            self.fingerprint.clone()
        }

        fn judge(&self, _: &Cancel) -> Result<Arc<dyn Judge>, RerankError> {
            self.speed.clone().map(|speed| Arc::new(Scripted { speed }) as Arc<dyn Judge>)
        }

        fn most(&self, pairs_a_second: f64) -> usize {
            pairs_a_second as usize
        }

        fn time(&self) -> Duration {
            Duration::from_secs(self.time)
        }
    }

    /// Six files that answer "retry", ever worse; the third, the fourth and the last have a lamp.
    fn project(judges: impl Judges + 'static) -> (tempfile::TempDir, Index) {
        let folder = tempfile::tempdir().unwrap();
        for number in 1..7_usize {
            let lamp = if number % 3 == 0 || number == 4 { " lamp" } else { "" };
            let text = format!("{}{lamp}{}\n", "retry ".repeat(8 - number), " other words".repeat(number * 3));
            std::fs::write(folder.path().join(format!("{number}.txt")), text).unwrap();
        }
        let index = Index::open(folder.path()).unwrap();
        index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
        (folder, index.judged_by(Some(Arc::new(judges))))
    }

    fn paths(hits: &Hits) -> Vec<&str> {
        hits.hits.iter().map(|hit| &hit.path[..1]).collect()
    }

    /// The paths of `hits`, those with a lamp first.
    fn lamps_first(hits: &[Hit]) -> Vec<&str> {
        let (with, without): (Vec<_>, Vec<_>) = hits.iter().partition(|hit| hit.snippet.contains("lamp"));
        assert!(!with.is_empty() && !without.is_empty() && hits[0] != *with[0]);
        with.into_iter().chain(without).map(|hit| &hit.path[..1]).collect()
    }

    #[test]
    fn the_first_hits_get_the_order_of_the_re_ranker_and_later_ones_keep_theirs() {
        let (_folder, index) = project(Fixed::of(Ok(4.0)));
        let plain = search(&index, "retry", None, 6).unwrap();
        let found = judged(&index, "retry", None, 6, &Cancel::new()).unwrap();
        assert_eq!(found.unranked, None);
        let found = found.noted();
        assert!(!found.notes.iter().any(|note| note.contains("re-ranked")));
        let expected = [&lamps_first(&plain.hits[..4])[..], &paths(&plain)[4..]].concat();
        assert_eq!(paths(&found), expected);
        assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score), "scores still fall");
        for hit in &found.hits {
            let sum: f64 = hit.parts.iter().filter(|(name, _)| !name.starts_with('×')).map(|(_, value)| value).sum();
            let factors: f64 =
                hit.parts.iter().filter(|(name, _)| name.starts_with('×')).map(|(_, value)| value).product();
            assert!((sum * factors - hit.score).abs() < 1e-9, "its parts give its score");
        }
        // Of few hits those that were scored highest are shown, whatever place they had.
        let few = judged(&index, "retry", None, 1, &Cancel::new()).unwrap().hits;
        assert_eq!(paths(&few), &expected[..1]);
    }

    #[test]
    fn hits_for_which_the_time_was_too_short_follow_the_scored_ones_in_their_order() {
        let (_folder, index) = project(Fixed { time: 3, ..Fixed::of(Ok(6.0)) });
        let plain = search(&index, "retry", None, 6).unwrap();
        let found = judged(&index, "retry", None, 6, &Cancel::new()).unwrap();
        let expected = [&lamps_first(&plain.hits[..3])[..], &paths(&plain)[3..]].concat();
        assert_eq!((paths(&found.hits), found.unranked), (expected, None));
    }

    #[test]
    fn without_time_or_a_usable_re_ranker_the_order_stays_and_a_note_says_why() {
        let check = |judges: Fixed, cancelled: bool, note: &str| {
            let (_folder, index) = project(judges);
            let plain = search(&index, "retry", None, 6).unwrap();
            let cancel = Cancel::new();
            if cancelled {
                cancel.cancel();
            }
            for _ in 0..2 {
                let found = known(&index, "retry", None, 6, &cancel).unwrap();
                assert_eq!(paths(&found), paths(&plain));
                let notes = found.notes.iter().filter(|one| one.contains(note)).count();
                assert_eq!(notes, 1, "{:?}", found.notes);
            }
            // It is not kept as the answer of the re-ranker.
            assert!(index.answers("words, judged by tiny").unwrap().is_empty());
            let kept = index.answers("words").unwrap().len();
            let found = known(&index.judged_by(None), "retry", None, 6, &cancel).unwrap();
            assert!(!found.notes.iter().any(|one| one.contains("re-ranked")), "{:?}", found.notes);
            kept
        };
        let failed = |why: &str| Fixed::of(Err(RerankError::Failed(why.into())));
        let passing = [
            (Fixed::of(Ok(1.0)), false, "not re-ranked: tiny.gguf scores 1.0 hits a second here, too few"),
            (Fixed::of(Ok(4.0)), true, "not re-ranked: it was cancelled"),
            (
                Fixed { time: 1, ..Fixed::of(Ok(4.0)) },
                false,
                "not re-ranked: tiny.gguf scored 1 of 4 hits in 1.0 s, the time of a search",
            ),
            (failed("no memory"), false, "not re-ranked: no memory"),
        ];
        for (judges, cancelled, note) in passing {
            assert_eq!(check(judges, cancelled, note), 0, "the next search may have another answer: {note}");
        }
        let refused = RerankError::Refused("a.gguf is cut".into());
        let at_load = Fixed::of(Err(refused.clone()));
        let before = Fixed { fingerprint: Err(refused), ..at_load.clone() };
        for judges in [at_load, before] {
            assert_eq!(check(judges, false, "not re-ranked: a.gguf is cut"), 1, "it is kept as without a re-ranker");
        }
    }

    /// Waits in one of its methods until another task has run.
    #[derive(Clone)]
    struct Waiting(&'static str, Arc<Mutex<mpsc::Receiver<()>>>);

    impl Waiting {
        fn wait(&self, method: &str) -> Result<(), RerankError> {
            if method != self.0 {
                return Ok(());
            }
            let other = self.1.lock().unwrap().recv_timeout(Duration::from_secs(20));
            other.map_err(|_| RerankError::Failed("no other task ran".to_owned()))
        }
    }

    impl Judge for Waiting {
        fn name(&self) -> &str {
            "tiny.gguf"
        }

        fn pairs_a_second(&self) -> f64 {
            6.0
        }

        fn scores(&self, _: &str, texts: &[String], _: Duration, _: &Cancel) -> Result<Vec<f32>, RerankError> {
            self.wait("scores").map(|()| vec![1.0; texts.len()])
        }
    }

    impl Judges for Waiting {
        fn fingerprint(&self) -> Result<String, RerankError> {
            self.wait("fingerprint").map(|()| "tiny".to_owned())
        }

        fn judge(&self, _: &Cancel) -> Result<Arc<dyn Judge>, RerankError> {
            self.wait("judge").map(|()| Arc::new(self.clone()) as Arc<dyn Judge>)
        }

        fn most(&self, pairs_a_second: f64) -> usize {
            pairs_a_second as usize
        }

        fn time(&self) -> Duration {
            Duration::from_secs(60)
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_while_the_re_ranker_is_found_loaded_and_scores() {
        for method in ["fingerprint", "judge", "scores"] {
            let (sender, ran) = mpsc::channel();
            let (_folder, index) = project(Waiting(method, Arc::new(Mutex::new(ran))));
            let searching = tokio::spawn(async move {
                // The only worker has this task, too.
                tokio::spawn(async move { sender.send(()).unwrap() });
                known(&index, "retry", None, 6, &Cancel::new()).unwrap()
            });
            let notes = searching.await.unwrap().notes;
            assert!(!notes.iter().any(|note| note.contains("re-ranked")), "{method}: {notes:?}");
        }
    }
}
