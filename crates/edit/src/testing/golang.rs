//! Commands that test, compile, build, lint and format a Go project.

use super::files::{Files, all_quoted};
use super::{Kit, Task};
use crate::paths::folder;

pub fn kit(files: &Files<'_>) -> Option<Kit> {
    let whole = [
        (Task::Test, "go test ./..."),
        (Task::Build, "go build ./..."),
        // Unlike `go build`, this also compiles the tests.
        (Task::Compile, "go vet ./..."),
        (Task::Lint, "go vet ./..."),
        (Task::Format, "gofmt -l -w ."),
    ];
    let covering = |files: &[&str]| {
        // Go tests packages, which are folders.
        let mut packages: Vec<String> = files.iter().map(|path| format!("./{}", folder(path))).collect();
        packages.sort_unstable();
        packages.dedup();
        let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
        Some(format!("go test {}", all_quoted(&packages)))
    };
    files.has("go.mod").then(|| Kit {
        whole: whole.map(|(task, line)| (task, line.to_owned())).into(),
        lacks: None,
        runs: |path| path.ends_with("_test.go"),
        covering: Box::new(covering),
    })
}
