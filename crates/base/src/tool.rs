//! Names the built-in tools, with what each may change: the reading of a request chooses among them, `tools` describes and runs them.

/// A built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    ReadFile,
    DescribeImage,
    ListDir,
    FindFiles,
    SearchText,
    WriteFile,
    ReplaceInFile,
    DeleteFile,
    MoveFile,
    RunCommand,
    IndexSearch,
    IndexFindFiles,
    IndexReadFile,
    IndexSearchText,
    IndexCallers,
    IndexCallees,
    IndexImports,
    IndexDependents,
    IndexImpact,
    IndexListMemories,
    Outline,
    Graph,
    Edit,
    Plan,
}

/// The tools offered to a model that leads a turn. The order is the same for every request, so that
/// its prompts begin with the same text.
pub const LEAD: [Builtin; 13] = [
    Builtin::ReadFile,
    Builtin::DescribeImage,
    Builtin::FindFiles,
    Builtin::SearchText,
    Builtin::IndexSearch,
    Builtin::Outline,
    Builtin::Graph,
    Builtin::Edit,
    Builtin::WriteFile,
    Builtin::MoveFile,
    Builtin::DeleteFile,
    Builtin::RunCommand,
    Builtin::Plan,
];

impl Builtin {
    /// The tools that forms and retrieval choose from. Each has one purpose and distinct wording.
    pub const CHOSEN: [Builtin; 19] = [
        Builtin::ReadFile,
        Builtin::ListDir,
        Builtin::FindFiles,
        Builtin::SearchText,
        Builtin::WriteFile,
        Builtin::ReplaceInFile,
        Builtin::DeleteFile,
        Builtin::MoveFile,
        Builtin::RunCommand,
        Builtin::IndexSearch,
        Builtin::IndexFindFiles,
        Builtin::IndexReadFile,
        Builtin::IndexSearchText,
        Builtin::IndexCallers,
        Builtin::IndexCallees,
        Builtin::IndexImports,
        Builtin::IndexDependents,
        Builtin::IndexImpact,
        Builtin::IndexListMemories,
    ];

    /// The tool with this name, if it is a built-in one.
    pub fn by_name(name: &str) -> Option<Builtin> {
        Builtin::CHOSEN.into_iter().chain(LEAD).find(|builtin| builtin.name() == name)
    }

    /// Its name, as models call it and rules of a policy match it.
    pub fn name(self) -> &'static str {
        match self {
            Builtin::ReadFile => "read_file",
            Builtin::DescribeImage => "describe_image",
            Builtin::ListDir => "list_dir",
            Builtin::FindFiles => "find_files",
            Builtin::SearchText => "search_text",
            Builtin::WriteFile => "write_file",
            Builtin::ReplaceInFile => "replace_in_file",
            Builtin::DeleteFile => "delete_file",
            Builtin::MoveFile => "move_file",
            Builtin::RunCommand => "run_command",
            Builtin::IndexSearch => "index_search",
            Builtin::IndexFindFiles => "index_find_files",
            Builtin::IndexReadFile => "index_read_file",
            Builtin::IndexSearchText => "index_search_text",
            Builtin::IndexCallers => "index_callers",
            Builtin::IndexCallees => "index_callees",
            Builtin::IndexImports => "index_imports",
            Builtin::IndexDependents => "index_dependents",
            Builtin::IndexImpact => "index_impact",
            Builtin::IndexListMemories => "index_list_memories",
            Builtin::Outline => "outline",
            Builtin::Graph => "graph",
            Builtin::Edit => "edit",
            Builtin::Plan => "plan",
        }
    }

    /// Names of narrower tools whose work this tool includes: a rule for one of them also applies
    /// to this tool.
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Builtin::Edit => &["replace_in_file"],
            Builtin::DescribeImage => &["read_file"],
            Builtin::Outline => &["index_read_file"],
            Builtin::Graph => &["index_callers", "index_callees", "index_imports", "index_dependents", "index_impact"],
            _ => &[],
        }
    }

    /// Whether the tool can change something.
    pub fn mutates(self) -> bool {
        self == Builtin::RunCommand || self.changes_files()
    }

    /// Whether the tool only reads.
    pub fn reads(self) -> bool {
        !self.mutates()
    }

    /// Whether the tool only changes files, so that the new content of each file is known before
    /// the call.
    pub fn changes_files(self) -> bool {
        matches!(
            self,
            Builtin::WriteFile | Builtin::ReplaceInFile | Builtin::Edit | Builtin::DeleteFile | Builtin::MoveFile
        )
    }
}
