//! A text cut into tokens, with every word cut into its parts. [`crate::lex`] makes it, [`crate::grammar`] arranges it.

use std::rc::Rc;

/// Whose rules a text is read by. What only one of them understands is read both ways (`security.md` 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// POSIX sh as dash reads it.
    Dash,
    /// bash.
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
    pub words: Vec<Syllables>,
    /// What the tokens refer to.
    pub redirects: Vec<Redirect>,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Offset of its first byte.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
}

/// What a token is.
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

/// A redirect.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The operator.
    pub operator: &'static str,
    /// Where it leads: a file name, a descriptor, or the text itself for here-documents and here-strings.
    pub target: Syllables,
    /// Whether the descriptor in front is standard input, or none was given.
    pub stdin: bool,
}

/// The parts of a word.
pub type Syllables = Vec<Part>;

/// One part of a word.
#[derive(Clone, Debug)]
pub enum Part {
    /// Unquoted text.
    Text(String),
    /// Text that means only itself.
    Quoted(String),
    /// Something the shell replaces.
    Expansion(Box<Expansion>),
}

/// Something the shell replaces.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// Whether it stands in double quotes, so that the result is not split.
    pub quoted: bool,
    /// What it is.
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
    Arithmetic(Syllables),
}

/// A parameter expansion.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The parameter's name, digits or sign.
    pub name: String,
    /// What is done with its value.
    pub form: Form,
    /// The subscript.
    pub subscript: Option<Syllables>,
    /// What stands behind the operator.
    pub operand: Syllables,
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
    /// `${x:off:len}`: what stands behind is arithmetic.
    Substring,
    /// `${!x}`.
    Indirect,
    /// `${x@P}`: what the value holds is run.
    Prompt,
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
pub fn push_text(parts: &mut Syllables, c: char) {
    match parts.last_mut() {
        Some(Part::Text(text)) => text.push(c),
        _ => parts.push(Part::Text(c.to_string())),
    }
}

/// Appends text that means only itself to `parts`.
pub fn push_quoted(parts: &mut Syllables, text: &str) {
    match parts.last_mut() {
        Some(Part::Quoted(before)) => before.push_str(text),
        _ => parts.push(Part::Quoted(text.to_owned())),
    }
}

/// Returns the text of a word that has neither quotes nor expansions.
pub fn bare(parts: &[Part]) -> Option<&str> {
    match parts {
        [Part::Text(text)] => Some(text),
        _ => None,
    }
}
