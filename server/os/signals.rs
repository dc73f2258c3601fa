//! The signals that ask a process to end.

/// Ends with SIGTERM, SIGINT or SIGHUP (a terminal that is closed), the last unless whoever started this process had it
/// ignored; elsewhere with Ctrl-C. It listens from its first poll on.
#[cfg(unix)]
pub async fn signalled() {
    use std::future::pending;
    use std::sync::LazyLock;
    use tokio::signal::unix::{SignalKind, signal};
    // Asked before anything listens for it, which ends that.
    static HANGUP_IS_IGNORED: LazyLock<bool> = LazyLock::new(super::ignores_hangup);
    async fn heard(kind: SignalKind) {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => pending().await,
        }
    }
    let hung_up = async {
        match *HANGUP_IS_IGNORED {
            true => pending().await,
            false => heard(SignalKind::hangup()).await,
        }
    };
    tokio::select! {
        () = heard(SignalKind::terminate()) => {}
        () = heard(SignalKind::interrupt()) => {}
        () = hung_up => {}
    }
}

/// Ends with Ctrl-C. It listens from its first poll on.
#[cfg(not(unix))]
pub async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
