//! Asks the token endpoint for tokens: for the code of a sign-in, or to renew one.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;

use super::client::Client;
use super::reach::Reach;
use crate::config::Address;

/// Maximum length of a token, in bytes. Some carry whole lists of groups.
const TOKEN_MAX: usize = 32 << 10;
/// Maximum length of the list of scopes, in bytes.
pub const SCOPE_MAX: usize = 8 << 10;
/// The codes of a refusal after which only a new sign-in helps. Some servers send them with status
/// 200; others, such as `temporarily_unavailable`, pass.
const REFUSALS: [&str; 4] = ["invalid_grant", "invalid_client", "unauthorized_client", "bad_refresh_token"];
/// A token is renewed this long before it expires, so that it does not expire on the way.
const EARLY_S: u64 = 60;

/// The answer of a token endpoint. It has no `Debug`, because it has tokens.
pub struct Granted {
    pub access_token: String,
    pub refresh_token: Option<String>,
    /// When to renew the token, in seconds since 1970; `None` if that is not known.
    pub renew_at_s: Option<u64>,
    pub expires_at_s: Option<u64>,
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
        let is_refusal = matches!(answered.status, 200 | 400 | 401) && REFUSALS.contains(&answered.code().as_str());
        return Err(if is_refusal { NoToken::Refused(why()) } else { NoToken::Failed(why()) });
    };
    let is_usable =
        |text: &String| !text.is_empty() && text.len() <= TOKEN_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
    let is_bearer = answer.token_type.is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !is_bearer || !is_usable(&answer.access_token) {
        return Err(NoToken::Failed(format!("{at} gives no token that can be sent as a header")));
    }
    let (lifetime_s, now_s) = (lifetime_s(&answer.expires_in), now_s());
    Ok(Granted {
        access_token: answer.access_token,
        refresh_token: answer.refresh_token.filter(is_usable),
        renew_at_s: lifetime_s.map(|lifetime_s| now_s.saturating_add(usable_s(lifetime_s))),
        expires_at_s: lifetime_s.map(|lifetime_s| now_s.saturating_add(lifetime_s)),
        scope: answer.scope.filter(|scope| scope.len() <= SCOPE_MAX),
    })
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// `None` if it is unknown; 0 cannot be meant, because the token would be of no use.
fn lifetime_s(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|lifetime_s| *lifetime_s > 0)
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
        assert_eq!([3600, 600, 100, 5].map(usable_s), [3540, 540, 90, 5]);
        let read = |text: &str| lifetime_s(&serde_json::from_str(text).unwrap());
        assert_eq!((read("60"), read("\"60\"")), (Some(60), Some(60)));
        assert_eq!([read("-1"), read("0"), read("null")], [None; 3]);
    }
}
