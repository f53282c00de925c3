//! The pieces of a page: text and tags, in a time that grows with the page's length.

/// A piece of a page.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text, its references not yet replaced.
    Text(&'a str),
    /// `<name ...>`.
    Open { name: &'a str, attributes: &'a str },
    /// `</name>`.
    Close(&'a str),
}

/// Elements whose text ends at their own closing tag only.
const RAW: &[&str] = &["script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp"];

/// Takes a page to pieces.
pub struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of a page.
    pub fn new(html: &'a str) -> Self {
        Self { rest: html }
    }

    /// Takes `length` bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// Takes what ends with `end`; all that is left, if that does not come.
    fn skip_past(&mut self, end: &str) {
        let length = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        self.take(length);
    }

    /// Takes a tag from its name on. A page that ends within a tag has none.
    fn tag(&mut self) -> Option<(&'a str, &'a str)> {
        let ends = |byte: u8| byte.is_ascii_whitespace() || byte == b'/' || byte == b'>';
        let name = self.rest.bytes().position(ends).unwrap_or(self.rest.len());
        let name = self.take(name);
        let mut quote = None;
        let mut after_equals = false;
        let mut end = None;
        for (at, byte) in self.rest.bytes().enumerate() {
            match (quote, byte) {
                (None, b'>') => {
                    end = Some(at);
                    break;
                }
                // A quote within a name or value means nothing.
                (None, b'"' | b'\'') if after_equals => quote = Some(byte),
                (Some(open), _) if open == byte => quote = None,
                _ => {}
            }
            after_equals = byte == b'=' || (after_equals && byte.is_ascii_whitespace());
        }
        let Some(end) = end else {
            self.rest = "";
            return None;
        };
        let attributes = self.take(end);
        self.take(1);
        Some((name, attributes))
    }

    /// Takes what a raw element holds, its closing tag left.
    fn skip_raw(&mut self, name: &str) {
        let mut at = 0;
        while let Some(found) = self.rest[at..].find("</") {
            at += found;
            let after = &self.rest.as_bytes()[at + 2..];
            if after.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes())) {
                self.take(at);
                return;
            }
            at += 2;
        }
        self.rest = "";
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let Some(after) = self.rest.strip_prefix('<') else {
                let length = self.rest.find('<').unwrap_or(self.rest.len());
                return Some(Piece::Text(self.take(length)));
            };
            let starts_name = |text: &str| text.starts_with(|first: char| first.is_ascii_alphabetic());
            if after.starts_with("!--") {
                self.take(2);
                self.skip_past("-->");
            } else if after.starts_with("![CDATA[") {
                self.skip_past("]]>");
            } else if after.starts_with(['!', '?']) {
                self.skip_past(">");
            } else if starts_name(after) {
                self.take(1);
                let (name, attributes) = self.tag()?;
                if RAW.iter().any(|raw| raw.eq_ignore_ascii_case(name)) {
                    self.skip_raw(name);
                }
                return Some(Piece::Open { name, attributes });
            } else if after.strip_prefix('/').is_some_and(starts_name) {
                self.take(2);
                let (name, _) = self.tag()?;
                return Some(Piece::Close(name));
            } else if after.starts_with('/') {
                self.skip_past(">");
            } else {
                return Some(Piece::Text(self.take(1)));
            }
        }
    }
}

/// Returns the value of an attribute, its references not yet replaced.
pub fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|char: char| char.is_ascii_whitespace() || char == '/');
        if rest.is_empty() {
            return None;
        }
        // A name may begin with `=`, as odd as that is.
        let ends = |char: char| char.is_ascii_whitespace() || char == '=' || char == '/';
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let length = rest[first..].find(ends).map_or(rest.len(), |at| first + at);
        let name = &rest[..length];
        rest = rest[length..].trim_start();
        let mut value = "";
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|first| matches!(first, '"' | '\''));
            (value, rest) = match quote {
                Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
                None => {
                    after.split_at(after.find(|char: char| char.is_ascii_whitespace()).unwrap_or(after.len()))
                }
            };
        }
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(html: &str) -> Vec<Piece<'_>> {
        Lexer::new(html).collect()
    }

    fn open<'a>(name: &'a str, attributes: &'a str) -> Piece<'a> {
        Piece::Open { name, attributes }
    }

    #[test]
    fn text_and_tags() {
        assert_eq!(
            pieces("<!DOCTYPE html><?xml?><!-- a > b -->a<P class='x>y'>b < c</p ><br/></>d<!---->"),
            [
                Piece::Text("a"),
                open("P", " class='x>y'"),
                Piece::Text("b "),
                Piece::Text("<"),
                Piece::Text(" c"),
                Piece::Close("p"),
                open("br", "/"),
                Piece::Text("d"),
            ]
        );
    }

    #[test]
    fn raw_elements_hold_no_tags() {
        assert_eq!(
            pieces("<script>if (a</b>) '<p>'</SCRIPT>x<title>t"),
            [open("script", ""), Piece::Close("SCRIPT"), Piece::Text("x"), open("title", "")]
        );
    }

    /// A page may end anywhere.
    #[test]
    fn cut_pages() {
        let page = "<p a=\"b\">é<!-- c --><script>d</script></p>";
        for (at, _) in page.char_indices() {
            let _ = pieces(&page[..at]);
        }
        assert_eq!(pieces("a<p b=\"c"), [Piece::Text("a")]);
    }

    #[test]
    fn attributes() {
        let of = |attributes, name| attribute(attributes, name);
        assert_eq!(of(" a=1 HREF = \"x y\" b", "href"), Some("x y"));
        assert_eq!(of(" data-href=1 href='z'/", "href"), Some("z"));
        assert_eq!(of(" href=/a/b?c=d&e", "href"), Some("/a/b?c=d&e"));
        assert_eq!(of(" href", "href"), Some(""));
        assert_eq!(of(" = == é='' /", "href"), None);
    }
}
