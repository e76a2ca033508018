//! `write_file`: writes a whole file, new or replaced.

use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::Access;
use crate::tools::files::change::{Change, WRITE_MAX_BYTES, text_of};
use crate::tools::outcome::Outcome;

pub(in crate::tools) fn run(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    Ok(plan(arguments, context)?.make())
}

/// What the call would do, without doing it.
pub fn plan(arguments: Arguments<'_>, context: &Context) -> Result<Change, String> {
    let (path, content) = (arguments.text("path")?, arguments.text("content")?);
    if content.len() > WRITE_MAX_BYTES {
        let size = content.len();
        return Err(format!("`content` has {size} bytes, at most {WRITE_MAX_BYTES} are written; write it in parts"));
    }
    let file = context.root.resolve(path, Access::Write).map_err(|e| e.to_string())?;
    if file.is_dir() || path.ends_with('/') {
        return Err(format!("`{}` is a folder; give the path of a file in it", file.relative()));
    }
    let before = if file.exists() { Some(text_of(&file)?) } else { None };
    Ok(Change { file, before, after: content.to_owned(), notes: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::{Project, call};

    #[test]
    fn a_file_is_written_and_the_difference_shown() {
        let project = Project::with(&[("a.txt", "one\ntwo\n")]);
        let outcome = call(run, &project, r#"{"path":"a.txt","content":"one\n2\n"}"#);
        assert_eq!(outcome.text, "changed a.txt (+1 -1 lines)");
        assert!(outcome.diff.unwrap().contains("-two\n+2\n"));
        assert_eq!(project.text("a.txt"), "one\n2\n");
        let again = call(run, &project, r#"{"path":"a.txt","content":"one\n2\n"}"#);
        assert!(again.is_ok() && again.changed.is_empty(), "{again:?}");
    }

    #[test]
    fn a_plan_writes_nothing() {
        let project = Project::with(&[]);
        let arguments = serde_json::from_str(r#"{"path":"new/a.txt","content":"x"}"#).unwrap();
        let change = plan(Arguments(&arguments), &project.context).unwrap();
        assert!(change.diff().contains("+x"));
        assert_eq!(std::fs::read_dir(project.dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_must_not_be_written_is_refused() {
        let project = Project::with(&[("dir/a", ""), ("bin", "\0"), (".git/config", "")]);
        std::fs::write(project.dir.path().join("bin"), [0xff, 0xfe]).unwrap();
        let long = serde_json::json!({ "path": "a", "content": "x".repeat(WRITE_MAX_BYTES + 1) }).to_string();
        for arguments in [
            r#"{"path":"dir","content":""}"#,
            r#"{"path":"new/","content":""}"#,
            r#"{"path":"bin","content":""}"#,
            r#"{"path":".git/config","content":""}"#,
            r#"{"path":"../a","content":""}"#,
            r#"{"path":"dir/a/b","content":""}"#,
            &long,
        ] {
            assert!(!call(run, &project, arguments).is_ok(), "{arguments:.60}");
        }
        assert_eq!(std::fs::read_dir(project.dir.path()).unwrap().count(), 3);
    }
}
