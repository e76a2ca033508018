//! Describes the built-in tools for models: purpose and parameters. `tools::execute` runs them.

mod lead;

use serde_json::{Value, json};

use crate::tools::spec::ToolSpec;

pub use crate::base::tool::{Builtin, LEAD};

/// The purpose of the tool and the related tool to use instead: the contrast helps small models choose.
fn description(tool: Builtin) -> &'static str {
    match tool {
        Builtin::ReadFile => {
            "Read and show what is in one file whose path is known, whole or a range of lines, with line numbers. \
             To find a file use find_files; to look for words in many files use search_text."
        }
        Builtin::ListDir => {
            "List the files and folders in a directory: names and sizes, not contents. \
             To find a file by its name use find_files."
        }
        Builtin::FindFiles => {
            "Find files by name or wildcard, such as *.rs or config, anywhere in the project. Looks at names only; \
             to look inside files use search_text."
        }
        Builtin::SearchText => {
            "Search inside files for a word, phrase or regular expression; gives each matching line with file and \
             line number: where something is used, defined or mentioned."
        }
        Builtin::WriteFile => {
            "Create a new file, or overwrite a whole one, with the given content. To change a part of an existing \
             file use replace_in_file."
        }
        Builtin::ReplaceInFile => {
            "Edit an existing file: change, rename, fix, set or remove one passage by giving the old text and the \
             new text; the rest stays as it is."
        }
        Builtin::DeleteFile => {
            "Delete a whole file from the project. To remove lines or code from a file use replace_in_file."
        }
        Builtin::MoveFile => {
            "Move a file to another folder, or give the file another name. To rename something inside a file use \
             replace_in_file."
        }
        Builtin::RunCommand => {
            "Run a shell command in the project folder and give its output: compile, run tests or a script, \
             install, git. Not for reading or editing files."
        }
        Builtin::IndexSearch => {
            "Answer a question about the code: how something works, why, what it does, where it is implemented. \
             Searches by meaning and by words over the whole project."
        }
        Builtin::IndexFindFiles => {
            "Find the definition of a class, function, enum or type: in which place it is defined, with its whole text."
        }
        Builtin::IndexReadFile => {
            "Outline of one module of code, without its contents: which classes, functions and methods it defines, each \
             with its signature and line number; or the body of a single one of them, by name."
        }
        Builtin::IndexSearchText => {
            "Code that holds given identifiers, best first, each with the definition around it: for several names \
             at once, in any order."
        }
        Builtin::IndexCallers => "Who calls a function or method: its callers, with file and line of each call.",
        Builtin::IndexCallees => "What a function or method uses inside its own body: its callees.",
        Builtin::IndexImports => {
            "The imports of a file: which modules, packages and names from elsewhere it needs and where they come from."
        }
        Builtin::IndexDependents => {
            "List the files that import a file: who imports it, what depends on it and would be affected."
        }
        Builtin::IndexImpact => {
            "Impact: what would break by changing, renaming or removing a function, method or class: everything that \
             leads to it by calls, uses or imports, some steps away."
        }
        Builtin::IndexListMemories => "Lessons remembered from earlier work on this project: what was learned.",
        Builtin::DescribeImage | Builtin::Outline | Builtin::Graph | Builtin::Edit | Builtin::Plan => {
            lead::description(tool)
        }
    }
}

/// Name, type and description of each parameter, and whether it is required.
fn parameters(tool: Builtin) -> &'static [(&'static str, &'static str, &'static str, bool)] {
    const PATH: (&str, &str, &str, bool) = ("path", "string", "File, relative to the project", true);
    match tool {
        Builtin::ReadFile => &[
            PATH,
            ("start_line", "integer", "First line, counted from 1", false),
            ("end_line", "integer", "Last line", false),
        ],
        Builtin::ListDir => &[
            ("path", "string", "Folder, relative to the project; `.` is the project itself", false),
            ("recursive", "boolean", "Everything below it as well", false),
        ],
        Builtin::FindFiles => &[("pattern", "string", "Part of a path, or wildcards: `*.toml`, `src/**/mod.rs`", true)],
        Builtin::SearchText => &[
            ("pattern", "string", "Text to look for", true),
            ("path", "string", "File or folder to search; the whole project when left out", false),
            ("regex", "boolean", "The pattern is a regular expression", false),
        ],
        Builtin::WriteFile => &[PATH, ("content", "string", "The whole text of the file", true)],
        Builtin::ReplaceInFile => &[
            PATH,
            ("old", "string", "The passage as it stands in the file; must occur once", true),
            ("new", "string", "The text to put in its place", true),
        ],
        Builtin::DeleteFile => &[PATH],
        Builtin::MoveFile => &[
            ("source", "string", "File to move, a path relative to the project", true),
            ("destination", "string", "Path of its new place, relative to the project", true),
        ],
        Builtin::IndexSearch => &[("question", "string", "The question, in plain words or names", true)],
        Builtin::IndexImpact => &[("symbol", "string", "Name of what would be changed, Type.name to be exact", true)],
        Builtin::IndexCallers | Builtin::IndexCallees => {
            &[("symbol", "string", "Name of the function or method, Type.name to be exact", true)]
        }
        Builtin::IndexFindFiles => &[("symbol", "string", "Name of what is defined, or a part of a path", true)],
        Builtin::IndexReadFile => &[PATH, ("symbol", "string", "One definition of it, whose body is wanted", false)],
        Builtin::IndexSearchText => &[("names", "string", "Identifiers, separated by spaces", true)],
        Builtin::IndexDependents | Builtin::IndexImports => &[PATH],
        Builtin::IndexListMemories => &[],
        Builtin::DescribeImage | Builtin::Outline | Builtin::Graph | Builtin::Edit | Builtin::Plan => &[],
        Builtin::RunCommand => &[
            ("command", "string", "A command line for `sh`", true),
            ("timeout_s", "integer", "Seconds until it is stopped, at most 600", false),
        ],
    }
}

/// The description for a model that is shown only the tools chosen for a step.
pub fn spec(tool: Builtin) -> ToolSpec {
    let parameters = match tool {
        Builtin::DescribeImage | Builtin::Outline | Builtin::Graph | Builtin::Edit | Builtin::Plan => {
            lead::parameters(tool)
        }
        _ => schema(parameters(tool)),
    };
    described(tool, description(tool), parameters)
}

/// The description for a model that is shown [`LEAD`]; it names no other tools.
pub fn lead_spec(tool: Builtin) -> ToolSpec {
    described(tool, lead::description(tool), lead::parameters(tool))
}

fn described(tool: Builtin, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: tool.name().to_owned(),
        description: description.to_owned(),
        server: group(tool).to_owned(),
        mutates: tool.mutates(),
        parameters,
        ..ToolSpec::default()
    }
}

fn group(tool: Builtin) -> &'static str {
    match tool {
        Builtin::RunCommand => "command",
        Builtin::Plan => "turn",
        Builtin::Outline | Builtin::Graph => "index",
        _ if tool.name().starts_with("index_") => "index",
        _ => "files",
    }
}

fn schema(parameters: &[(&str, &str, &str, bool)]) -> Value {
    let properties: serde_json::Map<String, Value> = parameters
        .iter()
        .map(|(name, kind, description, _)| {
            let mut one = json!({ "type": kind, "description": description });
            if *kind == "integer" {
                one["minimum"] = json!(1);
            }
            ((*name).to_owned(), one)
        })
        .collect();
    let required: Vec<&str> = parameters.iter().filter(|p| p.3).map(|p| p.0).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}
