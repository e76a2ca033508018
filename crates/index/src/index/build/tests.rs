//! Tests of refreshing an index: an incremental index must equal a clean one.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::index::embedding::Source;

const SOURCE: Source = Source { model: "model", dimensions: 4, batch_texts: 128 };

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn refresh(index: &Index) -> Report {
    index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap()
}

/// All data of an index, as text.
fn contents(index: &Index) -> String {
    let paths = index.paths().unwrap();
    let chunks = paths.iter().flat_map(|p| index.chunks_of_file(p).unwrap());
    let mut chunks: Vec<String> = chunks.map(|c| format!("{c:?}")).collect();
    chunks.sort();
    let words = NAMES.map(|w| {
        let mut found = index.by_words(&[w.to_owned()], [1.0; 5], 1_000).unwrap();
        found.sort_by_key(|(id, _)| *id);
        let lost = index.unresolved(w).unwrap();
        format!("{:?} {lost:?}", found.iter().map(|(id, score)| (*id, (score * 1e6) as i64)).collect::<Vec<_>>())
    });
    let store = index.reader();
    let mut edges: Vec<String> = store.edges().unwrap().into_iter().map(|e| format!("{e:?}")).collect();
    edges.sort();
    let symbols = store.symbols().unwrap();
    format!("{paths:#?}\n{chunks:#?}\n{symbols:#?}\n{edges:#?}\n{words:#?}\n{:?}", store.counts().unwrap())
}

const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "shared"];
const FILES: [&str; 4] = ["a.ts", "lib/b.ts", "lib/index.ts", "c.js"];

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, Vec<(usize, usize)>),
    Delete(usize),
    Rename(usize, usize),
    /// Returns to the state of some refreshes ago: a revert, or a switch to another branch.
    Switch(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let file = 0..FILES.len();
    prop_oneof![
        4 => (file.clone(), prop::collection::vec((0..6usize, 0..NAMES.len()), 1..6)).prop_map(|(f, lines)| Edit::Write(f, lines)),
        1 => file.clone().prop_map(Edit::Delete),
        1 => (file.clone(), file).prop_map(|(a, b)| Edit::Rename(a, b)),
        1 => (0..6usize).prop_map(Edit::Switch),
    ]
}

fn line(form: usize, name: &str) -> String {
    match form {
        0 => format!("export function {name}() {{ return 1; }}\n"),
        1 => format!("import {{ {name} }} from './lib';\n"),
        2 => format!("{name}();\n"),
        3 => "export * from './b';\n".into(),
        4 => format!("export class Box_{name} {{ {name}() {{ this.{name}(); }} }}\n"),
        _ => format!("export const other_{name} = () => {name}();\n"),
    }
}

/// The text of each existing file.
type State = Vec<Option<String>>;

fn state(folder: &Path) -> State {
    FILES.iter().map(|path| fs::read_to_string(folder.join(path)).ok()).collect()
}

fn restore(folder: &Path, state: &State) {
    for (path, text) in FILES.iter().zip(state) {
        match text {
            Some(text) => write(folder, path, text),
            None => drop(fs::remove_file(folder.join(path))),
        }
    }
}

fn apply(folder: &Path, edit: &Edit, past: &[State]) {
    match edit {
        Edit::Write(file, lines) => {
            write(folder, FILES[*file], &lines.iter().map(|(form, name)| line(*form, NAMES[*name])).collect::<String>())
        }
        // Deleting or renaming a missing file changes nothing.
        Edit::Delete(file) => drop(fs::remove_file(folder.join(FILES[*file]))),
        Edit::Rename(from, to) => {
            fs::create_dir_all(folder.join(FILES[*to]).parent().unwrap()).unwrap();
            drop(fs::rename(folder.join(FILES[*from]), folder.join(FILES[*to])));
        }
        Edit::Switch(back) => past.iter().rev().nth(*back).into_iter().for_each(|state| restore(folder, state)),
    }
}

/// Keys of the contents in an index.
fn vector_keys(index: &Index) -> Vec<i64> {
    let paths = index.paths().unwrap();
    paths.iter().flat_map(|p| index.chunks_of_file(p).unwrap()).map(|chunk| chunk.vector_key).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_incremental_index_equals_a_clean_one(edits in prop::collection::vec(prop::collection::vec(edit(), 1..4), 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::open(folder.path()).unwrap();
        let (mut past, mut embedded, mut met) = (Vec::new(), 0, HashSet::new());
        for some in &edits {
            some.iter().for_each(|e| apply(folder.path(), e, &past));
            past.push(state(folder.path()));
            let chunks = refresh(&index).chunks;
            let clean = tempfile::tempdir().unwrap();
            restore(clean.path(), &past[past.len() - 1]);
            let fresh = Index::open(clean.path()).unwrap();
            refresh(&fresh);
            prop_assert_eq!(contents(&index), contents(&fresh));
            // No content is embedded twice, wherever it moves and whenever it returns; and none is
            // omitted.
            met.extend(vector_keys(&index));
            prop_assert_eq!(embed(&index, &mut embedded), chunks);
            prop_assert_eq!(embedded, met.len());
            let found = index.by_vector(&letters("alpha"), 1_000).unwrap();
            let found: HashSet<i64> = found.into_iter().map(|(id, _)| id).collect();
            let paths = index.paths().unwrap();
            let all: HashSet<i64> = paths.iter().flat_map(|p| index.chunks_of_file(p).unwrap()).map(|c| c.id).collect();
            prop_assert_eq!(found, all);
        }
    }
}

#[test]
fn an_unchanged_project_is_not_read_again_and_a_touched_one_not_parsed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.ts", "export function alpha() {}\n");
    write(folder.path(), "b.ts", "import { alpha } from './a';\nalpha();\n");
    let index = Index::open(folder.path()).unwrap();
    let first = refresh(&index);
    assert_eq!((first.files, first.parsed), (2, 2));
    assert_eq!(refresh(&index).parsed, 0);
    let file = fs::File::options().append(true).open(folder.path().join("a.ts")).unwrap();
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).unwrap();
    assert_eq!(refresh(&index).parsed, 0);
    write(folder.path(), "a.ts", "export function alpha() { return 2; }\n");
    let second = refresh(&index);
    assert_eq!((second.parsed, second.edges), (1, first.edges));
}

#[test]
fn a_run_that_ended_before_it_resolved_leaves_no_stale_edge() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.ts", "export function alpha() {}\n");
    write(folder.path(), "b.ts", "import { alpha } from './a';\nexport function beta() { alpha(); }\n");
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    assert_eq!(index.graph().unwrap().named("alpha").len(), 1);
    // The name disappears from one file, while the file that refers to it stays unchanged.
    write(folder.path(), "a.ts", "export function other() { return 1; }\n");
    let cancel = Cancel::new();
    let mut stop = |p: Progress| {
        if p.stage == Stage::Parse {
            cancel.cancel()
        }
    };
    let ended = index.refresh_lexical(&mut stop, &cancel);
    assert!(matches!(ended, Err(IndexError::Cancelled)));
    assert!(index.status(None).unwrap().unfinished);
    assert!(index.graph().unwrap().named("alpha").is_empty());
    drop(index);
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    assert!(!index.status(None).unwrap().unfinished);
    assert!(index.graph().unwrap().callees("beta").is_empty());
    assert_eq!(index.unresolved("alpha").unwrap().len(), 1);
}

#[test]
fn status_lists_changed_removed_and_skipped_files() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.ts", "export function alpha() {}\n");
    write(folder.path(), "b.py", "def beta():\n    return 1\n");
    write(folder.path(), "picture.bin", "a\0b");
    let index = Index::open(folder.path()).unwrap();
    assert_eq!(index.status(None).unwrap().changed.len(), 3);
    for _ in 0..2 {
        let report = refresh(&index);
        assert_eq!((report.files, report.skipped.len()), (2, 1));
        assert!(report.skipped[0].reason.contains("binary"), "{:?}", report.skipped);
    }
    embed(&index, &mut 0);
    let status = index.status(Some("model")).unwrap();
    assert!(status.changed.is_empty() && status.gone.is_empty() && !status.unfinished, "{status:?}");
    assert_eq!((status.files, status.chunks, status.chunks_with_vector), (2, 2, 2));
    assert_eq!(status.skipped[0].path, "picture.bin");
    assert_eq!(status.models, [("model".to_owned(), 2)]);
    assert!(status.database_bytes > 0 && status.vector_file_bytes > 0);
    fs::remove_file(folder.path().join("a.ts")).unwrap();
    write(folder.path(), "c.ts", "export function gamma() {}\n");
    let status = index.status(Some("other model")).unwrap();
    assert_eq!((status.changed, status.gone), (vec!["c.ts".to_owned()], vec!["a.ts".to_owned()]));
    assert_eq!(status.chunks_with_vector, 0);
}

#[test]
fn the_most_referenced_file_is_embedded_first() {
    let folder = tempfile::tempdir().unwrap();
    let body = "  const value = 'a line that makes every function a chunk of its own';\n".repeat(11);
    for number in 0..200 {
        let call = if number % 2 == 0 { "import { zulu } from './zulu';\n" } else { "" };
        let used = if number % 2 == 0 { "  zulu();\n" } else { "" };
        let text = format!("{call}export function f{number}() {{\n{used}  return {number};\n{body}}}\n");
        write(folder.path(), &format!("f{number}.ts"), &text);
    }
    write(folder.path(), "zulu.ts", &format!("export function zulu() {{\n{body}}}\n"));
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    let mut first = None;
    let mut keep = |texts: &[String]| {
        first.get_or_insert_with(|| texts[0].clone());
        Ok(texts.iter().map(|t| letters(t)).collect())
    };
    index.refresh_vectors_with(&SOURCE, &mut keep, &mut |_| {}, &Cancel::new()).unwrap();
    assert!(first.is_some_and(|text| text.contains("zulu")), "the last file by name is the one all others call");
}

#[test]
fn a_slow_embedder_keeps_what_it_made_before_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        write(folder.path(), &format!("{name}.ts"), &format!("export function {name}() {{}}\n"));
    }
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    let (cancel, mut calls) = (Cancel::new(), Vec::new());
    let mut embed = |texts: &[String]| {
        calls.push(texts.len());
        if calls.len() == 2 {
            cancel.cancel();
        }
        Ok(texts.iter().map(|text| letters(text)).collect())
    };
    let slow = Source { batch_texts: 1, ..SOURCE };
    assert!(index.refresh_vectors_with(&slow, &mut embed, &mut |_| {}, &cancel).is_err());
    assert_eq!(calls, [1, 1]);
    assert_eq!(index.chunks_with_vector("model").unwrap(), 2);
}

/// A vector of four numbers derived from the text's letters.
fn letters(text: &str) -> Vec<f32> {
    let mut counts = [1.0f32; 4];
    text.bytes().for_each(|b| counts[b as usize % 4] += 1.0);
    let length = counts.iter().map(|c| c * c).sum::<f32>().sqrt();
    counts.iter().map(|c| c / length).collect()
}

fn embed(index: &Index, embedded: &mut usize) -> usize {
    let mut count = |texts: &[String]| {
        *embedded += texts.len();
        Ok(texts.iter().map(|t| letters(t)).collect())
    };
    index.refresh_vectors_with(&SOURCE, &mut count, &mut |_| {}, &Cancel::new()).unwrap()
}

#[test]
fn vectors_can_be_searched_while_they_are_loaded_again() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.ts", "export function alpha() {}\n");
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    embed(&index, &mut 0);
    std::thread::scope(|scope| {
        let loads = scope.spawn(|| (0..200).for_each(|_| assert_eq!(index.load_vectors("model", 4).unwrap(), 1)));
        while !loads.is_finished() {
            assert_eq!(index.vector_count(), 1);
        }
    });
}

#[test]
fn vectors_of_deleted_chunks_are_not_found_and_lost_files_are_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.ts", "export function alpha() {}\n");
    write(folder.path(), "b.ts", "export function beta() {}\n");
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    let mut embedded = 0;
    embed(&index, &mut embedded);
    fs::remove_file(folder.path().join("a.ts")).unwrap();
    refresh(&index);
    assert_eq!(index.by_vector(&letters("alpha"), 5).unwrap().len(), 1);
    let nearest_to_deleted = letters("a alpha export function alpha");
    assert_eq!(index.by_vector(&nearest_to_deleted, 1).unwrap().len(), 1);
    drop(index);
    fs::write(folder.path().join(".monobloc/vectors.usearch"), "damaged").unwrap();
    let index = Index::open(folder.path()).unwrap();
    assert_eq!(index.load_vectors("model", 4).unwrap(), 1);
    assert_eq!(index.by_vector(&letters("beta"), 5).unwrap().len(), 1);
    embed(&index, &mut embedded);
    assert_eq!(embedded, 2);
}

#[test]
fn content_written_under_the_same_size_and_time_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.py", "def early():\n    pass\n");
    write(folder.path(), "b.py", "def other():\n    pass\n");
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    std::thread::sleep(Duration::from_millis(50));
    // By now, the stamps of recently written files are stored.
    assert_eq!(refresh(&index).parsed, 0);
    let time = fs::metadata(folder.path().join("a.py")).unwrap().modified().unwrap();
    let set_back = || {
        let file = fs::File::options().write(true).open(folder.path().join("a.py")).unwrap();
        file.set_modified(time).unwrap();
    };
    write(folder.path(), "a.py", "def later():\n    pass\n");
    set_back();
    assert_eq!(index.status(None).unwrap().changed, ["a.py"]);
    assert_eq!(refresh(&index).parsed, 1);
    // Another file replaces the old one, as when an editor saves or `mv` overwrites a file.
    write(folder.path(), "new", "def third():\n    pass\n");
    fs::rename(folder.path().join("new"), folder.path().join("a.py")).unwrap();
    set_back();
    refresh(&index);
    let names: Vec<String> = index.file_symbols("a.py").unwrap().into_iter().map(|symbol| symbol.name).collect();
    assert!(names.contains(&"third".to_owned()), "{names:?}");
    // A file that was touched but has its old content is not outdated.
    set_back();
    assert_eq!(index.status(None).unwrap().changed, Vec::<String>::new());
}

#[test]
fn every_definition_of_a_huge_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let count = 45_000;
    write(folder.path(), "made.py", &(0..count).map(|at| format!("def g{at}(): pass\n")).collect::<String>());
    let index = Index::open(folder.path()).unwrap();
    let report = refresh(&index);
    assert_eq!((report.symbols, report.partial.len()), (count + 1, 0));
    assert_eq!(index.symbols_named(&[format!("g{}", count - 1)]).unwrap().len(), 1);
    assert_eq!(index.gaps().unwrap(), None);
}

#[test]
fn names_of_documents_are_found_and_change_no_edge() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| write(folder.path(), path, text);
    write("pour.ts", "export function pour() {}\npour();\n");
    write("README.md", "# pour\n\n## Wash the cups\n");
    write("shelf.css", ".cup { color: red }\n");
    write("page.html", "<p id=\"saucer\">x</p>\n");
    write("house.yml", "kettle: 1\n");
    write("house.sql", "create table leaves (id int);\n");
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    for (name, kind) in
        [("Wash the cups", "section"), (".cup", "rule"), ("saucer", "element"), ("kettle", "key"), ("leaves", "table")]
    {
        let found = index.symbols_named(&[name.to_owned()]).unwrap();
        let found: Vec<&str> = found.iter().map(|symbol| symbol.kind.as_str()).collect();
        assert_eq!(found, [kind], "{name}");
        assert!(index.graph().unwrap().named(name).is_empty(), "{name}");
    }
    let graph = index.graph().unwrap();
    let meant: Vec<&str> = graph.named("pour").into_iter().map(|node| node.path.as_str()).collect();
    assert_eq!(meant, ["pour.ts"]);
    write("README.md", "# pour\n\n## Dry the cups\n");
    let mut resolved = 0;
    let mut note = |progress: Progress| {
        if progress.stage == Stage::Resolve {
            resolved = progress.total;
        }
    };
    index.refresh_lexical(&mut note, &Cancel::new()).unwrap();
    assert_eq!(resolved, 1, "a heading has no part in the edges of other files");
}

#[test]
fn what_a_limit_keeps_out_is_said() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.py", "def first():\n    pass\n");
    write(folder.path(), "icon.svg", "<svg/>");
    write(folder.path(), "huge.py", &"x = 1\n".repeat(400_000));
    write(folder.path(), "nested.py", &format!("x = {}1{}\n", "(".repeat(400), ")".repeat(400)));
    let index = Index::open(folder.path()).unwrap();
    refresh(&index);
    let gaps = index.gaps().unwrap().unwrap();
    assert!(
        gaps.contains("1 too large") && gaps.contains("only partly in the index: nested.py") && !gaps.contains("svg"),
        "{gaps}"
    );
    fs::remove_file(folder.path().join("huge.py")).unwrap();
    fs::remove_file(folder.path().join("nested.py")).unwrap();
    refresh(&index);
    assert_eq!(index.gaps().unwrap(), None);
}
