//! The languages whose grammar is optional or that have none, and the whole table.

use crate::{BASE, Language, bundled};

mod braces;
mod dashes;
mod hashes;
mod markup;
mod others;
mod settings;

/// Every row. Where two rows claim an extension the first has it.
pub(crate) static ALL: [Language; COUNT] = join(&[
    &bundled::ROWS,
    braces::ROWS,
    hashes::ROWS,
    settings::ROWS,
    dashes::ROWS,
    others::ROWS,
    markup::ROWS,
]);

const COUNT: usize = bundled::ROWS.len()
    + braces::ROWS.len()
    + hashes::ROWS.len()
    + settings::ROWS.len()
    + dashes::ROWS.len()
    + others::ROWS.len()
    + markup::ROWS.len();

const fn join<const N: usize>(parts: &[&[Language]]) -> [Language; N] {
    let mut all = [BASE; N];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut row = 0;
        while row < parts[part].len() {
            all[at] = parts[part][row];
            at += 1;
            row += 1;
        }
        part += 1;
    }
    all
}
