//! The awk family: a program that may run commands and read and write files.

mod lex;

use self::lex::Token;
use super::options::OptionGrammar;
use super::{Call, EffectKind, ProgramEffects, Spawn};
use crate::analysis::Via;
use crate::arg::Arg;

const GRAMMAR: OptionGrammar = OptionGrammar {
    short: "F:v:f:i:l:E:o::p::d::D::bcCeghIkLnNOPrsStVW:",
    long: "field-separator= assign= file= include= load= exec= source= pretty-print=? profile=? \
        dump-variables=? debug=? bignum characters-as-bytes csv gen-pot lint=? non-decimal-data optimize \
        no-optimize posix re-interval sandbox traditional use-lc-numeric help version",
    stops_at_operand: true,
};

/// Returns what an awk command does.
pub fn analyse(call: &Call<'_>) -> ProgramEffects {
    let parsed = GRAMMAR.parse(call.args);
    let plain = parsed.options.iter().all(|(name, _)| matches!(name.as_str(), "F" | "v"));
    let kind = if plain && !parsed.has_unknown_option { EffectKind::ReadOnly } else { EffectKind::Other };
    let mut effects = ProgramEffects { kind, ..ProgramEffects::default() };
    if parsed.may_be_option && parsed.rest.is_none_or(|rest| call.args[..rest].iter().any(Arg::may_be_option))
    {
        effects.unknown = Some("a word that is not known may become an option");
    }
    let loads = ["f", "i", "l", "E", "W", "D", "e", "file", "include", "load", "exec", "source", "debug"];
    if loads.iter().any(|name| parsed.has(&[name])) {
        effects.reads.extend(parsed.values(&["f", "i", "E", "file", "include", "exec"]).cloned());
        effects.unknown = Some("a program from a file");
        effects.reads.extend_from_slice(&parsed.operands);
        return effects;
    }
    for name in ["o", "p", "d", "pretty-print", "profile", "dump-variables"] {
        if parsed.has(&[name]) {
            effects.no_auto_approval.push("writes a file of its own");
            effects.writes.extend(parsed.values(&[name]).cloned());
        }
    }
    if let Some((program, files)) = parsed.operands.split_first() {
        match program.literal() {
            Some(text) => program_does(text, &mut effects),
            None => effects.unknown = Some("an awk program that is not known"),
        }
        // `name=value` among the files is an assignment.
        let assigns =
            |arg: &&Arg| arg.text.split_once('=').is_some_and(|(name, _)| super::wrappers::is_name(name));
        effects.reads.extend(files.iter().filter(|arg| !assigns(arg)).cloned());
    }
    effects
}

/// Walks through a program's tokens.
fn program_does(program: &str, effects: &mut ProgramEffects) {
    let Some(tokens) = lex::tokens(program) else {
        effects.unknown = Some("an awk program that cannot be read");
        return;
    };
    let mut printing = false;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        match token {
            Token::Name("print" | "printf") => {
                printing = true;
                depth = 0;
            }
            Token::Name("system") => {
                effects.unknown = Some("awk runs a command");
                if let [Token::Sign("("), Token::Text(text), ..] = &tokens[at + 1..] {
                    spawns(text, effects);
                }
            }
            Token::Name("getline") => effects.unknown = Some("awk reads another file or command"),
            // Other files than those of the command line, the environment, names by their text.
            Token::Name("ARGV" | "ARGC" | "ENVIRON" | "PROCINFO" | "SYMTAB" | "FUNCTAB") => {
                effects.kind = EffectKind::Other;
                effects.no_auto_approval.push("awk changes what it reads, or shows its environment");
            }
            Token::Sign("@") => effects.unknown = Some("awk loads or calls what its program does not show"),
            Token::Sign("|" | "|&") => {
                effects.unknown = Some("awk runs a command");
                for text in [before, tokens.get(at + 1)] {
                    if let Some(Token::Text(text)) = text {
                        spawns(text, effects);
                    }
                }
            }
            Token::Sign(">" | ">>") if printing && depth == 0 => {
                effects.kind = EffectKind::Other;
                let ends = |token: Option<&Token<'_>>| {
                    token.is_none_or(|token| matches!(token, Token::Sign(";" | "}" | "\n")))
                };
                effects.writes.push(match tokens.get(at + 1) {
                    Some(Token::Text(file)) if ends(tokens.get(at + 2)) && !file.contains('\\') => {
                        Arg::known(file.clone())
                    }
                    _ => Arg::unknown("(an awk output)"),
                });
            }
            Token::Sign("(" | "[") => depth += 1,
            Token::Sign(")" | "]") => depth = depth.saturating_sub(1),
            Token::Sign(";" | "{" | "}" | "\n") => printing = false,
            _ => {}
        }
    }
}

fn spawns(text: &str, effects: &mut ProgramEffects) {
    effects.spawns.push(Spawn::Script {
        text: text.to_owned(),
        exact: false,
        via: Via::ExecOption,
        same_shell: false,
        parameters: Vec::new(),
    });
}
