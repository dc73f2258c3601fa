//! Numbers and bytes packed close together: the form of what is kept of a scan. Reading is total: whatever
//! the bytes are, it ends in `None` at worst.

/// Seven bits a byte, lowest first.
pub fn number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(0x80 | low(number));
        number >>= 7;
    }
    out.push(low(number));
}

/// Small for numbers near zero on both sides.
pub fn signed(out: &mut Vec<u8>, value: i64) {
    number(out, (value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned());
}

/// With their length in front.
pub fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn low(number: u64) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or_default()
}

/// Reads what was packed, in the same order.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.size()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_is_read_back(numbers: Vec<u64>, values: Vec<i64>, text: Vec<u8>) {
            let mut out = Vec::new();
            numbers.iter().for_each(|n| number(&mut out, *n));
            values.iter().for_each(|n| signed(&mut out, *n));
            bytes(&mut out, &text);
            let mut reader = Reader::new(&out);
            for n in numbers {
                prop_assert_eq!(reader.number(), Some(n));
            }
            for n in values {
                prop_assert_eq!(reader.signed(), Some(n));
            }
            prop_assert_eq!(reader.bytes(), Some(&*text));
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn any_bytes_are_read_without_a_fall(junk: Vec<u8>) {
            let mut reader = Reader::new(&junk);
            while reader.number().is_some() && reader.bytes().is_some() {}
        }
    }
}
