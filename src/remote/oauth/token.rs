//! Asks the token endpoint for tokens: for the code of a sign-in, or to renew one.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;

use super::client::Client;
use super::reach::Reach;
use crate::config::Address;

/// Maximum length of a token, in bytes. Some carry whole lists of groups.
const TOKEN_MAX: usize = 32 << 10;
/// A token is renewed this long before it expires, so that it does not expire on the way.
const EARLY_S: u64 = 60;

/// The answer of a token endpoint. It has no `Debug`, because it has tokens.
pub struct Granted {
    pub access_token: String,
    pub refresh_token: Option<String>,
    /// When to renew the token, in seconds since 1970; `None` if that is not known.
    pub renew_at_s: Option<u64>,
    pub scope: Option<String>,
}

/// The reason why there is no token.
pub enum NoToken {
    /// The authorisation server refuses, so that only a new sign-in helps.
    Refused(String),
    Failed(String),
}

impl NoToken {
    pub fn why(self) -> String {
        match self {
            NoToken::Refused(why) | NoToken::Failed(why) => why,
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    token_type: Option<String>,
    refresh_token: Option<String>,
    /// A number; a text at some servers.
    #[serde(default)]
    expires_in: Value,
    scope: Option<String>,
}

/// Sends `fields` as `client`; the texts in `secrets` are in no message.
pub async fn ask(
    reach: &Reach,
    at: &Address,
    client: &Client,
    fields: &[(&str, &str)],
    secrets: &[&str],
) -> Result<Granted, NoToken> {
    let (way, headers) = client.form(fields).map_err(NoToken::Failed)?;
    let answered = reach.ask(at, way, headers).await.map_err(NoToken::Failed)?;
    let secrets: Vec<&str> = secrets.iter().copied().chain(client.secret.as_deref()).collect();
    let why = || format!("{at}: {}", answered.refusal(&secrets));
    let Some(answer) = answered.json::<Answer>() else {
        let is_refusal = matches!(answered.status, 400 | 401) && !answered.code().is_empty();
        return Err(if is_refusal { NoToken::Refused(why()) } else { NoToken::Failed(why()) });
    };
    let is_usable =
        |text: &String| !text.is_empty() && text.len() <= TOKEN_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
    let is_bearer = answer.token_type.is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !is_bearer || !is_usable(&answer.access_token) {
        return Err(NoToken::Failed(format!("{at} gives no token that can be sent as a header")));
    }
    Ok(Granted {
        access_token: answer.access_token,
        refresh_token: answer.refresh_token.filter(is_usable),
        renew_at_s: lifetime_s(&answer.expires_in).map(|lifetime_s| now_s().saturating_add(usable_s(lifetime_s))),
        scope: answer.scope,
    })
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn lifetime_s(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// How long a token is used. A short one is not renewed before each request.
fn usable_s(lifetime_s: u64) -> u64 {
    lifetime_s - EARLY_S.min(lifetime_s / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_a_little_before_it_expires() {
        assert_eq!([3600, 600, 100, 5, 0].map(usable_s), [3540, 540, 90, 5, 0]);
        let read = |text: &str| lifetime_s(&serde_json::from_str(text).unwrap());
        assert_eq!((read("60"), read("\"60\""), read("-1"), read("null")), (Some(60), Some(60), None, None));
    }
}
