//! The modes of a session, told twice: as modes, and as a configuration option for clients that show only those.

use agent_client_protocol_schema::v1::{
    Error, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelect, SessionConfigSelectOption, SessionMode, SessionModeState,
};

use super::wire::invalid;
use crate::protocol::Mode;

/// The option's identifier.
const OPTION: &str = "mode";

/// Name and description of each mode.
const MODES: [(Mode, &str, &str, &str); 2] = [
    (Mode::Agent, "agent", "Agent", "Plans, acts and answers; asks before it changes something"),
    (Mode::Chat, "chat", "Chat", "Looks things up and answers; changes nothing"),
];

/// The mode's identifier.
pub fn name(mode: Mode) -> &'static str {
    MODES.iter().find(|(one, ..)| *one == mode).map_or("agent", |(_, id, ..)| id)
}

pub fn modes(current: Mode) -> SessionModeState {
    let all = MODES.iter().map(|(_, id, name, about)| SessionMode::new(*id, *name).description((*about).to_owned()));
    SessionModeState::new(name(current), all.collect())
}

pub fn options(current: Mode) -> Vec<SessionConfigOption> {
    let choice = |(_, id, name, about): &(Mode, &'static str, &'static str, &'static str)| {
        SessionConfigSelectOption::new(*id, *name).description((*about).to_owned())
    };
    let choices: Vec<SessionConfigSelectOption> = MODES.iter().map(choice).collect();
    let select = SessionConfigKind::Select(SessionConfigSelect::new(name(current), choices));
    let option = SessionConfigOption::new(OPTION, "Mode", select)
        .description("What a request may do".to_owned())
        .category(SessionConfigOptionCategory::Mode);
    vec![option]
}

/// The mode that a client names in `session/set_mode`.
pub fn read(id: &str) -> Result<Mode, Error> {
    id.parse().map_err(|why| invalid(format!("session/set_mode: {why}")))
}

/// The mode that a client gives the option `id`.
pub fn set(id: &str, value: &SessionConfigOptionValue) -> Result<Mode, Error> {
    if id != OPTION {
        return Err(invalid(format!("session/set_config_option: there is no option `{id}`; there is `{OPTION}`")));
    }
    let value = value.as_value_id().map(|value| value.0.as_ref()).unwrap_or_default();
    value.parse().map_err(|why| invalid(format!("session/set_config_option: {why}")))
}
