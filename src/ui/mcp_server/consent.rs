//! Asks the client's user, through elicitation, for consent to a call or for argument values. Only clear consent counts.

use std::time::Duration;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rmcp::service::{ElicitationMode, Peer, RoleServer};
use serde_json::{Map, Value, json};

use crate::protocol::{Decision, Proposal};

/// Time limit for a person to answer; after it, the turn continues without the call.
const ANSWER_MAX: Duration = Duration::from_secs(300);

const ONCE: &str = "allow once";
const ALWAYS: &str = "allow always";
const REJECT: &str = "reject";

/// The user's decision, or the reason nobody could be asked.
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
    let message = format!("{}: {}\n\n{}", proposal.tool, proposal.reason, proposal.preview);
    let form = if proposal.wanted().is_empty() { choice(proposal) } else { values(proposal) };
    let requested_schema = ElicitationSchema::from_json_schema(form)?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The form for values: a text field for each.
fn values(proposal: &Proposal) -> Map<String, Value> {
    let fields = proposal.wanted().iter().map(|name| (name.clone(), json!({ "type": "string", "title": name })));
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(fields.collect())),
        ("required".to_owned(), json!(proposal.wanted())),
    ])
}

/// The form for consent, with one choice.
fn choice(proposal: &Proposal) -> Map<String, Value> {
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
    schema
}

fn decision(answer: &ElicitResult, proposal: &Proposal) -> Decision {
    if answer.action == ElicitationAction::Accept && !proposal.wanted().is_empty() {
        let value = |name: &String| answer.content.as_ref()?.get(name)?.as_str().map(str::to_owned);
        return proposal.filled(proposal.wanted().iter().map(|name| value(name).unwrap_or_default()));
    }
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
    use crate::protocol::Asks;

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

    #[test]
    fn a_value_is_asked_for_in_a_form_and_goes_into_the_call() {
        let proposal =
            Proposal { tool: "send_mail".to_owned(), asks: Asks::Values(vec!["to".to_owned()]), ..Proposal::default() };
        let asked = serde_json::to_value(question(&proposal).expect("a question")).expect("it can be written");
        assert_eq!(asked["requestedSchema"]["required"], json!(["to"]), "{asked}");
        let given = |action, content| decision(&ElicitResult::new(action).with_content(content), &proposal);
        let filled = Decision::Modify(Map::from_iter([("to".to_owned(), json!("ada"))]));
        assert_eq!(given(ElicitationAction::Accept, json!({ "to": "ada" })), filled);
        assert_eq!(given(ElicitationAction::Accept, json!({})), Decision::Reject);
        assert_eq!(given(ElicitationAction::Decline, json!({ "to": "ada" })), Decision::Reject);
    }
}
