//! Opens the servers that play roles, each on first use and with the user's consent, and pauses a
//! server that became unavailable.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Player;
use super::away::Away;
use crate::agent::Host;
use crate::agent::toolkit::{Toolkit, TurnError};
use crate::base::{Cancel, StepId, lock};
use crate::engine::pool::{Leased, Pool};
use crate::models::{Endpoint, Measured, Role, digest};
use crate::protocol::{Decision, Event, Proposal};
use crate::remote::{self, Remote, consent};

/// Time for which an unavailable server is not asked again, if a local model can play its role.
const REST: Duration = Duration::from_secs(60);
/// The name under which consent to sending is stored, next to tool names.
const SENDING: &str = "send_to_server";

/// The servers of this process. Clones share the open connections.
#[derive(Clone, Default)]
pub struct Remotes {
    roles: Arc<Mutex<HashMap<Role, State>>>,
    /// Locked while a server is opened, so that several callers ask the user and the server only
    /// once.
    opening: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone)]
pub(super) enum State {
    Open(Endpoint, Arc<Away>),
    /// Until this time, a local model plays the role.
    Resting(Endpoint, Instant),
    /// The user refused.
    Refused(Endpoint),
}

impl Remotes {
    pub(super) fn state(&self, role: Role, endpoint: &Endpoint) -> Option<State> {
        let state = lock(&self.roles).get(&role).cloned();
        // Changed settings make it a different server.
        state.filter(|state| match state {
            State::Open(of, _) | State::Resting(of, _) | State::Refused(of) => of == endpoint,
        })
    }

    fn set(&self, role: Role, state: State) {
        lock(&self.roles).insert(role, state);
    }

    /// The server that currently plays a role; `None` if a local model plays it.
    fn server(&self, role: Role, pool: &Pool) -> Result<Option<(Endpoint, Option<State>)>, TurnError> {
        let Some(endpoint) = pool.endpoint(role)? else { return Ok(None) };
        let state = self.state(role, &endpoint);
        Ok(match state {
            Some(State::Resting(_, until)) if Instant::now() < until => None,
            Some(State::Refused(_)) if pool.file_of(role).is_some() => None,
            state => Some((endpoint, state)),
        })
    }

    /// The server that plays a role, opened if necessary; `None` if a local model plays it. If
    /// nobody can be asked, consent must have been given earlier.
    pub async fn unasked(&self, role: Role, pool: &Pool, cancel: &Cancel) -> Result<Option<Arc<Away>>, TurnError> {
        let _opening = self.opening.lock().await;
        let Some((endpoint, state)) = self.server(role, pool)? else { return Ok(None) };
        if let Some(State::Open(_, away)) = state {
            return Ok(Some(away));
        }
        if !consent::given(&consent::store(), endpoint.url()) {
            let why = "nobody can be asked here for consent".to_owned();
            return Err(TurnError::NotSent { url: endpoint.url().to_owned(), why });
        }
        self.open(role, &endpoint, pool, cancel).await.map(Some)
    }

    async fn open(
        &self,
        role: Role,
        endpoint: &Endpoint,
        pool: &Pool,
        cancel: &Cancel,
    ) -> Result<Arc<Away>, TurnError> {
        let remote =
            Remote::open(endpoint, &remote::folder(), cancel).await.map_err(|why| match cancel.is_cancelled() {
                true => TurnError::Cancelled,
                false => TurnError::Remote(why),
            })?;
        let measured = pool.capabilities().and_then(|folder| Measured::remembered(folder, &fingerprint(&remote)));
        let away = Arc::new(Away::of(remote, &pool.wishes(role), measured));
        self.set(role, State::Open(endpoint.clone(), away.clone()));
        Ok(away)
    }

    /// Whether a local model takes over the role of a server that could not be asked. Also pauses
    /// an unavailable server.
    pub fn gives_way(&self, role: Role, pool: &Pool, why: &TurnError) -> bool {
        let takes_over = match why {
            TurnError::Remote(error) => error.is_gone(),
            TurnError::NotSent { .. } => true,
            _ => false,
        };
        if !takes_over || pool.file_of(role).is_none() {
            return false;
        }
        if let (TurnError::Remote(_), Ok(Some(endpoint))) = (why, pool.endpoint(role)) {
            self.set(role, State::Resting(endpoint, Instant::now() + REST));
        }
        true
    }
}

impl Toolkit {
    fn server(&self, role: Role) -> Result<Option<(Endpoint, Option<State>)>, TurnError> {
        self.remotes.server(role, &self.pool)
    }

    /// The model that plays a role, if it is available at once: nothing is loaded or opened.
    pub fn at_hand(&self, role: Role) -> Option<Player> {
        let role = self.role(role);
        match self.server(role) {
            Ok(Some((_, Some(State::Open(_, away))))) => Some(Player::away(role, away)),
            Ok(None) => self.pool.resident(role).map(Player::from),
            Ok(Some(_)) | Err(_) => None,
        }
    }

    /// Whether a server currently plays a role.
    pub fn is_away(&self, role: Role) -> bool {
        matches!(self.server(self.role(role)), Ok(Some(_)) | Err(_))
    }

    /// The model that plays `role`, loaded or opened if necessary; progress is reported to the
    /// host.
    pub async fn model(&self, role: Role, host: &dyn Host) -> Result<Player, TurnError> {
        let role = self.role(role);
        if self.server(role)?.is_none() {
            return Ok(self.load(role, host).await?.into());
        }
        let _opening = self.remotes.opening.lock().await;
        let Some((endpoint, state)) = self.server(role)? else { return Ok(self.load(role, host).await?.into()) };
        if let Some(State::Open(_, away)) = state {
            return Ok(Player::away(role, away));
        }
        match self.open(role, &endpoint, host).await {
            Ok(away) => Ok(Player::away(role, away)),
            Err(why) => Ok(self.stand_in(role, why, host).await?.into()),
        }
    }

    async fn open(&self, role: Role, endpoint: &Endpoint, host: &dyn Host) -> Result<Arc<Away>, TurnError> {
        if !consent::given(&consent::store(), endpoint.url()) {
            self.consented(role, endpoint, host).await?;
        }
        let away = self.remotes.open(role, endpoint, &self.pool, &self.cancel).await?;
        let can = away.remote.abilities();
        let missing = can.missing();
        let without =
            if missing.is_empty() { String::new() } else { format!("; it is used without {}", missing.join(", ")) };
        let context = format!("context {} by {}", can.context, can.context_from);
        host.notice(&format!("{role}: {} answers ({}, {context}{without})", away.name, can.kind.name()));
        Ok(away)
    }

    /// Asks the user whether anything may be sent to the server, and stores the consent, if given.
    async fn consented(&self, role: Role, endpoint: &Endpoint, host: &dyn Host) -> Result<(), TurnError> {
        let url = endpoint.url();
        let proposal = Proposal {
            tool: SENDING.to_owned(),
            arguments: serde_json::Map::from_iter([
                ("url".to_owned(), url.into()),
                ("role".to_owned(), role.to_string().into()),
            ]),
            reason: format!("{role} is played by {url}, which has not been used before"),
            preview: consent::question(endpoint),
            ..Proposal::default()
        };
        host.emit(Event::ApprovalRequested { step: StepId(0), proposal: proposal.clone() });
        let why = match host.approve(StepId(0), &proposal).await {
            Decision::Approve | Decision::Always => {
                if let Err(error) = consent::give(&consent::store(), endpoint.url()) {
                    tracing::warn!(%error, "the consent could not be stored");
                }
                return Ok(());
            }
            Decision::Cancel => return Err(TurnError::Cancelled),
            Decision::Reject | Decision::Modify(_) => "you said no".to_owned(),
            Decision::NotAsked(why) => why,
        };
        self.remotes.set(role, State::Refused(endpoint.clone()));
        Err(TurnError::NotSent { url: url.to_owned(), why })
    }

    /// The local model that takes over a role whose server cannot be asked. Returns `why` if there
    /// is none, or if `why` does not justify a replacement.
    pub(in crate::agent) async fn stand_in(
        &self,
        role: Role,
        why: TurnError,
        host: &dyn Host,
    ) -> Result<Leased, TurnError> {
        let role = self.role(role);
        if !self.remotes.gives_way(role, &self.pool, &why) {
            return Err(why);
        }
        let model = self.load(role, host).await?;
        host.notice(&format!("{why}. {} plays the {role} instead", model.engine.model()));
        Ok(model)
    }

    /// The name under which measurements of a role's model are stored; `None` for a scripted model,
    /// and for one that is not yet known.
    pub fn fingerprint(&self, role: Role) -> Option<String> {
        let role = self.role(role);
        match self.server(role) {
            Ok(Some((_, Some(State::Open(_, away))))) => Some(fingerprint(&away.remote)),
            Ok(None) => digest::fingerprint(&self.pool.file_of(role)?).ok(),
            Ok(Some(_)) | Err(_) => None,
        }
    }
}

/// The fingerprint of a URL and model.
fn fingerprint(remote: &Remote) -> String {
    digest::of_text(&format!("{}\n{}", remote.url(), remote.abilities().model))
}
