//! Decides whether a call may run, needs the user's consent or is refused. Only this module creates
//! consent.

mod denied;
mod form;
mod grant;
mod pattern;
mod places;
mod rules;
mod tracked;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::base::{Hidden, is_listed, lock};
use crate::config::{ApproveMode, Consent};
use crate::index::words;
use crate::models::dialect::RawCall;
use crate::protocol::Decision;
use crate::tools::builtin::Builtin;
use crate::tools::call::ToolCall;
use crate::tools::call::check::{CallProblem, check};
use crate::tools::shell::{self, Risk};
use crate::tools::spec::ToolSpec;

use grant::Grant;
pub use rules::{RuleError, Rules};

/// Consent given in advance: a mode, the user's rules, and the grants of this session. Clones share
/// the grants. Neither file contents nor tool results can influence it.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    mode: ApproveMode,
    rules: Arc<Rules>,
    grants: Arc<Mutex<Vec<Grant>>>,
    /// The files that the rules forbid reading.
    hidden: Hidden,
    /// The project's folder, used to resolve links; without it paths are used as written.
    project: Option<PathBuf>,
    /// Why commands are not sandboxed, if they are not; in that case each command needs consent.
    unconfined: Option<&'static str>,
}

const GRANTS_MAX: usize = 1_000;
const EVERY_CALL: &str = "every call needs consent (approve = always)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask {
        reason: String,
    },
    /// Refused in every mode, without asking.
    Deny {
        reason: String,
    },
}

/// A value to which the user has consented. Only this module creates it, and running it consumes
/// it.
#[derive(Debug)]
pub struct Approved<T> {
    what: T,
    network: bool,
}

impl Approved<ToolCall> {
    pub fn call(&self) -> &ToolCall {
        &self.what
    }

    /// The call, and whether a rule grants it network access.
    pub(super) fn into_parts(self) -> (ToolCall, bool) {
        (self.what, self.network)
    }
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Refusal {
    #[error("`{tool}` needs consent: {reason}")]
    NeedsConsent { tool: String, reason: String },
    #[error("`{tool}` was rejected by the user")]
    Rejected { tool: String },
    #[error("`{tool}` was not run: its question was cancelled")]
    Cancelled { tool: String },
    #[error("`{tool}` needs consent and nobody could be asked: {why}")]
    NotAsked { tool: String, why: String },
    #[error("`{tool}` is refused: {reason}")]
    Denied { tool: String, reason: String },
    #[error("the changed arguments cannot be used: {0}")]
    Modified(CallProblem),
}

impl Policy {
    pub fn new(mode: ApproveMode, rules: Rules, project: &Path) -> Policy {
        let (hidden, rules, project) = (rules.hidden(project), Arc::new(rules), Some(project.to_owned()));
        Policy { mode, rules, hidden, project, ..Policy::default() }
    }

    /// The same policy with the reason why commands are not sandboxed, if there is one.
    pub fn unconfined(self, why: Option<&'static str>) -> Policy {
        Policy { unconfined: why, ..self }
    }

    pub fn of(mode: ApproveMode) -> Policy {
        Policy { mode, ..Policy::default() }
    }

    /// The same rules and grants with another mode.
    pub fn under(self, mode: ApproveMode) -> Policy {
        Policy { mode, ..self }
    }

    pub fn mode(&self) -> ApproveMode {
        self.mode
    }

    /// Whether the call may run, needs consent, or is refused.
    pub fn assess(&self, call: &ToolCall, spec: &ToolSpec) -> Verdict {
        let risk = risk_of(call, spec);
        if let Risk::Forbidden(reason) = risk {
            return Verdict::Deny { reason };
        }
        if let Some(reason) = self.gives_away(call) {
            return Verdict::Deny { reason };
        }
        // Under `approve = always`, only rules that deny apply.
        let counts = |consent: Consent| self.mode != ApproveMode::Always || consent == Consent::Deny;
        let ruling = self.rules.decide(call, self.project.as_deref()).filter(|(consent, _)| counts(*consent));
        if let Some(why) = self.unconfined
            && is_command(call)
            && !matches!(ruling, Some((Consent::Deny, _)))
        {
            return Verdict::Ask { reason: format!("it can do anything you can, because it is not confined: {why}") };
        }
        match ruling {
            Some((Consent::Deny, reason)) => Verdict::Deny { reason: format!("{reason} denies it") },
            Some((Consent::Ask, reason)) => Verdict::Ask { reason: format!("{}: {reason} asks", call.tool) },
            Some((Consent::Allow, _)) => Verdict::Allow,
            None => match by_mode(call, spec, self.mode, risk) {
                Verdict::Ask { .. } if self.is_granted(call, spec) => Verdict::Allow,
                verdict => verdict,
            },
        }
    }

    /// The verdict on a call that the user's own request names, such as reading a server's
    /// resource: naming it is consent, unless a rule asks or denies, or every call needs consent.
    pub fn assess_named(&self, call: &ToolCall) -> Verdict {
        match self.rules.decide(call, self.project.as_deref()) {
            Some((Consent::Deny, reason)) => Verdict::Deny { reason: format!("{reason} denies it") },
            Some((Consent::Ask, reason)) => Verdict::Ask { reason: format!("{}: {reason} asks", call.tool) },
            _ if self.mode == ApproveMode::Always => Verdict::Ask { reason: EVERY_CALL.to_owned() },
            _ => Verdict::Allow,
        }
    }

    /// The reason why git, run by this command, could show a file that a rule forbids reading.
    fn gives_away(&self, call: &ToolCall) -> Option<String> {
        let line = call.arguments.get("command")?.as_str().filter(|_| is_command(call) && !self.hidden.is_nothing())?;
        let shows = tracked::may_show(&shell::parse(line)) && tracked::is_any(self.project.as_deref()?, &self.hidden);
        shows.then(|| "git may show files in it that a rule denies reading".to_owned())
    }

    /// Approves a call with consent given in advance.
    pub fn approved(&self, call: ToolCall, spec: &ToolSpec) -> Result<Approved<ToolCall>, Refusal> {
        self.consent_to(call, spec, false)
    }

    /// Approves a call according to the user's decision. Changed arguments are checked again, and
    /// denied calls stay denied.
    pub fn approve(&self, call: ToolCall, spec: &ToolSpec, decision: Decision) -> Result<Approved<ToolCall>, Refusal> {
        let call = match decision {
            Decision::Reject => return Err(Refusal::Rejected { tool: call.tool }),
            Decision::Cancel => return Err(Refusal::Cancelled { tool: call.tool }),
            Decision::NotAsked(why) => return Err(Refusal::NotAsked { tool: call.tool, why }),
            Decision::Approve => call,
            Decision::Always => {
                self.grant(&call, spec);
                call
            }
            Decision::Modify(arguments) => {
                let raw = RawCall { name: spec.name.clone(), arguments };
                check(&raw, std::slice::from_ref(spec)).map_err(Refusal::Modified)?.call
            }
        };
        self.consent_to(call, spec, true)
    }

    /// Approves running a command on a copy of the project after the user has consented to it in
    /// the project itself. `None` if commands are not sandboxed, or if the mode or a rule asks
    /// about each command.
    pub fn again_on_a_copy(&self, call: ToolCall, spec: &ToolSpec) -> Option<Approved<ToolCall>> {
        let ruling = self.rules.decide(&call, self.project.as_deref());
        let is_asked = matches!(ruling, Some((Consent::Ask | Consent::Deny, _)));
        if self.unconfined.is_some() || self.mode == ApproveMode::Always || is_asked {
            return None;
        }
        self.approve(call, spec, Decision::Approve).ok()
    }

    /// Consents to the call if the policy allows it. `asked`: the user has approved this very call.
    fn consent_to(&self, call: ToolCall, spec: &ToolSpec, asked: bool) -> Result<Approved<ToolCall>, Refusal> {
        let tool = call.tool.clone();
        match self.assess(&call, spec) {
            _ if tool != spec.name => {
                Err(Refusal::Denied { tool, reason: format!("it was assessed as `{}`", spec.name) })
            }
            Verdict::Deny { reason } => Err(Refusal::Denied { tool, reason }),
            Verdict::Ask { reason } if !asked => Err(Refusal::NeedsConsent { tool, reason }),
            Verdict::Allow | Verdict::Ask { .. } => {
                let network = is_command(&call) && self.rules.grants_network(&call);
                Ok(Approved { what: call, network })
            }
        }
    }

    /// Describes the calls that the answer "always" would cover; `None` if each such call needs
    /// consent.
    pub fn always(&self, call: &ToolCall, spec: &ToolSpec) -> Option<String> {
        Some(self.grants_of(call, spec)?.first()?.to_string())
    }

    /// The grants that the call needs; `None` if such a call needs consent each time.
    fn grants_of(&self, call: &ToolCall, spec: &ToolSpec) -> Option<Vec<Grant>> {
        let asked_each_time = self.mode == ApproveMode::Always
            || (self.unconfined.is_some() && is_command(call))
            || risk_of(call, spec) != Risk::Plain
            || self.rules.decide(call, self.project.as_deref()).is_some();
        if asked_each_time { None } else { grant::of(call, self.project.as_deref()) }
    }

    fn grant(&self, call: &ToolCall, spec: &ToolSpec) {
        let mut grants = lock(&self.grants);
        if let Some(new) = self.grants_of(call, spec)
            && grants.len() < GRANTS_MAX
        {
            grants.extend(new);
        }
    }

    fn is_granted(&self, call: &ToolCall, spec: &ToolSpec) -> bool {
        let grants = lock(&self.grants);
        let needed = if grants.is_empty() { None } else { self.grants_of(call, spec) };
        needed.is_some_and(|needed| needed.iter().all(|one| grants.iter().any(|given| given.covers(one))))
    }
}

/// Whether a name matches a pattern with `*` and `?`; an invalid pattern matches no name.
pub fn glob(pattern: &str, name: &str) -> bool {
    pattern::Pattern::text(pattern).is_ok_and(|pattern| pattern.matches(name))
}

/// The verdict of the mode alone, ignoring rules and grants.
fn by_mode(call: &ToolCall, spec: &ToolSpec, mode: ApproveMode, risk: Risk) -> Verdict {
    let tool = &call.tool;
    let ask = |reason: String| Verdict::Ask { reason };
    match (mode, risk) {
        (ApproveMode::Always, _) => ask(EVERY_CALL.to_owned()),
        (ApproveMode::Never, _) => Verdict::Allow,
        (_, Risk::Destructive(why)) => ask(format!("{tool}: {why}")),
        (ApproveMode::OnMutation, _) if is_command(call) => {
            ask("run_command can change anything in the project".to_owned())
        }
        (ApproveMode::OnMutation, _) if spec.mutates => ask(format!("{tool} changes something")),
        // A server's claim that a tool only reads is not trusted.
        (ApproveMode::OnMutation, _) if is_outside(spec) => {
            ask(format!("{tool} claims to only read, but it runs in the server `{}`", spec.server))
        }
        _ => Verdict::Allow,
    }
}

fn is_outside(spec: &ToolSpec) -> bool {
    Builtin::by_name(&spec.name).is_none()
}

/// Words in a tool's name that mean that something is lost or leaves the machine. Such a tool
/// counts as destructive even if it claims to be read-only.
const DESTRUCTIVE_WORDS: &str = "delete remove erase drop purge wipe clear destroy trash overwrite truncate reset kill
    send publish upload pay transfer uninstall revoke";

fn risk_of(call: &ToolCall, spec: &ToolSpec) -> Risk {
    if is_command(call) {
        return match call.arguments.get("command").and_then(|line| line.as_str()) {
            Some(line) => shell::risk(line),
            None => Risk::Destructive("its command is not a text".to_owned()),
        };
    }
    let parts = words::parts(&spec.name);
    match parts.iter().find(|part| is_listed(DESTRUCTIVE_WORDS, part)) {
        Some(word) => Risk::Destructive(format!("its name contains `{word}`")),
        None if spec.destructive => {
            Risk::Destructive(format!("the server `{}` reports that it may destroy", spec.server))
        }
        None => Risk::Plain,
    }
}

fn is_command(call: &ToolCall) -> bool {
    call.tool == "run_command"
}

#[cfg(test)]
mod tests;
