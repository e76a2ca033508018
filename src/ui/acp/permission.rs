//! Asks the user, through the client, for consent to a call or for argument values.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction, ElicitationContentValue,
    ElicitationFormMode, ElicitationSchema, ElicitationSessionScope, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SessionId, ToolCallId,
    ToolCallStatus, ToolCallUpdate,
};

use super::calls;
use super::client::Client;
use crate::protocol::{Decision, Proposal};

const ONCE: &str = "allow-once";
const ALWAYS: &str = "allow-always";
const REJECT: &str = "reject-once";

/// The user's decision, or the reason nobody could be asked; `None` if the call was never announced
/// to the client. Only clear consent counts.
pub async fn ask(
    client: &Client,
    session: &SessionId,
    call: Option<ToolCallId>,
    proposal: &Proposal,
    project: &Path,
) -> Option<Decision> {
    if !proposal.wanted().is_empty() {
        return Some(values(client, session, proposal).await);
    }
    let request = question(session, call?, proposal, project);
    Some(match client.ask::<_, RequestPermissionResponse>("session/request_permission", &request).await {
        Ok(response) => decision(&response.outcome, proposal),
        Err(why) => Decision::NotAsked(why),
    })
}

/// The values that the user enters into a form.
async fn values(client: &Client, session: &SessionId, proposal: &Proposal) -> Decision {
    if !client.takes_forms() {
        return Decision::NotAsked("this editor cannot ask for a value (no elicitation)".to_owned());
    }
    match client.ask::<_, CreateElicitationResponse>("elicitation/create", &form(session, proposal)).await {
        Ok(response) => filled(response.action, proposal),
        Err(why) => Decision::NotAsked(why),
    }
}

/// A form with a text field for each value.
fn form(session: &SessionId, proposal: &Proposal) -> CreateElicitationRequest {
    let fields = proposal.wanted().iter().fold(ElicitationSchema::new(), |form, name| form.string(name, true));
    let message = format!("{}: {}\n\n{}", proposal.tool, proposal.reason, proposal.preview);
    CreateElicitationRequest::new(
        ElicitationFormMode::new(ElicitationSessionScope::new(session.clone()), fields),
        message,
    )
}

fn filled(action: ElicitationAction, proposal: &Proposal) -> Decision {
    let ElicitationAction::Accept(accepted) = action else { return Decision::Reject };
    let values = accepted.content.unwrap_or_default();
    let value = |name: &String| match values.get(name) {
        Some(ElicitationContentValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    proposal.filled(proposal.wanted().iter().map(value))
}

fn question(session: &SessionId, call: ToolCallId, proposal: &Proposal, project: &Path) -> RequestPermissionRequest {
    let fields = calls::described(&proposal.tool, &proposal.arguments, project)
        .content(calls::proposed(proposal, project))
        .status(ToolCallStatus::Pending);
    let mut options = vec![PermissionOption::new(ONCE, "Allow once", PermissionOptionKind::AllowOnce)];
    if let Some(what) = &proposal.always {
        options.push(PermissionOption::new(ALWAYS, format!("Always: {what}"), PermissionOptionKind::AllowAlways));
    }
    options.push(PermissionOption::new(REJECT, "Reject", PermissionOptionKind::RejectOnce));
    RequestPermissionRequest::new(session.clone(), ToolCallUpdate::new(call, fields), options)
}

/// An answer counts as consent only if it is one of the offered options.
fn decision(outcome: &RequestPermissionOutcome, proposal: &Proposal) -> Decision {
    let RequestPermissionOutcome::Selected(selected) = outcome else { return Decision::Cancel };
    match selected.option_id.0.as_ref() {
        ONCE => Decision::Approve,
        ALWAYS if proposal.always.is_some() => Decision::Always,
        _ => Decision::Reject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Asks;
    use serde_json::{Map, json};

    fn proposal(always: Option<&str>) -> Proposal {
        Proposal {
            tool: "run_command".to_owned(),
            arguments: Map::from_iter([("command".to_owned(), json!("make all"))]),
            always: always.map(str::to_owned),
            ..Proposal::default()
        }
    }

    #[test]
    fn always_is_offered_only_where_it_exists() {
        let options = |always: Option<&str>| {
            let asked = question(&SessionId::new("c1"), ToolCallId::new("call-1"), &proposal(always), Path::new("/p"));
            asked.options.into_iter().map(|option| option.name).collect::<Vec<_>>()
        };
        assert_eq!(options(None), ["Allow once", "Reject"]);
        assert_eq!(options(Some("commands like `make`")), ["Allow once", "Always: commands like `make`", "Reject"]);
    }

    #[test]
    fn a_value_is_asked_for_in_a_form_and_goes_into_the_call() {
        let proposal = Proposal { asks: Asks::Values(vec!["to".to_owned()]), ..proposal(None) };
        let asked = serde_json::to_value(form(&SessionId::new("c1"), &proposal)).expect("it can be written");
        assert_eq!((&asked["mode"], &asked["sessionId"]), (&json!("form"), &json!("c1")), "{asked}");
        assert_eq!(asked["requestedSchema"]["required"], json!(["to"]), "{asked}");
        let given = |response: serde_json::Value| {
            let response: CreateElicitationResponse = serde_json::from_value(response).expect("a response");
            filled(response.action, &proposal)
        };
        let Decision::Modify(arguments) = given(json!({ "action": "accept", "content": { "to": "ada" } })) else {
            panic!("it is given")
        };
        assert_eq!((&arguments["to"], &arguments["command"]), (&json!("ada"), &json!("make all")));
        assert_eq!(given(json!({ "action": "accept" })), Decision::Reject);
        assert_eq!(given(json!({ "action": "decline" })), Decision::Reject);
    }

    #[test]
    fn only_an_option_that_was_offered_is_consent() {
        let check = |outcome: serde_json::Value, always: Option<&str>, expected: Decision| {
            let outcome = serde_json::from_value(outcome).expect("an outcome");
            assert_eq!(decision(&outcome, &proposal(always)), expected);
        };
        let selected = |id: &str| json!({ "outcome": "selected", "optionId": id });
        check(selected("allow-once"), None, Decision::Approve);
        check(selected("allow-always"), Some("x"), Decision::Always);
        check(selected("allow-always"), None, Decision::Reject);
        check(selected("yes"), Some("x"), Decision::Reject);
        check(json!({ "outcome": "cancelled" }), Some("x"), Decision::Cancel);
    }
}
