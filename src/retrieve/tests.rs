//! Tests searches in a small project.

use std::fs;
use std::path::Path;

use super::*;
use crate::base::Cancel;

fn project() -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let filler = "  count(total, of, many, things);\n".repeat(30);
    write(
        "src/http/retry.ts",
        &format!(
            "/** Tries a request again after a pause. */\nexport function withRetry(attempts = 5) {{\n{filler}}}\n"
        ),
    );
    write(
        "src/http/client.ts",
        &format!(
            "import {{ withRetry }} from './retry';\nexport class Client {{\n  send() {{\n{filler}    withRetry();\n  }}\n}}\n"
        ),
    );
    write("src/http/pause.ts", &format!("export function pauseBetween() {{\n{filler}}}\n"));
    write(
        "tests/retry.test.ts",
        "import { withRetry } from '../src/http/retry';\nwithRetry(); // retry again after a pause\n",
    );
    write("README.md", "# A client\n\nIt can retry a request.\n");
    write("src/http/index.ts", "export { Agent } from 'undici';\nexport { withRetry } from './retry';\n");
    let index = Index::open(folder.path()).unwrap();
    index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
    (folder, index)
}

fn check(index: &Index, query: &str, first: &str) -> Hits {
    let found = search(index, query, None, 10).unwrap();
    let paths: Vec<&str> = found.hits.iter().map(|h| h.path.as_str()).collect();
    assert_eq!(paths.first().copied(), Some(first), "{query}: {paths:?}");
    found
}

#[test]
fn names_and_prose_find_the_definition_and_tests_only_if_asked_for() {
    let (_folder, index) = project();
    check(&index, "withRetry", "src/http/retry.ts");
    check(&index, "how are requests tried again after a pause", "src/http/retry.ts");
    check(&index, "pause between things", "src/http/pause.ts");
    check(&index, "test of retry after a pause", "tests/retry.test.ts");
    check(&index, "Client", "src/http/client.ts");
    // Defined outside the project, so its re-export is found.
    check(&index, "Agent", "src/http/index.ts");
}

#[test]
fn a_hit_has_its_lines_and_the_parts_of_its_score() {
    let (_folder, index) = project();
    let found = check(&index, "withRetry", "src/http/retry.ts");
    let hit = &found.hits[0];
    assert_eq!(
        (hit.start, hit.end, hit.symbol.as_deref(), hit.kind.as_deref()),
        (1, 33, Some("withRetry"), Some("function"))
    );
    let sums: f64 = hit.parts.iter().filter(|(name, _)| !name.starts_with('×')).map(|(_, v)| v).sum();
    let factors: f64 = hit.parts.iter().filter(|(name, _)| name.starts_with('×')).map(|(_, v)| v).product();
    assert!((sums * factors - hit.score).abs() < 1e-9, "{hit:?}");
    assert!(hit.parts.iter().any(|(name, value)| *name == "definition" && *value >= 3.0));
}

#[test]
fn callers_are_found_with_the_functions_they_call() {
    let (_folder, index) = project();
    let found = search(&index, "withRetry", None, 10).unwrap();
    let client = found.hits.iter().find(|h| h.path == "src/http/client.ts").expect("the caller");
    assert!(client.parts.iter().any(|(name, _)| *name == "graph"), "{client:?}");
}

#[test]
fn a_search_without_vectors_or_without_hits_says_so() {
    let (_folder, index) = project();
    assert_eq!(search(&index, "retry", None, 3).unwrap().notes, ["lexical only: no embedder"]);
    assert_eq!(search(&index, "retry", Some(&[1.0]), 3).unwrap().notes, ["lexical only: no vectors computed yet"]);
    let nothing = search(&index, "zebra", None, 3).unwrap();
    assert!(
        nothing.hits.is_empty() && nothing.notes[1].contains("zebra stands in the 6 indexed files"),
        "{:?}",
        nothing.notes
    );
    let empty = tempfile::tempdir().unwrap();
    let nothing = search(&Index::open(Path::new(empty.path())).unwrap(), "retry", None, 3).unwrap();
    assert!(nothing.notes[1].contains("the index is empty"));
}
