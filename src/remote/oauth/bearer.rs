//! Lends the token of one server for its requests, and renews it: shortly before it expires, and
//! once when the server refuses it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as Guarded};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::hide;
use super::kept::Kept;
use super::reach::Reach;
use super::token::{self, NoToken};
use crate::base::lock;

/// Number of tokens that a connection remembers in order to recognise them in texts.
const REMEMBERED_MAX: usize = 8;
/// Pause after a renewal that failed, while the token is still valid: an authorisation server that
/// hangs does not delay each request.
const PAUSE: Duration = Duration::from_secs(30);

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
    /// When a renewal failed last.
    failed: Guarded<Option<Instant>>,
}

impl Bearer {
    /// The token of the server of `reach`; `None` if the user is not signed in. `login` is the
    /// command that an error names.
    pub fn open(reach: Reach, folder: &Path, login: String) -> Result<Option<Bearer>, String> {
        let kept = Kept::read(folder, &reach.server).map_err(|why| format!("{why}: `{login}`"))?;
        Ok(kept.map(|kept| {
            let secrets = Guarded::new(kept.secrets().into_iter().map(str::to_owned).collect());
            let (folder, kept, failed) = (folder.to_owned(), Mutex::new(kept), Guarded::default());
            Bearer(Arc::new(Inner { reach, folder, login, kept, secrets, failed }))
        }))
    }

    /// The token for a request, renewed if it is about to expire.
    pub async fn token(&self) -> Result<String, String> {
        self.renewed(None).await
    }

    /// The token for the second attempt, after the server has refused the token `refused`.
    pub async fn token_after(&self, refused: &str) -> Result<String, String> {
        let new = self.renewed(Some(refused.to_owned())).await?;
        if new == refused { Err(self.0.signed_out("the server refuses the token")) } else { Ok(new) }
    }

    /// Renews the token if it was `refused` or is about to expire. The work is not cancelled with
    /// its caller: an authorisation server may accept a token for renewal only once, so the answer
    /// must be stored.
    async fn renewed(&self, refused: Option<String>) -> Result<String, String> {
        let inner = self.0.clone();
        let work = async move {
            let mut kept = inner.kept.lock().await;
            let can_wait = refused.is_none() && kept.is_valid();
            let pauses = can_wait && lock(&inner.failed).is_some_and(|failed| failed.elapsed() < PAUSE);
            let renewed = if pauses { Ok(()) } else { inner.renew(&mut kept, refused.as_deref()).await };
            if renewed.is_err() {
                *lock(&inner.failed) = Some(Instant::now());
            }
            match renewed {
                Err(why) if refused.is_some() || !kept.is_valid() => Err(why),
                _ if inner.is_forgotten() => Err(inner.signed_out("you have signed out")),
                _ => Ok(kept.access_token.clone()),
            }
        };
        tokio::spawn(work).await.unwrap_or_else(|lost| Err(format!("the token was lost: {lost}")))
    }

    /// The text without any token of this connection.
    pub fn without_secrets(&self, text: &str) -> String {
        hide::without(text, &lock(&self.0.secrets))
    }
}

impl Inner {
    fn signed_out(&self, why: &str) -> String {
        format!("{why}; sign in again: `{}`", self.login)
    }

    /// Whether the user has signed out since this process read the token.
    fn is_forgotten(&self) -> bool {
        matches!(Kept::file(&self.folder, &self.reach.server).try_exists(), Ok(false))
    }

    /// Takes the token in the file, if another process has renewed it meanwhile, or else a new one.
    async fn renew(&self, kept: &mut Kept, refused: Option<&str>) -> Result<(), String> {
        let is_old = |kept: &Kept| refused.map_or(kept.is_due(), |refused| kept.access_token == refused);
        if !is_old(kept) {
            return Ok(());
        }
        let server = &self.reach.server;
        let _locked = Kept::lock(&self.folder, server, self.reach.limit).await?;
        let read = Kept::read(&self.folder, server).map_err(|why| format!("{why}: `{}`", self.login))?;
        let Some(stored) = read else { return Err(self.signed_out("you have signed out")) };
        self.remember(&stored);
        let in_file = stored.access_token.clone();
        if kept.unwritten_over.as_ref() != Some(&in_file) {
            *kept = stored;
        }
        if !is_old(kept) {
            return Ok(());
        }
        let Some(refresh) = kept.refresh_token.clone() else {
            return Err(self.signed_out("the token of your sign-in is no longer accepted and cannot be renewed"));
        };
        let at = self.reach.address("the token endpoint", &kept.token_endpoint)?;
        let fields = [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("resource", &kept.resource)];
        let asked = token::ask(&self.reach, &at, &kept.client, &fields, &kept.secrets()).await;
        let done = match asked {
            Ok(granted) => {
                *kept = kept.renewed(granted);
                self.remember(kept);
                Ok(())
            }
            Err(NoToken::Refused(why)) => {
                // It is not tried again with the same token.
                kept.refresh_token = None;
                Err(self.signed_out(&format!("your sign-in is not renewed ({why})")))
            }
            Err(NoToken::Failed(why)) => {
                let login = &self.login;
                return Err(format!(
                    "your sign-in could not be renewed ({why}); try again later, or sign in again: `{login}`"
                ));
            }
        };
        // This process goes on with what it has got, even if the disk is full.
        kept.unwritten_over = kept.write(&self.folder, server).err().map(|why| {
            tracing::warn!("{why}; it is tried again at the next renewal");
            in_file
        });
        done
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
