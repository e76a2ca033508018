//! Accepts a limited number of connections on a loopback address, and closes those that are too slow.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

use crate::base::Cancel;

/// Maximum number of simultaneous connections; others wait to be accepted.
const CONNECTIONS_MAX: usize = 64;
/// Time limit for receiving the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Maximum time for which a client may read nothing of an answer.
const WRITE_TIME: Duration = Duration::from_secs(60);
/// Pause after a connection could not be accepted, for example because file descriptors have run
/// out.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens on `address`, which must be reachable only from this machine.
pub async fn listen(address: SocketAddr) -> Result<TcpListener> {
    if !address.ip().is_loopback() {
        bail!(
            "{address} can be reached from other machines; listen on 127.0.0.1 or [::1], and reach it through ssh -L or a tunnel"
        );
    }
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another port with --listen"))
}

/// Serves `router` until `cancel` is set.
pub async fn serve(listener: TcpListener, router: Router, cancel: &Cancel) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections) => accepted,
            () = cancel.cancelled() => return,
        };
        let Some((stream, place)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            let mut stream = TimeoutStream::new(stream);
            stream.set_write_timeout(Some(WRITE_TIME));
            let service = TowerToHyperService::new(router);
            let served = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .serve_connection(TokioIo::new(Box::pin(stream)), service)
                .await;
            if let Err(error) = served {
                tracing::debug!(%error, "a connection ended");
            }
            drop(place);
        });
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = connections.clone().acquire_owned().await.ok()?;
    let (stream, _) = listener.accept().await.ok()?;
    // Tokens are sent individually and immediately.
    stream.set_nodelay(true).ok()?;
    Some((stream, place))
}
