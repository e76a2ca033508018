//! Decides whether a call may run, must be asked about, or is refused; the only place where consent is made.

use crate::base::config::ApproveMode;
use crate::models::dialect::RawCall;
use crate::protocol::Decision;
use crate::tools::call::ToolCall;
use crate::tools::call::check::{CallProblem, check};
use crate::tools::shell::{self, Risk};
use crate::tools::spec::ToolSpec;
use crate::tools::words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask {
        reason: String,
    },
    /// Nobody is asked: it is refused in every mode.
    Deny {
        reason: String,
    },
}

/// Something that was consented to. Only this module makes one, and running it uses it up.
#[derive(Debug)]
pub struct Approved<T>(T);

impl Approved<ToolCall> {
    pub fn call(&self) -> &ToolCall {
        &self.0
    }

    pub(super) fn into_call(self) -> ToolCall {
        self.0
    }
}

/// Why a call was not approved.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Refusal {
    #[error("`{tool}` needs consent: {reason}")]
    NeedsConsent { tool: String, reason: String },
    #[error("`{tool}` was rejected by the user")]
    Rejected { tool: String },
    #[error("`{tool}` is refused: {reason}")]
    Denied { tool: String, reason: String },
    #[error("the changed arguments cannot be used: {0}")]
    Modified(CallProblem),
}

/// What the rules say. Pure: a file's content or a tool's result has no way in.
pub fn assess(call: &ToolCall, spec: &ToolSpec, mode: ApproveMode) -> Verdict {
    let risk = risk_of(call, spec);
    if let Risk::Forbidden(reason) = risk {
        return Verdict::Deny { reason };
    }
    let tool = &call.tool;
    let ask = |reason: String| Verdict::Ask { reason };
    match (mode, risk) {
        (ApproveMode::Always, _) => ask("every call is asked about (approve = always)".to_owned()),
        (ApproveMode::Never, _) => Verdict::Allow,
        (_, Risk::Destructive(why)) => ask(format!("{tool}: {why}")),
        (ApproveMode::OnMutation, _) if spec.mutates => ask(match is_command(call) {
            true => "run_command can do anything you can".to_owned(),
            false => format!("{tool} changes something"),
        }),
        _ => Verdict::Allow,
    }
}

/// Words of a name that say that something is lost or leaves the machine. A description from outside that calls such a
/// tool reading is not believed.
const DESTRUCTIVE_WORDS: [&str; 20] = [
    "delete",
    "remove",
    "erase",
    "drop",
    "purge",
    "wipe",
    "clear",
    "destroy",
    "trash",
    "overwrite",
    "truncate",
    "reset",
    "kill",
    "send",
    "publish",
    "upload",
    "pay",
    "transfer",
    "uninstall",
    "revoke",
];

fn risk_of(call: &ToolCall, spec: &ToolSpec) -> Risk {
    if is_command(call) {
        return match call.arguments.get("command").and_then(|line| line.as_str()) {
            Some(line) => shell::risk(line),
            None => Risk::Destructive("its command is no text".to_owned()),
        };
    }
    let parts = words::parts(&spec.name);
    match parts.iter().find(|part| DESTRUCTIVE_WORDS.contains(&part.as_str())) {
        Some(word) => Risk::Destructive(format!("its name says `{word}`")),
        None => Risk::Plain,
    }
}

fn is_command(call: &ToolCall) -> bool {
    call.tool == "run_command"
}

/// Consent that the rules give by themselves.
pub fn approved_by_rule(call: ToolCall, spec: &ToolSpec, mode: ApproveMode) -> Result<Approved<ToolCall>, Refusal> {
    let tool = call.tool.clone();
    match assess(&call, spec, mode) {
        Verdict::Allow if call.tool == spec.name => Ok(Approved(call)),
        Verdict::Allow => Err(Refusal::Denied { tool, reason: format!("it was assessed as `{}`", spec.name) }),
        Verdict::Ask { reason } => Err(Refusal::NeedsConsent { tool, reason }),
        Verdict::Deny { reason } => Err(Refusal::Denied { tool, reason }),
    }
}

/// Consent that the user gave. Changed arguments are checked like any others; what is denied stays denied, whoever asks.
pub fn approve(call: ToolCall, spec: &ToolSpec, decision: Decision) -> Result<Approved<ToolCall>, Refusal> {
    let call = match decision {
        Decision::Reject => return Err(Refusal::Rejected { tool: call.tool }),
        Decision::Approve => call,
        Decision::Modify(arguments) => {
            let raw = RawCall { name: spec.name.clone(), arguments };
            check(&raw, std::slice::from_ref(spec)).map_err(Refusal::Modified)?.call
        }
    };
    approved_by_rule(call, spec, ApproveMode::Never)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Catalog;
    use serde_json::json;

    fn call(tool: &str, arguments: serde_json::Value) -> ToolCall {
        ToolCall { tool: tool.to_owned(), arguments: arguments.as_object().unwrap().clone() }
    }

    /// Verdicts in the order always, on-mutation, on-destructive, never: `a`llow, `?`, `d`eny.
    fn check(tool: &str, arguments: serde_json::Value, expected: &str) {
        let catalog = Catalog::builtin();
        let call = call(tool, arguments);
        let modes = [ApproveMode::Always, ApproveMode::OnMutation, ApproveMode::OnDestructive, ApproveMode::Never];
        let got: String = modes
            .into_iter()
            .map(|mode| match assess(&call, catalog.get(tool).unwrap(), mode) {
                Verdict::Allow => 'a',
                Verdict::Ask { .. } => '?',
                Verdict::Deny { .. } => 'd',
            })
            .collect();
        assert_eq!(got, expected, "{call:?}");
    }

    #[test]
    fn each_mode_asks_what_it_promises() {
        check("read_file", json!({ "path": "a" }), "?aaa");
        check("write_file", json!({ "path": "a", "content": "" }), "??aa");
        check("run_command", json!({ "command": "cargo test" }), "??aa");
        check("run_command", json!({ "command": "git push" }), "???a");
        check("run_command", json!({ "command": "rm -rf /" }), "dddd");
        check("run_command", json!({}), "???a");
    }

    #[test]
    fn a_tool_from_outside_that_calls_itself_reading_is_not_believed() {
        let spec =
            ToolSpec { name: "mail.sendMessage".to_owned(), mutates: false, ..Catalog::builtin().specs()[0].clone() };
        let verdict = assess(&call("mail.sendMessage", json!({})), &spec, ApproveMode::OnMutation);
        assert_eq!(verdict, Verdict::Ask { reason: "mail.sendMessage: its name says `send`".to_owned() });
    }

    #[test]
    fn consent_is_given_by_the_user_and_not_by_what_a_model_says() {
        let catalog = Catalog::builtin();
        let spec = catalog.get("run_command").unwrap();
        let run = |line: &str| call("run_command", json!({ "command": line }));
        assert!(approve(run("make"), spec, Decision::Approve).is_ok());
        assert!(matches!(approve(run("make"), spec, Decision::Reject), Err(Refusal::Rejected { .. })));
        assert!(matches!(approve(run("rm -rf /"), spec, Decision::Approve), Err(Refusal::Denied { .. })));
        assert!(matches!(
            approved_by_rule(run("make"), spec, ApproveMode::OnMutation),
            Err(Refusal::NeedsConsent { .. })
        ));
        let other = catalog.get("read_file").unwrap();
        assert!(approve(run("make"), other, Decision::Approve).is_err());
    }

    #[test]
    fn changed_arguments_are_checked_again() {
        let catalog = Catalog::builtin();
        let spec = catalog.get("run_command").unwrap();
        let modify = |arguments: serde_json::Value| {
            let decision = Decision::Modify(arguments.as_object().unwrap().clone());
            approve(call("run_command", json!({ "command": "make" })), spec, decision)
        };
        assert_eq!(modify(json!({ "command": "make test" })).unwrap().call().arguments["command"], "make test");
        assert!(matches!(modify(json!({})), Err(Refusal::Modified(_))));
        assert!(matches!(modify(json!({ "command": "rm -rf ~" })), Err(Refusal::Denied { .. })));
    }
}
