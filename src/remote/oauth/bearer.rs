//! Lends the token of one server for its requests, and renews it: shortly before it expires, and
//! once when the server refuses it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as Guarded};

use tokio::sync::Mutex;

use super::kept::Kept;
use super::reach::Reach;
use super::token::{self, NoToken};
use crate::base::lock;

/// Number of tokens that a connection remembers in order to recognise them in texts.
const REMEMBERED_MAX: usize = 8;
/// Shorter texts also occur inside ordinary words.
const SECRET_MIN: usize = 6;

/// The token of one server. Clones share it.
#[derive(Clone)]
pub struct Bearer(Arc<Inner>);

struct Inner {
    reach: Reach,
    folder: PathBuf,
    /// The command that signs in.
    login: String,
    kept: Mutex<Kept>,
    /// The secrets so far.
    secrets: Guarded<Vec<String>>,
}

impl Bearer {
    /// The token of the server of `reach`; `None` if the user is not signed in. `login` is the
    /// command that an error names.
    pub fn open(reach: Reach, folder: &Path, login: String) -> Result<Option<Bearer>, String> {
        let kept = Kept::read(folder, &reach.server).map_err(|why| format!("{why}: `{login}`"))?;
        Ok(kept.map(|kept| {
            let secrets = Guarded::new(kept.secrets().into_iter().map(str::to_owned).collect());
            Bearer(Arc::new(Inner { reach, folder: folder.to_owned(), login, kept: Mutex::new(kept), secrets }))
        }))
    }

    /// The token for a request, renewed if it is about to expire.
    pub async fn token(&self) -> Result<String, String> {
        self.renewed_if(|kept| kept.is_due()).await
    }

    /// The token for the second attempt, after the server has refused the token `refused`.
    pub async fn token_after(&self, refused: &str) -> Result<String, String> {
        let old = refused.to_owned();
        let new = self.renewed_if(move |kept| kept.access_token == old).await?;
        if new == refused { Err(self.0.signed_out("the server refuses the token")) } else { Ok(new) }
    }

    /// Renews the token if `is_old`. The work is not cancelled with its caller: an authorisation
    /// server may accept a token for renewal only once, so the answer must be stored.
    async fn renewed_if(&self, is_old: impl Fn(&Kept) -> bool + Send + Sync + 'static) -> Result<String, String> {
        let inner = self.0.clone();
        let work = async move {
            let mut kept = inner.kept.lock().await;
            if is_old(&kept) {
                *kept = inner.renewed(is_old).await?;
            }
            Ok(kept.access_token.clone())
        };
        tokio::spawn(work).await.unwrap_or_else(|lost| Err(format!("the token was lost: {lost}")))
    }

    /// The text without any token of this connection.
    pub fn without_secrets(&self, text: &str) -> String {
        let secrets = lock(&self.0.secrets);
        let long = secrets.iter().filter(|secret| secret.len() >= SECRET_MIN);
        long.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[token]"))
    }
}

impl Inner {
    fn signed_out(&self, why: &str) -> String {
        format!("{why}; sign in again: `{}`", self.login)
    }

    /// The token in the file, if another process has renewed it meanwhile, else a new one.
    async fn renewed(&self, is_old: impl Fn(&Kept) -> bool) -> Result<Kept, String> {
        let server = &self.reach.server;
        let _locked = Kept::lock(&self.folder, server, self.reach.limit).await?;
        let read = Kept::read(&self.folder, server).map_err(|why| format!("{why}: `{}`", self.login))?;
        let Some(kept) = read else { return Err(self.signed_out("you have signed out")) };
        self.remember(&kept);
        if !is_old(&kept) {
            return Ok(kept);
        }
        let Some(refresh) = kept.refresh_token.clone() else {
            return Err(self.signed_out("the token of your sign-in is no longer accepted and cannot be renewed"));
        };
        let at = self.reach.address("the token endpoint", &kept.token_endpoint)?;
        let fields = [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("resource", &kept.resource)];
        let asked = token::ask(&self.reach, &at, &kept.client, &fields, &kept.secrets()).await;
        match asked {
            Ok(granted) => {
                let new = kept.renewed(granted);
                self.remember(&new);
                new.write(&self.folder, server)?;
                Ok(new)
            }
            Err(NoToken::Refused(why)) => {
                // It is not tried again with the same token.
                kept.without_renewal().write(&self.folder, server)?;
                Err(self.signed_out(&format!("your sign-in is not renewed ({why})")))
            }
            Err(NoToken::Failed(why)) => {
                let login = &self.login;
                Err(format!("your sign-in could not be renewed ({why}); try again later, or sign in again: `{login}`"))
            }
        }
    }

    fn remember(&self, kept: &Kept) {
        let mut secrets = lock(&self.secrets);
        for secret in kept.secrets() {
            if !secrets.iter().any(|known| known == secret) {
                secrets.push(secret.to_owned());
            }
        }
        let old = secrets.len().saturating_sub(REMEMBERED_MAX);
        secrets.drain(..old);
    }
}

/// Tells the authorisation server that the tokens are no longer used (RFC 7009), if it offers that;
/// returns whether it does.
pub async fn revoke(reach: &Reach, kept: &Kept) -> Result<bool, String> {
    let Some(at) = &kept.revocation_endpoint else { return Ok(false) };
    let at = reach.address("the revocation endpoint", at)?;
    let (token, kind) = match &kept.refresh_token {
        Some(token) => (token, "refresh_token"),
        None => (&kept.access_token, "access_token"),
    };
    let (way, headers) = kept.client.form(&[("token", token), ("token_type_hint", kind)])?;
    let answered = reach.ask(&at, way, headers).await?;
    if answered.status == 200 {
        return Ok(true);
    }
    Err(format!("{at}: {}", answered.refusal(&kept.secrets())))
}
