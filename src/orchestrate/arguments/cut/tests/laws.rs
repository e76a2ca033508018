//! What holds for every file and every step.

use proptest::prelude::*;
use proptest::sample::select;

use super::{settle_removal, settled};

proptest! {
    #[test]
    fn only_the_line_that_answers_goes(
        what in "[a-z]{5,8}",
        before in "([b-z #{},:]{0,12}\n){0,6}",
        behind in "([b-z #{},:]{0,12}\n){0,6}",
        windows in any::<bool>(),
        open in any::<bool>(),
    ) {
        // No other line has its first letter.
        let line = format!("- a{what} x");
        let file = format!("{before}{line}\n{behind}");
        let (mut file, mut left) = (file, format!("{before}{behind}"));
        if open {
            file.pop();
            left.pop();
        }
        if windows {
            (file, left) = (file.replace('\n', "\r\n"), left.replace('\n', "\r\n"));
        }
        let edits = settled(&format!("remove the line about a{what} from a.rs"), &file).expect("a place");
        prop_assert_eq!(edits.len(), 1);
        prop_assert_eq!(file.matches(edits[0].old.as_str()).count(), 1);
        let after = file.replacen(&edits[0].old, &edits[0].new, 1);
        // A second blank line has gone with it, or a comma before a closing bracket has.
        let bare = |text: &str| text.split_whitespace().collect::<String>().replace(',', "");
        prop_assert_eq!(bare(&after), bare(&left));
    }

    #[test]
    fn a_numbered_line_goes_alone(
        lines in prop::collection::vec("[a-c ,\\]{}/#-]{0,6}", 1..8),
        at in 0..8_usize,
        open in any::<bool>(),
    ) {
        let at = at % lines.len();
        let end = if open { "" } else { "\n" };
        let file = lines.join("\n") + end;
        let mut left = lines.clone();
        left.remove(at);
        let left = if left.is_empty() { String::new() } else { left.join("\n") + end };
        if let Ok(edits) = settled(&format!("delete line {} from a.md", at + 1), &file) {
            prop_assert_eq!(file.replacen(&edits[0].old, &edits[0].new, 1), left);
        }
    }

    #[test]
    fn no_step_and_no_file_make_it_panic(step in "\\PC{0,60}", file in "(\\PC|\n){0,120}", path in select(&PATHS[..])) {
        for form in FORMS {
            let _ = settle_removal(&format!("{form} {step} from {path}"), path, &file);
        }
    }

    #[test]
    fn no_text_among_its_like_makes_it_panic(text in "[a, \\]\\[\"]{1,5}", file in "[a, \\]\\[\"\n]{0,30}") {
        for form in FORMS {
            let _ = settled(&format!("{form} '{text}' from a.py"), &file);
            let _ = settled(&format!("{form} `{text}` from a.md"), &file);
        }
    }

    #[test]
    fn comments_of_signs_alone_make_no_panic(file in "[/*#\"'! \n<>a-]{0,60}", path in select(&PATHS[..])) {
        let _ = settle_removal(&format!("remove all comments from {path}"), path, &file);
    }
}

const PATHS: [&str; 9] = ["a.md", "a.rs", "a.ts", "a.json", "a.yml", "a.toml", "a.c", "a.sh", "a.html"];

const FORMS: [&str; 7] = [
    "remove",
    "take out",
    "delete the line about",
    "remove the function",
    "strip the comment",
    "delete the word",
    "remove the section",
];
