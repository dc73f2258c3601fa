//! What the fuzz targets ask of the engine. Layers 0 to 2 and the framing are compiled straight from
//! `server/`: they need no others, and a build takes a minute instead of ten.

#![allow(dead_code, reason = "the parts that these targets do not call")]

#[path = "../server"]
mod engine {
    #![allow(unused_imports, reason = "what other layers use")]

    pub mod comments;
    pub mod edits;
    #[path = "lsp/frames.rs"]
    pub mod frames;
    pub mod text;
    pub mod threads;
}

pub(crate) use engine::{comments, edits, frames, text, threads};

mod framing;
mod input;
mod reading;
mod writing;

pub use framing::check as frames_hold;
pub use reading::check as reads;
pub use writing::check as writes;
