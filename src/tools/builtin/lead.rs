//! The descriptions of [`LEAD`](super::LEAD). They are short because a model that leads reads all
//! of them in every prompt.

use serde_json::{Value, json};

use super::{Builtin, schema};

/// The purpose of the tool, and the tool to use instead for related purposes.
pub fn description(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::ReadFile => "Show a text file with line numbers, whole or a range of lines.",
        Builtin::DescribeImage => {
            "Describe a picture (PNG, JPEG, WebP, GIF), with the text in it, as a model that sees reads it; with \
             `question`, the answer to that."
        }
        Builtin::FindFiles => {
            "Find files by name, such as *.toml, src/**/mod.rs or a part of a path; without a pattern, list the folder \
             `path`. Looks at names, not into files."
        }
        Builtin::SearchText => "Find lines that hold a text or match a regular expression, with file and line.",
        Builtin::IndexSearch => {
            "Search code by meaning: where or how something is done, in plain words. For an exact text use search_text."
        }
        Builtin::Outline => {
            "What a file of code defines, each with signature and lines; with `name`, the code of that one definition."
        }
        Builtin::Graph => {
            "Relations of code. callers, callees: of a function; impact: all that a change of it may reach; imports: \
             of a file; dependents: the files that import it."
        }
        Builtin::Edit => {
            "Change an existing file. Either `edits`: each `old` text, exactly as in the file and only once in it, \
             becomes `new`; all of them or none. Or `definition` with `code`: the whole new text of a function, method \
             or type takes the place of the old one, or is added; members that `code` leaves out stay."
        }
        Builtin::WriteFile => "Create a file, or replace one whole. To change a part use edit.",
        Builtin::MoveFile => "Move or rename a file.",
        Builtin::DeleteFile => "Delete a file.",
        Builtin::RunCommand => {
            "Run a shell command in the project: build, tests, git. Files are read and edited by the other tools."
        }
        Builtin::Plan => {
            "Set the checklist of this task, which the user sees: every item with its state. Use it when an item is \
             done or dropped, or one is added."
        }
        other => super::description(other),
    }
}

/// The JSON schema of its arguments.
pub fn parameters(builtin: Builtin) -> Value {
    const PATH: (&str, &str, &str, bool) = ("path", "string", "File", true);
    match builtin {
        Builtin::ReadFile => schema(&[
            PATH,
            ("start_line", "integer", "First line, from 1", false),
            ("end_line", "integer", "Last line", false),
        ]),
        Builtin::DescribeImage => schema(&[PATH, ("question", "string", "Question about it", false)]),
        Builtin::FindFiles => schema(&[
            ("pattern", "string", "Name, part of a path, or wildcards", false),
            ("path", "string", "Folder; the project if left out", false),
        ]),
        Builtin::SearchText => schema(&[
            ("pattern", "string", "Text; without capitals any case", true),
            ("path", "string", "File or folder", false),
            ("regex", "boolean", "The pattern is a regular expression", false),
        ]),
        Builtin::IndexSearch => schema(&[("question", "string", "Question", true)]),
        Builtin::Outline => schema(&[PATH, ("name", "string", "Name or Type.name", false)]),
        Builtin::Graph => {
            let mut graph = schema(&[
                ("name", "string", "Function, Type.name, or file", true),
                ("relation", "string", "Which relation", true),
            ]);
            graph["properties"]["relation"]["enum"] = json!(["callers", "callees", "impact", "imports", "dependents"]);
            graph
        }
        Builtin::Edit => {
            let mut edit = schema(&[
                PATH,
                ("edits", "array", "Texts to replace", false),
                ("all", "boolean", "Replace each `old` wherever it occurs", false),
                ("definition", "string", "Name or Type.name", false),
                ("code", "string", "Its whole new text", false),
            ]);
            edit["properties"]["edits"]["items"] = json!({
                "type": "object",
                "properties": { "old": { "type": "string" }, "new": { "type": "string" } },
                "required": ["old", "new"],
            });
            edit
        }
        Builtin::WriteFile => schema(&[PATH, ("content", "string", "Whole text", true)]),
        Builtin::MoveFile => {
            schema(&[("source", "string", "File", true), ("destination", "string", "New path, or a folder", true)])
        }
        Builtin::DeleteFile => schema(&[PATH]),
        Builtin::RunCommand => schema(&[
            ("command", "string", "Command line for sh", true),
            ("timeout_s", "integer", "At most 600; needed for what takes longer than a minute", false),
        ]),
        Builtin::Plan => {
            let mut plan = schema(&[("items", "array", "All items, in order", true)]);
            plan["properties"]["items"]["items"] = json!({
                "type": "object",
                "properties": {
                    "text": { "type": "string" }, "state": { "enum": ["open", "done", "dropped"] },
                    "stage": { "type": "string", "description": "Text of the item that this is a step of" },
                },
                "required": ["text", "state"],
            });
            plan
        }
        other => schema(super::parameters(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LEAD;
    use crate::tools::Catalog;
    use crate::tools::builtin::Builtin;
    use crate::tools::spec;

    #[test]
    fn the_list_of_a_leading_model_is_short_and_names_only_its_own_tools() {
        let catalog = Catalog::builtin();
        let names: Vec<&str> = catalog.lead().iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, LEAD.map(Builtin::name));
        let others = Builtin::CHOSEN.map(Builtin::name).into_iter().filter(|name| !names.contains(name));
        let others: Vec<&str> = others.collect();
        let mut bytes = 0;
        for one in catalog.lead() {
            assert_eq!(spec::check(one), Ok(()));
            assert!(one.parameters().iter().all(|parameter| !parameter.description().is_empty()), "{}", one.name);
            let text = format!("{} {}", one.description, one.parameters);
            assert!(!others.iter().any(|other| text.contains(other)), "{text}");
            bytes += text.len() + one.name.len();
        }
        // About 1,100 tokens, which every prompt contains.
        assert!(bytes < 4_600, "{bytes}");
        let reading: Vec<&str> = LEAD.into_iter().filter(|one| one.reads()).map(Builtin::name).collect();
        let expected =
            ["read_file", "describe_image", "find_files", "search_text", "index_search", "outline", "graph", "plan"];
        assert_eq!(reading, expected);
    }
}
