//! One script while it is lexed: its tokens so far, and the position in the grammar, on which reserved words depend.

use crate::syntax::{Redirect, SyntaxError, Token, TokenKind, WordPart, WordParts};

/// The position in the grammar; it decides which words are reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Command,
    Prefix,
    Arguments,
    ForName,
    ForIn,
    CaseWord,
    CaseIn,
    Pattern,
    FunctionName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    Paren,
    Case { in_pattern: bool },
}

pub(super) struct PendingHeredoc {
    pub(super) redirect: usize,
    pub(super) delimiter: String,
    pub(super) literal: bool,
    pub(super) strip_tabs: bool,
}

/// The tokens of one script while it is lexed.
pub(super) struct ScriptBuilder {
    pub(super) tokens: Vec<Token>,
    pub(super) words: Vec<WordParts>,
    pub(super) redirects: Vec<Redirect>,
    pub(super) frames: Vec<Frame>,
    pub(super) nesting: usize,
    pub(super) position: Position,
    pub(super) heredocs: Vec<PendingHeredoc>,
}

impl ScriptBuilder {
    pub(super) fn new() -> Self {
        Self {
            tokens: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            frames: Vec::new(),
            nesting: 0,
            position: Position::Command,
            heredocs: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        self.tokens.push(Token { kind, start, end });
    }

    pub(super) fn operator(&mut self, operator: &'static str, start: usize, end: usize) {
        self.push(TokenKind::Operator(operator), start, end);
    }

    pub(super) fn word(&mut self, parts: WordParts, start: usize, end: usize) {
        self.words.push(parts);
        self.push(TokenKind::Word(self.words.len() - 1), start, end);
    }

    pub(super) fn reserved(&mut self, word: &'static str, start: usize, end: usize) {
        self.put(Some(word), vec![WordPart::Text(word.to_owned())], start, end);
    }

    pub(super) fn put(&mut self, reserved: Option<&'static str>, parts: WordParts, start: usize, end: usize) {
        self.words.push(parts);
        let index = self.words.len() - 1;
        let kind = match reserved {
            Some("select") => TokenKind::Reserved("for", index),
            Some(word) => TokenKind::Reserved(word, index),
            None => TokenKind::Word(index),
        };
        self.push(kind, start, end);
    }

    pub(super) fn after_reserved(&mut self, reserved: Option<&'static str>) -> Position {
        match reserved {
            Some("if" | "while" | "until" | "{") => {
                self.nesting += 1;
                Position::Command
            }
            Some("then" | "else" | "elif" | "do" | "!" | "time") => Position::Command,
            // They nest without an end of their own; nobody writes a hundred.
            Some("coproc") => {
                self.nesting += 1;
                Position::Command
            }
            Some("for" | "select") => {
                self.nesting += 1;
                Position::ForName
            }
            Some("case") => {
                self.nesting += 1;
                Position::CaseWord
            }
            Some("function") => Position::FunctionName,
            Some("}" | "fi" | "done" | "esac") => {
                self.nesting = self.nesting.saturating_sub(1);
                Position::Arguments
            }
            _ => Position::Arguments,
        }
    }

    /// Moves to the position after `;`, `&` or a newline.
    pub(super) fn separated(&mut self) {
        let newline = matches!(self.tokens.last(), Some(Token { kind: TokenKind::Operator("\n"), .. }));
        self.position = match self.position {
            Position::Pattern => Position::Pattern,
            Position::CaseIn if newline => Position::CaseIn,
            Position::ForIn if newline => Position::ForIn,
            Position::FunctionName => Position::FunctionName,
            _ => Position::Command,
        };
    }

    pub(super) fn next_pattern(&mut self) {
        if let Some(Frame::Case { in_pattern }) = self.frames.last_mut() {
            *in_pattern = true;
            self.position = Position::Pattern;
        }
    }

    pub(super) fn closes_script(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn close_paren(&mut self, start: usize, end: usize) -> Result<(), SyntaxError> {
        match self.frames.last_mut() {
            Some(Frame::Case { in_pattern }) if *in_pattern => *in_pattern = false,
            Some(Frame::Paren) => {
                self.frames.pop();
            }
            _ => return Err(SyntaxError::Wrong),
        }
        self.operator(")", start, end);
        self.position = Position::Command;
        Ok(())
    }

    /// Returns whether the next word is the first of a pattern list.
    pub(super) fn first_in_pattern(&self) -> bool {
        let last = self.tokens.iter().rev().find(|token| token.kind != TokenKind::Operator("\n"));
        last.is_some_and(|token| {
            matches!(token.kind, TokenKind::Operator(";;") | TokenKind::Reserved("in", _))
        })
    }

    /// Closes a `case` whose last arm has no `;;`, by adding one: the grammar would try such an arm twice, at every
    /// level.
    pub(super) fn end_case(&mut self, at: usize) {
        if matches!(self.frames.last(), Some(Frame::Case { in_pattern: false })) {
            self.operator(";;", at, at);
            self.frames.pop();
        }
    }
}
