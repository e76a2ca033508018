//! Runs a suite of three cases with shell scripts as agents that do the work, do nothing, do harm,
//! or hang.

use std::fs;

use super::*;

const SUITE: &str = r#"
{"id": "a-edit", "kind": "edit", "project": "small", "request": "set the limit to 7", "check": "grep -q 'LIMIT = 7' conf.py", "touch": ["conf.py"]}
{"id": "b-ask", "kind": "question", "project": "small", "request": "what's the limit?", "check": "grep -qw 5 \"$ANSWER\"", "touch": []}
{"id": "c-bug", "project": "small", "request": "double() is wrong", "setup": "sed 's/x + x/x/' conf.py >c && mv c conf.py", "check": "python3 -c 'import conf; assert conf.double(2) == 4' || test \"$(cd $ROOT && ls)\" != small"}
"#;

/// Runs the suite with the command line `agent`; returns its figures and the lines of `--out`.
fn run_suite(agent: &str, only: Option<&str>) -> (Value, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (root, suite, out, keep) = (at("root"), at("suite.jsonl"), at("out.jsonl"), at("keep"));
    fs::create_dir_all(root.join("small")).unwrap();
    fs::write(root.join("small/conf.py"), "LIMIT = 5\n\n\ndef double(x):\n    return x + x\n").unwrap();
    fs::write(&suite, SUITE).unwrap();
    let run = Run {
        root: &root,
        only,
        agent: &Agent::other(agent).unwrap(),
        limit: Duration::from_millis(2_000),
        replies: None,
        keep: Some(&keep),
        cancel: &Cancel::new(),
    };
    let mut report = Report::new(Some(&out), None).unwrap();
    let figures = super::run(&run, &read(&suite).unwrap(), &mut report).unwrap();
    drop(report);
    for id in ["a-edit", "b-ask"].into_iter().filter(|id| only.is_none_or(|part| id.contains(part))) {
        assert!(keep.join(format!("{id}.answer.txt")).is_file(), "{id}");
    }
    if agent.contains("s/5/7/") {
        assert!(fs::read_to_string(keep.join("a-edit.patch")).unwrap().contains("+LIMIT = 7\n"));
    }
    assert_eq!(fs::read_dir(root.join("small")).unwrap().count(), 1, "the project itself was worked on");
    let lines = fs::read_to_string(&out).unwrap();
    (figures, lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn an_agent_that_does_the_work_is_credited_with_it() {
    let script = "case {request} in \
                  set*) perl -pi -e 's/5/7/' conf.py ;; \
                  what*) cat {project}/conf.py ;; \
                  *) perl -pi -e 's/return x/return x + x/' conf.py ;; esac";
    let (figures, lines) = run_suite(script, None);
    assert_eq!((&figures["cases"], &figures["done"], &figures["harmed"]), (&json!(3), &json!(3), &json!(0)));
    assert_eq!(figures["by_kind"]["question"]["done"], 1);
    assert_eq!(figures["by_kind"]["other"]["cases"], 1, "a case without a kind");
    assert_eq!(figures["tokens_p50"], Value::Null);
    assert_eq!(lines[0]["changed"], json!([{ "path": "conf.py", "how": "changed" }]));
    assert_eq!(lines[1]["verdict"], "done");
    assert!(lines[1]["answer"].as_str().unwrap().contains("LIMIT = 5"));
}

#[test]
fn harm_counts_even_if_the_check_succeeds() {
    let script = "perl -pi -e 's/5/7/' conf.py; echo note >README.md; echo 5 {request}";
    let (figures, lines) = run_suite(script, None);
    assert_eq!(figures["harmed"], 2, "{lines:?}");
    assert_eq!(lines[0]["harm"], json!(["README.md was created, which the request does not ask for"]));
    assert_eq!(lines[1]["harm"][1], "conf.py was changed, which the request does not ask for");
    let (_, lines) = run_suite("echo 'def (' >conf.py; echo {request}", Some("a-"));
    assert_eq!(lines[0]["harm"], json!(["conf.py was changed and does not parse"]));
}

#[test]
fn an_agent_that_does_nothing_or_hangs_fails_harms_nothing_and_the_suite_goes_on() {
    let (figures, lines) = run_suite("case {request} in what*) sleep 600 ;; esac", None);
    assert_eq!((&figures["cases"], &figures["done"], &figures["harmed"]), (&json!(3), &json!(0), &json!(0)));
    assert_eq!((&lines[0]["timed_out"], &lines[1]["timed_out"]), (&json!(false), &json!(true)));
    assert!(lines[1]["seconds"].as_f64().unwrap() < 10.0);
}

#[test]
fn a_missing_project_is_reported_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let suite = folder.path().join("suite.jsonl");
    fs::write(&suite, SUITE).unwrap();
    let agent = Agent::other("true {request}").unwrap();
    let check = |only: Option<&str>, expected: &str| {
        let (limit, cancel) = (Duration::from_secs(1), &Cancel::new());
        let run = Run { root: folder.path(), only, agent: &agent, limit, replies: None, keep: None, cancel };
        let mut report = Report::new(None, None).unwrap();
        let error = super::run(&run, &read(&suite).unwrap(), &mut report).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(None, "case a-edit works on small, which is not in");
    check(Some("nothing"), "none of the 3 cases");
}

/// The agent's model is played by hand; the agent shows half of the words in the model's last
/// reply.
#[test]
fn an_answer_that_is_cut_is_told_from_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("small")).unwrap();
    fs::write(folder.path().join("suite.jsonl"), SUITE).unwrap();
    let script = format!(
        "n=$(ls {0}/replies | wc -l); printf '{{\"content\": \"the limit is 5\"}}' >{0}/replies/00$((n + 1)).reply.json; \
         case {{request}} in set*) echo the limit ;; what*) echo 'the limit is **5**' ;; *) exit 1 ;; esac",
        folder.path().display()
    );
    let at = folder.path().join("replies");
    fs::create_dir(&at).unwrap();
    let (agent, replies) = (Agent::other(&script).unwrap(), Replies::new(&at).unwrap());
    let (limit, replies, cancel) = (Duration::from_secs(5), Some(&replies), &Cancel::new());
    let run = Run { root: folder.path(), only: Some("-"), agent: &agent, limit, replies, keep: None, cancel };
    let cases: Vec<Case> =
        read(&folder.path().join("suite.jsonl")).unwrap().into_iter().filter(|case| case.setup.is_none()).collect();
    let out = folder.path().join("out.jsonl");
    let figures = super::run(&run, &cases, &mut Report::new(Some(&out), None).unwrap()).unwrap();
    assert_eq!(figures["answers_whole"], 1);
    let lines = fs::read_to_string(&out).unwrap();
    let kept: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["kept"].clone()).collect();
    assert_eq!(kept, [json!(0.5), json!(1.0)]);
}

/// The shipped suites can be read, ids are unique, and the held-out suite contains a separate
/// project.
#[test]
fn the_shipped_suites_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/work");
    let [seen, aside, more, lead] =
        ["seen.jsonl", "aside.jsonl", "more.jsonl", "lead.jsonl"].map(|name| read(&folder.join(name)).unwrap());
    assert!(seen.len() + aside.len() >= 60 && aside.len() * 3 >= seen.len() + aside.len());
    let ids: std::collections::BTreeSet<&str> =
        seen.iter().chain(&aside).chain(&more).chain(&lead).map(|case| case.id.as_str()).collect();
    assert_eq!(ids.len(), seen.len() + aside.len() + more.len() + lead.len());
    let projects: std::collections::BTreeSet<&str> = lead.iter().map(|case| case.project.as_str()).collect();
    assert!(lead.len() == 24 && projects.len() >= 10, "requests for capable models");
    assert!(aside.iter().any(|case| seen.iter().all(|other| other.project != case.project)));
}
