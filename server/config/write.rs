//! The user's own settings file with one setting changed: every other byte stays, comments too.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use toml_edit::{DocumentMut, Item, Value};

use super::Folders;

/// Writes `model` into the user's `config.toml`, which is made where there is none; `None` takes it out. A file that
/// is a link stays one: what it leads to is written.
///
/// # Errors
/// Where the file is no TOML, or cannot be read or written. It is then as it was.
pub fn write_model(folders: &Folders, model: Option<&str>) -> anyhow::Result<()> {
    let named = folders.config_file();
    let file = std::fs::canonicalize(&named).unwrap_or(named);
    let shown = file.display();
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

fn with_model(text: &str, model: Option<&str>) -> anyhow::Result<String> {
    // A byte order mark and the line ends are no part of what is parsed.
    let (mark, bare) = match text.strip_prefix('\u{feff}') {
        Some(bare) => ("\u{feff}", bare),
        None => ("", text),
    };
    let mut document: DocumentMut = match bare.parse() {
        Ok(document) => document,
        Err(error) => {
            let line = error.span().map_or(0, |span| {
                bare[..span.start].bytes().filter(|b| *b == b'\n').count()
            });
            bail!("line {} is no TOML: {}", line + 1, error.message());
        }
    };
    match (document.get_mut("model"), model) {
        (Some(Item::Value(value)), Some(model)) => {
            let decor = value.decor().clone();
            *value = Value::from(model);
            *value.decor_mut() = decor;
        }
        (Some(item), Some(model)) => *item = toml_edit::value(model),
        (Some(_), None) => drop(document.remove("model")),
        (None, None) => {}
        (None, Some(model)) => {
            // Before all else: below a table's head it would be of that table.
            let line = toml_edit::value(model).to_string();
            let end = if bare.contains("\r\n") { "\r\n" } else { "\n" };
            return Ok(format!("{mark}model = {}{end}{bare}", line.trim()));
        }
    }
    Ok(format!("{mark}{document}"))
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
    }
}
