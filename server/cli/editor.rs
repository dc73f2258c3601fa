//! `postil editor …`: what has an editor run postil is put into the user's own folders, and taken out again.

use super::args::EditorCommand;
use super::{Cx, Outcome};

mod helix;
mod neovim;

pub(super) fn run(cx: &Cx, command: &EditorCommand) -> Outcome {
    match command {
        EditorCommand::Helix { remove } => helix::run(cx, *remove),
        EditorCommand::Neovim { remove } => neovim::run(cx, *remove),
    }
}
