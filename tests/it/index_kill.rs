//! A process killed while indexing leaves a usable index, which the next run completes.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::cli::{Project, Run};

/// Number of kills, each at a different moment and after a different edit.
const ROUNDS: u64 = 6;
/// Number of files; each refers to a name in the next one.
const FILES: u64 = 120;

fn write_all(project: &Path, round: u64) {
    for file in 0..FILES {
        // Every round changes some names, so edges of unchanged files become stale.
        let name = if file % 3 == 0 { format!("moved{}_{round}", file) } else { format!("kept{file}") };
        let other = (file + 1) % FILES;
        let text = format!(
            "import {{ kept{other} }} from './f{other}';\nexport function {name}() {{\n  return kept{other}();\n}}\n"
        );
        fs::write(project.join(format!("f{file}.ts")), text).expect("a file");
    }
}

fn indexed(project: &Project) -> Value {
    Run::new(project, &["index", "--json"]).end().succeeded().lines().remove(0)
}

#[test]
fn a_killed_run_is_completed_by_the_next() {
    let project = Project::todo();
    for round in 0..ROUNDS {
        write_all(&project.path(), round);
        let running = Run::new(&project, &["index", "--json"]).start();
        thread::sleep(Duration::from_millis(20 + 90 * round));
        drop(running);
        // The index is usable immediately, at least for search by words.
        let found = Run::new(&project, &["search", "add a task to the list", "--json"]).end().succeeded();
        assert!(!found.lines().is_empty());
    }
    write_all(&project.path(), ROUNDS);
    let completed = indexed(&project);
    assert_eq!(completed["chunks"], completed["chunks_with_vector"]);
    fs::remove_dir_all(project.path().join(".monobloc")).expect("an index");
    let clean = indexed(&project);
    for what in ["files", "chunks", "chunks_with_vector", "symbols", "edges", "unresolved"] {
        assert_eq!(completed[what], clean[what], "{what}");
    }
}

#[test]
fn index_status_reports_an_index_and_a_missing_one() {
    let project = Project::todo();
    let none = Run::new(&project, &["index", "status"]).end();
    assert!(none.code == Some(1) && none.err.contains("monobloc index"), "{none:#?}");
    let wrong = Run::new(&project, &["index", "no/such/folder"]).end();
    assert!(wrong.code == Some(1) && wrong.err.contains("no/such/folder"), "{wrong:#?}");
    let report = indexed(&project);
    let status = Run::new(&project, &["index", "status", "--json"]).end().succeeded().lines().remove(0);
    for what in ["files", "chunks", "chunks_with_vector", "symbols", "edges", "unresolved"] {
        assert_eq!(status[what], report[what], "{what}");
    }
    assert_eq!((&status["changed"], &status["unfinished"]), (&Value::Array(Vec::new()), &Value::Bool(false)));
}
