//! Expansions: parameters, substitutions, arithmetic.

use super::Lexer;
use crate::syntax::{
    Expansion, ExpansionKind, Form, Parameter, SyntaxError, WordPart, WordParts, push_quoted, push_text,
};

pub(super) fn expansion(quoted: bool, kind: ExpansionKind, shown: String) -> WordPart {
    WordPart::Expansion(Box::new(Expansion { quoted, kind, shown }))
}

impl Lexer<'_> {
    /// Reads what starts with `$`.
    pub(super) fn dollar(&mut self, parts: &mut WordParts, quoted: bool) -> Result<(), SyntaxError> {
        let start = self.pos;
        self.bump();
        let kind = match self.peek() {
            Some('(') => {
                self.bump();
                let arithmetic = if self.peek() == Some('(') {
                    self.bump();
                    self.try_arithmetic(start)?
                } else {
                    None
                };
                match arithmetic {
                    Some(parts) => ExpansionKind::Arithmetic(parts),
                    None => {
                        self.pos = start + 1;
                        self.take('(');
                        ExpansionKind::Command(self.deeper(|lexer| lexer.script(true))?)
                    }
                }
            }
            Some('{') => {
                self.bump();
                ExpansionKind::Parameter(self.deeper(|lexer| lexer.braced(quoted))?)
            }
            Some('[') if self.bash() => {
                self.bump();
                ExpansionKind::Arithmetic(self.deeper(|lexer| lexer.until_bracket())?)
            }
            Some('\'') if self.bash() && !quoted => {
                self.pos += 1;
                return self.ansi_c(parts);
            }
            Some('"') if self.bash() && !quoted => {
                self.pos += 1;
                return self.double_quoted(parts);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    self.bump();
                    name.push(c);
                }
                ExpansionKind::Parameter(plain(name))
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.bump();
                ExpansionKind::Parameter(plain(c.to_string()))
            }
            _ => {
                match quoted {
                    true => push_quoted(parts, "$"),
                    false => push_text(parts, '$'),
                }
                return Ok(());
            }
        };
        parts.push(expansion(quoted, kind, self.text[start..self.pos].to_owned()));
        Ok(())
    }

    /// Reads a backtick substitution: its text is unescaped first and is then a script of its own.
    pub(super) fn backticks(&mut self, parts: &mut WordParts, quoted: bool) -> Result<(), SyntaxError> {
        let start = self.pos;
        self.pos += 1;
        let mut inner = String::new();
        loop {
            let Some(c) = self.raw() else { return Err(SyntaxError::Wrong) };
            self.pos += c.len_utf8();
            match c {
                '`' => break,
                '\\' => match self.raw() {
                    Some(escaped @ ('`' | '\\' | '$')) => {
                        self.pos += 1;
                        inner.push(escaped);
                    }
                    Some('"') if quoted => {
                        self.pos += 1;
                        inner.push('"');
                    }
                    _ => inner.push('\\'),
                },
                c => inner.push(c),
            }
        }
        let dialect = self.dialect;
        let (script, ambiguities) = self.deeper(|lexer| {
            let mut inside = Lexer::new(&inner, dialect, lexer.depth);
            let script = inside.script(false)?;
            Ok((script, inside.ambiguities))
        })?;
        self.ambiguities.extend(ambiguities);
        let shown = self.text[start..self.pos].to_owned();
        parts.push(expansion(quoted, ExpansionKind::Command(script), shown));
        Ok(())
    }

    /// Reads arithmetic behind `((` up to its `))`, or returns nothing if it is not arithmetic after all: the same
    /// characters may open two subshells.
    pub(super) fn try_arithmetic(&mut self, start: usize) -> Result<Option<WordParts>, SyntaxError> {
        if self.not_arithmetic.contains(&start) {
            return Ok(None);
        }
        let ambiguities = self.ambiguities.len();
        match self.deeper(|lexer| lexer.arithmetic()) {
            Ok(Some(parts)) => Ok(Some(parts)),
            Err(SyntaxError::TooDeep) => Err(SyntaxError::TooDeep),
            Ok(None) | Err(_) => {
                self.ambiguities.truncate(ambiguities);
                self.not_arithmetic.insert(start);
                Ok(None)
            }
        }
    }

    fn arithmetic(&mut self) -> Result<Option<WordParts>, SyntaxError> {
        let mut parts = WordParts::new();
        let mut open = 0;
        loop {
            match self.peek() {
                None => return Ok(None),
                Some(')') if open == 0 => {
                    self.bump();
                    return Ok(self.take(')').then_some(parts));
                }
                Some(c @ ('(' | ')')) => {
                    if c == '(' {
                        open += 1;
                    } else {
                        open -= 1;
                    }
                    self.bump();
                    push_text(&mut parts, c);
                }
                Some('\'') => {
                    self.bump();
                    push_text(&mut parts, '\'');
                    self.ambiguities.push("a quote in arithmetic");
                }
                Some('"') => {
                    self.bump();
                    self.double_quoted(&mut parts)?;
                }
                Some('$' | '`' | '\\') => self.quoted_piece(&mut parts, true)?,
                Some(c) => {
                    self.bump();
                    push_text(&mut parts, c);
                }
            }
        }
    }

    /// Reads up to the `]` that closes a subscript or `$[`.
    fn until_bracket(&mut self) -> Result<WordParts, SyntaxError> {
        let mut parts = WordParts::new();
        let mut open = 0;
        loop {
            match self.peek() {
                None => return Err(SyntaxError::Wrong),
                Some(']') if open == 0 => {
                    self.bump();
                    return Ok(parts);
                }
                Some(c @ ('[' | ']')) => {
                    if c == '[' {
                        open += 1;
                    } else {
                        open -= 1;
                    }
                    self.bump();
                    push_text(&mut parts, c);
                }
                Some(_) => self.piece(&mut parts)?,
            }
        }
    }

    /// Reads `${...}` behind its brace.
    fn braced(&mut self, quoted: bool) -> Result<Parameter, SyntaxError> {
        let mut form = Form::Plain;
        let second = self.peek_second();
        match self.peek() {
            // `${#}`, `${#-x}` and their like are about `$#`; `${#name}` is a length.
            Some('#') if second.is_some_and(|c| c != '}' && !":-=?+%#/".contains(c)) => {
                self.bump();
                form = Form::Changed;
            }
            Some('!') if second.is_some_and(|c| c.is_ascii_alphanumeric() || "_@*#".contains(c)) => {
                self.bump();
                form = Form::Indirect;
            }
            _ => {}
        }
        let mut name = String::new();
        match self.peek() {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    self.bump();
                    name.push(c);
                }
            }
            Some(c) if c.is_ascii_digit() => {
                while let Some(c) = self.peek().filter(char::is_ascii_digit) {
                    self.bump();
                    name.push(c);
                }
            }
            Some(c) if "@*#?-$!".contains(c) => {
                self.bump();
                name.push(c);
            }
            // `${ command; }` and `${| command; }` run commands in some shells; anything else is nothing in all of them.
            _ => return Err(SyntaxError::Wrong),
        }
        let mut subscript = None;
        if self.bash() && self.peek() == Some('[') {
            self.bump();
            subscript = Some(self.until_bracket()?);
        }
        let mut operand = WordParts::new();
        let operator = match self.peek() {
            Some('}') => {
                self.bump();
                return Ok(Parameter { name, form, subscript, operand });
            }
            Some(':') => {
                self.bump();
                match self.peek() {
                    Some(c @ ('-' | '=' | '?' | '+')) => {
                        self.bump();
                        c
                    }
                    _ => ':',
                }
            }
            Some(c @ ('-' | '=' | '?' | '+' | '#' | '%' | '/' | '^' | ',' | '@' | '*')) => {
                self.bump();
                c
            }
            _ => return Err(SyntaxError::Wrong),
        };
        loop {
            match self.peek() {
                None => return Err(SyntaxError::Wrong),
                Some('}') => {
                    self.bump();
                    break;
                }
                Some('\'') if quoted => {
                    // Whether this quotes depends on the operator and on the shell.
                    self.ambiguities.push("a quote in a quoted expansion");
                    self.bump();
                    push_quoted(&mut operand, "'");
                }
                Some('"') => {
                    self.bump();
                    self.double_quoted(&mut operand)?;
                }
                Some(_) if quoted => self.quoted_piece(&mut operand, true)?,
                Some('<' | '>') if self.starts_process() => {
                    let parts = self.word()?;
                    operand.extend(parts);
                }
                Some(_) => self.piece(&mut operand)?,
            }
        }
        if form == Form::Plain {
            form = match operator {
                '?' => Form::OrFail,
                '-' => Form::OrDefault,
                '=' => Form::OrAssign,
                ':' => Form::Substring,
                '%' => Form::WithoutEnd,
                '#' => Form::WithoutStart,
                '@' if matches!(operand.first(), Some(WordPart::Text(op) | WordPart::Quoted(op)) if op.contains('P')) => {
                    Form::Prompt
                }
                _ => Form::Changed,
            };
        }
        Ok(Parameter { name, form, subscript, operand })
    }
}

fn plain(name: String) -> Parameter {
    Parameter { name, form: Form::Plain, subscript: None, operand: WordParts::new() }
}
