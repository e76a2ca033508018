//! Tells the client every few seconds what a call of it is doing, if the client wants to know.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

/// Time between two notifications. Clients that reset their timeout by them allow 60 s.
const EVERY: Duration = Duration::from_secs(5);

pub struct Progress<'a> {
    peer: &'a Peer<RoleServer>,
    /// `None` if the client does not want to know.
    token: Option<ProgressToken>,
    begun: Instant,
    ticks: Interval,
}

impl<'a> Progress<'a> {
    /// The progress of a call that begins now.
    pub fn of(context: &'a RequestContext<RoleServer>) -> Progress<'a> {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Progress { peer: &context.peer, token: context.meta.get_progress_token(), begun: Instant::now(), ticks }
    }

    /// Ends when it is time to tell: at once, and then every five seconds.
    pub async fn due(&mut self) {
        self.ticks.tick().await;
    }

    /// Progress is the number of seconds; nobody knows how many there will be.
    pub async fn tell(&self, doing: String) {
        let Some(token) = self.token.clone() else { return };
        let progress = ProgressNotificationParam::new(token, self.begun.elapsed().as_secs_f64()).with_message(doing);
        // It fails if the client is gone; then the connection ends by itself.
        let _ = self.peer.notify_progress(progress).await;
    }
}
