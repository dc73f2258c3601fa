//! L3. How a command of the agent runs: what it sees, what it may write, how much it may use, and how all of it
//! ends. docs/sandbox.md.
//!
//! A command is started by this program itself, called again as `postil sandboxed` ([`inside`]): inside bubblewrap's
//! namespaces where that can be had, and there it takes rights away from itself (Landlock, seccomp, limits) before it
//! becomes the shell. Where bubblewrap is missing a second one stays outside as the keeper, who ends whatever the
//! command leaves behind. What cannot be set up is an error: nothing is ever run with more rights than was said.

mod bubble;
mod ending;
mod found;
mod guarded;
mod hints;
mod inside;
mod job;
mod limits;
mod order;
mod output;
mod rules;
mod run;
mod secrets;
#[cfg(target_os = "linux")]
mod sockets;
mod temporary;
mod view;
mod way;

pub use found::{Found, find, read_only};
pub use inside::{NOT_SET_UP, WORD, run as run_inside};
pub use job::Job;
pub use run::{Policy, Processes};
pub use way::{Network, PORT};
