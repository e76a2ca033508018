//! Tests of rules about paths: all names of a denied path, and the files that rules hide.

use super::*;

#[test]
fn a_denied_place_is_denied_by_each_of_its_names() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("keys/deep")).unwrap();
    std::fs::create_dir_all(dir.path().join("src")).unwrap();
    std::os::unix::fs::symlink("keys", dir.path().join("other")).unwrap();
    let project = dir.path().canonicalize().unwrap().display().to_string();
    for written in ["keys", "keys/", "./keys/", "keys/**", &format!("{project}/keys"), &format!("{project}/keys/")] {
        let text = format!(
            "[[rules]]\ntool = \"*\"\npaths = [\"{written}\"]\ndecision = \"deny\"\n\
             matches = [{{ tool = \"read_file\", path = \"{written}/a\" }}]\n"
        );
        let rules = rules(&text.replace("/**/a", "/a").replace("//a", "/a")).unwrap();
        let hidden = rules.hidden(dir.path());
        let policy = Policy::new(ApproveMode::Never, rules, dir.path());
        for path in
            ["keys", "keys/", "./keys/a", "keys/deep/a", "src/../keys/a", "other/a", &format!("{project}/keys/a")]
        {
            for (tool, name) in
                [("read_file", "path"), ("search_text", "path"), ("list_dir", "path"), ("index_read_file", "path")]
            {
                assert_eq!(
                    letter(&policy, tool, json!({ name: path, "pattern": "x" })),
                    'd',
                    "{written} {tool} {path}"
                );
            }
            let lines = [
                format!("cat {path}"),
                format!("cat '{path}'"),
                format!("cat {path}*"),
                format!("cd {path} && ls"),
                format!("ls > x; cat < {path}"),
                format!("grep -f{path} a"),
                format!("x --file={path}"),
                format!("sh -c 'cat {path}'"),
                format!("python3 -c 'open(\"{path}\")'"),
                format!("git show HEAD:{}", path.trim_start_matches(&format!("{project}/"))),
            ];
            for line in lines.iter().filter(|line| !(line.contains("HEAD:") && path.contains("other"))) {
                assert_eq!(letter(&policy, "run_command", json!({ "command": line })), 'd', "{written} {line}");
            }
        }
        for path in ["keys", "keys/a", "keys/deep/a"] {
            assert!(hidden.hides(path), "{written} {path}");
        }
        assert!(!hidden.hides("src/keys.rs") && !hidden.hides("keysmith"));
        assert_eq!(letter(&policy, "read_file", json!({ "path": "src/keys.rs" })), 'a');
        assert_eq!(letter(&policy, "run_command", json!({ "command": "cat src/a.rs" })), 'a');
    }
}

#[test]
fn what_is_denied_to_readers_is_hidden_and_what_is_denied_to_writers_is_not() {
    let hides = |tool: &str, more: &str| {
        let text = format!(
            "[[rules]]\ntool = \"{tool}\"\npaths = [\"a\"]\ndecision = \"deny\"\n{more}\
             matches = [{{ tool = \"{tool}\", path = \"a\", command = \"cat a\", n = \"1\" }}]\n"
        );
        rules(&text.replace("\"*\", path", "\"read_file\", path")).unwrap().hidden(Path::new("/nowhere")).hides("a/b")
    };
    assert!(hides("*", "") && hides("read_file", "") && hides("search_text", ""));
    assert!(
        !hides("write_file", "") && !hides("run_command", "") && !hides("read_file", "arguments = { n = \"1\" }\n")
    );
}
