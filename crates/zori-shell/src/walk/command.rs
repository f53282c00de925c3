//! One simple command: its expansion, its effects, and the commands it starts.

use super::{MAX_CHAIN, MAX_COMMANDS, Origin, Walk, shell_changes, shorten};
use std::collections::HashSet;

use crate::analysis::{Command, CommandEffect, Target, TargetPath, Unresolved, Via, Word};
use crate::arg::Arg;
use crate::assignment;
use crate::danger::detect;
use crate::expand::{self, Notes, WordContext};
use crate::paths;
use crate::programs::{self, Call, EffectKind, Spawn, Stdin};
use crate::state::State;
use crate::syntax::{Redirect, Script, SyntaxError, TokenKind, WordPart, WordParts, source_text};

/// Directories whose programs count by their bare name (SH-1).
const SYSTEM: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"];

/// Commands may start each other this deep before they count as unresolved (SH-8).
const MAX_WRAPPERS: usize = 16;

/// A command that is about to be analysed.
struct Invocation {
    words: Vec<Arg>,
    /// Names and values it gets in its environment.
    environment: Vec<(String, Arg)>,
    redirected: Redirected,
    unknown: Vec<&'static str>,
    source: String,
    stdin: Stdin,
}

#[derive(Default)]
struct Redirected {
    reads: Vec<Target>,
    writes: Vec<Target>,
    net: Vec<String>,
    stdin: Option<Stdin>,
    any: bool,
}

impl Walk<'_> {
    pub(super) fn walk_simple_command(
        &mut self,
        script: &Script,
        tokens: &[usize],
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        let index = self.reserve(origin);
        let mut notes = Notes::default();
        let mut words = Vec::new();
        let mut environment = Vec::new();
        let mut redirected = Redirected::default();
        for token in tokens.iter().filter_map(|token| script.tokens.get(*token)) {
            let shown = &script.text[token.start..token.end];
            match token.kind {
                TokenKind::Assignment(word) if words.is_empty() => {
                    let (name, value) = self.assignment(&script.words[word], state, &mut notes);
                    environment.push((name, value));
                }
                TokenKind::Assignment(word) | TokenKind::Word(word) | TokenKind::Reserved(_, word) => {
                    let parts = &script.words[word];
                    words.extend(expand::expand(
                        parts,
                        WordContext::Field,
                        self.dialect,
                        state,
                        shown,
                        &mut notes,
                    ));
                }
                TokenKind::Redirect(redirect) => {
                    self.redirect(&script.redirects[redirect], shown, state, &mut notes, &mut redirected);
                }
                TokenKind::Operator(_) => {}
            }
        }
        let source = match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => &script.text[script.tokens[*first].start..script.tokens[*last].end],
            _ => "",
        };
        let single = origin.depth == 0
            && !notes.substituted
            && environment.is_empty()
            && !redirected.any
            && script.tokens.len() == tokens.len();
        self.analysis.single = single && index == 0;
        let stdin = redirected.stdin.clone().unwrap_or_else(|| origin.stdin.clone());
        let unknown = std::mem::take(&mut notes.unknown);
        self.walk_substitutions(notes, state, origin, Some(index))?;
        let source = source.to_owned();
        let invocation = Invocation { words, environment, redirected, unknown, source, stdin };
        self.record_command(index, invocation, state, origin)
    }

    /// Walks the redirects of a compound command; returns its standard input, if they set it.
    pub(super) fn compound_redirects(
        &mut self,
        script: &Script,
        tokens: &[usize],
        state: &mut State,
        origin: &Origin,
    ) -> Result<Option<Stdin>, SyntaxError> {
        self.walk_simple_command(script, tokens, state, origin)?;
        let mut notes = Notes::default();
        let mut redirected = Redirected::default();
        for token in tokens.iter().filter_map(|token| script.tokens.get(*token)) {
            if let TokenKind::Redirect(redirect) = token.kind {
                self.redirect(&script.redirects[redirect], "", state, &mut notes, &mut redirected);
            }
        }
        Ok(redirected.stdin)
    }

    /// Reserves the next index of the list, so that the commands it starts can refer to it.
    fn reserve(&mut self, origin: &Origin) -> usize {
        self.analysis.commands.push(Command {
            argv: Vec::new(),
            bare_argv: None,
            base_name: String::new(),
            source: String::new(),
            effect: CommandEffect::ReadOnly,
            reads: Vec::new(),
            writes: Vec::new(),
            net: Vec::new(),
            parent: origin.parent,
            via: origin.via,
            no_auto_approval: Vec::new(),
        });
        self.analysis.commands.len() - 1
    }

    fn assignment(&self, parts: &[WordPart], state: &State, notes: &mut Notes) -> (String, Arg) {
        let mut parts: WordParts = parts.to_vec();
        let mut name = String::new();
        if let Some(WordPart::Text(text)) = parts.first_mut() {
            let end = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
            name = text[..end].to_owned();
            let rest = text[end..].to_owned();
            match rest.strip_prefix('=') {
                Some(value) => *text = value.to_owned(),
                // `+=`, or a subscript: the value is not simply what stands there.
                None => {
                    *text = rest;
                    if matches!(parts.first(), Some(WordPart::Text(rest)) if rest.starts_with('[')) {
                        expand::arithmetic(&parts, state, notes);
                    }
                    expand::look_through(&parts, state, notes);
                    return (name, Arg::unknown("(changed)"));
                }
            }
        }
        if matches!(parts.first(), Some(WordPart::Text(text)) if text.is_empty()) {
            parts.remove(0);
        }
        let value = expand::expand(&parts, WordContext::Whole, self.dialect, state, "(value)", notes);
        let value = match <[Arg; 1]>::try_from(value) {
            Ok([value]) => value,
            Err(values) if values.is_empty() => Arg::known(""),
            Err(_) => Arg::unknown("(value)"),
        };
        (name, value)
    }

    fn redirect(
        &self,
        redirect: &Redirect,
        shown: &str,
        state: &State,
        notes: &mut Notes,
        found: &mut Redirected,
    ) {
        found.any = true;
        let word_context = if redirect.operator == "<<" || redirect.operator == "<<<" {
            WordContext::Whole
        } else {
            WordContext::Field
        };
        let args = expand::expand(&redirect.target, word_context, self.dialect, state, shown, notes);
        let target = match args.as_slice() {
            [target] => target.clone(),
            [] => Arg::known(""),
            _ => Arg::unknown(shown),
        };
        match redirect.operator {
            "<<" | "<<<" => {
                let exact = target.literal().is_some();
                let text = if exact { target.text.clone() } else { source_text(&redirect.target) };
                if redirect.stdin {
                    found.stdin = Some(Stdin::Text { text, exact });
                }
                return;
            }
            "<&" | ">&" if is_descriptor(&target) => return,
            "<" | "<>" | "<&" if redirect.stdin => found.stdin = Some(Stdin::File),
            _ => {}
        }
        if target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/") {
            found.net.push(target.shown.clone());
            notes.unknown.push("a connection through the shell");
        }
        let targets = significant_targets(&target, state);
        if redirect.operator == "<" || redirect.operator == "<&" {
            found.reads.extend(targets);
        } else {
            found.writes.extend(targets.iter().cloned());
            if redirect.operator == "<>" {
                found.reads.extend(targets);
            }
        }
    }

    fn record_command(
        &mut self,
        index: usize,
        invocation: Invocation,
        state: &mut State,
        origin: &Origin,
    ) -> Result<(), SyntaxError> {
        let Invocation { words, environment, redirected, mut unknown, source, stdin } = invocation;
        let mut no_auto_approval: Vec<&'static str> = Vec::new();
        let program = words.first().and_then(Arg::literal).map(str::to_owned);
        let name = program.as_deref().map(base_name).unwrap_or_default().to_owned();
        let foreign = program.as_deref().is_some_and(|program| program_identity(program).contains('/'));
        let mut argv: Vec<Word> = words.iter().map(Arg::word).collect();
        if let (Some(program), Some(first)) = (&program, argv.first_mut()) {
            *first = Word::Literal(program_identity(program).to_owned());
        }
        for (name, value) in &environment {
            if words.is_empty() {
                state.set(name, value.literal().map(str::to_owned));
                shell_changes::note_assignment(name, state);
            } else if assignment::decides_programs(name) {
                unknown.push("an assignment decides which program runs");
            } else if !assignment::is_harmless(name) {
                no_auto_approval.push("an assignment in front of it");
            }
        }
        let args = words.get(1..).unwrap_or_default();
        let mut effects = match &program {
            Some(_) => programs::analyse(&Call { name: &name, args, stdin: &stdin }),
            None if words.is_empty() => programs::ProgramEffects::read_only(),
            None => programs::ProgramEffects::unknown("a command word that is not known"),
        };
        if foreign {
            effects.kind = EffectKind::Other;
        }
        let bare_argv = (effects.global_options > 0).then(|| {
            let mut bare = argv.clone();
            bare.drain(1..=effects.global_options.min(bare.len() - 1));
            bare
        });
        unknown.extend(effects.unknown);
        unknown.extend(state.redefined.filter(|_| !words.is_empty()));
        no_auto_approval.extend(effects.no_auto_approval.iter());
        no_auto_approval.extend(state.no_auto_approval);
        if state.changed_dir && name == "git" {
            no_auto_approval.push("after a `cd` the repository may be another");
        }
        if origin.depth > MAX_WRAPPERS {
            unknown.push("commands that start each other too deeply");
        }
        let mut reads: Vec<Target> =
            effects.reads.iter().flat_map(|arg| significant_targets(arg, state)).collect();
        let mut writes: Vec<Target> =
            effects.writes.iter().flat_map(|arg| significant_targets(arg, state)).collect();
        reads.extend(redirected.reads);
        writes.extend(redirected.writes);
        effects.net.extend(redirected.net);
        if effects.kind == EffectKind::ReadOnly && !writes.is_empty() {
            effects.kind = EffectKind::FileOperation;
        }
        detect::check_command(
            &name,
            args,
            &effects,
            &writes,
            state,
            self.context,
            &source,
            &mut self.analysis,
        );
        self.evaluated_subscripts(index, &name, args, state, origin, &mut unknown)?;
        let here = matches!(
            origin.via,
            None | Some(Via::Substitution) | Some(Via::ShellText) | Some(Via::PipeIntoShell)
        ) || self.in_this_shell(origin);
        if here && !foreign {
            shell_changes::apply(&name, args, state);
            if name == "read" {
                shell_changes::note_read(args, &stdin, state);
            }
        }
        let mut spawns = std::mem::take(&mut effects.spawns);
        if !words.is_empty() {
            spawns.extend(
                environment.iter().filter_map(|(name, value)| programs::texts::of_variable(name, value)),
            );
        }
        let mut effect = match effects.kind {
            EffectKind::ReadOnly => CommandEffect::ReadOnly,
            EffectKind::FileOperation => CommandEffect::FileOperation,
            EffectKind::Other => CommandEffect::Other,
        };
        for start in spawns {
            if let Some(why) = self.follow_spawn(index, start, &name, state, origin, &stdin)? {
                unknown.push(why);
            }
        }
        if let Some(why) = unknown.first() {
            effect = CommandEffect::Unresolved(Unresolved { why, shown: shorten(&source) });
            detect::check_unknown_command(args, state, self.context, &source, &mut self.analysis);
        }
        no_auto_approval.sort_unstable();
        no_auto_approval.dedup();
        let command = &mut self.analysis.commands[index];
        command.argv = argv;
        command.bare_argv = bare_argv;
        command.base_name = name;
        command.source = source;
        command.effect = effect;
        command.reads = deduplicated(reads);
        command.writes = deduplicated(writes);
        command.net = effects.net;
        command.no_auto_approval = no_auto_approval;
        Ok(())
    }

    /// Returns whether a command that another one starts runs in the shell itself: after `command` and `builtin`.
    fn in_this_shell(&self, origin: &Origin) -> bool {
        matches!(origin.via, Some(Via::Wrapper { .. }))
            && origin
                .parent
                .and_then(|parent| self.analysis.commands.get(parent))
                .is_some_and(|parent| matches!(parent.base_name.as_str(), "command" | "builtin" | "time"))
    }

    /// Follows what a command starts; returns why that makes the command itself unknown.
    fn follow_spawn(
        &mut self,
        parent: usize,
        start: Spawn,
        name: &str,
        state: &mut State,
        origin: &Origin,
        stdin: &Stdin,
    ) -> Result<Option<&'static str>, SyntaxError> {
        let depth = origin.depth + 1;
        if depth > MAX_CHAIN || self.analysis.commands.len() >= MAX_COMMANDS {
            self.truncated = true;
            return Ok(Some("commands that start each other too deeply"));
        }
        match start {
            Spawn::Argv { words, via, environment } => {
                let source: Vec<&str> = words.iter().map(|arg| arg.shown.as_str()).collect();
                let source = source.join(" ");
                if !self.spend(source.len()) {
                    self.truncated = true;
                    return Ok(Some("commands that start each other too often"));
                }
                let origin = Origin { parent: Some(parent), via: Some(via), depth, stdin: stdin.clone() };
                let index = self.reserve(&origin);
                // The name is needed already while the inner command is read.
                self.analysis.commands[parent].base_name = name.to_owned();
                let environment = environment
                    .iter()
                    .map(|arg| {
                        let (name, _) = arg.text.split_once('=').unwrap_or((&arg.text, ""));
                        (name.to_owned(), arg.clone())
                    })
                    .collect();
                let invocation = Invocation {
                    source,
                    words,
                    environment,
                    redirected: Redirected::default(),
                    unknown: Vec::new(),
                    stdin: stdin.clone(),
                };
                if matches!(name, "command" | "builtin" | "time") {
                    self.record_command(index, invocation, state, &origin)?;
                } else {
                    self.record_command(index, invocation, &mut state.clone(), &origin)?;
                }
                Ok(None)
            }
            Spawn::Script { text, exact, via, same_shell, parameters } => {
                let origin = Origin { parent: Some(parent), via: Some(via), depth, stdin: stdin.clone() };
                let origin = match via {
                    Via::PipeIntoShell => Origin { stdin: Stdin::Piped, ..origin },
                    _ => origin,
                };
                let result = if same_shell {
                    self.walk_text(&text, state, &origin)
                } else {
                    let mut inside = state.clone();
                    inside.forget_vars();
                    inside.redefined = None;
                    inside.set_parameters(&parameters);
                    self.walk_text(&text, &mut inside, &origin)
                };
                if same_shell && !exact {
                    state.redefined = Some("a text that is not known was run");
                    state.forget_vars();
                    state.cwds.clear();
                }
                Ok(match result {
                    _ if !exact => {
                        self.truncated |= result.is_err();
                        Some("a text that is not known is run")
                    }
                    Err(SyntaxError::OnlyBash) if !text.contains('\n') => None,
                    Err(_) => {
                        self.truncated = true;
                        Some("a text that cannot be read is run")
                    }
                    Ok(()) => None,
                })
            }
        }
    }

    /// Walks subscripts that some builtins evaluate in their words, even quoted ones.
    fn evaluated_subscripts(
        &mut self,
        index: usize,
        name: &str,
        args: &[Arg],
        state: &mut State,
        origin: &Origin,
        unknown: &mut Vec<&'static str>,
    ) -> Result<(), SyntaxError> {
        if !shell_changes::evaluates_subscripts(name) {
            return Ok(());
        }
        for arg in args.iter().filter(|arg| arg.text.contains('[') && arg.text.contains(['$', '`'])) {
            unknown.push("a subscript that is evaluated");
            let Ok(parts) = crate::lex::lex_data(&arg.text, self.dialect) else {
                self.truncated = true;
                continue;
            };
            let mut notes = Notes::default();
            expand::look_through(&parts, state, &mut notes);
            notes.unknown.clear();
            self.walk_substitutions(notes, state, origin, Some(index))?;
        }
        Ok(())
    }
}

/// Returns the targets of an argument that are more than a sink or a descriptor.
fn significant_targets(arg: &Arg, state: &State) -> Vec<Target> {
    let harmless = |target: &Target| match &target.path {
        TargetPath::Known(path) => {
            matches!(path.to_str(), Some("/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr"))
                || path.starts_with("/dev/fd")
        }
        _ => false,
    };
    if arg.literal() == Some("-") {
        return Vec::new();
    }
    paths::targets(arg, &state.cwds).into_iter().filter(|target| !harmless(target)).collect()
}

fn is_descriptor(target: &Arg) -> bool {
    let digits = target.text.trim_end_matches('-');
    target.literal().is_some() && !target.text.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The last component of a program's path.
fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns a program's identity by SH-1: its bare name if it lies in a system directory, else as written.
fn program_identity(program: &str) -> &str {
    match program.rsplit_once('/') {
        Some((directory, name)) if SYSTEM.contains(&directory) => name,
        _ => program,
    }
}

/// Leaves out repeated files, so that a text full of them costs no more than its length.
fn deduplicated(targets: Vec<Target>) -> Vec<Target> {
    let mut seen = HashSet::new();
    let kept: Vec<bool> = targets.iter().map(|target| seen.insert(target)).collect();
    targets.into_iter().zip(kept).filter_map(|(target, kept)| kept.then_some(target)).collect()
}
