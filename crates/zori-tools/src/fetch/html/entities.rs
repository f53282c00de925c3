//! Character references: `&amp;`, `&#38;`, `&#x26;`.

/// The names of the HTML standard, sorted by their bytes, with what each stands for; the two that stand for a line end and
/// a tab are not among them. One text and no table of strings,
/// because every pointer of a table is written anew whenever the program starts.
const NAMES: &str = include_str!("entities.txt");

/// The longest name that is also read without a semicolon.
const LONGEST_BARE: usize = 6;

/// The longest name.
const LONGEST: usize = 32;

/// What the numbers 128 to 159 stand for on pages: the characters of Windows-1252.
const WINDOWS: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// Returns a text with its references replaced. In an attribute a name needs its semicolon: `?a=1&copy=2` is an address.
pub fn decode(text: &str, attribute: bool) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match reference(rest, attribute) {
            Some((what, length)) => {
                what.push_to(&mut decoded);
                rest = &rest[length..];
            }
            None => decoded.push('&'),
        }
    }
    decoded.push_str(rest);
    decoded
}

/// What a reference stands for.
enum Referent {
    Char(char),
    Text(&'static str),
}

impl Referent {
    fn push_to(&self, text: &mut String) {
        match self {
            Self::Char(character) => text.push(*character),
            Self::Text(characters) => text.push_str(characters),
        }
    }
}

/// Returns what the text after a `&` refers to, and how many bytes of it belong to the reference.
fn reference(text: &str, attribute: bool) -> Option<(Referent, usize)> {
    if let Some(number) = text.strip_prefix('#') {
        let (hex, digits) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (true, digits),
            None => (false, number),
        };
        let radix = if hex { 16 } else { 10 };
        let length = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
        if length == 0 {
            return None;
        }
        // A number that does not fit is no character either.
        let code = u32::from_str_radix(&digits[..length], radix).unwrap_or(u32::MAX);
        let semicolon = usize::from(digits[length..].starts_with(';'));
        return Some((Referent::Char(character(code)), 1 + usize::from(hex) + length + semicolon));
    }
    let length = text.bytes().take(LONGEST).take_while(u8::is_ascii_alphanumeric).count();
    if text[length..].starts_with(';')
        && let Some(found) = named(&text[..=length])
    {
        return Some((Referent::Text(found), length + 1));
    }
    if attribute {
        return None;
    }
    (2..=length.min(LONGEST_BARE))
        .rev()
        .find_map(|length| named(&text[..length]).map(|found| (Referent::Text(found), length)))
}

fn character(code: u32) -> char {
    let windows = code.checked_sub(128).and_then(|index| WINDOWS.chars().nth(index as usize));
    windows.or_else(|| char::from_u32(code).filter(|found| *found != '\0')).unwrap_or('\u{fffd}')
}

/// Finds a name by halving the text.
fn named(name: &str) -> Option<&'static str> {
    if matches!(name, "NewLine;" | "Tab;") {
        return Some(" ");
    }
    let (mut from, mut to) = (0, NAMES.len());
    while from < to {
        let middle = NAMES.floor_char_boundary((from + to) / 2);
        let start = NAMES[from..middle].rfind('\n').map_or(from, |at| from + at + 1);
        let end = NAMES[start..].find('\n').map_or(NAMES.len(), |at| start + at);
        let (found, value) = entry(&NAMES[start..end])?;
        match found.cmp(name) {
            std::cmp::Ordering::Less => from = end + 1,
            std::cmp::Ordering::Greater => to = start,
            std::cmp::Ordering::Equal => return Some(value),
        }
    }
    None
}

/// Reads `name;=characters=`. The sign at the end keeps blanks from standing last in a line.
fn entry(line: &str) -> Option<(&str, &str)> {
    line.strip_suffix('=')?.split_once('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        for (text, decoded) in [
            ("a &amp; b &lt;c&gt; &quot;d&quot;", "a & b <c> \"d\""),
            ("&eacute;&Eacute;&CounterClockwiseContourIntegral;", "éÉ∳"),
            ("&NotEqualTilde;", "≂\u{338}"),
            // Some are read without their semicolon, by the longest name that fits.
            ("&copy 2026 &notit; &notin; &ampx", "© 2026 ¬it; ∉ &x"),
            ("&#65;&#x42;&#X43&#151;&#0;&#xD800;&#99999999999;", "ABC—\u{fffd}\u{fffd}\u{fffd}"),
            ("&; & &# &#x; &unknown; &am", "&; & &# &#x; &unknown; &am"),
            ("&é; &aé", "&é; &aé"),
            ("a&Tab;b&NewLine;c", "a b c"),
        ] {
            assert_eq!(decode(text, false), decoded, "{text}");
        }
        assert_eq!(decode("?a=1&copy=2&amp;b=&copy;", true), "?a=1&copy=2&b=©");
    }

    /// Each name is found, so the text is sorted and every line is whole.
    #[test]
    fn every_name_is_found() {
        for line in NAMES.lines() {
            let (name, value) = entry(line).unwrap();
            assert_eq!(named(name), Some(value), "{name}");
            assert!(
                name.len() <= LONGEST + 1 && (name.ends_with(';') || name.len() <= LONGEST_BARE),
                "{name}"
            );
        }
        assert_eq!(NAMES.lines().count(), 2229);
    }
}
