//! The signals that ask a process to end.

/// Ends with SIGTERM or SIGINT; elsewhere with Ctrl-C. It listens from its first poll on.
#[cfg(unix)]
pub async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    match (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
}

/// Ends with Ctrl-C. It listens from its first poll on.
#[cfg(not(unix))]
pub async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
