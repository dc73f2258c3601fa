//! The text of a configuration as git reads it (git-config(1), "Syntax"), without the files that it goes on in.

/// Each name without its section, in small letters, with its value; of one without `=` there is none. What is no
/// configuration is read on as far as there is sense in it: git stops there, or knows better.
pub(super) fn values(text: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut found = Vec::new();
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'#' | b';' => while rest.next_if(|byte| *byte != b'\n').is_some() {},
            b'[' => header(&mut rest),
            byte if byte.is_ascii_alphanumeric() => {
                let mut name = vec![byte.to_ascii_lowercase()];
                let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
                while let Some(byte) = rest.next_if(is_name) {
                    name.push(byte.to_ascii_lowercase());
                }
                while rest.next_if(|byte| b" \t\r".contains(byte)).is_some() {}
                if rest.next_if_eq(&b'=').is_some() {
                    found.push((name, value(&mut rest)));
                }
            }
            _ => {}
        }
    }
    found
}

/// The rest of a section's name, in which a quoted part may hold anything.
fn header(rest: &mut impl Iterator<Item = u8>) {
    let mut is_quoted = false;
    while let Some(byte) = rest.next() {
        match byte {
            b'\n' => return,
            b']' if !is_quoted => return,
            b'"' => is_quoted = !is_quoted,
            b'\\' => drop(rest.next()),
            _ => {}
        }
    }
}

/// What stands behind the `=`, to the end of the line, which a backslash may put off.
fn value(rest: &mut impl Iterator<Item = u8>) -> Vec<u8> {
    let mut value = Vec::new();
    let mut is_quoted = false;
    // Blanks at the end do not count, but for those in quotes.
    let mut end = 0;
    while let Some(byte) = rest.next() {
        match byte {
            b'\n' => break,
            b'#' | b';' if !is_quoted => {
                rest.find(|byte| *byte == b'\n');
                break;
            }
            b'"' => {
                is_quoted = !is_quoted;
                end = value.len();
            }
            b' ' | b'\t' | b'\r' if !is_quoted => {
                if !value.is_empty() {
                    value.push(byte);
                }
            }
            b'\\' => {
                let escaped = match rest.next() {
                    Some(b'n') => b'\n',
                    Some(b't') => b'\t',
                    Some(b'b') => 8,
                    Some(b'\r') => {
                        rest.next();
                        continue;
                    }
                    Some(b'\n') | None => continue,
                    Some(byte) => byte,
                };
                value.push(escaped);
                end = value.len();
            }
            byte => {
                value.push(byte);
                end = value.len();
            }
        }
    }
    value.truncate(end);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_git_reads_them() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("[include] path = ../pipe # x\n", &[("path", "../pipe")]),
            ("[include]\n\tpath=../pipe;x=y\n", &[("path", "../pipe")]),
            (
                "[a \"b]\\\"\"]Path = ../pi\"pe # \"",
                &[("path", "../pipe # ")],
            ),
            (
                "[includeIf \"hasconfig:remote.*.url:a=b\"] path=x\n[c] d\ne = f",
                &[("path", "x"), ("e", "f")],
            ),
            (
                "\u{feff}# path = y\n[a]\n path = \"C:\\\\x\\ty\"  \r\n",
                &[("path", "C:\\x\ty")],
            ),
            (
                "[a] path = one\\\ntwo three \n",
                &[("path", "onetwo three")],
            ),
            ("[a] path = \"  in  \"\n", &[("path", "  in  ")]),
            ("[a] path =\n", &[("path", "")]),
        ];
        for (text, expected) in cases {
            let found = values(text.as_bytes());
            let text_of = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
            let found: Vec<_> = found
                .iter()
                .map(|(n, v)| (text_of(n), text_of(v)))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
