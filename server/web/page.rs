//! What came over the web as text: its encoding, and HTML without its tags. A page can be written so that what is made
//! of it takes any memory (a table of many columns and many rows, elements that are opened anew in each paragraph), and
//! nothing ends a thread that makes it. So that is done by a process of its own: this program, held to a limit.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::os;

/// The first argument that means [`run_page`].
pub const PAGE: &str = "page-text";

/// Columns of the text that is made of a page.
const WIDTH: usize = 120;
/// The tree of a page is walked by calls. Memory is taken as it is touched.
const STACK: usize = 64 << 20;
/// Elements inside each other. Deeper ones take time by the square, and no page that is read has them.
const DEEPEST: usize = 500;
/// No page takes longer that is meant to be read.
const LONGEST: Duration = Duration::from_secs(15);
/// Bytes of private memory that it may take, where the system holds a process to that.
const MEMORY: u64 = 1 << 30;
/// Bytes of a text. Nobody is shown more.
const LARGEST: u64 = 8 << 20;

pub fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    match content_type.map(essence) {
        Some(kind) if !kind.is_empty() => kind == "text/html" || kind == "application/xhtml+xml",
        // It does not say: browsers look, too.
        _ => {
            let head = body.get(..body.len().min(512)).unwrap_or_default();
            let head = String::from_utf8_lossy(head).to_ascii_lowercase();
            let head = head.trim_start();
            head.starts_with("<!doctype html") || head.starts_with("<html")
        }
    }
}

/// `type/subtype`, in small letters.
fn essence(content_type: &str) -> String {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// A body as text; `None` where it is none.
pub async fn text_of(content_type: Option<&str>, body: Vec<u8>) -> Option<String> {
    let html = is_html(content_type, &body);
    let decoded = decode(content_type, html, &body)?;
    if !html {
        return Some(decoded);
    }
    // What no text can be made of is shown as it came.
    match tokio::time::timeout(LONGEST, apart(&decoded)).await {
        Ok(Ok(text)) => Some(text),
        Ok(Err(error)) => {
            tracing::warn!("no text was made of a page: {error}");
            Some(decoded)
        }
        Err(_) => Some(decoded),
    }
}

/// The text of a page, by a process of its own, which ends when nobody waits for it any more.
async fn apart(page: &str) -> io::Result<String> {
    let mut command = Command::new(os::own_program()?);
    command
        .arg(PAGE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    os::die_with_parent(&mut command);
    os::no_window(&mut command);
    let mut child = os::spawn(command).await?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    input.write_all(page.as_bytes()).await?;
    drop(input);
    let mut text = Vec::new();
    let read = output.take(LARGEST).read_to_end(&mut text).await?;
    if (read as u64) < LARGEST && !child.wait().await?.success() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// What the process of [`PAGE`] is for: holds it to its limits, reads a page and writes its text.
///
/// # Errors
/// Where that cannot be done.
pub fn run_page(mut input: impl io::Read, mut output: impl io::Write) -> io::Result<()> {
    os::hold_to(MEMORY, LONGEST.as_secs());
    let mut page = String::new();
    input.read_to_string(&mut page)?;
    let reader = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || converted(&page))?;
    let text = reader.join().ok().flatten();
    let text = text.ok_or(io::ErrorKind::InvalidData)?;
    output.write_all(text.as_bytes())
}

/// A page without its tags; `None` where the library cannot do that.
fn converted(page: &str) -> Option<String> {
    if depth(page) > DEEPEST {
        return None;
    }
    let config = html2text::config::plain().allow_width_overflow();
    config.string_from_read(page.as_bytes(), WIDTH).ok()
}

/// Elements that have no end, or whose end may be left out, so that they do not pile up.
const ENDLESS: &[&str] = &[
    "area", "base", "body", "br", "col", "dd", "dt", "embed", "head", "hr", "html", "img", "input",
    "li", "link", "meta", "option", "p", "param", "source", "tbody", "td", "th", "thead", "tr",
    "track", "wbr",
];

/// About how deep a page's elements are nested at most, by its tags alone.
fn depth(page: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let page = page.to_ascii_lowercase();
    let mut rest = page.as_str();
    while let Some((_, behind)) = rest.split_once('<') {
        rest = behind;
        let (inner, ends) = match behind.strip_prefix('/') {
            Some(inner) => (inner, true),
            None => (behind, false),
        };
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric());
        let name = inner.get(..end.unwrap_or(inner.len())).unwrap_or_default();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || ENDLESS.contains(&name) {
            continue;
        }
        if ends {
            depth = depth.saturating_sub(1);
            continue;
        }
        // Their content has no tags.
        if matches!(name, "script" | "style" | "textarea" | "title") {
            let close = format!("</{name}");
            let at = memchr::memmem::find(behind.as_bytes(), close.as_bytes());
            rest = at
                .and_then(|at| behind.get(at + close.len()..))
                .unwrap_or_default();
            continue;
        }
        depth += 1;
        deepest = deepest.max(depth);
    }
    deepest
}

fn decode(content_type: Option<&str>, html: bool, body: &[u8]) -> Option<String> {
    let label = content_type.and_then(charset);
    let label = label.or_else(|| {
        let head = body.get(..body.len().min(1024)).unwrap_or_default();
        html.then(|| charset(&String::from_utf8_lossy(head)))?
    });
    let named = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    let bom = Encoding::for_bom(body).map(|(encoding, _)| encoding);
    let encoding = bom.or(named).unwrap_or(UTF_8);
    let head = body.get(..body.len().min(8192)).unwrap_or_default();
    // Two bytes a character hold NULs, texts of one hold none.
    let wide = encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
    if head.contains(&0) && !wide {
        return None;
    }
    let (text, _, _) = encoding.decode(body);
    Some(text.into_owned())
}

/// The value behind the first `charset=`.
fn charset(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (_, rest) = lower.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let rest = rest.trim_start_matches(['"', '\'']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)));
    let label = rest.get(..end.unwrap_or(rest.len()))?;
    (!label.is_empty()).then(|| label.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content_type: &str, body: &[u8]) -> Option<String> {
        let html = is_html(Some(content_type), body);
        let decoded = decode(Some(content_type), html, body)?;
        match html {
            true => converted(&decoded),
            false => Some(decoded),
        }
    }

    #[test]
    fn a_page_becomes_text_with_its_links() {
        let page = b"<!doctype html><html><head><title>T</title><style>p{color:red}</style><script>alert(1)</script></head>\
            <body><h1>Head</h1><p>One <a href='/two'>two</a> &amp; <b>three</b></p><ul><li>four</li></ul></body></html>";
        let text = text("text/html", page).unwrap();
        for part in ["# Head", "two", "/two", "& ", "three", "* four"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        for part in ["alert", "color", "<p>"] {
            assert!(!text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn encodings_are_read() {
        for (kind, body) in [
            ("text/plain; charset=ISO-8859-1", &b"caf\xe9"[..]),
            ("text/plain; charset=\"utf-8\"", "café".as_bytes()),
            ("text/plain", "café".as_bytes()),
            ("text/plain; charset=x-nothing", "café".as_bytes()),
            ("text/plain", b"\xff\xfec\0a\0f\0\xe9\0"),
            (
                "text/html",
                b"<html><meta charset='windows-1252'><body>caf\xe9",
            ),
        ] {
            let read = text(kind, body).unwrap();
            assert_eq!(read.trim(), "café", "{kind}");
        }
        assert_eq!(text("image/png", b"\x89PNG\r\n\0\0"), None);
        assert!(text("text/plain", b"\xff\xfe\xfd").is_some());
        assert_eq!(text("", b"").as_deref(), Some(""));
    }

    #[test]
    fn no_page_is_too_deep_or_too_broken() {
        let wrapped = |open: &str, times: usize| format!("<html><body>{}end", open.repeat(times));
        for open in [
            "<div>",
            "<b>",
            "<table><tr><td>",
            "<ul><li>",
            "<blockquote>",
            "<a href=x>",
        ] {
            let page = wrapped(open, (1 << 20) / open.len());
            let shown = text("text/html", page.as_bytes());
            assert_eq!(shown, None, "{open}: too deep to be walked");
            let page = wrapped(open, DEEPEST - 1);
            let shown = text("text/html", page.as_bytes()).unwrap();
            // A deep list has no room for a word; it comes as letters.
            let shown: String = shown.split_whitespace().collect();
            assert!(shown.contains('d') && !shown.contains(open), "{open}");
        }
        for flat in [
            "<",
            "<p>",
            "<li>x",
            "<br>",
            "<b>x</b>",
            "<script>i<t</script>",
            "</div>",
        ] {
            let page = wrapped(flat, 20_000);
            let shown = text("text/html", page.as_bytes()).unwrap();
            assert!(!shown.starts_with("<html>"), "{flat} is no nesting");
        }
    }
}
