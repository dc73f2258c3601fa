//! The log: to standard error as far as it is asked for, and each line that somebody may look for later kept, for
//! `log_read` and in a file.

use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

use crate::config::Folders;
use crate::log;

/// `POSTIL_LOG` decides (`debug`, `postil=trace`); `-v` and `-vv` do without it. `leaves_traces`: there is a file.
pub(super) fn begin(verbose: u8, leaves_traces: bool) {
    if leaves_traces && let Ok(folders) = Folders::of_user() {
        log::write_to(log::file(&folders.state));
    }
    keep_panics();
    let default = match verbose {
        // A connection that is not made is an error with words of our own.
        0 => "error,rustls_platform_verifier=off",
        1 => "info",
        _ => "debug",
    };
    let wanted = std::env::var("POSTIL_LOG").unwrap_or_default();
    let wanted = match wanted.trim() {
        "" => default,
        wanted => wanted,
    };
    let read = EnvFilter::try_new(wanted);
    let unread = read.as_ref().err().map(ToString::to_string);
    let filter = read.unwrap_or_else(|_| EnvFilter::new(default));
    let to_stderr = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_filter(filter);
    let kept = Kept.with_filter(EnvFilter::new("warn,postil=info"));
    let _ = tracing_subscriber::registry()
        .with(to_stderr)
        .with(kept)
        .try_init();
    if let Some(why) = unread {
        tracing::error!("POSTIL_LOG is not used: {wanted:?}: {why}");
    }
}

/// What a fault of our own says goes to standard error alone, which an editor may throw away.
fn keep_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        let words = panic.payload();
        let what = (words.downcast_ref::<&str>().copied())
            .or_else(|| words.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no words");
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_default();
        log::keep(&format!(
            "{:.0} ERROR panic at {place}: {what}",
            jiff::Timestamp::now()
        ));
    }));
}

struct Kept;

impl<S: Subscriber> Layer<S> for Kept {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line(format!(
            "{:.0} {} {}:",
            jiff::Timestamp::now(),
            event.metadata().level(),
            event.metadata().target()
        ));
        event.record(&mut line);
        log::keep(&line.0);
    }
}

/// The message first, other fields as `name=value`.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
