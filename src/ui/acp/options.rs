//! The modes of a session, reported twice: as modes, and as a configuration option for clients that show only options.

use agent_client_protocol_schema::v1::{
    Error, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelect, SessionConfigSelectOption, SessionMode, SessionModeState,
};

use super::wire::invalid;
use crate::protocol::Mode;

const OPTION: &str = "mode";

/// Identifier, name and description of each mode.
const MODES: [(&str, &str, &str); 2] = [
    ("agent", "Agent", "Plans, acts and answers; asks before it changes something"),
    ("chat", "Chat", "Looks things up and answers; changes nothing"),
];

/// Both forms, with the current mode.
pub fn both(current: Mode) -> (SessionModeState, Vec<SessionConfigOption>) {
    let current = match current {
        Mode::Agent => "agent",
        Mode::Chat => "chat",
    };
    let modes = MODES.map(|(id, name, about)| SessionMode::new(id, name).description(about.to_owned()));
    let choice = |(id, name, about): (&'static str, &'static str, &str)| {
        SessionConfigSelectOption::new(id, name).description(about.to_owned())
    };
    let select = SessionConfigKind::Select(SessionConfigSelect::new(current, Vec::from(MODES.map(choice))));
    let option = SessionConfigOption::new(OPTION, "Mode", select)
        .description("Rights of a request".to_owned())
        .category(SessionConfigOptionCategory::Mode);
    (SessionModeState::new(current, Vec::from(modes)), vec![option])
}

/// The mode that a client names in `session/set_mode`.
pub fn read(id: &str) -> Result<Mode, Error> {
    id.parse().map_err(|why| invalid(format!("session/set_mode: {why}")))
}

/// The mode that a client sets for the option `id`.
pub fn set(id: &str, value: &SessionConfigOptionValue) -> Result<Mode, Error> {
    if id != OPTION {
        return Err(invalid(format!(
            "session/set_config_option: there is no option `{id}`; the only one is `{OPTION}`"
        )));
    }
    let value = value.as_value_id().map(|value| value.0.as_ref()).unwrap_or_default();
    value.parse().map_err(|why| invalid(format!("session/set_config_option: {why}")))
}
