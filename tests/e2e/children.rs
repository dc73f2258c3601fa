//! Child language servers: what is passed on, what follows the buffers, what happens when a child is
//! bad, with a scripted one; and what the real ones answer.

mod asks;
mod bench;
mod faults;
mod links;
mod many;
mod meanwhile;
mod passes;
mod proxied;
mod real;
mod trusting;
