//! Libraries do not touch the outside on their own: they do not print, and they read neither the environment nor
//! a clock nor a random source. The binary reads the environment in one file and hands a value down. No crate keeps state
//! that belongs to the process: a `static` that can change has no owner. Exceptions are listed with a reason.

use super::Finding;
use super::scan;
use crate::workspace::{TextFile, Workspace};

/// What library code must not contain, and what to do instead.
const BANS: &[(&str, &str)] = &[
    ("println!", "a library does not print: emit an event"),
    ("print!", "a library does not print: emit an event"),
    ("dbg!", "a library does not print"),
    ("io::stdout(", "a library does not print: take a writer"),
    ("io::stderr(", "a library does not print: take a writer"),
    ("io::stdin(", "a library does not read stdin: take a reader"),
    ("std::env::", "a library does not read the environment: take a value"),
    ("env::var", "a library does not read the environment: take a value"),
    ("env::current_dir", "a library does not read the working directory: take a path"),
    ("env::temp_dir", "a library does not read the environment: take a path"),
    ("home_dir(", "a library does not look for the home directory: take a path"),
    ("process::exit", "a library does not end the program: return"),
    ("SystemTime::now", "a library does not read the clock: take a `Clock`"),
    ("Instant::now", "a library does not read the clock: take a `Clock`"),
    ("thread::sleep", "a library does not sleep: wait for a condition"),
    ("getrandom", "a library makes no random numbers: take an `IdSource`"),
    ("fastrand", "a library makes no random numbers: take an `IdSource`"),
    ("RandomState::new", "a library makes no random numbers: take an `IdSource`"),
];

/// What the binary must not contain outside of the one file that reads the environment.
const BINARY_BANS: &[(&str, &str)] = &[
    ("std::env", "the binary reads the environment in environment.rs alone: take an `Environment`"),
    ("Environment::read", "the binary reads the environment once: take an `Environment`"),
];

/// The one file of the binary that reads the environment.
const ENVIRONMENT: &str = "crates/zori-setup/src/environment.rs";

/// Types whose value can change though it is shared.
const MUTABLE: &[&str] =
    &["Atomic", "Cell<", "LazyCell<", "LazyLock<", "Mutex<", "OnceCell<", "OnceLock<", "RefCell<", "RwLock<"];

/// How an offence by a `static` is called in a finding and in the list of exceptions.
const STATIC: &str = "static";

/// What nobody's code may contain, that of the binary neither: the working directory is everybody's, so it never changes.
const NEVER: &[(&str, &str)] = &[
    ("set_current_dir", "the working directory never changes: take a path"),
    ("chdir(", "the working directory never changes: take a path"),
    ("fchdir(", "the working directory never changes: take a path"),
];

/// A file that may do what others may not, and why.
struct Exception {
    path: &'static str,
    ban: &'static str,
    why: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "crates/zori-engine/src/system.rs",
        ban: "SystemTime::now",
        why: "`SystemClock` and `SystemIds` are for embedders, who choose them",
    },
    Exception {
        path: "crates/zori-engine/src/system.rs",
        ban: "Instant::now",
        why: "`SystemClock` and `SystemIds` are for embedders, who choose them",
    },
    Exception {
        path: "crates/zori-engine/src/system.rs",
        ban: "getrandom",
        why: "`SystemClock` and `SystemIds` are for embedders, who choose them",
    },
    Exception {
        path: "crates/zori-mcp/src/client/server.rs",
        ban: "Instant::now",
        why: "the clock of the runtime, by which it waits before a list is asked for again",
    },
    Exception {
        path: "crates/zori-mcp/src/client/form_clock.rs",
        ban: "Instant::now",
        why: "the clock of the runtime, by which the limit of a call stands while a form is open",
    },
    Exception {
        path: "crates/zori-mcp/src/client/tool.rs",
        ban: "Instant::now",
        why: "the clock of the runtime, by which the limit of a call is moved when it reports progress",
    },
    Exception {
        path: "crates/zori/src/lib.rs",
        ban: "Environment::read",
        why: "`main` reads it and hands it on",
    },
    Exception {
        path: "crates/zori-chat/src/chat/editor.rs",
        ban: STATIC,
        why: "the terminal as it was is restored by a plain function that hears signals, and a process has one terminal",
    },
    Exception {
        path: "crates/zori-chat/src/screen/tty.rs",
        ban: STATIC,
        why: "the terminal as it was is restored by a plain function that hears signals, and what a panic said waits until it is",
    },
    Exception {
        path: "crates/zori/src/commands/doctor.rs",
        ban: "std::env",
        why: "the names of system and processor are constants of the compiler",
    },
    Exception {
        path: "crates/zori-atomic/src/lib.rs",
        ban: STATIC,
        why: "names of temporary files differ within one process",
    },
    Exception {
        path: "crates/zori-mcp/examples/fixtures.rs",
        ban: STATIC,
        why: "an example, whose function for secrets is a plain one and has nothing to count in",
    },
    Exception {
        path: "crates/zori-index/src/writer.rs",
        ban: STATIC,
        why: "one thread of the process writes to a file, and everybody in it who opens the file has to find that thread",
    },
    Exception {
        path: "crates/zori-redact/src/patterns.rs",
        ban: STATIC,
        why: "patterns that are compiled when they are first needed, and never change",
    },
    Exception {
        path: "crates/zori-tools/src/atomic.rs",
        ban: STATIC,
        why: "names of temporary files differ within one process",
    },
    Exception {
        path: "crates/zori-tools/src/atomic/left_over.rs",
        ban: STATIC,
        why: "which folders this process has looked through is true of all its sessions",
    },
    Exception {
        path: "crates/zori-store/src/lock.rs",
        ban: "thread::sleep",
        why: "what a dead holder had forked lets go of its lock in a moment, and says so to nobody",
    },
    Exception {
        path: "crates/zori-undo/src/restore/journal.rs",
        ban: "thread::sleep",
        why: "what another thread has just forked lets go of the lock in a moment, and says so to nobody",
    },
    Exception {
        path: "crates/zori-tui/src/wrap.rs",
        ban: STATIC,
        why: "how wide a terminal draws a character is true of all that is laid out for it",
    },
    Exception {
        path: "crates/zori-tools/src/process/strays.rs",
        ban: STATIC,
        why: "the children of a process are the process's, and every session in it has to know them",
    },
    Exception {
        path: "crates/zori-tools/src/walk.rs",
        ban: STATIC,
        why: "how many processors there are does not change, and to ask costs system calls",
    },
    Exception {
        path: "crates/zori-providers/src/http/body.rs",
        ban: "Instant::now",
        why: "a timer of tokio is set by tokio's own clock, which tests can stop",
    },
    Exception {
        path: "crates/zori-serve/src/gui.rs",
        ban: "Instant::now",
        why: "a timer of tokio is set by tokio's own clock, which tests can stop",
    },
    Exception {
        path: "crates/zori-serve/src/jsonl.rs",
        ban: "Instant::now",
        why: "a timer of tokio is set by tokio's own clock, which tests can stop",
    },
    Exception {
        path: "crates/zori-tools/src/bash.rs",
        ban: "Instant::now",
        why: "how long a command ran is told to the model, by tokio's own clock, which tests can stop",
    },
    Exception {
        path: "crates/zori-store/src/audit/chain.rs",
        ban: "thread::sleep",
        why: "no system call waits for a file lock with a time limit, and who holds it may have been stopped",
    },
    Exception {
        path: "crates/zori-tools/src/process/spawn.rs",
        ban: "std::env::",
        why: "a child inherits the environment, which is what the library for processes does, too",
    },
    Exception {
        path: "crates/zori-tools/src/process/vfork.rs",
        ban: "chdir(",
        why: "the child that is about to become its program goes there, and has a working directory of its own",
    },
    Exception {
        path: "crates/zori-tools/src/process/watchdog.rs",
        ban: "chdir(",
        why: "the guard is a process of its own, and keeps no folder from being unmounted",
    },
    Exception {
        path: "crates/zori-tools/src/process/reaper.rs",
        ban: "thread::sleep",
        why: "no system call waits for the end of a process group, so a thread of its own looks again and again",
    },
];

/// Crates that stand outside: the binary and its two halves, the test kit and the chores.
const OUTSIDERS: &[&str] =
    &["crates/zori/", "crates/zori-chat/", "crates/zori-setup/", "crates/zori-testkit/", "xtask/"];

/// The crates that are the binary's side: of them, one file alone reads the environment.
const BINARY: &[&str] = &["crates/zori/src/", "crates/zori-chat/src/", "crates/zori-setup/src/"];

/// Looks for offences, and for exceptions that nobody needs any more.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = vec![false; EXCEPTIONS.len()];
    let tests = test_files(workspace);
    let product = |file: &&TextFile| file.path.starts_with("crates/") && !tests.contains(&file.path);
    for file in workspace.rust().filter(product) {
        let mut found = offences(&file.text, NEVER);
        if is_library(file) {
            found.extend(offences(&file.text, BANS));
        } else if BINARY.iter().any(|folder| file.path.starts_with(folder)) && file.path != ENVIRONMENT {
            found.extend(offences(&file.text, BINARY_BANS));
        }
        if !file.path.starts_with("crates/zori-testkit/") {
            found.extend(changing_statics(&file.text));
        }
        for (line, ban, instead) in found {
            match EXCEPTIONS.iter().position(|e| e.path == file.path && e.ban == ban) {
                Some(n) => used[n] = true,
                None => findings.push(Finding::line(&file.path, line, format!("`{ban}`: {instead}"))),
            }
        }
    }
    for (exception, used) in EXCEPTIONS.iter().zip(used) {
        if !used {
            let what = format!("no longer uses `{}` ({}): drop the exception", exception.ban, exception.why);
            findings.push(Finding::file(exception.path, what));
        }
    }
    findings
}

fn is_library(file: &TextFile) -> bool {
    let in_sources = file.path.starts_with("crates/") && file.path.contains("/src/");
    in_sources && !OUTSIDERS.iter().any(|crate_dir| file.path.starts_with(crate_dir))
}

/// Returns the files that only tests see: `tests.rs`, what lies below `tests/`, and modules declared so.
pub(super) fn test_files(workspace: &Workspace) -> Vec<String> {
    let mut declared = Vec::new();
    for file in workspace.rust() {
        let code = scan::code_only(&file.text);
        let stem = file.path.strip_suffix(".rs").expect("a Rust source is called so");
        let folder = match file.name() {
            "lib.rs" | "main.rs" | "mod.rs" => stem.rsplit_once('/').map_or("", |(folder, _)| folder),
            _ => stem,
        };
        for module in scan::test_only_modules(&code) {
            declared.push(format!("{folder}/{module}"));
        }
    }
    let by_name = |path: &str| path.ends_with("/tests.rs") || path.contains("/tests/");
    let by_declaration = |path: &str| {
        declared.iter().any(|module| {
            path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        })
    };
    let files = workspace.rust().map(|file| file.path.as_str());
    files.filter(|path| by_name(path) || by_declaration(path)).map(str::to_owned).collect()
}

/// Returns line, ban and advice for each offence in the code that is not a test.
fn offences(source: &str, bans: &[(&'static str, &'static str)]) -> Vec<(usize, &'static str, &'static str)> {
    let code = scan::without_tests(&scan::code_only(source));
    let mut found = Vec::new();
    for (n, line) in code.lines().enumerate() {
        if let Some((ban, instead)) = bans.iter().find(|(ban, _)| contains_word(line, ban)) {
            found.push((n + 1, *ban, *instead));
        }
    }
    found
}

/// Returns the lines that declare a `static` whose value can change.
fn changing_statics(source: &str) -> Vec<(usize, &'static str, &'static str)> {
    const INSTEAD: &str = "state of the process has no owner: make it a field of a value that is handed on";
    let code = scan::without_tests(&scan::code_only(source));
    let changes = |line: &str| {
        let Some((_, declared)) = line.split_once("static ").filter(|_| contains_word(line, "static "))
        else {
            return line.contains("thread_local!");
        };
        let declared = declared.split_once('=').map_or(declared, |(before, _)| before);
        let Some((name, kind)) = declared.split_once(':') else { return false };
        let is_name = name.trim().chars().all(|c| c == '_' || c.is_alphanumeric());
        name.starts_with("mut ") || (is_name && MUTABLE.iter().any(|mutable| kind.contains(mutable)))
    };
    let lines = code.lines().enumerate().filter(|(_, line)| changes(line));
    lines.map(|(n, _)| (n + 1, STATIC, INSTEAD)).collect()
}

/// Whether the line contains the text at the beginning of a word or path.
fn contains_word(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(at, _)| !line[..at].ends_with(|c: char| c == '_' || c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banned(source: &str) -> Vec<(usize, &'static str)> {
        offences(source, BANS).into_iter().map(|(line, ban, _)| (line, ban)).collect()
    }

    #[test]
    fn code_is_judged_and_nothing_else() {
        let source = "fn a() {\n    println!(\"x\");\n    let t = std::time::Instant::now();\n}\n\
            // println!\nconst A: &str = \"println!\";\n#[cfg(test)]\nmod tests { fn b() { println!() } }\n";
        assert_eq!(banned(source), [(2, "println!"), (3, "Instant::now")]);
    }

    /// F-041.
    #[test]
    fn nobody_changes_the_working_directory() {
        let found = |source| {
            offences(source, NEVER).into_iter().map(|(line, ban, _)| (line, ban)).collect::<Vec<_>>()
        };
        assert_eq!(
            found(
                "fn a() {\n    std::env::set_current_dir(p)?;\n    rustix::process::chdir(p)?;\n    libc::fchdir(f);\n}\n"
            ),
            [(2, "set_current_dir"), (3, "chdir("), (4, "fchdir(")]
        );
        assert_eq!(
            found("command.current_dir(p); // chdir(p)\n#[cfg(test)]\nmod tests { fn b() { chdir(p) } }\n"),
            []
        );
    }

    #[test]
    fn a_static_that_changes_is_found() {
        let lines = |source| changing_statics(source).into_iter().map(|(line, ..)| line).collect::<Vec<_>>();
        let source = "static A: OnceLock<u8> = OnceLock::new();\n    pub static B: Mutex<Vec<u8>> = Mutex::new(Vec::new());\n\
            static mut C: u8 = 0;\nthread_local! { }\nstatic D: [OnceLock<u8>; 3] = [];\n";
        assert_eq!(lines(source), [1, 2, 3, 4, 5]);
        let fine = "static A: &[&str] = &[];\nfn f(a: &'static str, b: Mutex<u8>) {}\nstatic P: Program = Program { x: Cell::new() };\n\
            #[cfg(test)]\nmod tests { static A: AtomicU8 = AtomicU8::new(0); }\n";
        assert_eq!(lines(fine), [] as [usize; 0]);
    }

    #[test]
    fn the_binary_asks_for_no_variable() {
        let found = |source| offences(source, BINARY_BANS).len();
        assert_eq!(found("std::env::var(a); use std::env; env!(\"A\"); crate::environment::Environment"), 1);
        assert_eq!(found("let env = Environment::read();"), 1);
        assert_eq!(found("env!(\"CARGO\"); cx.app.env.text(a)"), 0);
    }

    #[test]
    fn a_name_that_ends_alike_is_fine() {
        assert_eq!(banned("my_println!(); crate::env::ToolEnv; env!(\"X\"); writeln!(w)"), []);
        assert_eq!(banned("use std::env::var;"), [(1, "std::env::")]);
    }
}
