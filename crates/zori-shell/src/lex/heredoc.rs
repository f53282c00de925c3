//! Redirects, and here-documents, whose bodies start behind the next newline.

use super::Lexer;
use super::builder::{PendingHeredoc, Position, ScriptBuilder};
use crate::syntax::{Redirect, SyntaxError, TokenKind, WordPart, WordParts, bare, source_text};

impl Lexer<'_> {
    /// Reads a redirect: operator and target. `start` is where its descriptor begins, `stdin` whether that is input.
    pub(super) fn redirect(
        &mut self,
        builder: &mut ScriptBuilder,
        start: usize,
        stdin: bool,
    ) -> Result<(), SyntaxError> {
        let operator = self.redirect_operator()?;
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.bump();
        }
        let only_bash = self.peek() == Some('(');
        let target_start = self.pos;
        let target = self.word()?;
        if target.is_empty() {
            return self.wrong(only_bash);
        }
        let redirect = builder.redirects.len();
        if operator == "<<" || operator == "<<-" {
            let raw = &self.text[target_start..self.pos];
            if raw.contains(['$', '`']) {
                self.ambiguities.push("a here-document whose end is an expansion");
            }
            builder.heredocs.push(PendingHeredoc {
                redirect,
                delimiter: source_text(&target),
                literal: bare(&target).is_none() || raw.contains(['\\', '\'', '"']),
                strip_tabs: operator == "<<-",
            });
            builder.redirects.push(Redirect { operator: "<<", target: WordParts::new(), stdin });
        } else {
            builder.redirects.push(Redirect { operator, target, stdin });
        }
        builder.push(TokenKind::Redirect(redirect), start, self.pos);
        if builder.position == Position::Command {
            builder.position = Position::Prefix;
        }
        Ok(())
    }

    fn redirect_operator(&mut self) -> Result<&'static str, SyntaxError> {
        Ok(match self.bump() {
            Some('&') => {
                self.bump();
                if self.take('>') { "&>>" } else { "&>" }
            }
            Some('<') if self.take('<') => {
                if self.take('-') {
                    "<<-"
                } else if self.peek() == Some('<') {
                    if !self.bash() {
                        return Err(SyntaxError::OnlyBash);
                    }
                    self.bump();
                    "<<<"
                } else {
                    "<<"
                }
            }
            Some('<') if self.take('&') => "<&",
            Some('<') if self.take('>') => "<>",
            Some('<') => "<",
            _ if self.take('>') => ">>",
            _ if self.take('&') => ">&",
            _ if self.take('|') => ">|",
            _ => ">",
        })
    }

    /// Reads the bodies of the here-documents that were announced on the line before.
    pub(super) fn here_documents(&mut self, builder: &mut ScriptBuilder) -> Result<(), SyntaxError> {
        for pending in std::mem::take(&mut builder.heredocs) {
            let start = self.pos;
            let mut body = String::new();
            let mut ended = false;
            let mut joined = false;
            while self.pos < self.text.len() {
                let rest = &self.text[self.pos..];
                let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
                let line = &rest[..length];
                self.pos += length;
                let text = line.strip_suffix('\n').unwrap_or(line);
                let text = if pending.strip_tabs { text.trim_start_matches('\t') } else { text };
                if text == pending.delimiter {
                    if joined {
                        // Behind a continued line some shells see the end and some do not.
                        self.ambiguities.push("a here-document that may or may not end");
                    }
                    ended = true;
                    break;
                }
                let backslashes = text.bytes().rev().take_while(|b| *b == b'\\').count();
                joined = !pending.literal && backslashes % 2 == 1;
                body.push_str(text);
                if line.ends_with('\n') {
                    body.push('\n');
                }
            }
            if !ended && start <= self.text.len() {
                self.ambiguities.push("a here-document without its end");
            }
            builder.redirects[pending.redirect].target = if pending.literal {
                vec![WordPart::Quoted(body)]
            } else {
                let dialect = self.dialect;
                let (parts, ambiguities) = self.deeper(|lexer| {
                    let mut inside = Lexer::new(&body, dialect, lexer.depth);
                    let parts = inside.data()?;
                    Ok((parts, inside.ambiguities))
                })?;
                self.ambiguities.extend(ambiguities);
                parts
            };
        }
        Ok(())
    }
}
