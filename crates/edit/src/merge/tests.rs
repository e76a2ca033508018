//! Tests `merge` on code as a 1.5B model writes it, comparing the file after each merge.

mod as_written;
mod bounds;
mod by_query;
mod bytes;
mod cases;
mod certain;
mod go;
mod laws;
mod losses;
mod places;
mod projects;
mod python;
mod rust;
mod script;
mod scripts;

use super::*;

fn with(path: &str, before: &str, written: &str, hints: Hints) -> String {
    match merge(path, before, written, &hints) {
        Ok(merged) => {
            let again = merge(path, &merged.text, written, &hints).map(|again| again.text);
            assert!(
                matches!(again, Err(MergeError::NothingChanged | MergeError::OnlyModifiers { .. })),
                "written once more it changes again:\n{}\n--- then\n{again:?}",
                merged.text
            );
            merged.text
        }
        Err(error) => format!("error: {error}"),
    }
}

/// Asserts the text after a merge into `before`.
fn check(path: &str, before: &str, written: &str, expected: &str) {
    let text = with(path, before, written, Hints::default());
    assert!(text == expected, "{}", difference(expected, &text));
}

fn difference(expected: &str, text: &str) -> String {
    similar::TextDiff::from_lines(expected, text).unified_diff().header("expected", "got").to_string()
}

fn in_container(name: &str) -> Hints {
    Hints { container: Some(name.to_owned()), ..Hints::default() }
}
