//! Tests edits by name in random functions of real projects.
//!
//! Each function gets a comment as its first line; nothing else may change.

use crate::index::parts::{self, Sort};
use crate::{Edit, apply};

use super::Hints;

/// Number of functions tried per project.
const TRIED: usize = 30;

/// Project, file extensions, and comment sign.
const PROJECTS: &[(&str, &[&str], &str)] = &[
    ("jq", &["c"], "//"),
    ("spdlog", &["h", "cpp"], "//"),
    ("Dapper", &["cs"], "//"),
    ("jsoup", &["java"], "//"),
    ("koin", &["kt"], "//"),
    ("Penlight", &["lua"], "--"),
    ("Twig", &["php"], "//"),
    ("faraday", &["rb"], "#"),
    ("upickle", &["scala"], "//"),
    ("nvm", &["sh"], "#"),
    ("Kingfisher", &["swift"], "//"),
];

#[test]
#[ignore = "a measurement for BENCHMARKS.md: MONOBLOC_PROJECTS names the folder with the projects"]
fn edits_by_name_in_real_projects() {
    let folder = std::env::var("MONOBLOC_PROJECTS").expect("MONOBLOC_PROJECTS names the folder with the projects");
    for (project, endings, mark) in PROJECTS {
        let root = std::path::Path::new(&folder).join(project);
        let mut all: Vec<(String, String, parts::Span)> = Vec::new();
        for entry in ignore::Walk::new(&root).flatten() {
            let path = entry.path().to_string_lossy().into_owned();
            if endings.iter().any(|ending| path.ends_with(&format!(".{ending}")))
                && let Ok(text) = std::fs::read_to_string(entry.path())
                && parts::faults(&path, &text).is_empty()
            {
                let spans = parts::definitions(&path, &text).into_iter();
                let spans = spans
                    .filter(|one| one.sort == Sort::Function && one.lines.1 > one.lines.0 + 1 && one.body.is_some());
                all.extend(spans.map(|one| (path.clone(), text.clone(), one)));
            }
        }
        all.sort_by(|a, b| (&a.0, a.2.bytes.start).cmp(&(&b.0, b.2.bytes.start)));
        fastrand::Rng::with_seed(5).shuffle(&mut all);
        let (mut done, mut refused, mut wrong) = (0, Vec::new(), Vec::new());
        for (path, text, span) in all.iter().take(TRIED) {
            let line_of = |at: usize| text[at..].find('\n').map(|end| at + end + 1);
            let Some(line) = span.body.as_ref().and_then(|body| line_of(body.start)) else { continue };
            if line >= span.bytes.end {
                continue;
            }
            // In the same column as the line below.
            let below = text[line..].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let added = format!("{}{mark} as before\n", &below[..below.len() - below.trim_start().len()]);
            let line_start = text[..span.bytes.start].rfind('\n').map_or(0, |end| end + 1);
            let code = format!("{}{added}{}", &text[line_start..line], &text[line..span.bytes.end]);
            let expected = format!("{}{added}{}", &text[..line], &text[line..]);
            let name =
                span.container.iter().map(String::as_str).chain([span.name.as_str()]).collect::<Vec<_>>().join(".");
            match apply(path, text, &Edit::Definition { name: Some(&name), code: &code, hints: Hints::default() }) {
                Ok(applied) if applied.text == expected => done += 1,
                Ok(applied) => wrong.push(format!("{path}: {name}\n{}", super::difference(&expected, &applied.text))),
                Err(why) => refused.push(format!("{path}: {name}: {why}")),
            }
        }
        println!(
            "{project}: {} functions, {done} edited, {} refused, {} otherwise",
            all.len(),
            refused.len(),
            wrong.len()
        );
        refused.iter().chain(&wrong).for_each(|one| println!("   {one}"));
    }
}
