//! Questions about the program itself: version, help, schemas. Answered before anything is checked or started.

use serde_json::Value;

use crate::flag::{Shown, framework};
use crate::help;
use crate::manifest;
use crate::mode::Format;
use crate::parse::Parsed;
use crate::print::{Printed, Printer};
use crate::program::Program;
use crate::reply::Reply;

/// Returns the answer if the call is such a question. `clean`: nothing is wrong with it otherwise.
pub fn answer<A>(
    program: &'static Program<A>,
    parsed: &Parsed<A>,
    printer: &Printer,
    elapsed_ms: u64,
    clean: bool,
) -> Option<Printed> {
    let args = &parsed.args;
    if args.has(&framework::VERSION) {
        let stdout = format!("{} {}\n", program.name, program.version);
        return Some(Printed { stdout, said: Vec::new(), exit: crate::exit::Exit::Success });
    }
    let bare = parsed.path.is_empty() && parsed.command.is_none() && !parsed.unknown;
    if args.has(&framework::SCHEMA) || args.has(&framework::OUTPUT_SCHEMA) {
        let data = match parsed.command {
            Some(command) if args.has(&framework::OUTPUT_SCHEMA) => manifest::output_schema(command),
            Some(command) => manifest::schema(program, command),
            None if bare => manifest::extended(program),
            None => return None,
        };
        return Some(structured(printer).reply(Reply::one(data), elapsed_ms));
    }
    if args.has(&framework::HELP) || (bare && clean) {
        return Some(help(program, parsed, printer, bare && !args.has(&framework::HELP), elapsed_ms));
    }
    None
}

/// The same printer, for what is only ever JSON.
fn structured(printer: &Printer) -> Printer {
    let mut printer = printer.clone();
    printer.mode.format = Format::Json;
    printer.max_bytes = usize::MAX;
    printer.max_field = None;
    printer
}

fn help<A>(
    program: &'static Program<A>,
    parsed: &Parsed<A>,
    printer: &Printer,
    bare: bool,
    elapsed_ms: u64,
) -> Printed {
    let shown = if parsed.all { Shown::All } else { Shown::Common };
    let text = help::text(program, &parsed.path, shown);
    // Help of any command is a utility's answer: JSON where no person reads. Behind `| less` one does (DECISIONS 50).
    let mode = &printer.mode;
    let json = if mode.asked { mode.format.structured() } else { !mode.for_eyes && !mode.person_near };
    if !json {
        return Printed { stdout: text, said: Vec::new(), exit: crate::exit::Exit::Success };
    }
    let data = if bare { help::list(program) } else { Value::Null };
    let reply =
        Reply::one(data).meta("help", true).meta("schema_ref", help::schema_ref(program, &parsed.path));
    let mut printed = structured(printer).reply(reply, elapsed_ms);
    printed.said = text.trim_end().lines().map(str::to_owned).collect();
    printed
}
