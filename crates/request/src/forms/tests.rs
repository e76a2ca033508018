//! Tests which built-in tool the wording of a clause selects.

use super::*;
use crate::language::clauses::parts;

fn check(step: &str, symbol: Option<&str>, expected: Option<Builtin>) {
    assert_eq!(asked(&parts(step)[0], symbol), expected, "{step}");
}

#[test]
fn imports_and_dependents_are_told_apart_by_word_order() {
    check("which files import src/pull.rs", None, Some(Builtin::IndexDependents));
    check("What depends on src/lib.rs?", None, Some(Builtin::IndexDependents));
    check("List the files that import src/lib.rs", None, Some(Builtin::IndexDependents));
    check("What are the dependencies of src/pull.rs?", None, Some(Builtin::IndexImports));
}

#[test]
fn callers_and_callees_are_told_apart_by_word_order() {
    check("What pump does Boiler use unless told another?", Some("Boiler"), Some(Builtin::IndexSearch));
    check("Which functions does run use?", Some("run"), Some(Builtin::IndexCallees));
    let save = Some("Store.save");
    check("Show me who calls Store.save", save, Some(Builtin::IndexCallers));
    check("Find out what Store.save calls", save, Some(Builtin::IndexCallees));
    check("Where is Store.save used?", save, Some(Builtin::IndexCallers));
    check("where's Store.save called? function names please", save, Some(Builtin::IndexCallers));
    check("Where are parseDate calls made?", Some("parseDate"), Some(Builtin::IndexCallers));
    check("Which functions does Store.save use?", save, Some(Builtin::IndexCallees));
    check("What would break if I rename Store.save?", save, Some(Builtin::IndexImpact));
}

#[test]
fn places_and_open_questions_go_to_the_index() {
    check("Explain what Pool.lease does", Some("Pool.lease"), Some(Builtin::IndexSearch));
}

#[test]
fn whole_files_and_text_in_files_are_told_apart() {
    check("Could you rename src/a.rs to src/b.rs", None, Some(Builtin::MoveFile));
    check("Remove config.json from .gitignore", None, Some(Builtin::ReplaceInFile));
    check("Remove jquery.min.js from index.html", None, Some(Builtin::ReplaceInFile));
    check("Delete old.css import from a.html", None, Some(Builtin::ReplaceInFile));
    check("Rename config.json in README.md to settings.json", None, Some(Builtin::ReplaceInFile));
    check("Delete the notes.txt link", None, None);
    check("Delete notes.txt from the list", None, None);
    check("Get rid of a.txt of the backup", None, None);
    check("Move a.rs out of src/ of the project", None, None);
    check("Delete a.txt and b.txt", None, Some(Builtin::DeleteFile));
    check("Move a.txt, please", None, Some(Builtin::MoveFile));
    check("Delete every file below tmp", None, None);
    check("In src/app.rs remove the field of Store", None, Some(Builtin::ReplaceInFile));
    check("Where in src/app.rs do we delete rows?", None, None);
    check("Remove the word old from the title", None, None);
    check("Take the line about retries out of notes.md", None, Some(Builtin::ReplaceInFile));
    check("Get rid of the TODO in src/b.rs", None, Some(Builtin::ReplaceInFile));
    check("Strip the comments from src/b.rs", None, Some(Builtin::ReplaceInFile));
    check("Remove from notes.md the line about retries", None, Some(Builtin::ReplaceInFile));
    check("Drop a TODO in src/b.rs", None, None);
    check("Drop a note about the deadline in notes.md", None, None);
    check("Leave a comment in src/a.rs that we time out", None, None);
    check("Leave debug off in config.toml", None, None);
}

#[test]
fn similar_words_in_another_form_get_another_tool() {
    check("Show me where git status is parsed", None, Some(Builtin::IndexSearch));
    check("Explain how the git log is read", None, Some(Builtin::IndexSearch));
    check("List src/", None, Some(Builtin::ListDir));
    check("How many folders are in tests/?", None, Some(Builtin::ListDir));
    check("How many files in src/ import a.ts?", None, None);
}

#[test]
fn a_question_that_names_a_file_reads_it() {
    for step in [
        "Look in src/retry.ts: how many times is a request tried?",
        "How many pauses are there in src/retry.ts?",
        "In src/retry.ts, how many pauses are there?",
        "What does src/retry.ts do?",
        "What is PAUSE_MS in src/retry.ts?",
        "See README.md",
        "Take a look at colours.toml",
        "Which edition does Cargo.toml say?",
        "Tell me what scripts/deploy does",
        "Let me see scripts/deploy",
        "Explain src/oven/door.rs",
        "cat src/main.rs",
        "Compare a.ts and b.ts",
        "For src/retry.ts, tell me what it does",
        "See src/retry.ts. How often is a request tried?",
        "How many times is a request tried? Look in src/retry.ts",
        "According to README.md, how often is a request tried?",
    ] {
        check(step, None, Some(Builtin::ReadFile));
    }
    check("Run scripts/demo", None, Some(Builtin::RunCommand));
    check("Show me the file called notes.md", None, Some(Builtin::ReadFile));
    check("Which functions are called in the file src/app.rs?", None, Some(Builtin::IndexReadFile));
    check("Show the history of src/app.rs", None, None);
}

#[test]
fn text_looked_for_in_files_is_searched() {
    for step in [
        "Search the code for HACK",
        "Find all TODO comments",
        "Find each line that says \"not sorted\"",
        "Which files contain the phrase retry?",
        "How often does the text volatile occur?",
        "Does anything mention seccomp?",
        "Show all lines with OVEN_",
        "Find the word volatile in src/door.rs",
        "Is there any TODO in src/oven.rs?",
        "Look for \"thermostat\" in src/",
    ] {
        check(step, None, Some(Builtin::SearchText));
    }
    check("Check the tests with the command line", None, None);
    check("Search for the code that reads headers", None, Some(Builtin::IndexSearch));
    check("Create list.md with the text flour", None, Some(Builtin::WriteFile));
}

#[test]
fn files_are_found_by_name_and_folders_listed() {
    for step in [
        "Find all TOML files",
        "Which Python files are there?",
        "Is there any file called oven.bin?",
        "List the rust files under src/oven",
        "Where is the file door.rs?",
    ] {
        check(step, None, Some(Builtin::FindFiles));
    }
    for step in [
        "ls src/",
        "Show the folder src/oven",
        "What does the directory src/oven contain?",
        "Show the directory tree below src/oven",
        "List everything in this folder",
        "Which files are there?",
    ] {
        check(step, None, Some(Builtin::ListDir));
    }
}

#[test]
fn changes_in_a_file_and_new_files_are_told_apart() {
    for step in [
        "In src/retry.ts change the number of pauses from 6 to 4",
        "Bump the version in setup.cfg to 1.0.0",
        "Add a comment before fn bake in src/main.rs",
        "Append a line \"Credits\" to README.md",
        "Make PAUSE_MS in src/retry.ts 70",
        "Insert `use std::io;` at the beginning of src/oven.rs",
        "Comment out line 8 of src/main.rs",
    ] {
        check(step, None, Some(Builtin::ReplaceInFile));
    }
    for step in [
        "Create a file list.md with the text flour",
        "Make the new file src/door.rs",
        "Write \"x, y\" to data.csv",
        "Save a table of the modules to modules.md",
        "Add a file LICENSE for the ISC terms",
    ] {
        check(step, None, Some(Builtin::WriteFile));
    }
    check("Write tests for src/util.rs", None, None);
    check("Create a function parse in src/util.rs", None, Some(Builtin::ReplaceInFile));
    check("Write documentation in src/util.rs", None, Some(Builtin::ReplaceInFile));
    check("Write the answer in a file called notes.md", None, Some(Builtin::WriteFile));
    check("Save the answer in notes.md", None, Some(Builtin::WriteFile));
    check("Update me about what is new in src/util.rs", None, None);
    check("Refactor the app: create src/entry.tsx with the text \"x\"", None, Some(Builtin::WriteFile));
}

#[test]
fn questions_about_lessons_list_them() {
    check("What did we learn about tests?", None, Some(Builtin::IndexListMemories));
    check("Which lessons did you note?", None, Some(Builtin::IndexListMemories));
    check("What worked before?", None, Some(Builtin::IndexListMemories));
    check("How is memory estimated?", None, Some(Builtin::IndexSearch));
}

#[test]
fn relations_of_code_are_found_in_many_wordings() {
    let select = Some("Oven.bake");
    check("Find usages of Oven.bake", select, Some(Builtin::IndexCallers));
    check("List every caller of Oven.bake", select, Some(Builtin::IndexCallers));
    check("Who calls Oven.bake in src/app.rs?", select, Some(Builtin::IndexCallers));
    check("Which methods are called by Oven.bake?", select, Some(Builtin::IndexCallees));
    check("Show the definition of Oven.bake", select, Some(Builtin::IndexFindFiles));
    check("Move the definition of Oven.bake", select, None);
    check("What happens if I change Oven.bake?", select, Some(Builtin::IndexImpact));
    check("Where does the trait Bakes live?", Some("Bakes"), Some(Builtin::IndexFindFiles));
    check("Which modules does src/oven.rs depend on?", None, Some(Builtin::IndexImports));
    check("Where is src/oven/door.rs used?", None, Some(Builtin::IndexDependents));
    check("What is defined in lib/oven/door.rs?", None, Some(Builtin::IndexReadFile));
}

#[test]
fn requests_to_run_something_become_commands() {
    check("Git status", None, Some(Builtin::RunCommand));
    check("Run the tests", None, Some(Builtin::RunCommand));
    check("Build the project", None, Some(Builtin::RunCommand));
    check("Run the command `echo hello`", None, Some(Builtin::RunCommand));
    check("Please execute ./deploy.sh", None, Some(Builtin::RunCommand));
    check("Check the types with npx tsc", None, Some(Builtin::RunCommand));
    check("Replace fetch with node fetch in src/a.ts", None, Some(Builtin::ReplaceInFile));
    check("Build a parser for dates", None, None);
    check("Git is what my team uses", None, None);
}
