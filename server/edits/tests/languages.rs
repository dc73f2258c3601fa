//! Every write in every language's sample: it reads back, and leaves all else as it was.

use postil_grammars::Language;
use proptest::prelude::*;

use super::*;

pub(super) struct Sample {
    pub name: String,
    pub text: String,
    pub language: Option<&'static Language>,
}

pub(super) fn samples() -> Vec<Sample> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/languages");
    let mut samples: Vec<Sample> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            Sample {
                language: detect(&name, None, &text),
                name,
                text,
            }
        })
        .collect();
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    samples
}

/// The sample with other line ends, a byte-order mark, without a final line end.
pub(super) fn variant(text: &str, kind: usize) -> String {
    match kind {
        0 => text.to_owned(),
        1 => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        2 => format!("\u{feff}{}", text.trim_start_matches('\u{feff}')),
        3 => text.trim_end().to_owned(),
        // Returns alone.
        5 => text.replace("\r\n", "\n").replace('\n', "\r"),
        _ => {
            // Mixed ends.
            let mut even = false;
            text.split_inclusive('\n')
                .map(|line| {
                    even = !even;
                    if even {
                        line.to_owned()
                    } else {
                        line.replace("\r\n", "\n").replace('\n', "\r\n")
                    }
                })
                .collect()
        }
    }
}

pub(super) struct File<'a> {
    sample: &'a Sample,
    pub text: String,
    pub syntax: Syntax,
}

impl<'a> File<'a> {
    pub fn new(sample: &'a Sample, text: String) -> Self {
        let syntax = Syntax::parse(&text, sample.language);
        Self {
            sample,
            text,
            syntax,
        }
    }

    pub fn source(&self) -> Source<'_> {
        Source {
            path: &self.sample.name,
            text: &self.text,
            syntax: &self.syntax,
        }
    }

    pub fn threads(&self) -> Vec<Thread> {
        find(&self.sample.name, &self.text, &self.syntax)
    }

    /// What a person reads: the text; of a notebook its cells.
    fn said(&self) -> String {
        match self.syntax.notebook(&self.text) {
            Some(book) => book
                .cells
                .iter()
                .map(|cell| format!("{}\n", cell.text(&self.text)))
                .collect(),
            None => self.text.clone(),
        }
    }

    fn after(&self, written: &Written) -> Self {
        Self::new(self.sample, apply_edits(&self.text, &written.edits))
    }
}

/// What is wrong with answering thread `at` of `file` by `text`, and with taking it out again.
pub(super) fn faults(
    file: &File,
    at: usize,
    role: Role,
    text: &str,
    style: Style,
) -> Option<String> {
    let before = file.threads();
    let thread = &before[at];
    let written = match respond(file.source(), &thread.id, role, Some("claude"), text, style) {
        Ok(written) => written,
        Err(Refused::Empty) => return (!said(text).is_empty()).then(|| "refused as empty".into()),
        Err(refused) => return Some(format!("{refused:?}")),
    };
    let expected = words(&said(text));
    if written.already {
        return (thread
            .messages
            .iter()
            .rev()
            .find(|m| !m.text.is_empty())
            .map(|m| &m.text)
            != Some(&expected))
        .then(|| "not there already".into());
    }
    let after = file.after(&written);
    let threads = after.threads();
    if threads.len() != before.len() {
        return Some(format!("{} threads became {}", before.len(), threads.len()));
    }
    let asked = thread
        .messages
        .iter()
        .any(|m| m.role == Role::Author && !m.text.is_empty());
    let Some(answered) = threads
        .iter()
        .find(|t| t.id == thread.id)
        .or(threads.get(at).filter(|_| !asked))
    else {
        return Some("its id is gone".into());
    };
    let mut messages = answered.messages.iter().rev();
    if role == Role::Agent
        && messages
            .next()
            .is_none_or(|m| m.role != Role::Author || !m.text.is_empty())
    {
        return Some("no empty line at the end".into());
    }
    let spoken = messages.next();
    if spoken
        .is_none_or(|m| m.text != expected || m.role != role || m.name.as_deref() != Some("claude"))
    {
        return Some(format!("{expected:?} reads back as {spoken:?}"));
    }
    let again = respond(
        after.source(),
        &answered.id,
        role,
        Some("claude"),
        text,
        style,
    )
    .map(|written| written.already);
    if again != Ok(true) {
        return Some(format!("said again: {again:?}"));
    }
    // Without the thread, both texts are the same, but for an empty line (in TeX, a comment) that keeps threads apart.
    let without = |file: &File, id: &str| {
        dismiss(file.source(), id).map(|written| file.after(&written).said())
    };
    let (Ok(a), Ok(b)) = (without(file, &thread.id), without(&after, &answered.id)) else {
        return Some("not removed".into());
    };
    let lines = |text: &str| {
        text.split(['\n', '\r'])
            .filter(|line| !matches!(*line, "" | "%"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if a != b && lines(&a) != lines(&b) {
        return Some(format!("other lines changed:\n{a}\n--- and\n{b}"));
    }
    if a != b && !a.contains('\r') && b.len().abs_diff(a.len()) > 2 {
        return Some(format!("other bytes changed:\n{a:?}\n--- and\n{b:?}"));
    }
    None
}

pub(super) const ANSWER: &str = "First */ --> -} *) |# #> ]] %} ?> */} -->\n\nAUTHOR: not one\n  AGENT(x): nor this \\\n* item \"quoted\n\u{1b}[0m \u{2028}\u{202e} 😀 שלום &#047; ??/\n=end\n</script>";

#[test]
fn answers_read_back_in_every_language() {
    let mut faulty = Vec::new();
    for sample in &samples() {
        let file = File::new(sample, sample.text.clone());
        for at in 0..file.threads().len() {
            for keep_indentation in [false, true] {
                if let Some(fault) =
                    faults(&file, at, Role::Agent, ANSWER, Style { keep_indentation })
                {
                    let thread = &file.threads()[at];
                    faulty.push(format!(
                        "{}:{} {}",
                        sample.name,
                        thread.first_line() + 1,
                        fault
                    ));
                }
            }
        }
    }
    assert!(
        faulty.is_empty(),
        "{}\n{} faults",
        faulty.join("\n"),
        faulty.len()
    );
}

#[test]
fn clearing_leaves_no_thread_in_any_language() {
    for sample in &samples() {
        for kind in 0..5 {
            let file = File::new(sample, variant(&sample.text, kind));
            if file.threads().is_empty() {
                continue;
            }
            let written = clear(file.source()).unwrap();
            let left = file.after(&written).threads();
            assert!(
                left.is_empty(),
                "{}: {left:?} in {}",
                sample.name,
                file.after(&written).text
            );
        }
    }
}

#[test]
fn new_threads_read_back_in_every_language() {
    let mut refused = Vec::new();
    for sample in &samples() {
        let file = File::new(sample, sample.text.clone());
        let lines = sample.text.lines().count();
        for line in [0, lines / 3, lines / 2, lines - 1] {
            match new_thread(file.source(), line, "why is\nthis so?", Style::default()) {
                Ok((written, _)) => {
                    let after = file.after(&written);
                    assert!(
                        after
                            .threads()
                            .iter()
                            .any(|t| t.messages[0].text == "why is\nthis so?"),
                        "{}",
                        sample.name
                    );
                }
                Err(fault) => refused.push(format!("{}:{}: {fault:?}", sample.name, line + 1)),
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

proptest! {
    #[test]
    fn any_text_reads_back(
        sample in any::<prop::sample::Index>(),
        thread in any::<prop::sample::Index>(),
        kind in 0..5usize,
        agent: bool,
        keep_indentation: bool,
        text in "(AUTHOR: |AGENT\\(x\\): |AUTHOR|\\*/|/\\*|-->|--|\\]\\]|\\*\\)|\\(\\*|-\\}|\\{-|\\|#|%\\}|#>|\\?>|\\\\|\n|\n\n|\r\n|\r|  |\t|\\* |# |// |\"|'|x|é|😀|שלום|\u{202e}|\u{2028}|\u{85}|\u{1b}|\u{0}|&#047;|&|;|\\PC){1,24}",
    ) {
        let samples = samples();
        let sample = sample.get(&samples);
        let file = File::new(sample, variant(&sample.text, kind));
        let threads = file.threads();
        if !threads.is_empty() {
            let role = if agent { Role::Agent } else { Role::Author };
            let fault = faults(&file, thread.index(threads.len()), role, &text, Style { keep_indentation });
            prop_assert_eq!(fault, None, "{}", sample.name);
        }
    }

    #[test]
    fn any_source_can_be_written_to(
        sample in any::<prop::sample::Index>(),
        source in "(// |# |-- |/\\*|\\*/|<!-- | -->|\\* |AUTHOR: |AGENT: |AUTHOR: why\\?\n|# AGENT: x\n|// AUTHOR: y\\?\n|  |\t|\n|\r\n|\r|x|é|😀|\"|'|\\\\|\\{|\\}|\\PC){0,30}",
        line in 0..12usize,
    ) {
        let samples = samples();
        let file = File::new(sample.get(&samples), source);
        for thread in file.threads() {
            // Broken code may leave no way to write; nothing may panic.
            let _ = respond(file.source(), &thread.id, Role::Agent, None, "so\n\nbe it", Style::default());
            let _ = dismiss(file.source(), &thread.id);
        }
        let _ = clear(file.source());
        let _ = new_thread(file.source(), line, "why?", Style::default());
    }
}
