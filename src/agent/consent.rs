//! Gets permission to run tool calls from the policy's rules or from the user, who sees a preview;
//! only the change shown is made.

use crate::base::StepId;
use crate::protocol::{Decision, Event, Proposal, StepState, StepStatus};
use crate::tools::planned::Planned;
use crate::tools::policy::{Approved, Refusal, Verdict};
use crate::tools::preview::{self, Preview};
use crate::tools::{Context, ToolCall, ToolSpec};

use super::Host;

/// Calls that are decided on together: all of them run or none.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub calls: &'a [(ToolCall, &'a ToolSpec)],
    /// The texts from which the calls were derived, each with its path; `None` for a file that did
    /// not exist.
    pub basis: &'a [(String, Option<String>)],
    /// Notes for the user in addition to the preview.
    pub notes: &'a [String],
}

/// Calls that may run, with the change that was shown; `planned` is `None` for calls that do more than change files.
pub struct Consented {
    pub approved: Vec<Approved<ToolCall>>,
    pub planned: Option<Planned>,
}

/// The reason why calls may not run.
pub enum Refused {
    /// The final status of the step, and the reason.
    Ended(StepStatus, String),
    /// This file's content differs from the content that the calls were derived from, or that the
    /// preview showed.
    Stale(String),
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        let status = match &refusal {
            Refusal::Rejected { .. } => StepStatus::Rejected,
            Refusal::Cancelled { .. } => StepStatus::Cancelled,
            Refusal::NotAsked { .. } | Refusal::NeedsConsent { .. } => StepStatus::NotAsked,
            Refusal::Denied { .. } => StepStatus::Denied,
            Refusal::Modified(_) => StepStatus::Failed,
        };
        Refused::Ended(status, refusal.to_string())
    }
}

/// Returns the calls that the rules or the user approved.
pub async fn consent(
    step: StepId,
    wanted: Wanted<'_>,
    context: &Context,
    host: &dyn Host,
) -> Result<Consented, Refused> {
    let policy = host.policy();
    let mut reasons: Vec<String> = Vec::new();
    for (call, spec) in wanted.calls {
        match policy.assess(call, spec) {
            Verdict::Allow => {}
            Verdict::Deny { reason } => return Err(Refused::Ended(StepStatus::Denied, wanted.denied(call, &reason))),
            Verdict::Ask { reason } if reasons.contains(&reason) => {}
            Verdict::Ask { reason } => reasons.push(reason),
        }
    }
    let calls: Vec<ToolCall> = wanted.calls.iter().map(|(call, _)| call.clone()).collect();
    let failed = |why: String| Refused::Ended(StepStatus::Failed, why);
    let planned = Planned::of(&calls, context).map_err(failed)?;
    if let Some(path) = planned.as_ref().and_then(|planned| planned.other_than(wanted.basis)) {
        return Err(Refused::Stale(path.to_owned()));
    }
    if reasons.is_empty() {
        let approved = wanted.calls.iter().map(|(call, spec)| policy.approved(call.clone(), spec));
        return Ok(Consented { approved: approved.collect::<Result<_, _>>()?, planned });
    }
    let preview = match (&planned, wanted.calls) {
        (Some(planned), _) => planned.preview(),
        (None, [(call, _)]) => preview::of(call, context).map_err(failed)?,
        (None, _) => return Err(failed("only file changes are made together; this is a bug".to_owned())),
    };
    let proposal = wanted.proposal(preview, reasons, host);
    host.emit(Event::StepState { step, state: StepState::AwaitingApproval });
    host.emit(Event::ApprovalRequested { step, proposal: proposal.clone() });
    let decision = host.approve(step, &proposal).await;
    let is_modified = matches!(decision, Decision::Modify(_));
    if is_modified && calls.len() > 1 {
        return Err(failed("the arguments of several calls cannot be changed at once; answer yes or no".to_owned()));
    }
    let approved = wanted.calls.iter().map(|(call, spec)| policy.approve(call.clone(), spec, decision.clone()));
    let approved = approved.collect::<Result<Vec<_>, _>>()?;
    // The consent covers only the content that was shown.
    let Some(shown) = planned else { return Ok(Consented { approved, planned: None }) };
    let now = Planned::of(&calls, context).ok().flatten();
    match now.as_ref().map_or_else(|| Some(shown.first_path()), |now| shown.differs_from(now)) {
        Some(path) => Err(Refused::Stale(path)),
        None if is_modified => {
            let calls: Vec<ToolCall> = approved.iter().map(|one| one.call().clone()).collect();
            let planned = Planned::of(&calls, context).map_err(failed)?;
            Ok(Consented { approved, planned })
        }
        None => Ok(Consented { approved, planned: Some(shown) }),
    }
}

impl Wanted<'_> {
    /// The reason why none of the calls is made if this one is denied.
    fn denied(&self, call: &ToolCall, reason: &str) -> String {
        if self.calls.len() == 1 {
            return reason.to_owned();
        }
        let path = ["path", "source"].into_iter().find_map(|name| call.arguments.get(name)?.as_str());
        format!("{}: {reason}; none of the {} files was changed", path.unwrap_or(&call.tool), self.calls.len())
    }

    fn proposal(&self, preview: Preview, mut reasons: Vec<String>, host: &dyn Host) -> Proposal {
        let always = self.calls.iter().map(|(call, spec)| host.policy().always(call, spec));
        let always = always.collect::<Option<Vec<String>>>().map(|mut all| {
            all.dedup();
            all.join(", ")
        });
        let (tool, arguments) = match self.calls {
            [(call, _)] => (call.tool.clone(), call.arguments.clone()),
            several => {
                let paths = preview.changes.iter().map(|change| serde_json::Value::from(change.path.clone()));
                let moved = several.iter().flat_map(|(call, _)| {
                    ["source", "destination"].into_iter().filter_map(|name| Some((name, call.arguments.get(name)?)))
                });
                let mut arguments: serde_json::Map<String, serde_json::Value> =
                    moved.map(|(name, path)| (name.to_owned(), path.clone())).collect();
                arguments.insert("files".to_owned(), paths.collect());
                (several.first().map(|(call, _)| call.tool.clone()).unwrap_or_default(), arguments)
            }
        };
        let notes: String = self.notes.iter().map(|note| format!("note: {note}\n")).collect();
        reasons.extend_from_slice(self.notes);
        Proposal {
            tool,
            arguments,
            reason: reasons.join("; "),
            preview: format!("{}{notes}", preview.text),
            changes: preview.changes,
            always,
            ..Proposal::default()
        }
    }
}
