//! The user's own settings file with one setting changed: every other byte stays, comments too.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use toml::de::DeTable;

use super::Folders;

/// Writes `model` into the user's `config.toml`, which is made where there is none; `None` takes it out. A file that
/// is a link stays one: what it leads to is written.
///
/// # Errors
/// Where the file is no TOML, or cannot be read or written. It is then as it was.
pub fn write_model(folders: &Folders, model: Option<&str>) -> anyhow::Result<()> {
    let named = folders.config_file();
    let file = led_to(named);
    let shown = file.display();
    // A pipe never ends.
    if std::fs::metadata(&file).is_ok_and(|file| !file.is_file()) {
        bail!("{shown} is no ordinary file, and is left as it is");
    }
    let old = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context(format!("{shown} cannot be read")),
    };
    let new = with_model(&old, model).with_context(|| format!("{shown} is left as it is"))?;
    if new == old {
        return Ok(());
    }
    replace(&file, &new).with_context(|| format!("{shown} cannot be written"))
}

/// What a path leads to: also where a link on the way names what is not there yet, as one into a folder of dotfiles may.
fn led_to(named: PathBuf) -> PathBuf {
    let mut file = named;
    // As many as the system follows.
    for _ in 0..40 {
        if let Ok(whole) = std::fs::canonicalize(&file) {
            return whole;
        }
        let Ok(next) = std::fs::read_link(&file) else {
            return file;
        };
        file = file.parent().unwrap_or(Path::new("")).join(next);
    }
    file
}

fn with_model(text: &str, model: Option<&str>) -> anyhow::Result<String> {
    // A byte order mark is no part of what is parsed.
    let (mark, bare) = match text.strip_prefix('\u{feff}') {
        Some(bare) => ("\u{feff}", bare),
        None => ("", text),
    };
    let line = |at: usize| bare[..at].bytes().filter(|b| *b == b'\n').count() + 1;
    let table = match DeTable::parse(bare) {
        Ok(table) => table,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            bail!("line {} is no TOML: {}", line(at), error.message());
        }
    };
    let known = table.get_ref().get_key_value("model");
    let (range, new) = match (known, model) {
        (Some((key, value)), _) if value.get_ref().is_table() => bail!(
            "line {}: `model` is a table, where the name of a model belongs",
            line(key.span().start)
        ),
        (Some((_, value)), Some(model)) => (value.span(), quoted(model)),
        // With its line.
        (Some((key, value)), None) => {
            let start = memchr::memrchr(b'\n', &bare.as_bytes()[..key.span().start]);
            let end = memchr::memchr(b'\n', &bare.as_bytes()[value.span().end..]);
            let start = start.map_or(0, |at| at + 1);
            let end = end.map_or(bare.len(), |at| value.span().end + at + 1);
            (start..end, String::new())
        }
        (None, None) => return Ok(text.to_owned()),
        // Before all else: below a table's head it would be of that table.
        (None, Some(model)) => {
            let end = if bare.contains("\r\n") { "\r\n" } else { "\n" };
            (0..0, format!("model = {}{end}", quoted(model)))
        }
    };
    let (before, after) = (&bare[..range.start], &bare[range.end..]);
    Ok(format!("{mark}{before}{new}{after}"))
}

/// As TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    if let Ok(old) = file.metadata() {
        new.as_file().set_permissions(old.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_changes_and_the_rest_stays() {
        let text = "# mine\nmodel   = \"a/b\"  # the quick one\n\n[turn]\nmaxRounds = 3\n";
        let set = with_model(text, Some("c/d")).unwrap();
        assert_eq!(
            set,
            "# mine\nmodel   = \"c/d\"  # the quick one\n\n[turn]\nmaxRounds = 3\n"
        );
        assert_eq!(
            with_model("[turn]\nmaxRounds = 3\n", Some("c/d")).unwrap(),
            "model = \"c/d\"\n[turn]\nmaxRounds = 3\n"
        );
        assert_eq!(with_model("", Some("c/d")).unwrap(), "model = \"c/d\"\n");
        assert_eq!(
            with_model("model = \"a\"\n[turn]\nx = 1\n", None).unwrap(),
            "[turn]\nx = 1\n"
        );
        assert_eq!(with_model("x = 1\n", None).unwrap(), "x = 1\n");
        let text = "# who answers\r\n'model' = \"a\" # x\r\n\r\n# turns\r\n[turn]\r\nx = 1\n";
        assert_eq!(
            with_model(text, Some("c/d")).unwrap(),
            text.replace("\"a\"", "\"c/d\"")
        );
        assert_eq!(
            with_model(text, None).unwrap(),
            text.replace("'model' = \"a\" # x\r\n", "")
        );
        assert_eq!(
            with_model("\u{feff}x = 1\r\n", Some("c/d")).unwrap(),
            "\u{feff}model = \"c/d\"\r\nx = 1\r\n"
        );
        // Of another table.
        assert_eq!(
            with_model("[x]\nmodel = 1\n", Some("c\"d")).unwrap(),
            "model = 'c\"d'\n[x]\nmodel = 1\n"
        );
    }

    #[test]
    fn what_is_no_toml_is_left_with_its_line() {
        let error = with_model("x = 1\nmodel = = 2\n", Some("a/b")).unwrap_err();
        assert!(
            error.to_string().starts_with("line 2 is no TOML"),
            "{error}"
        );
        for text in ["x = 1\n[model]\ny = 2\n", "x = 1\nmodel.y = 2\n"] {
            let error = with_model(text, Some("a/b")).unwrap_err();
            assert!(
                error.to_string().starts_with("line 2: `model` is a table"),
                "{error}"
            );
        }
    }
}
