//! L3. Version control: git2 to read, the git program to commit.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::os;

mod author;
mod blame;
mod commit;
mod follow;
mod found;
mod head;
mod index;
mod notes;
mod ordinary;
mod program;
mod runs;
mod staged;
mod status;
#[cfg(test)]
mod tests;
mod trail;
mod turns;

pub use author::plain_settings;
pub use blame::{Blame, blame};
pub use commit::{Commit, GitError, Place, commit_file, is_partly_staged, place};
pub use follow::{Before, LineMap, lines, moved};
pub use found::{
    aliases, common_folder, ignores, in_index, index_lock, index_place, nearest, obstacle, top,
    tracked,
};
pub use head::{Head, head};
pub use notes::{add_note, notes};
pub use program::version;
pub use runs::{Runs, needs_no_filter, runs};
pub use staged::{Staged, staged};
pub use status::status;
pub use trail::{Shaped, Trail, blob, text_in, trail};
pub use turns::turn_in;

/// Makes `folder` a repository with everything in it as one commit (of a sample project's).
pub fn commit_sample(folder: &Path, message: &str) -> Result<(), String> {
    let commit = || -> Result<(), git2::Error> {
        os::bound_libgit2();
        let repository = git2::Repository::init(folder)?;
        let mut index = repository.index()?;
        index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
        index.write()?;
        let tree = repository.find_tree(index.write_tree()?)?;
        let author = git2::Signature::now("postil demo", "demo@example.org")?;
        repository.commit(Some("HEAD"), &author, &author, message, &tree, &[])?;
        Ok(())
    };
    commit().map_err(|error| {
        format!(
            "the sample repository could not be made: {}",
            error.message()
        )
    })
}

/// A path below a repository's top as git takes it: with `/`.
pub fn path_for_git(path: &Path) -> PathBuf {
    if cfg!(windows) {
        return PathBuf::from(os::slashed(path));
    }
    path.to_owned()
}

/// A path as git writes it.
#[cfg(unix)]
fn bytes_to_path(bytes: &[u8]) -> Cow<'_, Path> {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(bytes)).into()
}

/// A path as git writes it: UTF-8 and `/`. A name in other bytes cannot be checked out here, so there is no such file.
#[cfg(not(unix))]
fn bytes_to_path(bytes: &[u8]) -> Cow<'_, Path> {
    let text = String::from_utf8_lossy(bytes);
    PathBuf::from(text.replace('/', std::path::MAIN_SEPARATOR_STR)).into()
}
