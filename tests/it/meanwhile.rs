//! Consent counts only for the content that was shown: files that change while a question is open,
//! and changes of several files together.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use monobloc::agent::{Deciding, Host, Toolkit, run_turn};
use monobloc::base::StepId;
use monobloc::config::{ApproveMode, file};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Event, Proposal, StepReport, StepStatus};
use monobloc::tools::policy::{Policy, Rules};

use crate::cli::{Project, Run};
use crate::scripted::{Witness, indexed, silent, toolkit};

/// A host that consents after somebody has changed the project: `meddle` gets the project's folder
/// and the number of the question.
struct Open<M> {
    witness: Witness<fn(&Proposal) -> Decision>,
    policy: Policy,
    project: PathBuf,
    asked: AtomicUsize,
    meddle: M,
}

impl<M: Fn(&Path, usize) + Send + Sync> Host for Open<M> {
    fn emit(&self, event: Event) {
        self.witness.emit(event);
    }

    fn approve<'a>(&'a self, step: StepId, proposal: &'a Proposal) -> Deciding<'a> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        (self.meddle)(&self.project, number);
        self.witness.approve(step, proposal)
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// The result of a turn.
struct Seen {
    answer: String,
    notices: String,
    reports: Vec<StepReport>,
    proposals: Vec<Proposal>,
}

const FILES: &[(&str, &str)] = &[
    ("shop/price.py", "RATE = 7\n\n\ndef price(net):\n    return net * RATE\n"),
    ("shop/bill.py", "from shop.price import price\n\n\ndef bill(all):\n    return [price(one) for one in all]\n"),
    ("till.py", "from shop.price import price\n\nprint(price(3))\n"),
    ("shop/__init__.py", ""),
];
const RENAME: &str = "Rename price to gross everywhere";

fn project() -> Project {
    let project = Project::todo();
    for (path, text) in FILES {
        let at = project.path().join(path);
        fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
        fs::write(at, text).expect("a file");
    }
    project
}

async fn ask(
    toolkit: &Toolkit,
    project: &Project,
    request: &str,
    policy: Policy,
    meddle: impl Fn(&Path, usize) + Send + Sync,
) -> Seen {
    let yes: fn(&Proposal) -> Decision = |_| Decision::Approve;
    let host = Open { witness: Witness::new(yes), policy, project: project.path(), asked: AtomicUsize::new(0), meddle };
    let finished = run_turn(toolkit, request, &host).await.expect("a turn");
    let proposal = |event: &Event| match event {
        Event::ApprovalRequested { proposal, .. } => Some(proposal.clone()),
        _ => None,
    };
    Seen {
        answer: finished.answer,
        notices: host.witness.notices().join("\n"),
        reports: host.witness.reports(),
        proposals: host.witness.seen(proposal),
    }
}

async fn rename(project: &Project, policy: Policy, meddle: impl Fn(&Path, usize) + Send + Sync) -> Seen {
    ask(&indexed(project, silent(project)), project, RENAME, policy, meddle).await
}

fn asking() -> Policy {
    Policy::of(ApproveMode::OnMutation)
}

fn add(path: PathBuf, text: &str) {
    let before = fs::read_to_string(&path).expect("a file");
    fs::write(path, format!("{before}{text}")).expect("a file");
}

#[tokio::test]
async fn a_change_of_several_files_is_one_question() {
    let project = project();
    let seen = rename(&project, asking(), |_, _| ()).await;
    let [proposal] = seen.proposals.as_slice() else { panic!("{:?}", seen.proposals) };
    for path in ["shop/price.py", "shop/bill.py", "till.py"] {
        assert!(proposal.preview.contains(path) && project.text(path).contains("gross("), "{path}: {}", seen.notices);
        assert!(proposal.changes.iter().any(|change| change.path == path));
    }
    assert_eq!(seen.reports.len(), 3, "each file is recorded: {:?}", seen.reports);
}

#[tokio::test]
async fn what_somebody_writes_while_the_question_is_open_stays_and_the_question_comes_again() {
    let project = project();
    let seen = rename(&project, asking(), |root, number| {
        if number == 1 {
            add(root.join("till.py"), "print(price(4))\n");
        }
    })
    .await;
    assert_eq!(seen.proposals.len(), 2, "{}", seen.notices);
    assert_eq!(project.text("till.py"), "from shop.price import gross\n\nprint(gross(3))\nprint(gross(4))\n");
    assert!(project.text("shop/bill.py").contains("gross"), "{}", seen.answer);
}

#[tokio::test]
async fn a_file_that_changes_at_every_question_is_left_alone() {
    let project = project();
    let seen = rename(&project, asking(), |root, number| add(root.join("till.py"), &format!("# {number}\n"))).await;
    let said = format!("{}\n{}", seen.answer, seen.notices);
    assert_eq!(seen.proposals.len(), 3, "the questions have an end: {said}");
    assert!(said.contains("somebody else keeps changing till.py"), "{said}");
    assert_eq!(project.text("till.py"), format!("{}# 1\n# 2\n# 3\n", FILES[2].1));
    assert_eq!(project.text("shop/price.py"), FILES[0].1, "{said}");
}

#[tokio::test]
async fn a_value_that_is_another_one_by_now_is_not_changed() {
    let project = project();
    let toolkit = indexed(&project, silent(&project));
    for other in ["RATE = 70\n", "RATE = 17\n", "BASE = 7\n", "RATE = 7.5\n"] {
        fs::write(project.path().join("rate.ini"), "RATE = 7\n").expect("a file");
        let request = "In rate.ini change the RATE from 7 to 9";
        let meddle = |root: &Path, number: usize| {
            if number == 1 {
                fs::write(root.join("rate.ini"), other).expect("a file");
            }
        };
        let seen = ask(&toolkit, &project, request, asking(), meddle).await;
        assert!(!seen.proposals.is_empty(), "{}", seen.notices);
        let now = project.text("rate.ini");
        // The user may be asked about `BASE = 7` again, in its new form.
        let shown = seen.proposals.last().is_some_and(|last| last.preview.contains(other.trim_end()));
        assert!(now == other || shown, "{other}: {now} {}", seen.notices);
    }
}

#[tokio::test]
async fn a_call_of_the_loop_counts_for_the_file_that_was_shown() {
    for call in [
        r#"[delete_file(path="till.py")]"#,
        r#"[move_file(source="till.py", destination="old/till.py")]"#,
        r#"[write_file(path="till.py", content="print(1)\n")]"#,
        r#"[replace_in_file(path="till.py", old="price(3)", new="price(5)")]"#,
    ] {
        let project = project();
        let script = Script::saying(call).on("was changed in the meantime", "I leave it.").writing();
        let plain = toolkit(&project, script, Script::saying(""));
        let toolkit = Toolkit { orchestrate: false, ..plain };
        let request = "Clean up the till by a change to till.py";
        let seen = ask(&toolkit, &project, request, asking(), |root, _| add(root.join("till.py"), "# mine\n")).await;
        assert_eq!(project.text("till.py"), format!("{}# mine\n", FILES[2].1), "{call}");
        assert!(!project.path().join("old").exists());
        let failed: Vec<&StepReport> = seen.reports.iter().filter(|one| one.status == StepStatus::Failed).collect();
        assert!(
            failed.iter().any(|one| one.summary.contains("till.py was changed in the meantime")),
            "{:?}",
            seen.reports
        );
    }
}

fn denying(project: &Project, path: &str) -> Policy {
    let text = format!(
        "[[rules]]\ntool = \"*\"\npaths = [\"{path}\"]\ndecision = \"deny\"\nmatches = [{{ tool = \"write_file\", path = \"{path}\" }}]\n"
    );
    let read = file::read(Path::new("config.toml"), &text).expect("rules");
    Policy::new(ApproveMode::Never, Rules::compile(&read.rules).expect("rules"), &project.path())
}

#[tokio::test]
async fn a_change_of_which_one_file_is_denied_changes_none() {
    for path in ["shop/bill.py", "shop/price.py", "till.py"] {
        let project = project();
        let seen = rename(&project, denying(&project, path), |_, _| ()).await;
        FILES.iter().for_each(|(path, text)| assert_eq!(project.text(path), *text, "{}", seen.answer));
        let [report] = seen.reports.as_slice() else { panic!("{:?}", seen.reports) };
        assert_eq!(report.status, StepStatus::Denied);
        assert!(
            report.summary.contains(path) && seen.answer.contains("not done"),
            "{} {}",
            report.summary,
            seen.answer
        );
    }
    let project = project();
    let policy = denying(&project, "till.py");
    let toolkit = indexed(&project, silent(&project));
    let seen = ask(&toolkit, &project, "Move shop/price.py to shop/rates.py", policy, |_, _| ()).await;
    assert!(project.path().join("shop/price.py").exists() && !project.path().join("shop/rates.py").exists());
    assert_eq!(project.text("shop/bill.py"), FILES[1].1, "{}", seen.answer);
}

#[test]
fn a_rename_stops_where_a_file_that_rules_hide_has_the_name() {
    let project = project();
    let rules = project.beside("rules.toml");
    let hides = "[[rules]]\ntool = \"*\"\npaths = [\"till.py\"]\ndecision = \"deny\"\nmatches = [{ tool = \"read_file\", path = \"till.py\" }]\n";
    fs::write(&rules, format!("approve = \"never\"\n{hides}")).expect("a file");
    let ended = Run::new(&project, &["ask", RENAME, "--config", &rules.display().to_string()]).end();
    FILES.iter().for_each(|(path, text)| assert_eq!(project.text(path), *text, "{ended:#?}"));
    assert!(ended.out.contains("till.py also has `price`"), "{ended:#?}");
}

#[tokio::test]
async fn a_change_of_which_one_file_is_marked_read_only_changes_none() {
    let project = project();
    fs::set_permissions(project.path().join("till.py"), fs::Permissions::from_mode(0o444)).expect("a mode");
    let seen = rename(&project, Policy::of(ApproveMode::Never), |_, _| ()).await;
    FILES.iter().for_each(|(path, text)| assert_eq!(project.text(path), *text, "{}", seen.answer));
    assert_eq!(seen.reports.iter().map(|one| one.status).collect::<Vec<_>>(), [StepStatus::Failed]);
}

#[tokio::test]
async fn a_rename_names_the_files_that_the_index_leaves_out() {
    let project = project();
    let long = format!("var pad = [{}];price(1);\n", "0, ".repeat(9_000));
    for (path, text) in [
        ("web/all.min.js", "price(1)"),
        ("web/long.js", &long),
        ("built/out.py", "price()\n"),
        (".gitignore", "built/\n"),
    ] {
        let at = project.path().join(path);
        fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
        fs::write(at, text).expect("a file");
    }
    let seen = rename(&project, asking(), |_, _| ()).await;
    let said = format!("{}\n{}", seen.answer, seen.notices);
    assert!(project.text("till.py").contains("gross"), "{said}");
    for path in ["web/all.min.js", "web/long.js", "built/out.py"] {
        assert!(said.contains(path), "{path}: {said}");
        assert!(
            seen.proposals[0].preview.contains(path),
            "it is known before the answer: {}",
            seen.proposals[0].preview
        );
    }
}

#[tokio::test]
async fn each_way_in_which_a_call_does_not_run_has_its_own_word() {
    let request = "In shop/price.py change the RATE from 7 to 9";
    for (decision, status, words) in [
        (Decision::Reject, StepStatus::Rejected, "you said no"),
        (Decision::Cancel, StepStatus::Cancelled, "was cancelled"),
        (
            Decision::NotAsked("there is no terminal".to_owned()),
            StepStatus::NotAsked,
            "nobody could be asked: there is no terminal",
        ),
    ] {
        let project = project();
        let host = Witness::new(move |_: &Proposal| decision.clone());
        let finished = run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
        let ended: Vec<StepStatus> = host.reports().iter().map(|one| one.status).collect();
        assert_eq!(ended, [status], "{}", finished.answer);
        assert!(finished.answer.contains(words), "{}", finished.answer);
        assert_eq!(finished.answer.contains("you said no"), status == StepStatus::Rejected);
    }
    let project = project();
    let host = Open {
        witness: Witness::new((|_| Decision::Approve) as fn(&Proposal) -> Decision),
        policy: denying(&project, "shop/price.py"),
        project: project.path(),
        asked: AtomicUsize::new(0),
        meddle: |_: &Path, _| (),
    };
    let finished = run_turn(&indexed(&project, silent(&project)), request, &host).await.expect("a turn");
    assert_eq!(host.witness.reports()[0].status, StepStatus::Denied);
    assert!(!finished.answer.contains("you said no") && finished.answer.contains("denies it"), "{}", finished.answer);
}
