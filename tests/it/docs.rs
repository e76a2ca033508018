//! Compares the documentation with the program: pages generated from tables and types, links that
//! have a target, commands that parse.
//!
//! `UPDATE_DOCS=1 cargo test --release --test it docs::` rewrites the generated parts.

mod events;
mod requirements;

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use monobloc::config::setting::{Kind, SETTINGS, Setting, Trust};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The generated part of a page is between these two lines.
const BEGIN: &str = "<!-- made by tests/it/docs.rs: begin -->\n";
const END: &str = "<!-- made by tests/it/docs.rs: end -->\n";

/// Compares the generated part of `page` with `expected`.
fn check(page: &str, expected: &str) {
    let file = root().join(page);
    let text = fs::read_to_string(&file).expect(page);
    let (head, rest) = text.split_once(BEGIN).expect("a line where it begins");
    let (made, tail) = rest.split_once(END).expect("a line where it ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, format!("{head}{BEGIN}{expected}{END}{tail}")).expect(page);
    } else {
        assert!(made == expected, "{page} is out of date: UPDATE_DOCS=1 cargo test --release --test it docs::");
    }
}

#[test]
fn the_settings_page_is_the_table_of_settings() {
    let mut page = String::from(
        "| key | flag, variable | default | what it says | values | a project's own file |\n|---|---|---|---|---|---|\n",
    );
    for setting in &SETTINGS {
        page += &row(setting);
    }
    check("docs/settings.md", &page);
}

fn row(setting: &Setting) -> String {
    let Setting { key, variable, flag, kind, default, about, project } = setting;
    let (about, said) = match about.split_once(" [default: ") {
        Some((about, said)) => (about, Some(said.trim_end_matches(']'))),
        None => (*about, None),
    };
    let default = default.map(|value| format!("`{value}`")).or(said.map(str::to_owned)).unwrap_or_default();
    let variable = if setting.is_negated() { format!("`{variable}` (the opposite)") } else { format!("`{variable}`") };
    let dashes = if *kind == Kind::Switch && setting.default == Some("true") { "--no-" } else { "--" };
    let flag = flag.trim_start_matches("no-");
    let values = match kind {
        Kind::Path => "a path".to_owned(),
        Kind::Paths => "paths, `:` between them; in a file a list".to_owned(),
        Kind::Size => "a size: `8GiB`".to_owned(),
        Kind::Url => "a URL: `http://HOST:PORT/v1`".to_owned(),
        Kind::Switch => "`true`, `false`".to_owned(),
        Kind::Count(least, most) => format!("{least} to {most}"),
        Kind::Thinking => "`off`, `auto` or a number".to_owned(),
        Kind::Number(least, most) => format!("{least} to {most}"),
        Kind::Share => "0 to 1, or per cent above 1".to_owned(),
        Kind::Choice(choices) => choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", "),
    };
    let project = match project {
        Trust::Free => "may set it",
        Trust::Lower => "may lower it",
        Trust::Stricter => "may make it stricter",
        Trust::Never => "only after `config trust`",
        Trust::NotInFiles => "never: not in any file",
    };
    format!("| `{key}` | `{dashes}{flag}`, {variable} | {default} | {about} | {values} | {project} |\n")
}

#[test]
fn the_events_page_is_made_from_the_types() {
    check("docs/events.md", &events::page(&root().join("src")));
}

fn pages() -> Vec<PathBuf> {
    let folders = [root().to_owned(), root().join("docs"), root().join("docs/history")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let files = entries.map(|entry| entry.expect("an entry").path());
    files.filter(|file| file.extension().is_some_and(|end| end == "md")).collect()
}

/// The targets of `[text](place)`, except web pages.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let places = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(place, _)| place));
    places.filter(|place| !place.contains("://"))
}

/// The anchor that a renderer makes for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let mut checked = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text) {
            let (file, mark) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            let there = || fs::read_to_string(&target).expect("a page");
            let found = mark.is_empty()
                || there().lines().any(|line| line.starts_with('#') && anchor(line.trim_start_matches('#')) == mark);
            assert!(found, "{}: no heading for {link}", page.display());
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links were found");
}

/// Command lines of the program in `text`: in code spans and code blocks.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2).flat_map(str::lines).map(|line| line.trim_start_matches("$ "));
    let prose: String = text.split("```").step_by(2).collect();
    let spans: Vec<String> = prose.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")).collect();
    let all = blocks.map(str::to_owned).chain(spans);
    all.filter(|line| line.starts_with("monobloc "))
        .map(|line| line.split("  #").next().unwrap_or("").to_owned())
        .collect()
}

/// `monobloc eval tools` in a sentence names a verb without its arguments.
fn names_only_the_verb(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::MissingRequiredArgument
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayHelp
    )
}

/// The program's own parser must accept each command, with a word in place of each placeholder.
#[test]
fn every_command_in_the_documentation_parses() {
    let mut checked = 0;
    // Commands in the changelog and in past measurements are those of older versions.
    let past =
        |page: &Path| page.ends_with("CHANGELOG.md") || page.parent().is_some_and(|dir| dir.ends_with("history"));
    for page in pages().into_iter().filter(|page| !past(page)) {
        for command in commands(&fs::read_to_string(&page).expect("a page")) {
            if command.contains('…') || command.contains("VERB") || command.contains('|') {
                continue;
            }
            let words = shlex::split(&command).unwrap_or_else(|| panic!("{}: {command}", page.display()));
            if let Err(error) = monobloc::ui::cli::parse(&words)
                && !names_only_the_verb(error.kind())
            {
                panic!("{}: `{command}`: {error}", page.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} commands were found");
}
