//! Sends the client the progress of a call every few seconds, if requested.

use std::pin::pin;
use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Interval between notifications. Clients that reset their timeout on a notification allow 60 s.
const EVERY: Duration = Duration::from_secs(5);

/// Waits for `work`; reports `doing` immediately, and then every five seconds.
pub async fn telling<T>(
    context: &RequestContext<RoleServer>,
    doing: impl Fn() -> String,
    work: impl Future<Output = T>,
) -> T {
    let (begun, token) = (Instant::now(), context.meta.get_progress_token());
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => {
                let Some(token) = token.clone() else { continue };
                // Progress is the number of seconds; the total is unknown.
                let progress = ProgressNotificationParam::new(token, begun.elapsed().as_secs_f64());
                // This fails if the client is gone; the connection then ends on its own.
                let _ = context.peer.notify_progress(progress.with_message(doing())).await;
            }
        }
    }
}
