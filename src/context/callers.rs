//! Lists the definitions that use a name, by file, so that the model need not see their code.

use crate::edit::{is_comment, testing};
use crate::index::{Definition, Index, Kind, language_of, outline};
use crate::language::grounding;
use crate::tools::Context;

use super::mentions::Mentions;
use crate::context::{is_declaration, text_of};

/// Most names whose users are listed, and most users of one; a name with more is left out.
const NAMES_MAX: usize = 2;
const USERS_MAX: usize = 12;

/// A line for each of the first symbols: the functions that use it. Test files count only if the text speaks of tests, type declarations never.
pub fn of(context: &Context, index: &Index, mentions: &Mentions) -> String {
    let names = mentions.symbols.iter().take(NAMES_MAX).map(|symbol| symbol.name.as_str());
    names.filter_map(|name| line(context, index, name, mentions.speaks_of_tests)).collect()
}

fn line(context: &Context, index: &Index, name: &str, with_tests: bool) -> Option<String> {
    let mut by_file = Vec::new();
    let mut count = 0;
    for path in index.paths().ok()? {
        if !crate::edit::has_grammar(&path) || is_declaration(&path) || !with_tests && testing::is_test(&path) {
            continue;
        }
        let Some(text) = text_of(context, &path).filter(|text| text.contains(name)) else { continue };
        let definitions = outline(language_of(&path), &text).definitions;
        let users = users(&definitions, &text, name);
        count += users.len();
        if !users.is_empty() {
            by_file.push(format!("{} ({path})", users.join(", ")));
        }
    }
    (1..=USERS_MAX).contains(&count).then(|| format!("`{name}` is used by {}.\n\n", by_file.join("; ")))
}

/// Functions and methods, other than `name` itself, that have the name in them, in the order of the file.
fn users<'d>(definitions: &'d [Definition], text: &str, name: &str) -> Vec<&'d str> {
    let mut users = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| grounding::is_backed(line, name)) {
        let holds = |one: &&Definition| {
            one.start <= at + 1 && at < one.end && matches!(one.kind, Kind::Function | Kind::Method)
        };
        let around = definitions.iter().filter(holds).min_by_key(|one| one.end - one.start);
        if let Some(one) =
            around.filter(|one| one.name != name && !is_comment(line) && !users.contains(&one.name.as_str()))
        {
            users.push(&one.name);
        }
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_name_are_the_functions_around_its_uses() {
        let text = "class A {\n  constructor() {\n    this.width = 3;\n  }\n  wide() {\n    // width\n    return 1;\n  }\n  wrap() {\n    return this.width;\n  }\n  width() {\n    return this.width;\n  }\n}\n";
        let definitions = outline("javascript", text).definitions;
        assert_eq!(users(&definitions, text, "width"), ["constructor", "wrap"]);
    }
}
