//! As much of MessagePack as Neovim's RPC needs, to and from JSON values.

use std::io::{self, Read};

use serde_json::{Map, Number, Value};

pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0xc0),
        Value::Bool(b) => out.push(0xc2 + u8::from(*b)),
        Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(n), _) => {
                out.push(0xd3);
                out.extend(n.to_be_bytes());
            }
            (None, Some(n)) => {
                out.push(0xcf);
                out.extend(n.to_be_bytes());
            }
            (None, None) => {
                out.push(0xcb);
                out.extend(n.as_f64().unwrap_or_default().to_be_bytes());
            }
        },
        Value::String(s) => {
            head(out, 0xdb, s.len());
            out.extend(s.as_bytes());
        }
        Value::Array(all) => {
            head(out, 0xdd, all.len());
            all.iter().for_each(|v| encode(v, out));
        }
        Value::Object(map) => {
            head(out, 0xdf, map.len());
            for (key, v) in map {
                encode(&Value::String(key.clone()), out);
                encode(v, out);
            }
        }
    }
}

fn head(out: &mut Vec<u8>, kind: u8, length: usize) {
    out.push(kind);
    out.extend(
        u32::try_from(length)
            .expect("a short message")
            .to_be_bytes(),
    );
}

pub fn decode(from: &mut impl Read) -> io::Result<Value> {
    let kind = number(from, 1)? as u8;
    Ok(match kind {
        0x00..=0x7f => Value::from(kind),
        0x80..=0x8f => object(from, usize::from(kind & 0x0f))?,
        0x90..=0x9f => array(from, usize::from(kind & 0x0f))?,
        0xa0..=0xbf => string(from, usize::from(kind & 0x1f))?,
        0xc2 => Value::Bool(false),
        0xc3 => Value::Bool(true),
        0xc4..=0xc6 => sized(from, kind - 0xc4).and_then(|n| string(from, n))?,
        0xc7..=0xc9 => {
            let length = sized(from, kind - 0xc7)?;
            skip(from, length + 1)?
        }
        0xca => float(f64::from(f32::from_bits(number(from, 4)? as u32))),
        0xcb => float(f64::from_bits(number(from, 8)?)),
        0xcc..=0xcf => Value::from(number(from, 1 << (kind - 0xcc))?),
        0xd0 => Value::from(number(from, 1)? as i8),
        0xd1 => Value::from(number(from, 2)? as i16),
        0xd2 => Value::from(number(from, 4)? as i32),
        0xd3 => Value::from(number(from, 8)? as i64),
        // Handles of buffers and windows: what they are is not looked at.
        0xd4..=0xd8 => skip(from, (1 << (kind - 0xd4)) + 1)?,
        0xd9..=0xdb => sized(from, kind - 0xd9).and_then(|n| string(from, n))?,
        0xdc | 0xdd => sized(from, kind - 0xdc + 1).and_then(|n| array(from, n))?,
        0xde | 0xdf => sized(from, kind - 0xde + 1).and_then(|n| object(from, n))?,
        0xe0..=0xff => Value::from(kind as i8),
        0xc0 | 0xc1 => Value::Null,
    })
}

/// Big-endian, of so many bytes.
fn number(from: &mut impl Read, bytes: usize) -> io::Result<u64> {
    let mut buffer = [0; 8];
    from.read_exact(&mut buffer[8 - bytes..])?;
    Ok(u64::from_be_bytes(buffer))
}

/// A length of 1, 2 or 4 bytes.
fn sized(from: &mut impl Read, power: u8) -> io::Result<usize> {
    Ok(number(from, 1 << power)? as usize)
}

fn float(n: f64) -> Value {
    Number::from_f64(n).map_or(Value::Null, Value::Number)
}

fn skip(from: &mut impl Read, length: usize) -> io::Result<Value> {
    from.read_exact(&mut vec![0; length])?;
    Ok(Value::Null)
}

fn string(from: &mut impl Read, length: usize) -> io::Result<Value> {
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned()))
}

fn array(from: &mut impl Read, length: usize) -> io::Result<Value> {
    (0..length)
        .map(|_| decode(from))
        .collect::<io::Result<Vec<_>>>()
        .map(Value::Array)
}

fn object(from: &mut impl Read, length: usize) -> io::Result<Value> {
    let mut map = Map::new();
    for _ in 0..length {
        let key = match decode(from)? {
            Value::String(key) => key,
            other => other.to_string(),
        };
        map.insert(key, decode(from)?);
    }
    Ok(Value::Object(map))
}

#[test]
fn what_is_encoded_decodes_again() {
    let value = serde_json::json!([0, 2, -1, 1.5, true, null, "käse 🧀", {"a": [1, {"b": "x".repeat(300)}]}, i64::MIN, u64::MAX]);
    let mut bytes = Vec::new();
    encode(&value, &mut bytes);
    assert_eq!(decode(&mut bytes.as_slice()).expect("it decodes"), value);
    // The short forms, which Neovim sends: fixint, negative fixint, fixstr, fixarray, fixmap, uint 8, int 8, ext.
    let short = [
        0x97, 0x05, 0xff, 0xa1, b'x', 0x81, 0xa1, b'k', 0xc0, 0xcc, 0xff, 0xd0, 0x80, 0xd4, 0, 1,
    ];
    assert_eq!(
        decode(&mut short.as_slice()).expect("it decodes"),
        serde_json::json!([5, -1, "x", {"k": null}, 255, -128, null])
    );
}
