//! Tests the lesson store in a temporary database.

use super::*;

fn fresh(max: usize) -> (tempfile::TempDir, Lessons) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lessons = Lessons::open_with(&folder.path().join(".monobloc/monobloc.db"), max).expect("a new database");
    (folder, lessons)
}

fn lesson(problem: &str) -> Lesson {
    Lesson { problem: problem.into(), solution: "so".into(), success: true, ..Lesson::default() }
}

fn with_vector(problem: &str, vector: &[f32]) -> Lesson {
    Lesson { vector: Some(vector.to_vec()), ..lesson(problem) }
}

fn check(lessons: &Lessons, text: &str, vector: Option<&[f32]>, expected: &[&str]) {
    let found = lessons.search(text, vector, 10).expect("a search");
    let problems: Vec<&str> = found.iter().map(|found| &found.stored.lesson.problem[..]).collect();
    assert_eq!(problems, expected, "{text}");
}

#[test]
fn a_stored_lesson_is_read_back_unchanged_after_reopening() {
    let (folder, lessons) = fresh(10);
    let written = Lesson {
        problem: "the build fails without cmake".into(),
        solution: "install cmake".into(),
        why_worked: "the build script calls it".into(),
        tokens_used: 1234,
        success: true,
        vector: Some(vec![0.6, -0.8]),
    };
    let id = lessons.add(&written).unwrap();
    drop(lessons);
    let lessons = Lessons::open(&folder.path().join(".monobloc/monobloc.db")).unwrap();
    let listed = lessons.list(10).unwrap();
    assert_eq!((listed[0].id, &listed[0].lesson, listed[0].failures), (id, &written, 0));
    assert!(listed[0].created > 1_700_000_000);
}

#[test]
fn lessons_without_vectors_are_found_by_words() {
    let (_folder, lessons) = fresh(10);
    lessons.add(&lesson("retry a request that timed out")).unwrap();
    lessons.add(&lesson("rename a function in every file")).unwrap();
    check(&lessons, "Request timed out, retry?", None, &["retry a request that timed out"]);
    check(&lessons, "rename the function", None, &["rename a function in every file"]);
    check(&lessons, "something else entirely", None, &[]);
    check(&lessons, "", None, &[]);
}

#[test]
fn vectors_are_preferred_to_words_and_each_hit_names_its_signal() {
    let (_folder, lessons) = fresh(10);
    lessons.add(&with_vector("east", &[1.0, 0.0])).unwrap();
    lessons.add(&with_vector("north east", &[1.0, 1.0])).unwrap();
    lessons.add(&with_vector("west", &[-1.0, 0.0])).unwrap();
    lessons.add(&lesson("going east today quickly")).unwrap();
    check(&lessons, "east", Some(&[2.0, 0.0]), &["east", "north east", "going east today quickly"]);
    let found = lessons.search("east", Some(&[2.0, 0.0]), 10).unwrap();
    assert_eq!(found.iter().map(|f| f.by).collect::<Vec<_>>(), [Signal::Vector, Signal::Vector, Signal::Words]);
    check(&lessons, "west", Some(&[1.0, 0.0, 0.0]), &["west"]);
    assert_eq!(lessons.search("east", Some(&[2.0, 0.0]), 1).unwrap().len(), 1);
}

#[test]
fn a_lesson_that_failed_twice_is_not_offered_until_it_works_again() {
    let (_folder, lessons) = fresh(10);
    let id = lessons.add(&lesson("flaky test")).unwrap();
    assert!(lessons.record_failure(id).unwrap());
    check(&lessons, "flaky test", None, &["flaky test"]);
    assert!(lessons.record_failure(id).unwrap());
    check(&lessons, "flaky test", None, &[]);
    assert_eq!(lessons.list(10).unwrap().len(), 1);
    assert_eq!(lessons.add(&lesson("flaky test")).unwrap(), id, "the same lesson keeps its number");
    check(&lessons, "flaky test", None, &["flaky test"]);
    lessons.record_failure(id).unwrap();
    lessons.record_success(id).unwrap();
    lessons.record_failure(id).unwrap();
    check(&lessons, "flaky test", None, &["flaky test"]);
    assert!(!lessons.record_failure(id + 99).unwrap());
}

#[test]
fn a_failure_learned_twice_is_not_offered() {
    let (_folder, lessons) = fresh(10);
    let failure = Lesson { success: false, ..lesson("flaky test") };
    lessons.add(&failure).unwrap();
    check(&lessons, "flaky test", None, &["flaky test"]);
    lessons.add(&failure).unwrap();
    check(&lessons, "flaky test", None, &[]);
}

#[test]
fn above_the_limit_failed_lessons_are_deleted_first_then_the_oldest() {
    let (_folder, lessons) = fresh(3);
    lessons.add(&lesson("one")).unwrap();
    let failed = lessons.add(&lesson("two")).unwrap();
    lessons.record_failure(failed).unwrap();
    lessons.add(&lesson("three")).unwrap();
    lessons.add(&lesson("four")).unwrap();
    lessons.add(&lesson("five")).unwrap();
    let problems: Vec<String> = lessons.list(10).unwrap().into_iter().map(|s| s.lesson.problem).collect();
    assert_eq!(problems, ["five", "four", "three"]);
    lessons.add(&Lesson { success: false, ..lesson("six") }).unwrap();
    assert_eq!(lessons.list(1).unwrap()[0].lesson.problem, "six", "what was just learned stays");
}

#[test]
fn long_texts_are_cut_between_characters_and_long_vectors_refused() {
    let (_folder, lessons) = fresh(10);
    lessons.add(&lesson(&"ü".repeat(1_000_000))).unwrap();
    assert_eq!(lessons.list(1).unwrap()[0].lesson.problem.len(), PROBLEM_MAX);
    lessons.add(&lesson(&format!("x{}", "ü".repeat(5_000)))).unwrap();
    assert_eq!(lessons.list(1).unwrap()[0].lesson.problem.len(), PROBLEM_MAX - 1);
    let refused = lessons.add(&with_vector("long", &vec![0.5; VECTOR_MAX + 1])).unwrap_err();
    assert!(refused.to_string().contains("8193"), "{refused}");
}

#[test]
fn a_file_that_is_no_database_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("monobloc.db");
    fs::write(&file, "this is a text and no database, and it is long enough to be looked at".repeat(20)).unwrap();
    let Err(error) = Lessons::open(&file) else { panic!("a text was opened as a database") };
    assert!(error.to_string().contains("monobloc.db") && error.to_string().contains("rename the file"), "{error}");
}

#[test]
fn two_stores_on_one_file_see_each_others_lessons_until_they_are_forgotten() {
    let (folder, lessons) = fresh(10);
    let other = Lessons::open(&folder.path().join(".monobloc/monobloc.db")).unwrap();
    let id = other.add(&lesson("shared knowledge")).unwrap();
    check(&lessons, "shared knowledge", None, &["shared knowledge"]);
    assert!(lessons.forget(id).unwrap() && !lessons.forget(id).unwrap());
    check(&other, "shared knowledge", None, &[]);
}

#[test]
fn shared_words_count_whatever_their_case_and_order() {
    for (a, b, expected) in [
        ("retry failed requests", "Requests: retry, FAILED", 1.0),
        ("retry requests", "retry the download", 0.4),
        ("retry", "parse", 0.0),
        ("", "", 0.0),
        ("go", "go", 1.0),
        ("größe prüfen", "Größe", 2.0 / 3.0),
    ] {
        assert!((overlap(a, b) - expected).abs() < 1e-6, "{a} / {b}: {}", overlap(a, b));
    }
}

#[test]
fn private_data_is_masked_and_the_lesson_still_found() {
    let (_folder, lessons) = fresh(10);
    let lessons = lessons.masking(Mask::Forms);
    let problem = "mail ada@lovelace.org the notes";
    let lesson =
        Lesson { problem: problem.into(), solution: "to ada@lovelace.org".into(), success: true, ..Lesson::default() };
    lessons.add(&lesson).unwrap();
    let found = &lessons.search(problem, None, 5).unwrap()[0];
    let Lesson { problem, solution, .. } = &found.stored.lesson;
    assert_eq!((problem.as_str(), solution.as_str(), found.score), ("mail [email] the notes", "to [email]", 1.0));
}

#[test]
fn the_total_size_of_lessons_is_limited() {
    let (_folder, lessons) = fresh(LESSONS_MAX);
    // Each lesson takes 40 KB with its vector.
    let add = |n: usize| {
        let (problem, vector) = (format!("problem {n}"), Some(vec![n as f32; VECTOR_MAX]));
        let solution = "x".repeat(SOLUTION_MAX);
        lessons.add(&Lesson { problem, solution, success: true, vector, ..Lesson::default() }).unwrap()
    };
    let first = add(0);
    let last = (1..450).map(add).last().unwrap();
    let kept: Vec<i64> = lessons.list(LESSONS_MAX).unwrap().iter().map(|stored| stored.id).collect();
    assert!(kept.contains(&last) && !kept.contains(&first));
    assert!(kept.len() * 40_000 < BYTES_MAX as usize + 100_000 && kept.len() > 300, "{}", kept.len());
}

#[test]
fn lessons_are_restored_with_their_numbers_and_failures() {
    let (_folder, lessons) = fresh(10);
    lessons.add(&with_vector("one", &[0.5, -0.0])).unwrap();
    let second = lessons.add(&lesson("zwei ü")).unwrap();
    lessons.record_failure(second).unwrap();
    let (rows, before) = (lessons.rows().unwrap(), lessons.list(10).unwrap());
    lessons.forget(second).unwrap();
    lessons.add(&lesson("three")).unwrap();
    assert!(lessons.restore(&rows).unwrap());
    assert_eq!((lessons.rows().unwrap(), lessons.list(10).unwrap()), (rows.clone(), before));
    assert!(!lessons.restore(&[rows[0].clone(), b"i of another form".to_vec()]).unwrap());
    assert_eq!(lessons.rows().unwrap(), rows, "what cannot be read changes nothing");
}

/// Records whether another thread can use the lessons while it judges.
struct Slow(std::sync::OnceLock<std::sync::Weak<Lessons>>, std::sync::atomic::AtomicBool);

impl crate::base::mask::Judge for Slow {
    fn odds(&self, asked: &[(crate::base::names::Form, &str)]) -> Vec<f64> {
        let lessons = self.0.get().and_then(std::sync::Weak::upgrade).unwrap();
        let (done, listed) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(lessons.list(1).is_ok()));
        let free = listed.recv_timeout(Duration::from_secs(10)).unwrap_or(false);
        self.1.store(free, std::sync::atomic::Ordering::Relaxed);
        vec![0.0; asked.len()]
    }
}

#[test]
fn judging_names_does_not_block_other_threads() {
    let folder = tempfile::tempdir().unwrap();
    let judge = std::sync::Arc::new(Slow(Default::default(), Default::default()));
    let lessons = Lessons::open(&folder.path().join("l.db")).unwrap().masking(Mask::Names(judge.clone()));
    let lessons = std::sync::Arc::new(lessons);
    judge.0.set(std::sync::Arc::downgrade(&lessons)).unwrap();
    let problem = "Send the offer to Anna Berg in Oslo".to_owned();
    lessons.add(&lesson(&problem)).unwrap();
    assert!(judge.1.load(std::sync::atomic::Ordering::Relaxed));
}
