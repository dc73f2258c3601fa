//! An entry of the index as bytes, for the note that a scan keeps of a file.

use std::ops::Range;
use std::sync::Arc;

use super::Entry;
use crate::files::pack::{self, Reader};
use crate::threads::{Message, Role, Status, Thread};

pub(super) fn to_bytes(entry: &Entry) -> Vec<u8> {
    let mut out = vec![u8::from(entry.lossy)];
    option(&mut out, entry.unparsed.as_deref());
    pack::number(&mut out, entry.threads.len() as u64);
    for thread in entry.threads.iter() {
        pack::bytes(&mut out, thread.id.as_bytes());
        let pending = u8::from(thread.status == Status::Pending);
        out.push(pending | u8::from(thread.malformed) << 1 | u8::from(thread.trailing) << 2);
        pack::number(&mut out, thread.messages.len() as u64);
        for message in &thread.messages {
            out.push(u8::from(message.role == Role::Agent));
            option(&mut out, message.name.as_deref());
            pack::bytes(&mut out, message.text.as_bytes());
            pack::number(&mut out, message.blanks.len() as u64);
            for blanks in &message.blanks {
                pack::bytes(&mut out, blanks.as_bytes());
            }
            for number in [
                message.line,
                message.last_line,
                message.marker.start,
                message.marker.end,
                message.range.start,
                message.range.end,
            ] {
                pack::number(&mut out, number as u64);
            }
        }
    }
    out
}

/// `None` where the bytes are no entry's.
pub(super) fn from_bytes(bytes: &[u8]) -> Option<Entry> {
    let mut reader = Reader::new(bytes);
    let lossy = reader.byte()? != 0;
    let unparsed = text_or_none(&mut reader)?.map(Arc::from);
    let count = reader.size()?;
    let mut threads = Vec::new();
    for _ in 0..count {
        threads.push(thread(&mut reader)?);
    }
    reader.is_empty().then(|| Entry {
        threads: Arc::new(threads),
        lossy,
        unparsed,
    })
}

fn thread(reader: &mut Reader) -> Option<Thread> {
    let id = text(reader)?;
    let bits = reader.byte()?;
    let count = reader.size()?;
    let mut messages = Vec::new();
    for _ in 0..count {
        messages.push(message(reader)?);
    }
    Some(Thread {
        id,
        messages,
        status: if bits & 1 == 1 {
            Status::Pending
        } else {
            Status::AwaitingUser
        },
        malformed: bits & 2 != 0,
        trailing: bits & 4 != 0,
    })
}

fn blanks(reader: &mut Reader) -> Option<Vec<Box<str>>> {
    let count = reader.size()?;
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(text(reader)?.into());
    }
    Some(all)
}

fn message(reader: &mut Reader) -> Option<Message> {
    Some(Message {
        role: if reader.byte()? == 0 {
            Role::Author
        } else {
            Role::Agent
        },
        name: text_or_none(reader)?,
        text: text(reader)?,
        blanks: blanks(reader)?,
        line: reader.size()?,
        last_line: reader.size()?,
        marker: range(reader)?,
        range: range(reader)?,
    })
}

fn range(reader: &mut Reader) -> Option<Range<usize>> {
    Some(reader.size()?..reader.size()?)
}

fn text(reader: &mut Reader) -> Option<String> {
    String::from_utf8(reader.bytes()?.to_vec()).ok()
}

fn option(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        pack::bytes(out, text.as_bytes());
    }
}

fn text_or_none(reader: &mut Reader) -> Option<Option<String>> {
    match reader.byte()? {
        0 => Some(None),
        _ => text(reader).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_back_as_it_was() {
        let source = "// AUTHOR(alice): why?\n//   and how?\n// AGENT: So.\n// AUTHOR:\nf(); // AUTHOR: é?\n\n# AGENT: no\n";
        let path = "a.rs";
        let syntax =
            crate::comments::Syntax::parse(source, crate::comments::detect(path, None, source));
        let threads = crate::threads::find(path, source, &syntax);
        assert!(threads.len() >= 2);
        for (lossy, unparsed) in [(false, None), (true, Some(Arc::from("raw\0text")))] {
            let entry = Entry {
                threads: Arc::new(threads.clone()),
                lossy,
                unparsed,
            };
            let bytes = to_bytes(&entry);
            let back = from_bytes(&bytes).expect("read back");
            assert_eq!(back.threads, entry.threads);
            assert_eq!((back.lossy, back.unparsed), (entry.lossy, entry.unparsed));
            for cut in 0..bytes.len() {
                assert!(from_bytes(&bytes[..cut]).is_none(), "{cut}");
            }
        }
    }
}
