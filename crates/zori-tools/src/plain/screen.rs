//! What a command printed as it would stand on a screen: no control sequences, of a line that was overwritten its last
//! state, no NUL; and what is not text as its size (FOR-12).

use std::borrow::Cow;

/// Returns the text as it would be read.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(is_control) && !text.contains('\u{fffd}') {
        return Cow::Borrowed(text);
    }
    if is_binary(text) {
        return Cow::Owned(format!("({} bytes of binary data)", text.chars().count()));
    }
    let mut out = String::with_capacity(text.len());
    // A job's report of itself is not for reading (`crate::bash`).
    for line in text.split_inclusive('\n').filter(|line| !line.starts_with("\u{1e}zori-")) {
        push_line(&mut out, line);
    }
    Cow::Owned(out)
}

fn is_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\n' | b'\t') || byte == 0x7f
}

/// Returns whether it is not text: one character of ten is a byte of no encoding, or one that no text has.
fn is_binary(text: &str) -> bool {
    let odd = |c: &char| matches!(c, '\u{fffd}' | '\0'..='\x06' | '\x0e'..='\x1a' | '\x1c'..='\x1f');
    let (mut all, mut strange) = (0_usize, 0_usize);
    for c in text.chars() {
        all += 1;
        strange += usize::from(odd(&c));
    }
    strange > 8 && strange * 10 > all
}

/// Adds a line: what a carriage return leaves to be seen, without sequences.
fn push_line(out: &mut String, line: &str) {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line.trim_end_matches('\r'), "\n"),
        None => (line, ""),
    };
    let start = out.len();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                // Whatever comes next is written over it; a bare return at the end leaves it.
                if chars.peek().is_some() {
                    out.truncate(start);
                }
            }
            '\x08' => {
                if out.len() > start {
                    out.pop();
                }
            }
            '\x1b' => skip_sequence(&mut chars),
            '\t' => out.push(c),
            c if (c as u32) < 0x20 || c == '\x7f' => {}
            c => out.push(c),
        }
    }
    out.push_str(end);
}

/// Skips an escape sequence, of which the first character has been read.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        // Parameters, then one letter.
        Some('[') => while chars.next().is_some_and(|c| !('\x40'..='\x7e').contains(&c)) {},
        // A string, up to its terminator.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                match c {
                    '\x07' => return,
                    '\x1b' => {
                        chars.next_if_eq(&'\\');
                        return;
                    }
                    _ => {}
                }
            }
        }
        // Character sets have one character more.
        Some('(' | ')' | '#' | '%') => drop(chars.next()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_on_a_screen() {
        for (printed, seen) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\x1b[1;31mred\x1b[0m x\n", "red x\n"),
            ("\x1b]0;title\x07text\x1b(B\n", "text\n"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
            ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("half\r", "half"),
            ("ab\x08c\n\x08\x08d\n", "ac\nd\n"),
            ("a\0b\x07\n", "ab\n"),
            ("caf\u{fffd} au lait\n", "caf\u{fffd} au lait\n"),
            ("\x1b[", ""),
            ("x\x1b", "x"),
        ] {
            assert_eq!(shown(printed), seen, "{printed:?}");
        }
    }

    #[test]
    fn what_is_not_text_is_counted() {
        assert_eq!(shown(&"\u{fffd}\u{1}ab".repeat(10)), "(40 bytes of binary data)");
    }
}
