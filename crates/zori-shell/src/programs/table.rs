//! Programs that their option grammar describes completely: an entry says what options and operands mean.

use super::options::OptionGrammar;
use super::{Call, EffectKind, ProgramEffects, Spawn, build, files, readers};
use crate::analysis::Via;
use crate::arg::{Arg, Rest};

pub struct Program {
    pub names: &'static [&'static str],
    pub grammar: OptionGrammar,
    /// The effects of some options; the others only change how the program works.
    pub option_effects: &'static [(&'static str, OptionEffect)],
    pub operands: Operands,
    /// What kind of thing it does, with options it is known to have.
    pub kind: EffectKind,
}

/// What an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionEffect {
    /// Its value is a command.
    Runs,
    /// Its value is a file that is written.
    Writes,
    /// Its value is a file that is read.
    Reads,
    /// It makes the program more than a reader.
    Changes,
    /// It reads more files than the command line names, or lists them; nothing worse.
    Lists,
    /// It changes what the program runs or where it looks.
    Reconfigures(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Text; no files.
    Text,
    /// A format that begins with a plus; anything else changes something.
    Format,
    /// Files that are read.
    Read,
    /// Files that are read; the current directory if there are none.
    ReadHere,
    /// A pattern or program, unless an option gave it, then files that are read; the current directory if there are
    /// none and the program searches by itself.
    PatternThenRead {
        /// Options that give the pattern.
        given_by: &'static [&'static str],
        /// Whether it searches the current directory.
        searches_cwd: SearchesCwd,
    },
    /// Files that are written.
    Write,
    /// The first is text, the others are written.
    TextThenWrite,
    /// The last is written, the others are read.
    ReadThenWrite,
    /// All are read and written.
    Move,
    /// The first is read, the second written.
    ReadThenMaybeWrite,
    /// The first is written, the others are read.
    WriteThenRead,
}

/// When a program searches the current directory by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchesCwd {
    /// Always, without operands.
    Always,
    /// With one of these options.
    With(&'static [&'static str]),
}

/// Returns what a command of one of the tables does.
pub fn analyse(call: &Call<'_>) -> Option<ProgramEffects> {
    let tables =
        [readers::READERS, readers::text::TEXT_READERS, readers::dumps::DUMPS, files::FILES, build::BUILDERS];
    let program = tables.into_iter().flatten().find(|program| program.names.contains(&call.name))?;
    Some(program.analyse(call))
}

impl Program {
    fn analyse(&self, call: &Call<'_>) -> ProgramEffects {
        let parsed = self.grammar.parse(call.args);
        let mut effects = ProgramEffects { kind: self.kind, ..ProgramEffects::default() };
        for (name, act) in self.option_effects {
            if !parsed.has(&[name]) {
                continue;
            }
            let mut values = parsed.values(std::slice::from_ref(name));
            match act {
                OptionEffect::Writes => effects.writes.extend(values.cloned()),
                OptionEffect::Reads => effects.reads.extend(values.cloned()),
                OptionEffect::Lists => effects.reads.extend(values.cloned()),
                OptionEffect::Changes => {}
                OptionEffect::Reconfigures(why) => effects.no_auto_approval.push(why),
                OptionEffect::Runs => match values.next() {
                    Some(value) => effects.spawns.push(text(value, Via::ExecOption)),
                    None => effects.no_auto_approval.push("starts a program its options do not name"),
                },
            }
            if *act != OptionEffect::Reads {
                effects.kind = effects.kind.max(if *act == OptionEffect::Writes {
                    EffectKind::FileOperation
                } else {
                    EffectKind::Other
                });
            }
        }
        if parsed.has_unknown_option {
            effects.kind = EffectKind::Other;
        }
        let risky = self
            .option_effects
            .iter()
            .any(|(_, act)| !matches!(act, OptionEffect::Reads | OptionEffect::Lists));
        if parsed.may_be_option && risky {
            effects.unknown = Some("a word that is not known may become an option");
        }
        self.operands(&parsed.operands, &parsed, &mut effects);
        effects
    }

    fn operands(
        &self,
        operands: &[Arg],
        parsed: &super::options::ParsedOptions,
        effects: &mut ProgramEffects,
    ) {
        match self.operands {
            Operands::Text => {}
            Operands::Format => {
                if operands.iter().any(|arg| !arg.text.starts_with('+')) {
                    effects.kind = EffectKind::Other;
                }
            }
            Operands::Read => effects.reads.extend(operands.iter().map(|arg| walked(arg, parsed, self))),
            Operands::ReadHere if operands.is_empty() => effects.reads.push(Arg::known(".")),
            // They show names: of what a pattern means, the folder is read.
            Operands::ReadHere => effects.reads.extend(operands.iter().map(|arg| match arg.rest {
                Rest::Glob => {
                    let folder = arg.text.rfind('/').map_or(".", |at| &arg.text[..=at]);
                    Arg { shown: arg.shown.clone(), ..Arg::known(folder) }
                }
                _ => arg.clone(),
            })),
            Operands::PatternThenRead { given_by, searches_cwd } => {
                let skip = usize::from(!parsed.has(given_by));
                let files = operands.get(skip..).unwrap_or_default();
                let searches = match searches_cwd {
                    SearchesCwd::Always => true,
                    SearchesCwd::With(options) => parsed.has(options),
                };
                match files {
                    [] if searches => effects.reads.push(walked(&Arg::known("."), parsed, self)),
                    files => effects.reads.extend(files.iter().map(|file| walked(file, parsed, self))),
                }
            }
            Operands::Write => effects.writes.extend_from_slice(operands),
            Operands::TextThenWrite => effects.writes.extend(operands.iter().skip(1).cloned()),
            Operands::WriteThenRead => {
                effects.writes.extend(operands.first().cloned());
                effects.reads.extend(operands.iter().skip(1).map(|arg| walked(arg, parsed, self)));
            }
            Operands::ReadThenWrite => {
                let into = parsed.values(&["t", "target-directory"]).next().cloned();
                let split = if into.is_some() { operands.len() } else { operands.len().saturating_sub(1) };
                effects.reads.extend(operands[..split].iter().map(|arg| walked(arg, parsed, self)));
                effects.writes.extend_from_slice(&operands[split..]);
                landings(&operands[..split], into.as_ref().or(operands.last()), parsed, effects);
            }
            Operands::Move => {
                let into = parsed.values(&["t", "target-directory"]).next().cloned();
                let split = if into.is_some() { operands.len() } else { operands.len().saturating_sub(1) };
                effects.reads.extend_from_slice(operands);
                effects.writes.extend_from_slice(operands);
                landings(&operands[..split], into.as_ref().or(operands.last()), parsed, effects);
            }
            Operands::ReadThenMaybeWrite => {
                effects.reads.extend(operands.first().cloned());
                effects.writes.extend(operands.iter().skip(1).cloned());
                if operands.len() > 1 {
                    effects.kind = effects.kind.max(EffectKind::FileOperation);
                }
            }
        }
    }
}

/// Programs that read all below a folder, with the options that make them; without options they always do.
const WALKERS: &[(&str, &[&str])] = &[
    ("grep", &["r", "R", "recursive", "dereference-recursive", "d", "directories"]),
    ("rgrep", &[]),
    ("rg", &[]),
    ("diff", &["r", "recursive"]),
    ("cp", &["r", "R", "a", "recursive", "archive"]),
    ("zip", &["r", "recurse-paths"]),
    ("rsync", &["r", "a", "recursive", "archive"]),
];

/// Returns the operand as what a walk through it reaches, if the program walks.
fn walked(arg: &Arg, parsed: &super::options::ParsedOptions, program: &Program) -> Arg {
    let name = program.names[0];
    let Some((_, options)) = WALKERS.iter().find(|(walker, _)| *walker == name) else { return arg.clone() };
    let lists = parsed.has(&["files", "type-list"]);
    let Some(text) = arg.literal().filter(|_| (options.is_empty() || parsed.has(options)) && !lists) else {
        return arg.clone();
    };
    let grep = matches!(name, "grep" | "rgrep");
    let rg_hidden = parsed.has(&["hidden", ".", "unrestricted", "u"]);
    let included: Vec<&Arg> = parsed.values(&["include"]).collect();
    let name_pattern = match included.as_slice() {
        [one] if grep => one.literal(),
        _ => None,
    };
    let follows = match name {
        "grep" => parsed.has(&["R", "dereference-recursive"]),
        "rgrep" => parsed.has(&["R", "dereference-recursive"]),
        "rg" => parsed.has(&["L", "follow"]),
        "cp" => parsed.has(&["L", "dereference"]),
        "rsync" => parsed.has(&["L", "k", "copy-links", "copy-dirlinks", "copy-unsafe-links"]),
        _ => true,
    };
    // A folder behind a link is gone into whatever it is called.
    let mut found = Arg::found(text, name != "rg" || rg_hidden, name_pattern.filter(|_| !follows));
    if !follows {
        found = found.without_links();
    }
    // The folder itself, and not what may follow a blank.
    found.shown = arg.shown.clone();
    found
}

/// Where files land that are copied or moved: in the destination, under their own names.
fn landings(
    sources: &[Arg],
    destination: Option<&Arg>,
    parsed: &super::options::ParsedOptions,
    effects: &mut ProgramEffects,
) {
    let Some(destination) = destination else { return };
    let Some(folder) = destination.literal() else { return };
    if parsed.has(&["T", "no-target-directory"]) {
        // A folder that is copied onto another: what is in it lands there, under names nobody knows.
        if parsed.has(&["r", "R", "a", "recursive", "archive"]) {
            effects.writes.push(Arg { shown: destination.shown.clone(), ..Arg::found(folder, true, None) });
        }
        return;
    }
    let inside = |name: &str| format!("{}/{name}", folder.trim_end_matches('/'));
    for source in sources {
        let whole = match source.rest {
            Rest::Nothing => source.text.trim_end_matches('/'),
            _ => source.text.as_str(),
        };
        let name = &whole[whole.rfind('/').map_or(0, |at| at + 1)..];
        match source.rest {
            Rest::Nothing if matches!(name, "." | ".." | "") => {
                effects
                    .writes
                    .push(Arg { shown: destination.shown.clone(), ..Arg::found(folder, true, None) });
            }
            Rest::Nothing => {
                effects.writes.push(Arg { shown: source.shown.clone(), ..Arg::known(inside(name)) });
            }
            Rest::Glob if !source.pattern.contains('/') => effects.writes.push(Arg {
                text: inside(name),
                rest: Rest::Glob,
                pattern: source.pattern.clone(),
                maybe: Vec::new(),
                shown: source.shown.clone(),
            }),
            _ => effects
                .writes
                .push(Arg { shown: destination.shown.clone(), ..Arg::found(folder, true, None) }),
        }
    }
}

/// A value that is a command for a shell.
pub fn text(value: &Arg, via: Via) -> Spawn {
    let exact = value.literal().is_some();
    let text = if exact { value.text.clone() } else { value.shown.clone() };
    Spawn::Script { text, exact, via, same_shell: false, parameters: Vec::new() }
}
