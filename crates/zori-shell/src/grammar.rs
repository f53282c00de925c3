//! Arranges tokens to a tree: the grammar of POSIX sh and of bash, by recursive descent.
//!
//! [`crate::lex`] has decided what is a word, a redirect or an assignment, and `((`, `[[`, arrays and process substitutions are
//! words already, so that the alphabet is small and closed. A token that may be reserved is so where a command can begin. No
//! token that ends a list begins a command, so one look ahead decides everywhere but for `function`, which sh takes for a name
//! where no definition follows. How deep texts nest is bounded by the lexer.

use std::collections::HashSet;

use crate::syntax::{Dialect, Script, SyntaxError, Token, TokenKind};
use crate::tree::{Connector, Item, List, Node, NodeKind, Pipeline};

/// Words that name no command where one begins, in both dialects.
const RESERVED: &[&str] = &[
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until",
    "while",
];
/// Those that bash adds.
const RESERVED_IN_BASH: &[&str] = &["[[", "]]", "function", "coproc"];

/// Arranges the tokens of `script`.
pub fn parse(script: &Script, dialect: Dialect) -> Result<List, SyntaxError> {
    let bash = dialect == Dialect::Bash;
    let mut parser = Parser { tokens: &script.tokens, at: 0, bash, not_functions: HashSet::new() };
    parser.newlines();
    let list = parser.list()?.unwrap_or_default();
    if parser.at == script.tokens.len() { Ok(list) } else { Err(SyntaxError::Wrong) }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    bash: bool,
    /// Where `function` begins no definition, so that none is tried twice.
    not_functions: HashSet<usize>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<TokenKind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn at_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Operator(found)) if found == operator)
    }

    fn at_reserved(&self, word: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Reserved(found, _)) if found == word)
    }

    /// Returns whether a word is next, reserved or not.
    fn at_word(&self) -> bool {
        matches!(self.peek(), Some(TokenKind::Reserved(..) | TokenKind::Word(_) | TokenKind::Assignment(_)))
    }

    fn is_reserved(&self, word: &str) -> bool {
        RESERVED.contains(&word) || self.bash && RESERVED_IN_BASH.contains(&word)
    }

    fn take_operator(&mut self, operator: &str) -> bool {
        let found = self.at_operator(operator);
        self.at += usize::from(found);
        found
    }

    fn take_reserved(&mut self, word: &str) -> bool {
        let found = self.at_reserved(word);
        self.at += usize::from(found);
        found
    }

    fn expect_operator(&mut self, operator: &str) -> Result<(), SyntaxError> {
        if self.take_operator(operator) { Ok(()) } else { Err(SyntaxError::Wrong) }
    }

    fn expect_reserved(&mut self, word: &str) -> Result<(), SyntaxError> {
        if self.take_reserved(word) { Ok(()) } else { Err(SyntaxError::Wrong) }
    }

    /// Takes a word of any kind; returns its token's number.
    fn expect_word(&mut self) -> Result<usize, SyntaxError> {
        if !self.at_word() {
            return Err(SyntaxError::Wrong);
        }
        self.at += 1;
        Ok(self.at - 1)
    }

    /// Takes newlines; returns whether there were any.
    fn newlines(&mut self) -> bool {
        let start = self.at;
        while self.take_operator("\n") {}
        self.at > start
    }

    /// Reads commands up to what can be none; `None` where not even one begins.
    fn list(&mut self) -> Result<Option<List>, SyntaxError> {
        let mut items = Vec::new();
        while let Some(mut item) = self.item()? {
            item.background = self.at_operator("&");
            let separated = item.background || self.at_operator(";");
            self.at += usize::from(separated);
            let more = self.newlines() || separated;
            items.push(item);
            if !more {
                break;
            }
        }
        Ok((!items.is_empty()).then_some(List(items)))
    }

    /// Reads a list inside a compound command, where it may not be empty.
    fn body(&mut self) -> Result<List, SyntaxError> {
        self.newlines();
        self.list()?.ok_or(SyntaxError::Wrong)
    }

    fn item(&mut self) -> Result<Option<Item>, SyntaxError> {
        let Some(first) = self.pipeline()? else { return Ok(None) };
        let mut rest = Vec::new();
        loop {
            let connector = if self.take_operator("&&") {
                Connector::And
            } else if self.take_operator("||") {
                Connector::Or
            } else {
                return Ok(Some(Item { first, rest, background: false }));
            };
            self.newlines();
            rest.push((connector, self.pipeline()?.ok_or(SyntaxError::Wrong)?));
        }
    }

    /// Reads a pipeline. Behind `!` and `time` it may be empty.
    fn pipeline(&mut self) -> Result<Option<Pipeline>, SyntaxError> {
        let start = self.at;
        if self.bash && self.take_reserved("time") {
            self.take_reserved("-p");
        }
        while self.take_reserved("!") {}
        let prefixed = self.at > start;
        let mut commands = Vec::new();
        match self.command()? {
            Some(command) => commands.push(command),
            None => return Ok(prefixed.then_some(Pipeline(commands))),
        }
        while self.take_operator("|") {
            self.newlines();
            commands.push(self.command()?.ok_or(SyntaxError::Wrong)?);
        }
        Ok(Some(Pipeline(commands)))
    }

    fn command(&mut self) -> Result<Option<Node>, SyntaxError> {
        if self.at_reserved("function")
            && let Some(function) = self.function_by_keyword()?
        {
            return Ok(Some(function));
        }
        match self.peek() {
            Some(TokenKind::Redirect(_) | TokenKind::Assignment(_)) => Ok(Some(self.simple())),
            Some(TokenKind::Word(_)) => self.simple_or_function().map(Some),
            Some(TokenKind::Reserved(word, _)) if !self.is_reserved(word) => {
                self.simple_or_function().map(Some)
            }
            Some(TokenKind::Reserved(..) | TokenKind::Operator(_)) => self.compound(),
            None => Ok(None),
        }
    }

    /// Reads assignments and redirects, the name of a command, and all words and redirects behind it.
    fn simple(&mut self) -> Node {
        let mut tokens = Vec::new();
        while matches!(self.peek(), Some(TokenKind::Redirect(_) | TokenKind::Assignment(_))) {
            tokens.push(self.at);
            self.at += 1;
        }
        let named = match self.peek() {
            Some(TokenKind::Word(_)) => true,
            Some(TokenKind::Reserved(word, _)) => !self.is_reserved(word),
            _ => false,
        };
        while named && (self.at_word() || matches!(self.peek(), Some(TokenKind::Redirect(_)))) {
            tokens.push(self.at);
            self.at += 1;
        }
        Node { kind: NodeKind::Simple(tokens), redirects: Vec::new() }
    }

    /// Reads `name() body`, or a command of that name.
    fn simple_or_function(&mut self) -> Result<Node, SyntaxError> {
        let name = self.at;
        let operator = |at: usize, wanted: &str| matches!(self.tokens.get(at), Some(Token { kind: TokenKind::Operator(found), .. }) if *found == wanted);
        if operator(name + 1, "(") && operator(name + 2, ")") {
            self.at = name + 3;
            return self.function_body(name);
        }
        Ok(self.simple())
    }

    /// Reads `function name body`; `None` where sh has another meaning for it.
    fn function_by_keyword(&mut self) -> Result<Option<Node>, SyntaxError> {
        let start = self.at;
        if self.not_functions.contains(&start) {
            return Ok(None);
        }
        self.at += 1;
        let function = self.expect_word().and_then(|name| {
            if self.take_operator("(") {
                // Either the parentheses of a definition, or a body that is a subshell.
                if !self.take_operator(")") {
                    self.at -= 1;
                }
            }
            self.function_body(name)
        });
        match function {
            Ok(function) => Ok(Some(function)),
            Err(error) if self.bash => Err(error),
            Err(_) => {
                self.not_functions.insert(start);
                self.at = start;
                Ok(None)
            }
        }
    }

    fn function_body(&mut self, name: usize) -> Result<Node, SyntaxError> {
        self.newlines();
        let body = self.compound()?.ok_or(SyntaxError::Wrong)?;
        Ok(Node { kind: NodeKind::Function(name, Box::new(body)), redirects: Vec::new() })
    }

    /// Reads a compound command with its redirects; `None` where none begins.
    fn compound(&mut self) -> Result<Option<Node>, SyntaxError> {
        let start = self.at;
        let word = match self.peek() {
            Some(TokenKind::Reserved(word, _)) => word,
            Some(TokenKind::Operator("(")) => "(",
            _ => return Ok(None),
        };
        self.at += 1;
        let kind = match word {
            "(" => {
                let list = self.body()?;
                self.expect_operator(")")?;
                NodeKind::Subshell(list)
            }
            "{" => {
                let list = self.body()?;
                self.expect_reserved("}")?;
                NodeKind::Group(list)
            }
            "if" => self.branches()?,
            "while" | "until" => NodeKind::While(self.body()?, self.do_group()?),
            "for" => self.for_loop()?,
            "case" => self.case()?,
            "coproc" if self.bash => self.coprocess()?,
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        let mut redirects = Vec::new();
        while let Some(TokenKind::Redirect(_)) = self.peek() {
            redirects.push(self.at);
            self.at += 1;
        }
        Ok(Some(Node { kind, redirects }))
    }

    fn do_group(&mut self) -> Result<List, SyntaxError> {
        self.expect_reserved("do")?;
        let list = self.body()?;
        self.expect_reserved("done")?;
        Ok(list)
    }

    fn branches(&mut self) -> Result<NodeKind, SyntaxError> {
        let mut lists = Vec::new();
        loop {
            lists.push(self.body()?);
            self.expect_reserved("then")?;
            lists.push(self.body()?);
            if !self.take_reserved("elif") {
                break;
            }
        }
        if self.take_reserved("else") {
            lists.push(self.body()?);
        }
        self.expect_reserved("fi")?;
        Ok(NodeKind::Branch(lists))
    }

    fn for_loop(&mut self) -> Result<NodeKind, SyntaxError> {
        let name = self.expect_word()?;
        let behind = self.at;
        self.newlines();
        let mut words = Vec::new();
        let listed = self.take_reserved("in");
        if listed {
            while self.at_word() {
                words.push(self.at);
                self.at += 1;
            }
        } else {
            self.at = behind;
        }
        let separated = self.take_operator(";");
        let separated = self.newlines() || separated;
        if listed && !separated {
            return Err(SyntaxError::Wrong);
        }
        Ok(NodeKind::For(name, words, self.do_group()?))
    }

    fn case(&mut self) -> Result<NodeKind, SyntaxError> {
        let word = self.expect_word()?;
        self.newlines();
        self.expect_reserved("in")?;
        self.newlines();
        let mut arms = Vec::new();
        while let Some(patterns) = self.patterns() {
            self.newlines();
            let body = if self.at_operator(";;") { None } else { self.list()? };
            arms.push((patterns, body.unwrap_or_default()));
            if !self.take_operator(";;") {
                break;
            }
            self.newlines();
        }
        self.expect_reserved("esac")?;
        Ok(NodeKind::Case(word, arms))
    }

    /// Reads the patterns of an arm, with the `)`; `None`, and nothing is read, where no arm begins.
    fn patterns(&mut self) -> Option<Vec<usize>> {
        let start = self.at;
        self.take_operator("(");
        let mut patterns = Vec::new();
        while let Ok(pattern) = self.expect_word() {
            patterns.push(pattern);
            if self.take_operator(")") {
                return Some(patterns);
            }
            if !self.take_operator("|") {
                break;
            }
        }
        self.at = start;
        None
    }

    /// Reads the command of a coprocess; a word before `{` or `(` is its name.
    fn coprocess(&mut self) -> Result<NodeKind, SyntaxError> {
        self.newlines();
        let start = self.at;
        let named = self.expect_word().is_ok() && {
            self.newlines();
            self.at_reserved("{") || self.at_operator("(")
        };
        if !named {
            self.at = start;
        }
        Ok(NodeKind::Coprocess(Box::new(self.command()?.ok_or(SyntaxError::Wrong)?)))
    }
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
