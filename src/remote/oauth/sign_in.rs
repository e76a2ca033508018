//! One sign-in: the URL that the user opens, protected by PKCE and `state`, and the exchange of the
//! answer's code for a token.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use url::Url;

use super::authority::Authority;
use super::callback::{Callback, Expected};
use super::client::Client;
use super::kept::Kept;
use super::token::{self, NoToken};

/// The scope for a token that outlives the session at the authorisation server.
const OFFLINE: &str = "offline_access";

/// The choices of the user for a sign-in.
#[derive(Default)]
pub struct Wish {
    /// A client that is registered already, with its secret; `None` registers one.
    pub client: Option<(String, Option<String>)>,
    /// Scopes besides those that the server names.
    pub scopes: Vec<String>,
    /// The port for the browser's answer; 0 means a free one.
    pub port: u16,
}

/// A sign-in that waits for the user.
pub struct SignIn {
    authority: Authority,
    client: Client,
    callback: Callback,
    verifier: String,
    state: String,
    scope: String,
    url: Url,
}

impl SignIn {
    /// Opens the port for the answer and registers a client, unless the user names one.
    pub async fn begin(authority: Authority, wish: Wish) -> Result<SignIn, String> {
        let callback = Callback::open(wish.port).await?;
        let scope = scope(&authority, wish.scopes);
        let client = match wish.client {
            Some((id, secret)) => Client::named(id, secret, &authority),
            None => Client::register(&authority, &callback.redirect, &scope).await?,
        };
        let (verifier, state) = (random()?, random()?);
        let mut url = authority.authorize.url().clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", &callback.redirect)
            .append_pair("state", &state)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier)))
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &authority.found.resource);
        if !scope.is_empty() {
            url.query_pairs_mut().append_pair("scope", &scope);
        }
        if scope.split(' ').any(|one| one == OFFLINE) {
            // OpenID Connect gives such a token only after the user was asked.
            url.query_pairs_mut().append_pair("prompt", "consent");
        }
        Ok(SignIn { authority, client, callback, verifier, state, scope, url })
    }

    /// The URL for the user's browser.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Waits for the answer and exchanges its code. `lines` are those that the user writes: one may
    /// be the URL to which the browser was sent.
    pub async fn finish(
        self,
        lines: &mut mpsc::Receiver<String>,
        note: impl Fn(&str),
        time_max: Duration,
    ) -> Result<Kept, String> {
        let SignIn { authority, client, callback, verifier, state, scope, .. } = self;
        let redirect = callback.redirect.clone();
        let (issuer, is_signed) = (authority.issuer.clone(), authority.signs_answers);
        let code = callback.code(Expected { state, issuer, is_signed }, lines, note, time_max).await?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &redirect),
            ("code_verifier", &verifier),
            ("resource", &authority.found.resource),
        ];
        let reach = &authority.found.reach;
        let granted = token::ask(reach, &authority.token, &client, &fields, &[&code, &verifier]).await;
        let granted = granted.map_err(|no| format!("the sign-in got no token: {}", NoToken::why(no)))?;
        Ok(Kept::new(&authority, client, granted, scope))
    }
}

/// The scopes that the server and the user name, once each.
fn scope(authority: &Authority, more: Vec<String>) -> String {
    let mut all: Vec<String> = Vec::new();
    // Without any scope the authorisation server gives its default, which one more would replace.
    let offline = Some(OFFLINE.to_owned()).filter(|_| authority.has_offline_scope);
    for one in authority.found.scopes.iter().cloned().chain(more) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if !all.is_empty() {
        all.extend(offline.filter(|one| !all.contains(one)));
    }
    all.join(" ")
}

/// 32 random bytes as text.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
