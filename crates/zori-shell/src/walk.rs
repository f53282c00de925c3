//! Walks the tree in the order a shell would: every simple command is expanded, analysed by its program's table, and
//! followed. `walk/command.rs` does one command, `walk/shell_changes.rs` what it changes in the shell.

mod command;
mod names;
mod shell_changes;

use crate::analysis::{Analysis, CommandEffect, Unresolved, Via};
use crate::arg::{Arg, Rest};
use crate::context::ShellContext;
use crate::danger::detect;
use crate::expand::{self, Notes, WordContext};
use crate::grammar;
use crate::lex;
use crate::programs::Stdin;
use crate::state::State;
use crate::syntax::{Dialect, Redirect, Script, SyntaxError, TokenKind, WordPart, bare};
use crate::tree::{Connector, Item, List, Node, NodeKind, Pipeline};

pub use names::only_name;

/// The most commands one text may have (`docs/contracts/shell-analysis.md`).
const MAX_COMMANDS: usize = 4096;

/// How deep commands may start each other before that is not followed any more. What is beyond is unresolved from 16 on
/// (SH-8); deny rules see further.
const MAX_CHAIN: usize = 48;

/// How many rounds of loops are looked at one by one in one text.
const MAX_ROUNDS: usize = 32;

/// Where a command comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    parent: Option<usize>,
    via: Option<Via>,
    depth: usize,
    stdin: Stdin,
}

/// The walk through one text.
pub struct Walk<'a> {
    context: &'a ShellContext,
    dialect: Dialect,
    /// What was found so far.
    pub analysis: Analysis,
    /// Whether part of the text was not walked, so that its raw words have to be searched.
    pub truncated: bool,
    /// How many bytes may still be read: a text in a text, or a command behind a wrapper, is read again at every level.
    budget: usize,
    /// How many rounds of loops may still be looked at one by one.
    rounds: usize,
}

impl<'a> Walk<'a> {
    /// Starts a walk.
    pub fn new(context: &'a ShellContext, dialect: Dialect) -> Self {
        Self {
            context,
            dialect,
            analysis: Analysis::default(),
            truncated: false,
            budget: 3 * crate::MAX_BYTES,
            rounds: MAX_ROUNDS,
        }
    }

    /// Walks through a whole text.
    pub fn walk_whole_text(&mut self, text: &str) -> Result<(), SyntaxError> {
        let mut state = State::new(self.context);
        let origin = Origin { parent: None, via: None, depth: 0, stdin: Stdin::Inherited };
        self.walk_text(text, &mut state, &origin)
    }

    fn walk_text(&mut self, text: &str, state: &mut State, origin: &Origin) -> Result<(), SyntaxError> {
        if !self.spend(text.len()) {
            self.unresolved("texts that run texts too often", text);
            self.truncated = true;
            return Ok(());
        }
        let lexed = lex::lex(text, self.dialect)?;
        for why in lexed.ambiguities {
            self.unresolved(why, text);
        }
        self.walk_script(&lexed.script, state, origin)
    }

    /// Takes bytes from the budget; returns false when it is used up.
    fn spend(&mut self, bytes: usize) -> bool {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.unwrap_or(self.budget);
        left.is_some()
    }

    fn unresolved(&mut self, why: &'static str, text: &str) {
        let unresolved = Unresolved { why, shown: shorten(text) };
        if !self.analysis.unresolved.contains(&unresolved) {
            self.analysis.unresolved.push(unresolved);
        }
    }

    fn walk_script(
        &mut self,
        script: &Script,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        let list = grammar::parse(script, self.dialect)?;
        self.walk_list(script, &list, state, origin)
    }

    fn walk_list(
        &mut self,
        script: &Script,
        list: &List,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        for item in &list.0 {
            if self.analysis.commands.len() >= MAX_COMMANDS {
                self.unresolved("more commands than are looked at", &script.text);
                self.truncated = true;
                return Ok(());
            }
            if item.background {
                let mut beside = state.clone();
                self.walk_item(script, item, &mut beside, origin)?;
            } else {
                self.walk_item(script, item, state, origin)?;
            }
        }
        Ok(())
    }

    fn walk_item(
        &mut self,
        script: &Script,
        item: &Item,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        let before = state.cwds.clone();
        self.walk_pipeline(script, &item.first, state, origin)?;
        let mut chain = state.clone();
        for (joint, pipeline) in &item.rest {
            if *joint == Connector::Or {
                chain.may_be_in(&before);
            }
            self.walk_pipeline(script, pipeline, &mut chain, origin)?;
        }
        if !item.rest.is_empty() {
            state.merge(&chain);
        }
        // A `cd` may have failed, and the text goes on all the same.
        state.may_be_in(&before);
        Ok(())
    }

    fn walk_pipeline(
        &mut self,
        script: &Script,
        pipeline: &Pipeline,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        if let [node] = pipeline.0.as_slice() {
            return self.walk_node(script, node, state, origin);
        }
        let mut stages = Vec::new();
        let mut stdin = origin.stdin.clone();
        let before = state.clone();
        for node in &pipeline.0 {
            let mut inside = before.clone();
            let start = self.analysis.commands.len();
            let origin = Origin { stdin, ..origin.clone() };
            self.walk_node(script, node, &mut inside, &origin)?;
            stages.push(start..self.analysis.commands.len());
            stdin = self.known_output(script, node, start, &origin.stdin);
            // The last stage runs in the shell itself in some.
            state.merge(&inside);
        }
        detect::piped_download(&mut self.analysis, &stages);
        Ok(())
    }

    /// Returns what a stage prints into the next one, if its words tell.
    fn known_output(&self, script: &Script, node: &Node, at: usize, stdin: &Stdin) -> Stdin {
        let NodeKind::Simple(tokens) = &node.kind else { return Stdin::Piped };
        let Some(command) = self.analysis.commands.get(at) else { return Stdin::Piped };
        let known: Vec<&str> = command.argv.iter().filter_map(|word| word.literal()).collect();
        if known.len() != command.argv.len() || !matches!(command.effect, CommandEffect::ReadOnly) {
            let shown: Vec<&str> = command.argv.iter().map(|word| word.shown()).collect();
            return match shown.as_slice() {
                ["echo" | "printf", rest @ ..] => Stdin::Text { text: rest.join(" "), exact: false },
                ["ls", "-d", rest @ ..] => Stdin::Text { text: rest.join(" "), exact: false },
                _ => Stdin::Piped,
            };
        }
        let redirected = tokens.iter().filter_map(|token| match script.tokens.get(*token)?.kind {
            TokenKind::Redirect(redirect) => Some(&script.redirects[redirect]),
            _ => None,
        });
        if let (["cat"], Some(text)) = (known.as_slice(), redirected.filter_map(here_text).next_back()) {
            return Stdin::Text { text, exact: false };
        }
        if let Some(text) = expand::printed::echoed(&known) {
            return Stdin::Text { text, exact: true };
        }
        match known.as_slice() {
            // What else prints literal text is seen by rules that deny, but not taken for certain.
            ["echo" | "printf", rest @ ..] => {
                let text = expand::printed::likely_printed(rest).unwrap_or_else(|| rest.join(" "));
                Stdin::Text { text, exact: false }
            }
            ["cat"] => stdin.clone(),
            words => match (names::printed_names(words), stdin) {
                (Some(names), _) => Stdin::Names(names),
                (None, Stdin::Names(_)) if names::keeps_lines(words) => stdin.clone(),
                _ => Stdin::Piped,
            },
        }
    }

    fn walk_node(
        &mut self,
        script: &Script,
        node: &Node,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        let mut origin = origin.clone();
        if !node.redirects.is_empty()
            && let Some(stdin) = self.compound_redirects(script, &node.redirects, state, &origin)?
        {
            origin.stdin = stdin;
        }
        let origin = &origin;
        match &node.kind {
            NodeKind::Simple(tokens) => self.walk_simple_command(script, tokens, state, origin),
            NodeKind::Group(list) => self.walk_list(script, list, state, origin),
            NodeKind::Subshell(list) => self.walk_list(script, list, &mut state.clone(), origin),
            NodeKind::Coprocess(inner) => self.walk_node(script, inner, &mut state.clone(), origin),
            NodeKind::Branch(lists) => {
                let mut after = state.clone();
                for list in lists {
                    let mut branch = after.clone();
                    self.walk_list(script, list, &mut branch, origin)?;
                    after.merge(&branch);
                }
                state.merge(&after);
                Ok(())
            }
            NodeKind::While(condition, body) => {
                self.walk_loop(script, &[condition, body], state, origin, None)
            }
            NodeKind::For(name, words, body) => {
                let name = match script.tokens.get(*name).map(|token| token.kind) {
                    Some(TokenKind::Word(word) | TokenKind::Reserved(_, word)) => {
                        bare(&script.words[word]).unwrap_or_default().to_owned()
                    }
                    _ => String::new(),
                };
                self.walk_words(script, words, state, origin)?;
                let values = self.loop_values(script, words, state);
                self.walk_loop(script, &[body], state, origin, Some((&name, &values)))
            }
            NodeKind::Case(word, arms) => {
                self.walk_words(script, &[*word], state, origin)?;
                let mut after = state.clone();
                for (patterns, list) in arms {
                    self.walk_words(script, patterns, state, origin)?;
                    let mut branch = state.clone();
                    self.walk_list(script, list, &mut branch, origin)?;
                    after.merge(&branch);
                }
                state.merge(&after);
                Ok(())
            }
            NodeKind::Function(name, body) => {
                let name = self.token_text(script, *name);
                detect::fork_bomb(&name, script, body, &mut self.analysis);
                let mut inside = state.clone();
                inside.forget_vars();
                inside.cwds.clear();
                inside.redefined = Some("a function is defined");
                self.walk_node(script, body, &mut inside, origin)?;
                state.redefined = Some("a function is defined");
                Ok(())
            }
        }
    }

    /// Walks a loop, whose parts may run again after all of them ran.
    fn walk_loop(
        &mut self,
        script: &Script,
        lists: &[&List],
        state: &mut State,
        origin: &Origin,
        variable: Option<(&str, &[Arg])>,
    ) -> Result<(), SyntaxError> {
        let mut inside = state.clone();
        inside.forget_vars();
        if let Some((name, _)) = variable {
            inside.set(name, None);
            shell_changes::note_assignment(name, &mut inside);
        }
        for list in lists {
            shell_changes::apply_loop_changes(script, list, &mut inside);
        }
        let (name, values) = variable.unwrap_or_default();
        if values.is_empty() {
            for list in lists {
                self.walk_list(script, list, &mut inside, origin)?;
            }
            state.merge(&inside);
        }
        // Where each value is known, each round is.
        for value in values {
            let mut round = inside.clone();
            round.set_word(name, value);
            for list in lists {
                self.walk_list(script, list, &mut round, origin)?;
            }
            state.merge(&round);
        }
        Ok(())
    }

    /// Returns the values that a loop's variable takes, if they are few and each is known as a text or as names of files.
    fn loop_values(&mut self, script: &Script, tokens: &[usize], state: &State) -> Vec<Arg> {
        let mut values = Vec::new();
        for token in tokens.iter().filter_map(|token| script.tokens.get(*token)) {
            let (TokenKind::Word(word) | TokenKind::Reserved(_, word) | TokenKind::Assignment(word)) =
                token.kind
            else {
                return Vec::new();
            };
            let shown = &script.text[token.start..token.end];
            let parts = &script.words[word];
            let mut notes = Notes::default();
            values.extend(expand::expand(parts, WordContext::Field, self.dialect, state, shown, &mut notes));
            if !notes.unknown.is_empty() || !notes.assigned.is_empty() {
                return Vec::new();
            }
        }
        let known = |arg: &Arg| matches!(arg.rest, Rest::Nothing | Rest::Glob | Rest::Found { .. });
        let small = values.len().saturating_mul(script.text.len()) <= crate::MAX_BYTES;
        let Some(left) = self.rounds.checked_sub(values.len()).filter(|_| small && values.iter().all(known))
        else {
            return Vec::new();
        };
        self.rounds = left;
        values
    }

    /// Walks words outside of a command: their substitutions run.
    fn walk_words(
        &mut self,
        script: &Script,
        tokens: &[usize],
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        let mut notes = Notes::default();
        for token in tokens {
            let Some(TokenKind::Word(word) | TokenKind::Reserved(_, word)) =
                script.tokens.get(*token).map(|token| token.kind)
            else {
                continue;
            };
            expand::look_through(&script.words[word], state, &mut notes);
        }
        for why in std::mem::take(&mut notes.unknown) {
            self.unresolved(why, &script.text);
        }
        self.walk_substitutions(notes, state, origin, None)
    }

    /// Walks through the scripts that run to make words.
    fn walk_substitutions(
        &mut self,
        notes: Notes,
        state: &mut State,
        origin: &Origin,
        parent: Option<usize>,
    ) -> Result<(), SyntaxError> {
        for name in notes.assigned {
            state.set(&name, None);
            shell_changes::note_assignment(&name, state);
        }
        for script in &notes.scripts {
            let origin = Origin {
                parent: parent.or(origin.parent),
                via: Some(Via::Substitution),
                depth: origin.depth + 1,
                stdin: origin.stdin.clone(),
            };
            if origin.depth > MAX_CHAIN {
                self.unresolved("commands that start each other too deeply", &script.text);
                self.truncated = true;
                continue;
            }
            self.walk_script(script, &mut state.clone(), &origin)?;
        }
        Ok(())
    }

    fn token_text(&self, script: &Script, token: usize) -> String {
        script.tokens.get(token).map_or("", |token| &script.text[token.start..token.end]).to_owned()
    }
}

/// Returns the text of a here-string or a here-document without expansions.
fn here_text(redirect: &Redirect) -> Option<String> {
    let parts = redirect.target.iter().map(|part| match part {
        WordPart::Text(text) | WordPart::Quoted(text) => Some(text.as_str()),
        WordPart::Expansion(_) => None,
    });
    parts.collect::<Option<String>>().filter(|_| matches!(redirect.operator, "<<" | "<<<"))
}

/// Shortens a text for a reason.
pub fn shorten(text: &str) -> String {
    const MAX: usize = 200;
    match text.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
