//! How long tests wait for what has to come.

use std::time::{Duration, Instant};

/// How long a test waits for anything before it fails.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits until `fits`; fails the test where it does not come to be.
pub fn wait_until(what: &str, mut fits: impl FnMut() -> bool) {
    let began = Instant::now();
    while !fits() {
        assert!(began.elapsed() < DEADLINE, "in vain: {what}");
        std::thread::yield_now();
    }
}
