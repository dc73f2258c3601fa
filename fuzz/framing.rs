//! The transport's framing: however a stream is cut, the same bodies come out of it, and what was framed
//! is read.

use crate::frames::Framer;
use crate::input::Input;

/// The first byte tells how long the pieces are; the rest is the stream.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let length = usize::from(input.byte()) + 1;
    let give_back = input.byte().is_multiple_of(2);
    let stream = input.0;

    // All at once, and in pieces. Beyond what a header may have the cut may decide where it is given up.
    let whole = read([stream].into_iter());
    let pieces = read(stream.chunks(length));
    if stream.len() < 1 << 14 {
        assert_eq!(whole, pieces, "the cut changes what is read");
    }
    let bytes: usize = whole.iter().flatten().map(Vec::len).sum();
    assert!(bytes <= stream.len(), "more came out than went in");

    // A body that is no JSON is given back, as the transport does.
    let mut framer = Framer::default();
    let mut turns = 0;
    for piece in stream.chunks(length) {
        framer.feed(piece);
        while let Some(read) = framer.next() {
            turns += 1;
            assert!(turns <= 4 * stream.len() + 16, "it goes in circles");
            if let (Ok(body), true) = (read, give_back) {
                framer.resume(&body);
            }
        }
    }

    // A well-framed message is read whatever it holds, and so is the one behind it.
    let mut framed = format!("Content-Length: {}\r\n\r\n", stream.len()).into_bytes();
    framed.extend_from_slice(stream);
    framed.extend_from_slice(b"content-length: 2\r\nX: y\r\n\r\n{}");
    assert_eq!(
        read(framed.chunks(length)),
        [Some(stream.to_vec()), Some(b"{}".to_vec())],
        "a framed message is lost"
    );
}

/// The bodies of a stream; `None` for each fault.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Option<Vec<u8>>> {
    let mut framer = Framer::default();
    let mut found = Vec::new();
    for piece in pieces {
        framer.feed(piece);
        while let Some(read) = framer.next() {
            found.push(read.ok());
        }
    }
    found
}
