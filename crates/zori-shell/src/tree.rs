//! A script arranged by the grammar: lists of pipelines of commands. Numbers are indices into the script's tokens.

/// Commands one after another.
#[derive(Clone, Debug, Default)]
pub struct List(pub Vec<Item>);

/// One element of a list.
#[derive(Clone, Debug)]
pub struct Item {
    pub first: Pipeline,
    /// Those joined to it.
    pub rest: Vec<(Connector, Pipeline)>,
    /// Whether it ends with `&`.
    pub background: bool,
}

/// How a pipeline is joined to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// Commands joined by pipes.
#[derive(Clone, Debug)]
pub struct Pipeline(pub Vec<Node>);

/// A command and its redirects.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: NodeKind,
    /// Redirects of a compound command.
    pub redirects: Vec<usize>,
}

/// What a command is.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// Words, assignments and redirects, in order.
    Simple(Vec<usize>),
    /// `{ }`.
    Group(List),
    /// `( )`.
    Subshell(List),
    /// `if`: conditions and bodies, in order.
    Branch(Vec<List>),
    /// `while`, `until`.
    While(List, List),
    /// `for`, `select`: the name, the words and the body.
    For(usize, Vec<usize>, List),
    /// `case`: the word, and the arms with their patterns.
    Case(usize, Vec<(Vec<usize>, List)>),
    /// A definition.
    Function(usize, Box<Node>),
    /// `coproc`.
    Coprocess(Box<Node>),
}
