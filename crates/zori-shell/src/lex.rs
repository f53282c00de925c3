//! Text to tokens. Ours rather than the grammar crate's, because quoting decides what is a command and what is data: it
//! is exact for both dialects, linear, and keeps every part of every word. `lex/word.rs` reads words, `lex/expansion.rs`
//! what the shell replaces, `lex/heredoc.rs` here-documents; `lex/builder.rs` keeps the place in the grammar.

mod builder;
mod expansion;
mod heredoc;
mod word;

use std::collections::HashSet;
use std::rc::Rc;

use builder::{Frame, Position, ScriptBuilder};

use crate::syntax::{
    Dialect, ExpansionKind, Script, SyntaxError, Token, TokenKind, WordPart, WordParts, bare,
};

/// How deep constructs may be nested in each other (`docs/contracts/shell-analysis.md`).
const MAX_DEPTH: usize = 100;

/// Reserved words, as far as the grammar needs to see them.
const RESERVED: &[&str] = &[
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until",
    "while", "time", "-p", "function", "coproc", "select", "[[", "]]",
];

/// Cuts `text` into tokens.
pub fn lex(text: &str, dialect: Dialect) -> Result<Lexed, SyntaxError> {
    let mut lexer = Lexer::new(text, dialect, 0);
    let script = lexer.script(false)?;
    Ok(Lexed { script, ambiguities: lexer.ambiguities })
}

/// Cuts `text` into parts as the inside of double quotes or of a here-document.
pub fn lex_data(text: &str, dialect: Dialect) -> Result<WordParts, SyntaxError> {
    Lexer::new(text, dialect, 1).data()
}

/// A text cut into tokens.
pub struct Lexed {
    /// Its tokens.
    pub script: Script,
    /// Where shells differ beyond what the two dialects cover.
    pub ambiguities: Vec<&'static str>,
}

struct Lexer<'a> {
    text: &'a str,
    shared: Rc<str>,
    pos: usize,
    dialect: Dialect,
    depth: usize,
    /// Where `((` turned out not to be arithmetic.
    not_arithmetic: HashSet<usize>,
    ambiguities: Vec<&'static str>,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str, dialect: Dialect, depth: usize) -> Self {
        let shared = Rc::from(text);
        Self { text, shared, pos: 0, dialect, depth, not_arithmetic: HashSet::new(), ambiguities: Vec::new() }
    }

    fn bash(&self) -> bool {
        self.dialect == Dialect::Bash
    }

    fn raw(&self) -> Option<char> {
        self.text[self.pos..].chars().next()
    }

    /// Returns the next character after any line continuation.
    fn peek(&mut self) -> Option<char> {
        while self.text[self.pos..].starts_with("\\\n") {
            self.pos += 2;
        }
        self.raw()
    }

    fn peek_second(&mut self) -> Option<char> {
        let first = self.peek()?;
        let mut at = self.pos + first.len_utf8();
        while self.text[at..].starts_with("\\\n") {
            at += 2;
        }
        self.text[at..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    /// Takes `c` if it is next.
    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.pos += c.len_utf8();
        }
        found
    }

    fn deeper<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError::TooDeep);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    fn wrong<T>(&self, only_in_bash: bool) -> Result<T, SyntaxError> {
        Err(if only_in_bash && !self.bash() { SyntaxError::OnlyBash } else { SyntaxError::Wrong })
    }

    /// Reads tokens to the end, or to the `)` that closes a substitution (which is taken).
    fn script(&mut self, in_parens: bool) -> Result<Script, SyntaxError> {
        let mut builder = ScriptBuilder::new();
        loop {
            let start = self.pos;
            match self.peek() {
                None if in_parens => return Err(SyntaxError::Wrong),
                None => break,
                Some(' ' | '\t') => {
                    self.bump();
                }
                Some('#') => {
                    while self.raw().is_some_and(|c| c != '\n') {
                        self.pos += self.raw().map_or(1, char::len_utf8);
                    }
                }
                Some(')') if in_parens && builder.closes_script() => {
                    self.bump();
                    break;
                }
                Some(c @ ('\n' | ';' | '&' | '|' | '(' | ')')) => self.operator(&mut builder, c)?,
                Some('<' | '>') if !self.starts_process() => self.redirect(&mut builder, start, true)?,
                Some(_) => self.word_token(&mut builder)?,
            }
            if builder.frames.len() + builder.nesting + self.depth > MAX_DEPTH {
                return Err(SyntaxError::TooDeep);
            }
        }
        if !builder.heredocs.is_empty() {
            self.ambiguities.push("a here-document without its end");
            self.here_documents(&mut builder)?;
        }
        if !builder.frames.is_empty() {
            return Err(SyntaxError::Wrong);
        }
        Ok(Script {
            text: self.shared.clone(),
            tokens: builder.tokens,
            words: builder.words,
            redirects: builder.redirects,
        })
    }

    fn operator(&mut self, builder: &mut ScriptBuilder, first: char) -> Result<(), SyntaxError> {
        let start = self.pos;
        self.bump();
        let operator = match first {
            '\n' => {
                builder.operator("\n", start, self.pos);
                builder.separated();
                return self.here_documents(builder);
            }
            '&' if self.take('&') => "&&",
            '&' if self.bash() && self.peek() == Some('>') => {
                self.pos = start;
                return self.redirect(builder, start, true);
            }
            '&' => "&",
            '|' if self.take('|') => "||",
            '|' if self.peek() == Some('&') => {
                if !self.bash() {
                    return Err(SyntaxError::OnlyBash);
                }
                self.bump();
                "|"
            }
            '|' => "|",
            ';' if self.take(';') => {
                if self.peek() == Some('&') {
                    if !self.bash() {
                        return Err(SyntaxError::OnlyBash);
                    }
                    self.bump();
                }
                ";;"
            }
            ';' if self.peek() == Some('&') => {
                if !self.bash() {
                    return Err(SyntaxError::OnlyBash);
                }
                self.bump();
                ";;"
            }
            ';' => ";",
            '(' => return self.open_paren(builder, start),
            _ => return builder.close_paren(start, self.pos),
        };
        builder.operator(operator, start, self.pos);
        builder.separated();
        if operator == ";;" {
            builder.next_pattern();
        }
        Ok(())
    }

    fn open_paren(&mut self, builder: &mut ScriptBuilder, start: usize) -> Result<(), SyntaxError> {
        if builder.position == Position::Pattern {
            builder.operator("(", start, self.pos);
            return Ok(());
        }
        let arithmetic_place = matches!(builder.position, Position::Command | Position::ForName);
        if self.bash() && arithmetic_place && self.peek() == Some('(') {
            self.bump();
            if let Some(parts) = self.try_arithmetic(start)? {
                let shown = self.text[start..self.pos].to_owned();
                let word = vec![expansion::expansion(true, ExpansionKind::Arithmetic(parts), shown)];
                if builder.position == Position::ForName {
                    builder.word(vec![WordPart::Quoted("((".to_owned())], start, start);
                    builder.reserved("in", start, start);
                    builder.word(word, start, self.pos);
                    builder.operator(";", self.pos, self.pos);
                    while matches!(self.peek(), Some(' ' | '\t')) {
                        self.bump();
                    }
                    self.take(';');
                    builder.position = Position::Command;
                } else {
                    builder.word(vec![WordPart::Quoted("((".to_owned())], start, start);
                    builder.word(word, start, self.pos);
                    builder.position = Position::Arguments;
                }
                return Ok(());
            }
            self.pos = start + 1;
        }
        match builder.tokens.last() {
            // Two in a row are told apart here already; the grammar is not to try arithmetic again.
            Some(Token { kind: TokenKind::Operator("("), .. }) => builder.operator("\n", start, start),
            // `a=(` is an array in bash and an error elsewhere.
            Some(Token { kind: TokenKind::Assignment(_), .. }) => return self.wrong(true),
            _ => {}
        }
        builder.operator("(", start, self.pos);
        builder.frames.push(Frame::Paren);
        builder.position = Position::Command;
        Ok(())
    }

    fn word_token(&mut self, builder: &mut ScriptBuilder) -> Result<(), SyntaxError> {
        let start = self.pos;
        let parts = self.word()?;
        let end = self.pos;
        if matches!(self.raw(), Some('<' | '>')) && !self.starts_process() {
            let bare = bare(&parts).unwrap_or_default();
            let number = !bare.is_empty() && bare.len() < 10 && bare.bytes().all(|b| b.is_ascii_digit());
            let named = self.bash() && bare.len() > 2 && bare.starts_with('{') && bare.ends_with('}');
            if number || named {
                let stdin = bare.bytes().all(|b| b == b'0');
                return self.redirect(builder, start, stdin);
            }
        }
        let reserved = bare(&parts).and_then(|text| RESERVED.iter().copied().find(|word| *word == text));
        match builder.position {
            Position::Command | Position::Prefix if self.is_assignment(&parts) => {
                let parts = self.array(parts)?;
                builder.words.push(parts);
                builder.push(TokenKind::Assignment(builder.words.len() - 1), start, self.pos);
                builder.position = Position::Prefix;
            }
            Position::Command if reserved == Some("[[") && self.bash() => self.test(builder, start)?,
            Position::Command => {
                if reserved == Some("esac") {
                    builder.end_case(start);
                }
                builder.position = builder.after_reserved(reserved);
                builder.put(reserved, parts, start, end);
            }
            Position::Pattern => {
                if reserved == Some("esac") && builder.first_in_pattern() {
                    builder.frames.pop();
                    builder.position = Position::Arguments;
                }
                builder.put(reserved, parts, start, end);
            }
            position => {
                builder.position = match (position, reserved) {
                    (Position::ForName, _) => Position::ForIn,
                    (Position::ForIn, Some("do")) | (Position::FunctionName, _) => Position::Command,
                    (Position::CaseWord, _) => Position::CaseIn,
                    (Position::CaseIn, Some("in")) => {
                        builder.frames.push(Frame::Case { in_pattern: true });
                        Position::Pattern
                    }
                    _ => Position::Arguments,
                };
                // `declare -a x=(a b)`.
                let parts = if self.is_assignment(&parts) { self.array(parts)? } else { parts };
                builder.put(reserved, parts, start, self.pos);
            }
        }
        Ok(())
    }

    /// Reads `[[ ... ]]` as one command whose operators are words like others.
    fn test(&mut self, builder: &mut ScriptBuilder, start: usize) -> Result<(), SyntaxError> {
        builder.word(vec![WordPart::Quoted("[[".to_owned())], start, self.pos);
        loop {
            let start = self.pos;
            match self.peek() {
                None => return Err(SyntaxError::Wrong),
                Some(' ' | '\t' | '\n') => {
                    self.bump();
                }
                Some('<' | '>') if self.starts_process() => {
                    let parts = self.word()?;
                    builder.word(parts, start, self.pos);
                }
                Some(c @ ('(' | ')' | '<' | '>' | '&' | '|')) => {
                    self.bump();
                    builder.word(vec![WordPart::Quoted(c.to_string())], start, self.pos);
                }
                Some(';') => return Err(SyntaxError::Wrong),
                Some(_) => {
                    let parts = self.word()?;
                    let last = bare(&parts) == Some("]]");
                    builder.word(parts, start, self.pos);
                    if last {
                        builder.position = Position::Arguments;
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads the elements of `name=( ... )` in bash, if that is what follows.
    fn array(&mut self, mut parts: WordParts) -> Result<WordParts, SyntaxError> {
        let empty = matches!(parts.as_slice(), [.., WordPart::Text(text)] if text.ends_with('='));
        if !empty || self.raw() != Some('(') {
            return Ok(parts);
        }
        if !self.bash() {
            return Err(SyntaxError::OnlyBash);
        }
        self.bump();
        self.deeper(|lexer| {
            loop {
                match lexer.peek() {
                    None | Some(';' | '&' | '|' | '(') => return Err(SyntaxError::Wrong),
                    Some(' ' | '\t' | '\n') => {
                        lexer.bump();
                        push_blank(&mut parts);
                    }
                    Some('#') => {
                        while lexer.raw().is_some_and(|c| c != '\n') {
                            lexer.pos += lexer.raw().map_or(1, char::len_utf8);
                        }
                    }
                    Some(')') => {
                        lexer.bump();
                        return Ok(parts);
                    }
                    Some('<' | '>') if !lexer.starts_process() => return Err(SyntaxError::Wrong),
                    Some(_) => parts.extend(lexer.word()?),
                }
            }
        })
    }

    fn starts_process(&mut self) -> bool {
        self.bash() && matches!(self.peek(), Some('<' | '>')) && self.peek_second() == Some('(')
    }

    /// Whether a word assigns: an unquoted name, perhaps a subscript, and `=`.
    fn is_assignment(&self, parts: &[WordPart]) -> bool {
        let Some(WordPart::Text(text)) = parts.first() else { return false };
        let name = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        if name == 0 || text.as_bytes()[0].is_ascii_digit() {
            return false;
        }
        let rest = &text[name..];
        if rest.starts_with('=') || (self.bash() && rest.starts_with("+=")) {
            return true;
        }
        // A subscript may hold anything, so a word that merely looks like one is taken for one.
        self.bash()
            && rest.starts_with('[')
            && parts.iter().any(
                |part| matches!(part, WordPart::Text(text) if text.contains("]=") || text.contains("]+=")),
            )
    }
}

fn push_blank(parts: &mut WordParts) {
    crate::syntax::push_quoted(parts, " ");
}
