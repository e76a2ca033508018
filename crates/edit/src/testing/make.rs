//! Finds a project's commands among the targets of its Makefile.

use super::files::Files;
use super::{Kit, Task};

pub fn kit(files: &Files<'_>) -> Option<Kit> {
    let text =
        ["GNUmakefile", "makefile", "Makefile"].iter().map(|name| files.text(name)).find(|text| !text.is_empty())?;
    let rules = text.lines().filter(|line| !line.starts_with(['\t', ' ', '#', '.'])).filter(|line| !line.contains('='));
    let targets = rules.filter_map(|line| line.split_once(':')).flat_map(|(targets, _)| targets.split_whitespace());
    let targets: Vec<&str> = targets.collect();
    let names: [(Task, &[&str]); 5] = [
        (Task::Test, &["test", "tests", "check"]),
        (Task::Compile, &["build"]),
        (Task::Build, &["build"]),
        (Task::Lint, &["lint"]),
        (Task::Format, &["format", "fmt"]),
    ];
    let known = names.iter().filter_map(|(task, names)| {
        let name = names.iter().find(|name| targets.contains(name))?;
        Some((*task, format!("make {name}")))
    });
    Some(Kit { whole: known.collect(), lacks: None, runs: |_| false, covering: Box::new(|_| None) })
}
