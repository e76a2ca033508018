//! Commands that test, compile, build, lint and format a Go project.

use super::files::{Files, all_quoted};
use super::{Kit, Task};
use crate::edit::paths::folder;

pub struct Go;

pub fn kit(files: &Files<'_>) -> Option<Go> {
    files.has("go.mod").then_some(Go)
}

impl Kit for Go {
    fn whole(&self, task: Task) -> Option<String> {
        let line = match task {
            Task::Test => "go test ./...",
            Task::Build => "go build ./...",
            // Compiles the tests as well, which `go build` does not.
            Task::Compile | Task::Lint => "go vet ./...",
            Task::Format => "gofmt -l -w .",
        };
        Some(line.to_owned())
    }

    fn runs(&self, path: &str) -> bool {
        path.ends_with("_test.go")
    }

    fn covering(&self, files: &[&str]) -> Option<String> {
        // Go tests packages, which are folders.
        let mut packages: Vec<String> = files.iter().map(|path| format!("./{}", folder(path))).collect();
        packages.sort_unstable();
        packages.dedup();
        let packages: Vec<&str> = packages.iter().map(|path| path.as_str()).collect();
        Some(format!("go test {}", all_quoted(&packages)))
    }
}
