//! Through the tree in the order a shell would go: every simple command is expanded, read by its program's table and
//! looked through. `walk/command.rs` does one command, `walk/effects.rs` what it changes in the shell.

mod command;
mod effects;

use crate::analysis::{Analysis, Unresolved, Via};
use crate::catastrophe;
use crate::expand::{self, Notes};
use crate::grammar;
use crate::lex;
use crate::programs::Stdin;
use crate::scene::Scene;
use crate::state::State;
use crate::syntax::{Dialect, Script, SyntaxError, TokenKind, bare};
use crate::tree::{Item, Joint, Kind, List, Node, Pipeline};

/// The most commands one text may have (`security.md` 3.1).
const MAX_COMMANDS: usize = 4096;

/// How deep commands may start each other before that is not followed any more. What is beyond is unresolved from 16 on
/// (SH-8); deny rules see further.
const MAX_CHAIN: usize = 48;

/// Where a command comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    parent: Option<usize>,
    via: Option<Via>,
    depth: usize,
    stdin: Stdin,
}

/// A text on the way through.
pub struct Walk<'a> {
    scene: &'a Scene,
    dialect: Dialect,
    /// What was found so far.
    pub analysis: Analysis,
    /// Whether part of the text was not looked at, so that its words have to be.
    pub cut: bool,
    /// How many bytes may still be read: a text in a text, or a command behind a wrapper, is read again at every level.
    budget: usize,
}

impl<'a> Walk<'a> {
    /// Starts a walk.
    pub fn new(scene: &'a Scene, dialect: Dialect) -> Self {
        Self { scene, dialect, analysis: Analysis::default(), cut: false, budget: 3 * crate::MAX_BYTES }
    }

    /// Walks through a whole text.
    pub fn whole(&mut self, text: &str) -> Result<(), SyntaxError> {
        let mut state = State::new(self.scene);
        let origin = Origin { parent: None, via: None, depth: 0, stdin: Stdin::Inherited };
        self.text(text, &mut state, &origin)
    }

    fn text(&mut self, text: &str, state: &mut State, origin: &Origin) -> Result<(), SyntaxError> {
        if !self.afford(text.len()) {
            self.unresolved("texts that run texts too often", text);
            self.cut = true;
            return Ok(());
        }
        let lexed = lex::lex(text, self.dialect)?;
        for why in lexed.doubts {
            self.unresolved(why, text);
        }
        self.script(&lexed.script, state, origin)
    }

    /// Takes so many bytes from the budget; false when there are not so many left.
    fn afford(&mut self, bytes: usize) -> bool {
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

    fn script(&mut self, script: &Script, state: &mut State, origin: &Origin) -> Result<(), SyntaxError> {
        let list = grammar::parse(script, self.dialect)?;
        self.list(script, &list, state, origin)
    }

    fn list(
        &mut self,
        script: &Script,
        list: &List,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        for item in &list.0 {
            if self.analysis.commands.len() >= MAX_COMMANDS {
                self.unresolved("more commands than are looked at", &script.text);
                self.cut = true;
                return Ok(());
            }
            if item.background {
                let mut beside = state.clone();
                self.item(script, item, &mut beside, origin)?;
            } else {
                self.item(script, item, state, origin)?;
            }
        }
        Ok(())
    }

    fn item(
        &mut self,
        script: &Script,
        item: &Item,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        let before = state.cwds.clone();
        self.pipeline(script, &item.first, state, origin)?;
        let mut chain = state.clone();
        for (joint, pipeline) in &item.rest {
            if *joint == Joint::Or {
                chain.may_be_in(&before);
            }
            self.pipeline(script, pipeline, &mut chain, origin)?;
        }
        if !item.rest.is_empty() {
            state.merge(&chain);
        }
        // A `cd` may have failed, and the text goes on all the same.
        state.may_be_in(&before);
        Ok(())
    }

    fn pipeline(
        &mut self,
        script: &Script,
        pipeline: &Pipeline,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        if let [node] = pipeline.0.as_slice() {
            return self.node(script, node, state, origin);
        }
        let mut stages = Vec::new();
        let mut stdin = origin.stdin.clone();
        let before = state.clone();
        for node in &pipeline.0 {
            let mut inside = before.clone();
            let start = self.analysis.commands.len();
            let origin = Origin { stdin, ..origin.clone() };
            self.node(script, node, &mut inside, &origin)?;
            stages.push(start..self.analysis.commands.len());
            stdin = self.output(node, start);
            // The last stage runs in the shell itself in some.
            state.merge(&inside);
        }
        catastrophe::piped_download(&mut self.analysis, &stages);
        Ok(())
    }

    /// What a stage prints into the next one, if its words say so.
    fn output(&self, node: &Node, at: usize) -> Stdin {
        let Kind::Simple(_) = node.kind else { return Stdin::Piped };
        let Some(command) = self.analysis.commands.get(at) else { return Stdin::Piped };
        let mut words: Vec<&str> = Vec::new();
        for word in &command.argv {
            match word.literal() {
                Some(word) => words.push(word),
                None => return Stdin::Piped,
            }
        }
        match words.as_slice() {
            ["echo", "-n", rest @ ..] | ["echo", rest @ ..]
                if !rest.iter().any(|word| word.contains('\\') || word.starts_with('-')) =>
            {
                Stdin::Text { text: rest.join(" "), exact: true }
            }
            ["printf", text] if !text.contains(['\\', '%']) => {
                Stdin::Text { text: (*text).to_owned(), exact: true }
            }
            ["printf", "%s" | "%s\\n", text] => Stdin::Text { text: (*text).to_owned(), exact: true },
            // What else prints literal text is seen by rules that deny, but not taken for certain.
            ["echo" | "printf", rest @ ..] => Stdin::Text { text: rest.join(" "), exact: false },
            _ => Stdin::Piped,
        }
    }

    fn node(
        &mut self,
        script: &Script,
        node: &Node,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        let mut origin = origin.clone();
        if !node.redirects.is_empty()
            && let Some(stdin) = self.bare_redirects(script, &node.redirects, state, &origin)?
        {
            origin.stdin = stdin;
        }
        let origin = &origin;
        match &node.kind {
            Kind::Simple(tokens) => self.simple(script, tokens, state, origin),
            Kind::Group(list) => self.list(script, list, state, origin),
            Kind::Subshell(list) => self.list(script, list, &mut state.clone(), origin),
            Kind::Coprocess(inner) => self.node(script, inner, &mut state.clone(), origin),
            Kind::Branch(lists) => {
                let mut after = state.clone();
                for list in lists {
                    let mut branch = after.clone();
                    self.list(script, list, &mut branch, origin)?;
                    after.merge(&branch);
                }
                state.merge(&after);
                Ok(())
            }
            Kind::While(condition, body) => self.looped(script, &[condition, body], state, origin, None),
            Kind::For(name, words, body) => {
                let name = match script.tokens.get(*name).map(|token| token.kind) {
                    Some(TokenKind::Word(word) | TokenKind::Reserved(_, word)) => {
                        bare(&script.words[word]).unwrap_or_default().to_owned()
                    }
                    _ => String::new(),
                };
                self.words(script, words, state, origin)?;
                self.looped(script, &[body], state, origin, Some(&name))
            }
            Kind::Case(word, arms) => {
                self.words(script, &[*word], state, origin)?;
                let mut after = state.clone();
                for (patterns, list) in arms {
                    self.words(script, patterns, state, origin)?;
                    let mut branch = state.clone();
                    self.list(script, list, &mut branch, origin)?;
                    after.merge(&branch);
                }
                state.merge(&after);
                Ok(())
            }
            Kind::Function(name, body) => {
                let name = self.token_text(script, *name);
                catastrophe::fork_bomb(&name, script, body, &mut self.analysis);
                let mut inside = state.clone();
                inside.forget_vars();
                inside.cwds.clear();
                inside.redefined = Some("a function is defined");
                self.node(script, body, &mut inside, origin)?;
                state.redefined = Some("a function is defined");
                Ok(())
            }
        }
    }

    /// A loop: its parts may run again after all of them ran.
    fn looped(
        &mut self,
        script: &Script,
        lists: &[&List],
        state: &mut State,
        origin: &Origin,
        name: Option<&str>,
    ) -> Result<(), SyntaxError> {
        let mut inside = state.clone();
        inside.forget_vars();
        if let Some(name) = name {
            inside.set(name, None);
            effects::assigned(name, &mut inside);
        }
        for list in lists {
            effects::foresee(script, list, &mut inside);
        }
        for list in lists {
            self.list(script, list, &mut inside, origin)?;
        }
        state.merge(&inside);
        Ok(())
    }

    /// Words outside of a command: what they substitute runs.
    fn words(
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
        self.substituted(notes, state, origin, None)
    }

    /// Walks through the scripts that run to make words.
    fn substituted(
        &mut self,
        notes: Notes,
        state: &mut State,
        origin: &Origin,
        parent: Option<usize>,
    ) -> Result<(), SyntaxError> {
        for name in notes.assigned {
            state.set(&name, None);
            effects::assigned(&name, state);
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
                self.cut = true;
                continue;
            }
            self.script(script, &mut state.clone(), &origin)?;
        }
        Ok(())
    }

    fn token_text(&self, script: &Script, token: usize) -> String {
        script.tokens.get(token).map_or("", |token| &script.text[token.start..token.end]).to_owned()
    }
}

/// A text as it is shown in a reason.
pub fn shorten(text: &str) -> String {
    const MAX: usize = 200;
    match text.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
