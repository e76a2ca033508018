//! Shows the effect of a call without running it.

use serde_json::Value;

use crate::protocol::FileChange;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::builtin::Builtin;
use crate::tools::call::ToolCall;
use crate::tools::planned::Planned;

/// The text shown to the user when consent is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// A unified diff, a command line, or the call itself.
    pub text: String,
    /// The files that would change, with their full texts.
    pub changes: Vec<FileChange>,
}

impl From<String> for Preview {
    fn from(text: String) -> Preview {
        Preview { text, changes: Vec::new() }
    }
}

/// The preview of `call`. If the call would fail, this fails with the same error, so that the user
/// need not be asked.
pub fn of(call: &ToolCall, context: &Context) -> Result<Preview, String> {
    let arguments = Arguments(&call.arguments);
    if let Some(planned) = Planned::of(std::slice::from_ref(call), context)? {
        return Ok(planned.preview());
    }
    match Builtin::by_name(&call.tool) {
        Some(Builtin::RunCommand) => Ok(format!("$ {}", arguments.text("command")?).into()),
        _ => {
            let url = context.servers.as_ref().and_then(|servers| servers.url(&call.tool));
            let sent = url.map(|url| format!("\nsent to {url}")).unwrap_or_default();
            Ok(format!("{} {}{sent}", call.tool, Value::Object(call.arguments.clone())).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Address, Server};
    use crate::tools::files::walk::testing::Project;
    use crate::tools::mcp::{Servers, Setup};

    fn check(tool: &str, arguments: &str, expected: Result<&str, &str>) {
        let project = Project::with(&[("a.txt", "one\n")]);
        let call = ToolCall { tool: tool.to_owned(), arguments: serde_json::from_str(arguments).unwrap() };
        let preview = of(&call, &project.context);
        assert_eq!(preview.as_ref().map(|preview| preview.text.as_str()).map_err(String::as_str), expected);
        assert_eq!(project.text("a.txt"), "one\n");
    }

    #[test]
    fn what_a_call_would_do_is_shown_and_not_done() {
        let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";
        check("write_file", r#"{"path":"a.txt","content":"two\n"}"#, Ok(diff));
        check("replace_in_file", r#"{"path":"a.txt","old":"one","new":"two"}"#, Ok(diff));
        check("write_file", r#"{"path":"a.txt","content":"one\n"}"#, Ok("a.txt would be unchanged\n"));
        check("write_file", r#"{"path":"b.txt","content":""}"#, Ok("b.txt would be created empty\n"));
        check("delete_file", r#"{"path":"a.txt"}"#, Ok("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"));
        check("move_file", r#"{"source":"a.txt","destination":"c/"}"#, Ok("a.txt becomes c/a.txt\n"));
        check("run_command", r#"{"command":"rm -rf target"}"#, Ok("$ rm -rf target"));
        check("read_file", r#"{"path":"a.txt"}"#, Ok(r#"read_file {"path":"a.txt"}"#));
    }

    #[test]
    fn a_call_that_leaves_the_machine_says_where_it_is_sent() {
        let project = Project::with(&[]);
        let url = Address::new("https://mcp.example.org/mcp?key=hunter2").unwrap();
        let far = Server { name: "far".to_owned(), url: Some(url), ..Server::default() };
        let servers = Servers::new(&[far], Setup::of(project.context.root.path(), project.context.root.path()));
        let context = Context { servers: Some(servers), ..project.context.clone() };
        let call =
            ToolCall { tool: "far.note".to_owned(), arguments: serde_json::from_str(r#"{"text":"hi"}"#).unwrap() };
        let shown = of(&call, &context).unwrap().text;
        assert_eq!(shown, "far.note {\"text\":\"hi\"}\nsent to https://mcp.example.org/mcp");
    }

    #[test]
    fn a_call_that_would_fail_says_so_before_anyone_is_asked() {
        check("delete_file", r#"{"path":"b.txt"}"#, Err("`b.txt` does not exist; find_files looks for files by name"));
        check(
            "replace_in_file",
            r#"{"path":"b.txt","old":"one","new":"two"}"#,
            Err("`b.txt` does not exist; write_file creates files"),
        );
    }
}
