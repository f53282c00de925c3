//! A text to its symbols and to the places where it is well cut: a walk over the syntax tree that stays on the heap and never deeper than a
//! bound, however the text is nested.

use std::collections::HashMap;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::chunk::Weight;
use crate::definitions::{self, Definition, Inside, Name};
use crate::language::Language;
use crate::outline::Symbol;
use crate::unfit::Unfit;

/// How much of a signature is kept, in characters.
const MOST_SIGNATURE: usize = 200;
/// How much of a name is kept, in characters.
const MOST_NAME: usize = 120;
/// How many symbols a file has at most; what has more is data.
const MOST_SYMBOLS: usize = 5_000;
/// How far declarators of C are followed.
const MOST_DECLARATORS: usize = 16;

/// Finds symbols, one text after another.
#[derive(Default)]
pub(crate) struct SymbolReader {
    parser: Option<Parser>,
    grammars: HashMap<Language, Loaded>,
}

/// A grammar, and its definitions by the number of their node.
struct Loaded {
    grammar: tree_sitter::Language,
    definitions: Vec<Option<&'static Definition>>,
}

type Found = (Vec<Symbol>, Vec<(usize, Weight)>);

impl SymbolReader {
    pub(crate) fn read(
        &mut self,
        text: &str,
        language: Language,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Found, Unfit> {
        let Some((grammar, table)) = definitions::of(language) else { return Ok(Found::default()) };
        let loaded = self.grammars.entry(language).or_insert_with(|| {
            let mut definitions = vec![None; grammar.node_kind_count()];
            for definition in table {
                let id = grammar.id_for_node_kind(definition.node, true);
                if let Some(slot) = definitions.get_mut(usize::from(id)).filter(|_| id != 0) {
                    *slot = Some(definition);
                }
            }
            Loaded { grammar, definitions }
        });
        let parser = self.parser.get_or_insert_with(Parser::new);
        if parser.set_language(&loaded.grammar).is_err() {
            // A grammar of another version of the library; the tests would say so.
            return Ok(Found::default());
        }
        // The grammar of Markdown wants a line end at the end.
        let ended = (!text.ends_with('\n')).then(|| format!("{text}\n"));
        let tree = parse(parser, ended.as_deref().unwrap_or(text), stop)?;
        Ok(walk(&tree, text, &loaded.definitions, definitions::depth(language)))
    }
}

fn parse(parser: &mut Parser, text: &str, stop: &mut dyn FnMut() -> bool) -> Result<Tree, Unfit> {
    let bytes = text.as_bytes();
    let mut progress = |_: &_| if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let parsed =
        parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
    // What was cut off must not be gone on with for the next text.
    if parsed.is_none() {
        parser.reset();
    }
    parsed.ok_or(Unfit::TooSlow)
}

fn walk(tree: &Tree, text: &str, definitions: &[Option<&'static Definition>], deepest: usize) -> Found {
    let (mut symbols, mut cuts): Found = Default::default();
    let mut cursor = tree.walk();
    // The symbol that each level is in, and where the comments before the next node of it begin.
    let mut levels: Vec<Level> = Vec::new();
    if !cursor.goto_first_child() {
        return (symbols, cuts);
    }
    levels.push(Level::default());
    loop {
        let node = cursor.node();
        let (depth, level) = (levels.len(), levels.last_mut().expect("there is one for each step down"));
        let start = node.start_position().row;
        if node.is_named() {
            // A definition is not cut off from what is said about it.
            let introduces = node.is_extra() || node.kind() == "attribute_item" || node.kind() == "decorator";
            let begins =
                level.introduced.filter(|(_, end)| start <= end + 1).map_or(start, |(begin, _)| begin);
            if introduces {
                level.introduced = Some((begins, node.end_position().row));
            } else {
                level.introduced = None;
            }
            cuts.push((begins, Weight::try_from(depth).unwrap_or(Weight::MAX - 1)));
        }
        let mut inner = level.parent;
        let mut enters = depth < deepest;
        if let Some(definition) = definitions.get(usize::from(node.kind_id())).copied().flatten()
            && symbols.len() < MOST_SYMBOLS
            && let Some(name) = name(node, definition.name, text)
        {
            enters &= definition.inside == Inside::Symbols;
            inner = Some(symbols.len());
            symbols.push(Symbol {
                name,
                kind: definition.kind,
                signature: signature(node, text),
                start: start as u32 + 1,
                end: last_line(node),
                parent: level.parent,
            });
        }
        if enters && cursor.goto_first_child() {
            levels.push(Level { parent: inner, introduced: None });
            continue;
        }
        while !cursor.goto_next_sibling() {
            levels.pop();
            if levels.is_empty() || !cursor.goto_parent() {
                return (symbols, cuts);
            }
        }
        if levels.is_empty() {
            return (symbols, cuts);
        }
    }
}

#[derive(Default)]
struct Level {
    parent: Option<usize>,
    introduced: Option<(usize, usize)>,
}

/// Returns the last line of a node, from 1. One that ends with a line end ends on the line before.
fn last_line(node: Node<'_>) -> u32 {
    let (start, end) = (node.start_position().row, node.end_position());
    let row = if end.column == 0 && end.row > start { end.row - 1 } else { end.row };
    row as u32 + 1
}

fn name(node: Node<'_>, rule: Name, text: &str) -> Option<String> {
    let found = match rule {
        Name::Field(field) => node.child_by_field_name(field)?,
        Name::WithBody(field) => {
            node.child_by_field_name("body")?;
            node.child_by_field_name(field)?
        }
        Name::OfFunction => {
            let value = node.child_by_field_name("value")?.kind();
            if !matches!(value, "arrow_function" | "function_expression" | "class" | "generator_function") {
                return None;
            }
            node.child_by_field_name("name")?
        }
        Name::FirstChild => node.named_child(0)?,
        Name::Declarator => {
            let mut declarator = node.child_by_field_name("declarator")?;
            for _ in 0..MOST_DECLARATORS {
                match declarator.child_by_field_name("declarator") {
                    Some(inner) => declarator = inner,
                    None => break,
                }
            }
            declarator
        }
    };
    let name =
        text.get(found.start_byte()..found.end_byte().min(text.len()))?.trim().trim_matches(['"', '\'']);
    let name: String = one_line(name).chars().take(MOST_NAME).collect();
    (!name.is_empty()).then_some(name)
}

/// Returns the head of a definition, on one line: what stands before its body, else its first line.
fn signature(node: Node<'_>, text: &str) -> String {
    let range = node.byte_range();
    let body = node.child_by_field_name("body").map(|body| body.start_byte());
    let head = text.get(range.start..body.unwrap_or(range.end).min(text.len())).unwrap_or_default();
    let head = if body.is_some() { head } else { head.lines().next().unwrap_or_default() };
    let line = one_line(head);
    let line = line.trim_end_matches(['{', ' ']);
    let mut signature: String = line.chars().take(MOST_SIGNATURE).collect();
    if signature.len() < line.len() {
        signature.push('…');
    }
    signature
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
