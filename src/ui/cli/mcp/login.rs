//! `monobloc mcp login` and `mcp logout`: signs in to a server in the browser, or forgets that.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::time::Duration;

use anyhow::{Context as _, Error, Result, bail};
use clap::Args;
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::sync::mpsc;

use crate::app::App;
use crate::config::{Address, Server};
use crate::remote::consent;
use crate::remote::oauth::{self, Authority, Found, Kept, Reach, SignIn, Wish};
use crate::tools::mcp::{challenge, consent_line};
use crate::ui::cli::{browser, or_note, warn};

/// Maximum length of a line that the user writes, in bytes.
const LINE_MAX: u64 = 64 << 10;

/// Sign in to a server that demands it, in the browser; the token is kept for this server alone
#[derive(Args)]
pub struct Login {
    /// The name of a configured server, or the URL of one that an editor passes
    server: String,
    /// Ask for this scope, besides those that the server names; can be repeated
    #[arg(long, value_name = "SCOPE", value_delimiter = ' ')]
    scope: Vec<String>,
    /// Only print the URL; open no browser
    #[arg(long)]
    no_browser: bool,
    /// How long to wait for the browser's answer
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout_s: u64,
    /// Agree without being asked to what is sent to the server, and to the hosts of the sign-in
    #[arg(long)]
    yes: bool,
    /// Print the URL for the browser and then the result, a JSON object each, and ask nobody
    #[arg(long)]
    json: bool,
}

/// Forget the sign-in to a server, and tell its authorisation server so
#[derive(Args)]
pub struct Logout {
    /// The name of a configured server, or the URL of one that an editor passes
    server: String,
    #[arg(long)]
    json: bool,
}

impl Login {
    pub async fn run(self, app: &App) -> Result<()> {
        tokio::select! {
            done = self.sign_in(app) => done,
            () = app.cancel.cancelled() => bail!("the sign-in was cancelled"),
        }
    }

    async fn sign_in(self, app: &App) -> Result<()> {
        let (server, url) = behind_url(app, &self.server)?;
        if app.config.offline {
            bail!("--offline is on, so nothing is sent to {url}; leave it out to sign in");
        }
        if server.headers.names().any(|name| name.eq_ignore_ascii_case("authorization")) {
            bail!("the header Authorization in `headers` is used instead of a sign-in; leave it out to sign in");
        }
        let mut wish = self.wish(&server)?;
        let (consents, mut user) = (consent::store(), User::new(self.yes, self.json));
        if !consent::given(&consents, &consent_line(&url)) {
            user.agrees(&super::sent_to(&server, &url)).await?;
            consent::give(&consents, &consent_line(&url)).context("your consent could not be saved")?;
        }
        let reach = Reach { server: url.clone(), consents, limit: server.start_timeout };
        let answer = challenge(&server, &url).await.map_err(Error::msg)?;
        let found = Found::at(reach.clone(), &answer, server.issuer.as_ref()).await.map_err(Error::msg)?;
        user.agrees_to(&reach, found.not_agreed().as_slice()).await?;
        let authority = Authority::of(found).await.map_err(Error::msg)?;
        user.agrees_to(&reach, &authority.not_agreed(wish.client.is_none())).await?;
        // An issuer in the settings answers for both.
        if let Some((asks, gets)) = authority.split().filter(|_| server.issuer.is_none()) {
            user.agrees(&format!(
                "You sign in at {asks}, but {gets} gets its answer, and can act there as you. Allow this only if both \
                 belong together."
            ))
            .await?;
        }
        let folder = oauth::folder();
        // What prevents storing the token should be found before the user signs in.
        drop(Kept::lock(&folder, &url, reach.limit).await.map_err(Error::msg)?);
        if !wish.scopes.is_empty() {
            let old = Kept::parsed(&folder, &url).map(|old| old.scopes_of(&authority));
            wish.scopes.extend(old.unwrap_or_default());
        }
        let sign_in = SignIn::begin(authority, wish).await.map_err(Error::msg)?;
        // Held until the sign-in ends, because the browser may read it late.
        let _opened = self.show(sign_in.url());
        let time_max = Duration::from_secs(self.timeout_s);
        let kept = sign_in.finish(&mut user.lines, |why| warn(why), time_max).await.map_err(Error::msg)?;
        match keep(&reach, &kept).await {
            Ok(old) => {
                self.report(&url, &kept);
                if let Some(old) = old.filter(|old| old.is_apart_from(&kept)) {
                    // It expires some day, whatever the answer is.
                    let _ = oauth::revoke(&reach, &old).await;
                }
                Ok(())
            }
            Err(why) => {
                // Nobody will use it.
                let _ = oauth::revoke(&reach, &kept).await;
                bail!(why)
            }
        }
    }

    fn report(&self, url: &Address, kept: &Kept) {
        if self.json {
            putln!(
                "{}",
                json!({ "url": url.to_string(), "signed_in": true, "scope": kept.scope, "lasts_s": kept.rest_s(),
                    "renewable": kept.is_renewable() })
            );
            return;
        }
        let lasts = match (kept.is_renewable(), kept.rest_s()) {
            (true, _) => "; the token is renewed when it expires".to_owned(),
            (false, Some(rest_s)) => format!(" for {} min", rest_s.div_ceil(60)),
            (false, None) => String::new(),
        };
        say!("signed in to {url}{lasts}; `monobloc mcp test {}` lists its tools", self.server);
    }

    fn wish(&self, server: &Server) -> Result<Wish> {
        let secret = server.client_secret.as_ref().map(|secret| secret.filled(|name| std::env::var(name).ok()));
        let secret = secret.transpose().map_err(|variable| {
            Error::msg(format!(
                "its `client_secret` needs the environment variable {variable}, which is not set; set it"
            ))
        })?;
        let client = server.client_id.clone().map(|id| (id, secret));
        let scopes = self.scope.iter().filter(|scope| !scope.is_empty()).cloned().collect();
        Ok(Wish { client, scopes, port: server.callback_port.map_or(0, u16::from) })
    }

    fn show(&self, url: &str) -> Option<NamedTempFile> {
        if self.json {
            putln!("{}", json!({ "authorize": url }));
        } else {
            say!("open this URL in a browser and sign in there (waiting {} s):", self.timeout_s);
            putln!("{url}");
            say!("if the browser is on another machine, paste here the URL that it shows at the end:");
        }
        if self.no_browser { None } else { or_note(browser::open(url)).flatten() }
    }
}

impl Logout {
    pub async fn run(self, app: &App) -> Result<()> {
        let (server, url) = behind_url(app, &self.server)?;
        let (folder, consents) = (oauth::folder(), consent::store());
        let reach = Reach { server: url.clone(), consents, limit: server.start_timeout };
        let locked = tokio::select! {
            locked = Kept::lock(&folder, &url, reach.limit) => locked.map_err(Error::msg)?,
            () = app.cancel.cancelled() => bail!("cancelled; you are still signed in to {url}"),
        };
        // A damaged file is removed as well.
        let kept = Kept::parsed(&folder, &url);
        let was_signed_in = Kept::remove(&folder, &url).map_err(Error::msg)?;
        drop(locked);
        let mut is_revoked = false;
        if let Some(kept) = kept.filter(|_| !app.config.offline) {
            tokio::select! {
                revoked = oauth::revoke(&reach, &kept) => match revoked {
                    Ok(revoked) => is_revoked = revoked,
                    Err(why) => warn(format!("the authorisation server was not told: {why}")),
                },
                () = app.cancel.cancelled() => bail!("the authorisation server was not told; the sign-in is forgotten here"),
            }
        }
        if self.json {
            putln!("{}", json!({ "url": url.to_string(), "was_signed_in": was_signed_in, "revoked": is_revoked }));
            return Ok(());
        }
        match (was_signed_in, is_revoked) {
            (false, _) => say!("you were not signed in to {url}"),
            (true, true) => say!("signed out of {url}; its authorisation server was told"),
            (true, false) => {
                say!("signed out of {url}; a token that was given out may be valid there until it expires")
            }
        }
        Ok(())
    }
}

/// Stores the token; returns the one that it replaces.
async fn keep(reach: &Reach, kept: &Kept) -> Result<Option<Kept>, String> {
    let (folder, server) = (oauth::folder(), &reach.server);
    // A renewal in another process takes at most this long, and a little.
    let _locked = Kept::lock(&folder, server, 2 * reach.limit).await?;
    let old = Kept::parsed(&folder, server);
    kept.write(&folder, server)?;
    Ok(old)
}

/// The server of that name or URL.
fn behind_url(app: &App, name: &str) -> Result<(Server, Address)> {
    let server = super::server_of(app, name)?;
    match server.url.clone() {
        Some(url) => Ok((server, url)),
        None => bail!("`{name}` is started here by `{}`; one signs in only to servers behind a `url`", server.line()),
    }
}

/// The person at the terminal, who agrees to hosts, and may paste the URL that a browser shows.
struct User {
    yes: bool,
    json: bool,
    lines: mpsc::Receiver<String>,
}

impl User {
    fn new(yes: bool, json: bool) -> User {
        let (sender, lines) = mpsc::channel(1);
        // Reading blocks, so it has a thread, which ends with the process.
        std::thread::spawn(move || {
            let mut line = String::new();
            while let Ok(1..) = io::stdin().lock().take(LINE_MAX).read_line(&mut line) {
                if sender.blocking_send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        User { yes, json, lines }
    }

    /// Asks about the hosts, if there are any, and remembers the consent.
    async fn agrees_to(&mut self, reach: &Reach, hosts: &[String]) -> Result<()> {
        if hosts.is_empty() {
            return Ok(());
        }
        let (server, hosts_list) = (&reach.server, hosts.join(" and "));
        self.agrees(&format!(
            "{server} has its users sign in at {hosts_list}. Your browser is sent there, or monobloc asks there for a token; \
             its name and the URL of the server are sent along."
        ))
        .await?;
        for host in hosts {
            let line = oauth::consent_line(host, server);
            consent::give(&reach.consents, &line).context("your consent could not be saved")?;
        }
        Ok(())
    }

    async fn agrees(&mut self, what: &str) -> Result<()> {
        if !self.json {
            say!("{what}");
        }
        if self.yes {
            return Ok(());
        }
        if self.json || !io::stdin().is_terminal() {
            bail!("without a terminal nobody can be asked whether to allow this: {what} Give --yes to allow it");
        }
        put!("Allow it? [y]es, [n]o: ");
        let answer = self.lines.recv().await.unwrap_or_default();
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            bail!("not allowed; nothing is sent there");
        }
        Ok(())
    }
}
