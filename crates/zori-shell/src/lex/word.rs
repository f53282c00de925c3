//! Words and their quoting.

use super::{Lexer, expansion};
use crate::syntax::{ExpansionKind, SyntaxError, WordParts, push_quoted, push_text};

impl Lexer<'_> {
    /// Reads a word up to the next blank or operator.
    pub(super) fn word(&mut self) -> Result<WordParts, SyntaxError> {
        let mut parts = WordParts::new();
        loop {
            let start = self.pos;
            match self.peek() {
                None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')') => break,
                Some('<' | '>') => {
                    if !self.starts_process() {
                        break;
                    }
                    self.bump();
                    self.bump();
                    let script = self.deeper(|lexer| lexer.script(true))?;
                    let shown = self.text[start..self.pos].to_owned();
                    parts.push(expansion::expansion(true, ExpansionKind::Process(script), shown));
                }
                Some(_) => self.piece(&mut parts)?,
            }
        }
        if parts.is_empty() && self.raw().is_none() {
            return Err(SyntaxError::Wrong);
        }
        Ok(parts)
    }

    /// Reads one unquoted character, quotation or expansion.
    pub(super) fn piece(&mut self, parts: &mut WordParts) -> Result<(), SyntaxError> {
        match self.peek() {
            None => return Err(SyntaxError::Wrong),
            Some('\\') => {
                self.pos += 1;
                match self.raw() {
                    Some(c) => {
                        self.pos += c.len_utf8();
                        push_quoted(parts, c.encode_utf8(&mut [0; 4]));
                    }
                    None => push_quoted(parts, "\\"),
                }
            }
            Some('\'') => {
                self.pos += 1;
                let Some(length) = self.text[self.pos..].find('\'') else { return Err(SyntaxError::Wrong) };
                push_quoted(parts, &self.text[self.pos..self.pos + length]);
                self.pos += length + 1;
            }
            Some('"') => {
                self.pos += 1;
                self.double_quoted(parts)?;
            }
            Some('$') => self.dollar(parts, false)?,
            Some('`') => self.backticks(parts, false)?,
            Some(c) => {
                self.bump();
                push_text(parts, c);
            }
        }
        Ok(())
    }

    /// Reads the rest of a double-quoted text, its closing quote included.
    pub(super) fn double_quoted(&mut self, parts: &mut WordParts) -> Result<(), SyntaxError> {
        push_quoted(parts, "");
        loop {
            match self.peek() {
                None => return Err(SyntaxError::Wrong),
                Some('"') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(_) => self.quoted_piece(parts, true)?,
            }
        }
    }

    /// Reads one character or expansion of a double-quoted text; `quote` says whether `\"` is one there.
    pub(super) fn quoted_piece(&mut self, parts: &mut WordParts, quote: bool) -> Result<(), SyntaxError> {
        match self.peek() {
            None => return Err(SyntaxError::Wrong),
            Some('\\') => {
                self.pos += 1;
                match self.raw() {
                    Some(c @ ('$' | '`' | '\\')) => {
                        self.pos += 1;
                        push_quoted(parts, c.encode_utf8(&mut [0; 4]));
                    }
                    Some('"') if quote => {
                        self.pos += 1;
                        push_quoted(parts, "\"");
                    }
                    _ => push_quoted(parts, "\\"),
                }
            }
            Some('$') => self.dollar(parts, true)?,
            Some('`') => self.backticks(parts, true)?,
            Some(c) => {
                self.bump();
                push_quoted(parts, c.encode_utf8(&mut [0; 4]));
            }
        }
        Ok(())
    }

    /// Reads everything to the end as the inside of a here-document.
    pub(super) fn data(&mut self) -> Result<WordParts, SyntaxError> {
        let mut parts = WordParts::new();
        while self.peek().is_some() {
            self.quoted_piece(&mut parts, false)?;
        }
        Ok(parts)
    }

    /// Reads the rest of `$'...'`, its closing quote included.
    pub(super) fn ansi_c(&mut self, parts: &mut WordParts) -> Result<(), SyntaxError> {
        let mut text = String::new();
        let mut cut = false;
        loop {
            let Some(c) = self.raw() else { return Err(SyntaxError::Wrong) };
            self.pos += c.len_utf8();
            match c {
                '\'' => break,
                '\\' => {
                    let Some(escape) = self.raw() else { return Err(SyntaxError::Wrong) };
                    self.pos += escape.len_utf8();
                    let before = text.len();
                    self.ansi_escape(escape, &mut text);
                    // A NUL ends the string, whatever follows.
                    if text[before..].contains('\0') && !cut {
                        cut = true;
                        text.truncate(before);
                        text.push('\0');
                    }
                }
                c => text.push(c),
            }
        }
        if let Some(end) = text.find('\0') {
            text.truncate(end);
        }
        push_quoted(parts, &text);
        Ok(())
    }

    fn ansi_escape(&mut self, escape: char, text: &mut String) {
        let simple = match escape {
            'a' => '\x07',
            'b' => '\x08',
            'e' | 'E' => '\x1b',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\\' | '\'' | '"' | '?' => escape,
            'x' => return self.number(16, 2, "\\x", text),
            'u' => return self.number(16, 4, "\\u", text),
            'U' => return self.number(16, 8, "\\U", text),
            '0'..='7' => {
                self.pos -= 1;
                return self.number(8, 3, "\\", text);
            }
            'c' => {
                if let Some(c) = self.raw() {
                    self.pos += c.len_utf8();
                    text.push(char::from((c as u32 as u8) & 0x1f));
                }
                return;
            }
            other => {
                text.push('\\');
                other
            }
        };
        text.push(simple);
    }

    fn number(&mut self, radix: u32, digits: usize, otherwise: &str, text: &mut String) {
        let found: String =
            self.text[self.pos..].chars().take(digits).take_while(|c| c.is_digit(radix)).collect();
        if found.is_empty() {
            text.push_str(otherwise);
            return;
        }
        self.pos += found.len();
        let value = u32::from_str_radix(&found, radix).unwrap_or(u32::from(char::REPLACEMENT_CHARACTER));
        // A single byte of a longer character is not one we could name; it never matches a program.
        let byte = !matches!(otherwise, "\\u" | "\\U");
        let value = if byte && value > 0x7f { u32::from(char::REPLACEMENT_CHARACTER) } else { value };
        text.push(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
}
