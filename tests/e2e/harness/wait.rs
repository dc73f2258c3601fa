//! How long tests wait for what has to come.

use std::time::{Duration, Instant};

/// How long a test waits for anything before it fails: long enough for a machine that does much else.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Between two looks: the processor is for what is waited for.
const PAUSE: Duration = Duration::from_millis(2);

/// Leaves the processor to others for a moment, before one looks again.
pub fn pause() {
    std::thread::sleep(PAUSE);
}

/// Waits until `fits`; fails the test where it does not come to be.
pub fn wait_until(what: &str, mut fits: impl FnMut() -> bool) {
    let began = Instant::now();
    while !fits() {
        assert!(began.elapsed() < DEADLINE, "in vain: {what}");
        pause();
    }
}
