//! Gets the right to run a tool call from the policy's rules, or from the user, who sees a preview.

use crate::base::StepId;
use crate::protocol::{Event, Proposal, StepState, StepStatus};
use crate::tools::policy::{Approved, Refusal, Verdict};
use crate::tools::{Context, ToolCall, ToolSpec, preview};

use super::Host;

/// Returns `call` approved by the rules or the user. The error is the status and the reason with which the step ends.
pub async fn consent(
    step: StepId,
    call: &ToolCall,
    spec: &ToolSpec,
    context: &Context,
    host: &dyn Host,
) -> Result<Approved<ToolCall>, (StepStatus, String)> {
    let refused = |refusal: Refusal| match refusal {
        Refusal::Rejected { .. } => (StepStatus::Rejected, refusal.to_string()),
        _ => (StepStatus::Failed, refusal.to_string()),
    };
    let policy = host.policy();
    match policy.assess(call, spec) {
        Verdict::Allow => policy.approved(call.clone(), spec).map_err(refused),
        Verdict::Deny { reason } => Err((StepStatus::Failed, reason)),
        Verdict::Ask { reason } => {
            let preview = preview::of(call, context).map_err(|error| (StepStatus::Failed, error))?;
            let proposal = Proposal {
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                reason,
                preview: preview.text,
                changes: preview.changes,
                always: policy.always(call, spec),
            };
            host.emit(Event::StepState { step, state: StepState::AwaitingApproval });
            host.emit(Event::ApprovalRequested { step, proposal: proposal.clone() });
            let decision = host.approve(step, &proposal).await;
            policy.approve(call.clone(), spec, decision).map_err(refused)
        }
    }
}
