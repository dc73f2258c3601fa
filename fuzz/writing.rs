//! The writer: any text said in any thread of any file. Either it is refused, or it reads back as it was
//! meant, every other thread is as it was, and nothing is said twice.

use postil_grammars::Language;

use crate::comments::Syntax;
use crate::edits::{self, Refused, Source, Style, Written};
use crate::input::Input;
use crate::reading::hold;
use crate::text::apply_edits;
use crate::threads::{self, Role, Thread};

/// A file, as the engine sees it.
struct File {
    text: String,
    syntax: Syntax,
    language: Option<&'static Language>,
    threads: Vec<Thread>,
}

impl File {
    fn new(text: String, language: Option<&'static Language>) -> Self {
        let syntax = Syntax::parse(&text, language);
        let threads = threads::find(PATH, &text, &syntax);
        Self {
            text,
            syntax,
            language,
            threads,
        }
    }

    fn source(&self) -> Source<'_> {
        Source {
            path: PATH,
            text: &self.text,
            syntax: &self.syntax,
        }
    }

    fn after(&self, written: &Written) -> Self {
        let mut end = 0;
        for (i, edit) in written.edits.iter().enumerate() {
            assert!(
                i == 0 || edit.range.start > end,
                "edits touch or are out of order"
            );
            assert!(
                self.text.get(edit.range.clone()).is_some(),
                "half a character"
            );
            end = edit.range.end;
        }
        Self::new(apply_edits(&self.text, &written.edits), self.language)
    }
}

const PATH: &str = "src/file";

/// Four choices (language, thread, role and style, line), what is said up to 0xFF, the file.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let language = input.language();
    let which = usize::from(input.byte());
    let choice = input.byte();
    let line = usize::from(input.byte());
    let said = String::from_utf8_lossy(input.part()).into_owned();
    let file = File::new(String::from_utf8_lossy(input.0).into_owned(), language);
    let role = if choice & 1 == 0 {
        Role::Agent
    } else {
        Role::Author
    };
    let style = Style {
        keep_indentation: choice & 2 != 0,
    };
    let name = (choice & 4 != 0).then_some("claude");

    if let Some(thread) = file.threads.get(which % file.threads.len().max(1)) {
        answer(&file, thread, role, name, &said, style);
        remove(&file, thread);
    }
    begin(&file, line, &said, style);
    match edits::clear(file.source()) {
        Ok(written) => {
            let after = file.after(&written);
            hold(&after.text, after.language, &after.threads);
        }
        Err(refused) => assert_eq!((refused, file.threads.len()), (Refused::NoThreads, 0)),
    }
}

fn answer(file: &File, thread: &Thread, role: Role, name: Option<&str>, said: &str, style: Style) {
    let written = match edits::respond(file.source(), &thread.id, role, name, said, style) {
        Ok(written) => written,
        Err(Refused::Empty) => {
            assert!(said.trim().is_empty());
            return;
        }
        // Broken code may leave no place for it; that is said, and nothing is written.
        Err(refused) => {
            assert_eq!(refused, Refused::Unreadable);
            return;
        }
    };
    if written.already {
        assert!(written.edits.is_empty());
        return;
    }
    let after = file.after(&written);
    hold(&after.text, after.language, &after.threads);
    assert_eq!(
        after.threads.len(),
        file.threads.len(),
        "threads came or went"
    );
    let expected = one_line_each(said);
    // By its id, or where it had none of its own (nothing was asked yet) by what it says.
    let spoken = |thread: &Thread| {
        thread
            .messages
            .iter()
            .any(|m| m.role == role && m.text == expected && m.name.as_deref() == name)
    };
    let asked = thread.question().is_some();
    let answered = after
        .threads
        .iter()
        .find(|t| if asked { t.id == thread.id } else { spoken(t) });
    let answered = answered.expect("the thread is gone");
    assert!(spoken(answered), "what was said does not read back");
    let again = edits::respond(after.source(), &answered.id, role, name, said, style);
    assert!(again.is_ok_and(|again| again.already), "it is said twice");
    for other in file.threads.iter().filter(|other| other.id != thread.id) {
        let texts = |t: &Thread| {
            t.messages
                .iter()
                .map(|m| m.text.clone())
                .collect::<Vec<_>>()
        };
        assert!(
            after.threads.iter().any(|t| texts(t) == texts(other)),
            "another thread changed"
        );
    }
}

fn remove(file: &File, thread: &Thread) {
    let written = edits::dismiss(file.source(), &thread.id).expect("it was just read");
    let after = file.after(&written);
    hold(&after.text, after.language, &after.threads);
    assert!(written.lines_removed > 0);
    assert!(after.text.len() < file.text.len() + 2, "removing adds");
}

fn begin(file: &File, line: usize, said: &str, style: Style) {
    match edits::new_thread(file.source(), line, said, style) {
        Ok((written, cursor)) => {
            let after = file.after(&written);
            hold(&after.text, after.language, &after.threads);
            assert!(after.text.is_char_boundary(cursor));
            let expected = one_line_each(said);
            if !expected.is_empty() {
                let says = |t: &Thread| t.messages.iter().any(|m| m.text == expected);
                assert!(after.threads.iter().any(says), "it does not read back");
            }
        }
        Err(Refused::NoComments) => assert!(file.language.is_some_and(|row| row.no_comments)),
        Err(refused) => assert!(matches!(
            refused,
            Refused::NoLine { .. } | Refused::Unreadable
        )),
    }
}

/// A message as it reads back: lines trimmed, none empty around it.
fn one_line_each(said: &str) -> String {
    let said = said.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = said.split('\n').map(str::trim).collect();
    let full = |line: &&str| !line.is_empty();
    let first = lines.iter().position(full).unwrap_or(lines.len());
    let last = lines.iter().rposition(full).map_or(first, |at| at + 1);
    lines[first..last].join("\n")
}
