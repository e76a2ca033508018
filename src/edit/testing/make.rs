//! Commands of a project from the targets of its Makefile.

use super::files::Files;
use super::{Kit, Task};

pub struct Make {
    targets: Vec<String>,
}

pub fn kit(files: &Files<'_>) -> Option<Make> {
    let text =
        ["GNUmakefile", "makefile", "Makefile"].iter().map(|name| files.text(name)).find(|text| !text.is_empty())?;
    let rules = text.lines().filter(|line| !line.starts_with(['\t', ' ', '#', '.'])).filter(|line| !line.contains('='));
    let targets = rules.filter_map(|line| line.split_once(':')).flat_map(|(targets, _)| targets.split_whitespace());
    Some(Make { targets: targets.map(str::to_owned).collect() })
}

impl Kit for Make {
    fn whole(&self, task: Task) -> Option<String> {
        let names: &[&str] = match task {
            Task::Test => &["test", "tests", "check"],
            Task::Compile | Task::Build => &["build"],
            Task::Lint => &["lint"],
            Task::Format => &["format", "fmt"],
        };
        let name = names.iter().find(|name| self.targets.iter().any(|target| target == *name))?;
        Some(format!("make {name}"))
    }

    fn runs(&self, _: &str) -> bool {
        false
    }

    fn covering(&self, _: &[&str]) -> Option<String> {
        None
    }
}
