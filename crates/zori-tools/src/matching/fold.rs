//! A text folded so that differences of one kind vanish, with the way back to its bytes.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// What vanishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Carriage returns before newlines.
    Returns,
    /// Blanks and carriage returns at line ends.
    LineEnds,
    /// Typographic quotes, dashes, blanks and dots, and how letters are composed; carriage returns too.
    Typographic,
    /// Backslash escapes, decoded; carriage returns too.
    Escapes,
    /// HTML entities, decoded; carriage returns too.
    Entities,
}

/// A folded text.
pub struct Folded {
    pub text: String,
    /// For each byte of `text`, where its character begins in the source; then the source's length.
    starts: Vec<usize>,
    /// For each byte of `text`, where its character ends in the source.
    ends: Vec<usize>,
    source_len: usize,
}

impl Folded {
    pub fn new(source: &str, fold: Fold) -> Self {
        let mut folded = Self {
            text: String::with_capacity(source.len()),
            starts: Vec::with_capacity(source.len() + 1),
            ends: Vec::with_capacity(source.len()),
            source_len: source.len(),
        };
        let mut at = 0;
        // Up to here blanks stay: they were looked at together, since a run of them may be long.
        let mut blanks_stay = 0;
        while at < source.len() {
            let rest = &source[at..];
            let (text, len): (&str, usize);
            let mut buffer = String::new();
            if fold == Fold::LineEnds && at >= blanks_stay {
                match leading_blanks(rest) {
                    (blanks @ 1.., true) => {
                        at += blanks;
                        continue;
                    }
                    (blanks, _) => blanks_stay = at + blanks,
                }
            }
            let c = rest.chars().next().expect("there is a rest");
            (text, len) = match fold {
                // A return belongs to its newline: what keeps the one keeps the other.
                _ if rest.starts_with("\r\n") => ("\n", 2),
                Fold::Returns | Fold::LineEnds => (&rest[..c.len_utf8()], c.len_utf8()),
                Fold::Typographic => typographic(rest, c, &mut buffer),
                Fold::Escapes => decoded(rest, escape(rest), c),
                Fold::Entities => decoded(rest, entity(rest), c),
            };
            folded.text.push_str(text);
            for _ in 0..text.len() {
                folded.starts.push(at);
                folded.ends.push(at + len);
            }
            at += len;
        }
        folded.starts.push(source.len());
        folded
    }

    /// Returns where the character at this byte of the folded text begins in the source.
    pub fn source(&self, at: usize) -> usize {
        self.starts[at]
    }

    /// Returns where the source ends of what ends before this byte of the folded text.
    pub fn source_end(&self, end: usize) -> usize {
        if end == 0 { 0 } else { self.ends[end - 1] }
    }

    /// Returns the byte of the folded text for one of the source.
    pub fn folded(&self, source: usize) -> usize {
        match source >= self.source_len {
            true => self.text.len(),
            false => self.starts.partition_point(|&start| start < source).min(self.text.len()),
        }
    }

    /// Returns whether these bytes of the folded text are whole characters of the source: one may be folded to several.
    pub fn is_characters(&self, start: usize, end: usize) -> bool {
        let cuts = |at: usize| at > 0 && at < self.text.len() && self.starts[at - 1] == self.starts[at];
        !cuts(start) && !cuts(end)
    }

    /// Returns whether these bytes of the folded text are whole lines.
    pub fn is_lines(&self, start: usize, end: usize) -> bool {
        let bytes = self.text.as_bytes();
        (start == 0 || bytes[start - 1] == b'\n')
            && (end == bytes.len() || bytes[end] == b'\n' || end > 0 && bytes[end - 1] == b'\n')
    }
}

/// Returns how many blanks are here, and whether the line's end follows them.
fn leading_blanks(rest: &str) -> (usize, bool) {
    let behind = rest.trim_start_matches([' ', '\t']);
    let ends = behind.is_empty() || behind.starts_with('\n') || behind.starts_with("\r\n");
    (rest.len() - behind.len(), ends)
}

/// Returns added text as the place is written: plain where the model wrote typographic characters and the file does not,
/// and decomposed where the file's letters are.
pub fn as_written(place: &str, old: &str, added: &str) -> String {
    let plain =
        |text: &str| Folded::new(text, Fold::Typographic).text == Folded::new(text, Fold::Returns).text;
    let marked = |text: &str| text.chars().any(|c| is_mark(&c));
    if plain(place) && !plain(old) {
        return Folded::new(added, Fold::Typographic).text;
    }
    match marked(place) && !marked(old) {
        true => DecomposingNormalizerBorrowed::new_nfd().normalize(added).into_owned(),
        false => added.to_owned(),
    }
}

fn typographic<'a>(rest: &'a str, c: char, buffer: &'a mut String) -> (&'a str, usize) {
    let len = c.len_utf8();
    let same = match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{00b4}' | '\u{02bc}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{00ab}' | '\u{00bb}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{00a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{2026}' => "...",
        _ => {
            let marks: usize = rest[len..].chars().take_while(is_mark).map(char::len_utf8).sum();
            if marks == 0 {
                return (&rest[..len], len);
            }
            *buffer = ComposingNormalizerBorrowed::new_nfc().normalize(&rest[..len + marks]).into_owned();
            return (buffer, len + marks);
        }
    };
    (same, len)
}

/// Returns whether a character combines with the one before it.
fn is_mark(c: &char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}')
}

fn decoded<'a>(rest: &'a str, found: Option<(&'static str, usize)>, c: char) -> (&'a str, usize) {
    found.unwrap_or((&rest[..c.len_utf8()], c.len_utf8()))
}

/// Returns what a backslash escape at the start stands for, and its length.
pub fn escape(rest: &str) -> Option<(&'static str, usize)> {
    let text = match rest.as_bytes() {
        [b'\\', b'n', ..] => "\n",
        [b'\\', b't', ..] => "\t",
        [b'\\', b'"', ..] => "\"",
        [b'\\', b'\'', ..] => "'",
        [b'\\', b'\\', ..] => "\\",
        _ => return None,
    };
    Some((text, 2))
}

/// Returns what an HTML entity at the start stands for, and its length.
pub fn entity(rest: &str) -> Option<(&'static str, usize)> {
    const ENTITIES: &[(&str, &str)] = &[
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&#34;", "\""),
        ("&nbsp;", " "),
    ];
    ENTITIES.iter().find(|(name, _)| rest.starts_with(name)).map(|(name, text)| (*text, name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(text: &str, fold: Fold) -> String {
        Folded::new(text, fold).text
    }

    #[test]
    fn what_vanishes() {
        assert_eq!(fold("a \r\nb\r", Fold::Returns), "a \nb\r");
        assert_eq!(fold("a \t\r\n  b  ", Fold::LineEnds), "a\n  b");
        assert_eq!(fold("“a” – b\u{a0}c… e\u{301}", Fold::Typographic), "\"a\" - b c... é");
        assert_eq!(fold(r#"a\n\"b\" \x"#, Fold::Escapes), "a\n\"b\" \\x");
        assert_eq!(fold("a &lt; b &amp;&amp; &x;", Fold::Entities), "a < b && &x;");
    }

    /// Each blank is looked at once; looked at from every blank of this run, it would take hours.
    #[test]
    fn a_long_run_of_blanks() {
        let blanks = " ".repeat(4 << 20);
        assert_eq!(fold(&format!("{blanks}x{blanks}"), Fold::LineEnds), format!("{blanks}x"));
    }

    #[test]
    fn the_way_back() {
        let folded = Folded::new("x  \r\n“é”", Fold::Typographic);
        let quote = folded.text.find('"').unwrap();
        assert_eq!((folded.source(quote), folded.source_end(quote + 1), folded.folded(5)), (5, 8, quote));
        let folded = Folded::new("a  \nb", Fold::LineEnds);
        assert_eq!(
            (folded.text.as_str(), folded.source(1), folded.source_end(1), folded.folded(1)),
            ("a\nb", 3, 1, 1)
        );
        assert!(
            folded.is_lines(0, 1) && folded.is_lines(0, 2) && folded.is_lines(2, 3) && !folded.is_lines(1, 3)
        );
    }
}
