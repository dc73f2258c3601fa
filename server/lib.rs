//! postil: a conversation with an agent in the margins of code. Modules in reading order, lowest
//! layer first; a module uses only modules above it in this list (`tests/tidy.rs` checks it).

// L0: text
pub mod text;
// L1: what is in the text
pub mod comments;
pub mod threads;
// L2: what to write, what to show; pure
pub mod edits;
pub mod present;
// L3: doors to the world
pub mod acp;
pub mod children;
pub mod config;
pub mod files;
pub mod host;
pub mod index;
pub mod log;
pub mod models;
pub mod os;
pub mod sandbox;
pub mod store;
pub mod trust;
pub mod vcs;
pub mod web;
// L4: the agent
pub mod tools;
pub mod turn;
// L5: one engine
pub mod session;
// L6: its faces, and what they have in common
pub mod verbs;

pub mod agent;
pub mod bridge;
pub mod lsp;
pub mod mcp;

// and the one that starts the others
pub mod cli;
