//! A text cut into tokens, with every word cut into its parts. [`crate::lex`] makes it, [`crate::grammar`] arranges it.

use std::rc::Rc;

/// The shell whose rules a text is parsed by. A text is parsed both ways (`docs/contracts/shell-analysis.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// POSIX sh as dash reads it.
    Dash,
    Bash,
}

/// The tokens of one script: the whole text, or the inside of a substitution.
#[derive(Clone, Debug)]
pub struct Script {
    /// The text the offsets are about.
    pub text: Rc<str>,
    /// In order.
    pub tokens: Vec<Token>,
    /// What the tokens refer to.
    pub words: Vec<WordParts>,
    /// What the tokens refer to.
    pub redirects: Vec<Redirect>,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// Offset of its first byte.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// `;`, `&&`, `(` and their like.
    Operator(&'static str),
    /// A word that may be reserved, where the grammar wants it to be.
    Reserved(&'static str, usize),
    /// Any other word, by its index.
    Word(usize),
    /// `name=value`, by the word's index.
    Assignment(usize),
    /// A redirect with its target, by its index.
    Redirect(usize),
}

#[derive(Clone, Debug)]
pub struct Redirect {
    pub operator: &'static str,
    /// Where it leads: a file name, a descriptor, or the text itself for here-documents and here-strings.
    pub target: WordParts,
    /// Whether the descriptor in front is standard input, or none was given.
    pub stdin: bool,
}

pub type WordParts = Vec<WordPart>;

#[derive(Clone, Debug)]
pub enum WordPart {
    /// Unquoted text.
    Text(String),
    /// Text that means only itself.
    Quoted(String),
    /// Something the shell replaces.
    Expansion(Box<Expansion>),
}

/// Returns the text of parts as they were written, without quotes: nothing is expanded.
pub fn source_text(parts: &[WordPart]) -> String {
    parts
        .iter()
        .map(|part| match part {
            WordPart::Text(text) | WordPart::Quoted(text) => text.as_str(),
            WordPart::Expansion(expansion) => expansion.shown.as_str(),
        })
        .collect()
}

/// Something the shell replaces.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// Whether it stands in double quotes, so that the result is not split.
    pub quoted: bool,
    pub kind: ExpansionKind,
    /// How it was written.
    pub shown: String,
}

/// What is replaced.
#[derive(Clone, Debug)]
pub enum ExpansionKind {
    /// `$name`, `${name...}`.
    Parameter(Parameter),
    /// `$( )`, backticks.
    Command(Script),
    /// `<( )`, `>( )`.
    Process(Script),
    /// `$(( ))`, `$[ ]`, `(( ))`.
    Arithmetic(WordParts),
}

/// A parameter expansion.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The parameter's name, digits or sign.
    pub name: String,
    /// What is done with its value.
    pub form: Form,
    pub subscript: Option<WordParts>,
    /// What follows the operator.
    pub operand: WordParts,
}

/// What a parameter expansion does with the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing.
    Plain,
    /// `${x?y}`, `${x:?y}`: the value, or the end.
    OrFail,
    /// `${x-y}`, `${x:-y}`.
    OrDefault,
    /// `${x=y}`, `${x:=y}`.
    OrAssign,
    /// `${x:off:len}`: the operand is arithmetic.
    Substring,
    /// `${!x}`.
    Indirect,
    /// `${x@P}`: what the value holds is run.
    Prompt,
    /// `${x%y}`, `${x%%y}`.
    WithoutEnd,
    /// `${x#y}`, `${x##y}`.
    WithoutStart,
    /// Anything else.
    Changed,
}

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxError {
    /// It is not a program in this dialect.
    Wrong,
    /// It is not a program in POSIX sh, but one in bash: sh would run nothing of the line.
    OnlyBash,
    /// It is nested too deeply.
    TooDeep,
}

/// Appends unquoted text to `parts`.
pub fn push_text(parts: &mut WordParts, c: char) {
    match parts.last_mut() {
        Some(WordPart::Text(text)) => text.push(c),
        _ => parts.push(WordPart::Text(c.to_string())),
    }
}

/// Appends text that means only itself to `parts`.
pub fn push_quoted(parts: &mut WordParts, text: &str) {
    match parts.last_mut() {
        Some(WordPart::Quoted(before)) => before.push_str(text),
        _ => parts.push(WordPart::Quoted(text.to_owned())),
    }
}

/// Returns the text of a word that has neither quotes nor expansions.
pub fn bare(parts: &[WordPart]) -> Option<&str> {
    match parts {
        [WordPart::Text(text)] => Some(text),
        _ => None,
    }
}
