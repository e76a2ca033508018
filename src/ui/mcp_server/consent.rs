//! Asks the client's user for consent to a call, by elicitation. Only a clear consent counts as one.

use std::time::Duration;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rmcp::service::{ElicitationMode, Peer, RoleServer};
use serde_json::{Value, json};

use crate::protocol::{Decision, Proposal};

/// How long a person has to answer; after it the turn goes on without the call.
const ANSWER_MAX: Duration = Duration::from_secs(300);

const ONCE: &str = "allow once";
const ALWAYS: &str = "allow always";
const REJECT: &str = "reject";

/// The user's decision, or why nobody could be asked.
pub async fn ask(peer: &Peer<RoleServer>, proposal: &Proposal) -> Decision {
    if !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
        return Decision::NotAsked("this client cannot ask its user (no elicitation)".to_owned());
    }
    let question = match question(proposal) {
        Ok(question) => question,
        Err(why) => return Decision::NotAsked(why.to_string()),
    };
    match peer.create_elicitation_with_timeout(question, Some(ANSWER_MAX)).await {
        Ok(answer) => decision(&answer, proposal),
        Err(why) => Decision::NotAsked(format!("there was no answer ({why})")),
    }
}

fn question(proposal: &Proposal) -> Result<ElicitRequestParams, serde_json::Error> {
    let choices: Vec<&str> =
        [Some(ONCE), proposal.always.as_ref().map(|_| ALWAYS), Some(REJECT)].into_iter().flatten().collect();
    let always = proposal.always.as_ref().map_or(String::new(), |what| format!("; {ALWAYS} covers {what}"));
    let schema = json!({
        "type": "object",
        "properties": { "decision": { "type": "string", "enum": choices, "title": "Decision",
            "description": format!("Whether this may be done{always}") } },
        "required": ["decision"],
    });
    let Value::Object(schema) = schema else { unreachable!("it is an object") };
    let message = format!("{}: {}\n\n{}", proposal.tool, proposal.reason, proposal.preview);
    let requested_schema = ElicitationSchema::from_json_schema(schema)?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

fn decision(answer: &ElicitResult, proposal: &Proposal) -> Decision {
    let said = answer.content.as_ref().and_then(|content| content.get("decision")).and_then(Value::as_str);
    match (&answer.action, said) {
        (ElicitationAction::Accept, Some(ONCE)) => Decision::Approve,
        (ElicitationAction::Accept, Some(ALWAYS)) if proposal.always.is_some() => Decision::Always,
        (ElicitationAction::Cancel, _) => Decision::Cancel,
        _ => Decision::Reject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_choice_that_was_offered_is_consent() {
        let check = |action: ElicitationAction, content: Value, always: bool, expected: Decision| {
            let proposal = Proposal {
                tool: "write_file".to_owned(),
                always: always.then(|| "writes below src".to_owned()),
                ..Proposal::default()
            };
            let asked = serde_json::to_value(question(&proposal).expect("a question")).expect("it can be written");
            let choices = asked["requestedSchema"]["properties"]["decision"]["enum"].as_array().map(Vec::len);
            assert_eq!(choices, Some(2 + usize::from(always)), "{asked}");
            assert_eq!(decision(&ElicitResult::new(action).with_content(content), &proposal), expected);
        };
        check(ElicitationAction::Accept, json!({ "decision": "allow once" }), false, Decision::Approve);
        check(ElicitationAction::Accept, json!({ "decision": "allow always" }), true, Decision::Always);
        check(ElicitationAction::Accept, json!({ "decision": "allow always" }), false, Decision::Reject);
        check(ElicitationAction::Accept, json!({}), false, Decision::Reject);
        check(ElicitationAction::Decline, json!({ "decision": "allow once" }), false, Decision::Reject);
        check(ElicitationAction::Cancel, Value::Null, false, Decision::Cancel);
    }
}
