//! The right to run a call: from the rules, or from the user who is shown what it would do.

use crate::base::StepId;
use crate::protocol::{Event, Proposal, StepState, StepStatus};
use crate::tools::policy::{Approved, Refusal, Verdict};
use crate::tools::{Context, ToolCall, ToolSpec, preview};

use super::Host;

/// The right to run `call`, from the rules or from the user; else how the step ends without it.
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
            let shown = preview::of(call, context).map_err(|error| (StepStatus::Failed, error))?;
            let proposal = Proposal {
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                reason,
                preview: shown.text,
                always: policy.always(call, spec),
            };
            host.emit(Event::StepState { step, state: StepState::AwaitingApproval });
            host.emit(Event::ApprovalRequested { step, proposal: proposal.clone() });
            let decision = host.approve(step, &proposal).await;
            policy.approve(call.clone(), spec, decision).map_err(refused)
        }
    }
}
