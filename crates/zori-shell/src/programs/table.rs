//! Programs that are told by their option grammar alone: an entry says what options and operands mean.

use super::options::Grammar;
use super::{Call, Kind, Reading, Start, build, files, readers};
use crate::analysis::Via;
use crate::arg::Arg;

/// One program.
pub struct Program {
    /// Its names.
    pub names: &'static [&'static str],
    /// Its options.
    pub grammar: Grammar,
    /// What some of them do; others only change how it does its work.
    pub acts: &'static [(&'static str, Act)],
    /// What its operands are.
    pub operands: Operands,
    /// What kind of thing it does, with options it is known to have.
    pub kind: Kind,
}

/// What an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Its value is a command.
    Runs,
    /// Its value is a file that is written.
    Writes,
    /// Its value is a file that is read.
    Reads,
    /// It makes the program more than a reader.
    Changes,
    /// It takes more files, or says more about them, than the command line does; nothing worse.
    Lists,
    /// It changes what the program runs or where it looks.
    Reconfigures(&'static str),
}

/// What operands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Text; no files.
    Text,
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
        here: Here,
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
pub enum Here {
    /// Always, without operands.
    Always,
    /// With one of these options.
    With(&'static [&'static str]),
}

/// Returns what a command of one of the tables does.
pub fn read(call: &Call<'_>) -> Option<Reading> {
    let tables = [readers::READERS, readers::text::TEXT_READERS, files::FILES, build::BUILDERS];
    let program = tables.into_iter().flatten().find(|program| program.names.contains(&call.name))?;
    Some(program.read(call))
}

impl Program {
    fn read(&self, call: &Call<'_>) -> Reading {
        let parsed = self.grammar.parse(call.args);
        let mut reading = Reading { kind: self.kind, ..Reading::default() };
        for (name, act) in self.acts {
            if !parsed.has(&[name]) {
                continue;
            }
            let mut values = parsed.values(std::slice::from_ref(name));
            match act {
                Act::Writes => reading.writes.extend(values.cloned()),
                Act::Reads => reading.reads.extend(values.cloned()),
                Act::Changes | Act::Lists => {}
                Act::Reconfigures(why) => reading.no_auto.push(why),
                Act::Runs => match values.next() {
                    Some(value) => reading.starts.push(text(value, Via::ExecOption)),
                    None => reading.no_auto.push("starts a program its options do not name"),
                },
            }
            if *act != Act::Reads {
                reading.kind =
                    reading.kind.max(if *act == Act::Writes { Kind::FileOperation } else { Kind::Other });
            }
        }
        if parsed.strange {
            reading.kind = Kind::Other;
        }
        let risky = self.acts.iter().any(|(_, act)| !matches!(act, Act::Reads | Act::Lists));
        if parsed.doubtful && risky {
            reading.unknown = Some("a word that is not known may become an option");
        }
        self.operands(&parsed.operands, &parsed, &mut reading);
        reading
    }

    fn operands(&self, operands: &[Arg], parsed: &super::options::Parsed, reading: &mut Reading) {
        match self.operands {
            Operands::Text => {}
            Operands::Read => reading.reads.extend_from_slice(operands),
            Operands::ReadHere if operands.is_empty() => reading.reads.push(Arg::known(".")),
            Operands::ReadHere => reading.reads.extend_from_slice(operands),
            Operands::PatternThenRead { given_by, here } => {
                let skip = usize::from(!parsed.has(given_by));
                let files = operands.get(skip..).unwrap_or_default();
                let searches = match here {
                    Here::Always => true,
                    Here::With(options) => parsed.has(options),
                };
                match files {
                    [] if searches => reading.reads.push(Arg::known(".")),
                    files => reading.reads.extend_from_slice(files),
                }
            }
            Operands::Write => reading.writes.extend_from_slice(operands),
            Operands::TextThenWrite => reading.writes.extend(operands.iter().skip(1).cloned()),
            Operands::WriteThenRead => {
                reading.writes.extend(operands.first().cloned());
                reading.reads.extend(operands.iter().skip(1).cloned());
            }
            Operands::ReadThenWrite => {
                let into = parsed.has(&["t", "target-directory"]);
                let split = if into { operands.len() } else { operands.len().saturating_sub(1) };
                reading.reads.extend_from_slice(&operands[..split]);
                reading.writes.extend_from_slice(&operands[split..]);
            }
            Operands::Move => {
                reading.reads.extend_from_slice(operands);
                reading.writes.extend_from_slice(operands);
            }
            Operands::ReadThenMaybeWrite => {
                reading.reads.extend(operands.first().cloned());
                reading.writes.extend(operands.iter().skip(1).cloned());
                if operands.len() > 1 {
                    reading.kind = reading.kind.max(Kind::FileOperation);
                }
            }
        }
    }
}

/// A value that is a command for a shell.
pub fn text(value: &Arg, via: Via) -> Start {
    let exact = value.literal().is_some();
    let text = if exact { value.text.clone() } else { value.shown.clone() };
    Start::Text { text, exact, via, here: false }
}
