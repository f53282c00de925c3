//! The same grammar by `brush-parser`, to compare with.
//!
//! It gets our tokens, not the text: every word that cannot be reserved is the same letter to it, every redirect the same sign, and
//! what it makes of them is looked up by position.

use std::sync::Arc;

use brush_parser::ast::{
    self, AndOr, CommandPrefixOrSuffixItem, CompoundCommand, IoFileRedirectTarget, IoRedirect,
    SeparatorOperator,
};
use brush_parser::{ParserOptions, SourcePosition, SourceSpan};

use crate::syntax::{Dialect, Script, SyntaxError, TokenKind};
use crate::tree::{Connector, Item, List, Node, NodeKind, Pipeline};

/// Arranges the tokens of `script`.
pub(super) fn parse(script: &Script, dialect: Dialect) -> Result<List, SyntaxError> {
    let mut tokens = Vec::with_capacity(script.tokens.len());
    for (index, token) in script.tokens.iter().enumerate() {
        let loc = span(index);
        let token = match token.kind {
            TokenKind::Operator(operator) => brush_parser::Token::Operator(operator.to_owned(), loc),
            TokenKind::Reserved(word, _) => brush_parser::Token::Word(word.to_owned(), loc),
            TokenKind::Word(_) => brush_parser::Token::Word("w".to_owned(), loc),
            TokenKind::Assignment(_) => brush_parser::Token::Word("a=w".to_owned(), loc),
            TokenKind::Redirect(_) => {
                tokens.push(brush_parser::Token::Operator("<".to_owned(), loc.clone()));
                brush_parser::Token::Word("w".to_owned(), loc)
            }
        };
        tokens.push(token);
    }
    let options = ParserOptions {
        enable_extended_globbing: false,
        posix_mode: dialect == Dialect::Dash,
        sh_mode: dialect == Dialect::Dash,
        ..ParserOptions::default()
    };
    let program = brush_parser::parse_tokens(&tokens, &options).map_err(|_| SyntaxError::Wrong)?;
    let mut list = List::default();
    for complete in &program.complete_commands {
        list.0.extend(convert_list(complete)?.0);
    }
    Ok(list)
}

/// Returns a position that is the token's number; never next to another, so that no word reads as a descriptor.
fn span(index: usize) -> SourceSpan {
    let at = |index| Arc::new(SourcePosition { index, line: 1, column: 1 });
    SourceSpan { start: at(index * 2), end: at(index * 2 + 1) }
}

fn index(span: &SourceSpan) -> usize {
    span.start.index / 2
}

fn word(word: &ast::Word) -> Result<usize, SyntaxError> {
    word.loc.as_ref().map(index).ok_or(SyntaxError::Wrong)
}

fn convert_list(list: &ast::CompoundList) -> Result<List, SyntaxError> {
    let mut items = Vec::with_capacity(list.0.len());
    for ast::CompoundListItem(and_or, separator) in &list.0 {
        let mut rest = Vec::new();
        for next in &and_or.additional {
            rest.push(match next {
                AndOr::And(pipeline) => (Connector::And, convert_pipeline(pipeline)?),
                AndOr::Or(pipeline) => (Connector::Or, convert_pipeline(pipeline)?),
            });
        }
        items.push(Item {
            first: convert_pipeline(&and_or.first)?,
            rest,
            background: matches!(separator, SeparatorOperator::Async),
        });
    }
    Ok(List(items))
}

fn convert_pipeline(pipeline: &ast::Pipeline) -> Result<Pipeline, SyntaxError> {
    pipeline.seq.iter().map(convert_command).collect::<Result<_, _>>().map(Pipeline)
}

fn convert_command(command: &ast::Command) -> Result<Node, SyntaxError> {
    match command {
        ast::Command::Simple(simple) => {
            let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
            let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
            let mut tokens = prefix.map(simple_item).collect::<Result<Vec<_>, _>>()?;
            if let Some(name) = &simple.word_or_name {
                tokens.push(word(name)?);
            }
            for item in suffix {
                tokens.push(simple_item(item)?);
            }
            Ok(Node { kind: NodeKind::Simple(tokens), redirects: Vec::new() })
        }
        ast::Command::Compound(compound, redirects) => convert_compound(compound, redirects.as_ref()),
        ast::Command::Function(function) => {
            let body = convert_compound(&function.body.0, function.body.1.as_ref())?;
            let kind = NodeKind::Function(word(&function.fname)?, Box::new(body));
            Ok(Node { kind, redirects: Vec::new() })
        }
        // Lexed as a simple command where it is one.
        ast::Command::ExtendedTest(..) => Err(SyntaxError::Wrong),
    }
}

fn simple_item(item: &CommandPrefixOrSuffixItem) -> Result<usize, SyntaxError> {
    match item {
        CommandPrefixOrSuffixItem::IoRedirect(redirect) => convert_redirect(redirect),
        CommandPrefixOrSuffixItem::Word(found) => word(found),
        CommandPrefixOrSuffixItem::AssignmentWord(_, found) => word(found),
        CommandPrefixOrSuffixItem::ProcessSubstitution(..) => Err(SyntaxError::Wrong),
    }
}

fn convert_redirect(redirect: &IoRedirect) -> Result<usize, SyntaxError> {
    match redirect {
        IoRedirect::File(_, _, IoFileRedirectTarget::Filename(target)) => word(target),
        _ => Err(SyntaxError::Wrong),
    }
}

fn convert_compound(
    compound: &CompoundCommand,
    redirects: Option<&ast::RedirectList>,
) -> Result<Node, SyntaxError> {
    let kind = match compound {
        CompoundCommand::BraceGroup(group) => NodeKind::Group(convert_list(&group.list)?),
        CompoundCommand::Subshell(subshell) => NodeKind::Subshell(convert_list(&subshell.list)?),
        CompoundCommand::IfClause(clause) => {
            let mut lists = vec![convert_list(&clause.condition)?, convert_list(&clause.then)?];
            for otherwise in clause.elses.iter().flatten() {
                if let Some(condition) = &otherwise.condition {
                    lists.push(convert_list(condition)?);
                }
                lists.push(convert_list(&otherwise.body)?);
            }
            NodeKind::Branch(lists)
        }
        CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
            NodeKind::While(convert_list(&clause.0)?, convert_list(&clause.1.list)?)
        }
        CompoundCommand::ForClause(clause) => {
            let words = clause.values.iter().flatten().map(word).collect::<Result<_, _>>()?;
            // The name is the token behind `for`; where it stands is what the clause's place says.
            let name = index(&clause.loc) + 1;
            NodeKind::For(name, words, convert_list(&clause.body.list)?)
        }
        CompoundCommand::CaseClause(clause) => {
            let mut arms = Vec::new();
            for case in &clause.cases {
                let patterns = case.patterns.iter().map(word).collect::<Result<_, _>>()?;
                let body = case.cmd.as_ref().map(convert_list).transpose()?.unwrap_or_default();
                arms.push((patterns, body));
            }
            NodeKind::Case(word(&clause.value)?, arms)
        }
        CompoundCommand::Coprocess(coprocess) => {
            NodeKind::Coprocess(Box::new(convert_command(&coprocess.body)?))
        }
        // Lexed as words where they are.
        CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => {
            return Err(SyntaxError::Wrong);
        }
    };
    let redirects =
        redirects.iter().flat_map(|list| &list.0).map(convert_redirect).collect::<Result<_, _>>()?;
    Ok(Node { kind, redirects })
}
