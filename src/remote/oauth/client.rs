//! The client that monobloc is to an authorisation server: one of the settings, or one that it
//! registers there (RFC 7591).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::authority::Authority;
use crate::remote::http::{self, HeaderMap, Way};

/// Maximum length of an identifier or a secret, in bytes.
const TEXT_MAX: usize = 8 << 10;

/// A client of an authorisation server. It has no `Debug`, because it may have a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct Client {
    pub id: String,
    pub secret: Option<String>,
    /// Whether the secret is sent among the fields of a form rather than in a header.
    pub posts_secret: bool,
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl Client {
    /// The client of the settings.
    pub fn named(id: String, secret: Option<String>, authority: &Authority) -> Client {
        let has = |proof: &str| authority.proofs.as_ref().is_some_and(|all| all.iter().any(|one| one == proof));
        Client { id, secret, posts_secret: has("client_secret_post") && !has("client_secret_basic") }
    }

    /// Registers a client, which gets its answers at the URL `redirect`.
    pub async fn register(authority: &Authority, redirect: &str, scope: &str) -> Result<Client, String> {
        let Some(at) = &authority.register else {
            return Err(format!(
                "the authorisation server {issuer} registers no clients by itself; register one there, with the redirect URL \
                 http://127.0.0.1:PORT/callback, and write its `client_id`, `issuer = \"{issuer}\"` and PORT as \
                 `callback_port` into the table of the server",
                issuer = authority.found.at
            ));
        };
        let mut wish = json!({
            "client_name": "monobloc",
            "application_type": "native",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        if !scope.is_empty() {
            wish["scope"] = scope.into();
        }
        let answered = authority.found.reach.ask(at, Way::Post(wish.to_string()), HeaderMap::new()).await?;
        let usable = |text: &str| !text.is_empty() && text.len() <= TEXT_MAX;
        let registered = answered.json::<Registered>().filter(|made| usable(&made.client_id));
        let Some(made) = registered.filter(|made| made.client_secret.as_deref().is_none_or(usable)) else {
            return Err(format!(
                "{at} does not register monobloc ({}); register a client there by hand, and write its `client_id` and \
                 `issuer = \"{}\"` into the table of the server",
                answered.refusal(&[]),
                authority.found.at
            ));
        };
        let proof = made.token_endpoint_auth_method.unwrap_or_default();
        // Some servers give a secret along with `none`, and then refuse it.
        let secret = made.client_secret.filter(|_| proof != "none");
        Ok(Client { id: made.client_id, secret, posts_secret: proof == "client_secret_post" })
    }

    /// A form for the token endpoint, with what proves the client.
    pub fn form(&self, fields: &[(&str, &str)]) -> Result<(Way, HeaderMap), String> {
        let (mut form, mut headers) = (Serializer::new(String::new()), HeaderMap::new());
        form.extend_pairs(fields);
        match &self.secret {
            Some(secret) if !self.posts_secret => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let both = STANDARD.encode(format!("{}:{}", encoded(&self.id), encoded(secret)));
                http::add_header(&mut headers, "authorization", &format!("Basic {both}"))?;
            }
            secret => {
                form.append_pair("client_id", &self.id);
                if let Some(secret) = secret {
                    form.append_pair("client_secret", secret);
                }
            }
        }
        Ok((Way::Form(form.finish()), headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secret: Option<&str>, posts_secret: bool, form: &str, header: Option<&str>) {
        let client = Client { id: "a b".to_owned(), secret: secret.map(str::to_owned), posts_secret };
        let (way, headers) = client.form(&[("grant_type", "x&y")]).unwrap();
        assert!(matches!(way, Way::Form(text) if text == form));
        assert_eq!(headers.get("authorization").map(|value| value.to_str().unwrap()), header);
        assert!(headers.values().all(|value| value.is_sensitive()));
    }

    #[test]
    fn a_client_proves_itself_by_a_header_or_by_fields() {
        check(None, false, "grant_type=x%26y&client_id=a+b", None);
        check(Some("s:1"), true, "grant_type=x%26y&client_id=a+b&client_secret=s%3A1", None);
        check(Some("s:1"), false, "grant_type=x%26y", Some("Basic YStiOnMlM0Ex"));
    }
}
