//! `cargo xtask bench [AREA]`: speed and size of the release build, beside what the machine allows at best.
//!
//! Everything is measured in one run against a loopback server ([`server`]): zori, a bare client that does the
//! least an agent can do (`bench/floor.rs`), and a process that does nothing. An area is a file below; each gives
//! [`Figure`]s, which are printed as one table; `forgiveness` gives points. `docs/benchmarks.md` says how to read it.
//!
//! `--binary PATH` measures that build of zori, such as the one of before, and builds nothing. Areas whose code is linked into this
//! program are left to the release build then.

mod area;
mod bare;
mod context;
mod count;
mod decode;
mod events;
mod extensions;
mod figure;
mod forgiveness;
mod index;
mod long_answer;
pub mod order;
mod panel;
mod permissions;
mod programs;
mod protocols;
mod recall;
mod relocations;
mod replies;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod screen;
mod search;
mod server;
mod slim;
#[cfg(target_os = "linux")]
mod undo;
mod utilities;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use self::area::Bench;
use self::figure::Figure;
use self::programs::Programs;
use crate::test::cargo_command;
use crate::workspace::Workspace;

/// A group of figures that can be asked for by name.
struct Area {
    name: &'static str,
    measure: fn(&Bench) -> Result<Vec<Figure>>,
}

const AREAS: &[Area] = &[
    // It starts commands from this process, which takes the longer the larger it has become.
    #[cfg(target_os = "linux")]
    Area { name: "sandbox", measure: sandbox::sandbox },
    Area { name: "start", measure: area::start },
    Area { name: "memory", measure: area::memory },
    Area { name: "bare", measure: bare::bare },
    Area { name: "tools", measure: area::tools },
    Area { name: "stream", measure: area::stream },
    Area { name: "decode", measure: decode::decode },
    Area { name: "events", measure: events::events },
    Area { name: "extensions", measure: extensions::extensions },
    Area { name: "protocols", measure: protocols::protocols },
    Area { name: "output", measure: area::output },
    Area { name: "request", measure: area::request },
    Area { name: "recall", measure: recall::recall },
    Area { name: "search", measure: search::search },
    Area { name: "context", measure: context::context },
    Area { name: "panel", measure: panel::panel },
    Area { name: "utilities", measure: utilities::utilities },
    Area { name: "index", measure: index::index },
    Area { name: "permissions", measure: permissions::permissions },
    #[cfg(target_os = "linux")]
    Area { name: "screen", measure: screen::screen },
    #[cfg(target_os = "linux")]
    Area { name: "undo", measure: undo::undo },
    Area { name: "size", measure: area::size },
];

/// Areas in which another process is measured.
const OUTSIDE: &[&str] = &[
    "start",
    "memory",
    "bare",
    "tools",
    "stream",
    "extensions",
    "protocols",
    "output",
    "request",
    "utilities",
    "index",
    "screen",
    "size",
];

/// Measures and prints; exit code 1 when a bar is missed.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let (binary, args) = match args {
        [flag, path, areas @ ..] if flag == "--binary" => {
            // The programs run in folders of their own.
            (
                Some(Path::new(path).canonicalize().with_context(|| format!("no program is at `{path}`"))?),
                areas,
            )
        }
        _ => (None, args),
    };
    let binary = binary.as_deref();
    if let Some((decode::CHILD, rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return decode::in_child(rest);
    }
    // Points, not times: it is asked for by itself.
    if args == ["forgiveness"] {
        return forgiveness::score(workspace);
    }
    if args == ["slim"] {
        return slim::slim(workspace);
    }
    let asked = |name: &str| args.iter().any(|asked| asked == name);
    // What memory takes and what the memory of a project takes are asked for by one name; the second is measured in this program.
    let also = |area: &Area| area.name == "recall" && binary.is_none() && asked("memory");
    let areas: Vec<&Area> =
        AREAS.iter().filter(|area| args.is_empty() || asked(area.name) || also(area)).collect();
    if let Some(unknown) = args.iter().find(|name| !AREAS.iter().any(|a| a.name == *name)) {
        let names: Vec<_> = AREAS.iter().map(|area| area.name).collect();
        bail!(
            "no area is called `{unknown}`; there are {}, and forgiveness and slim by themselves",
            names.join(", ")
        );
    }
    if let Some(inside) = areas.iter().find(|area| binary.is_some() && !OUTSIDE.contains(&area.name)) {
        bail!("`{}` is measured in this program, so `--binary` is not for it", inside.name);
    }
    if cfg!(debug_assertions) && binary.is_none() {
        return optimised(workspace, args);
    }
    let bench = Bench::new(match binary {
        Some(binary) => Programs::beside(workspace, binary)?,
        None => Programs::build(workspace)?,
    })?;
    let mut figures = Vec::new();
    for area in areas {
        eprintln!("measuring {} ...", area.name);
        bench.empty_home()?;
        figures.extend((area.measure)(&bench).with_context(|| format!("area `{}`", area.name))?);
    }
    print!("{}", figure::table(&figures));
    let missed = figures.iter().any(Figure::missed);
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs the same again as an optimised program: the search figures come from code linked into this one.
fn optimised(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let mut command = cargo_command();
    command.args(["run", "--release", "--quiet", "--package", "xtask", "--", "bench"]).args(args);
    let status = command.current_dir(&workspace.root).status().context("cannot run cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Areas that are linked into this program say nothing about another build.
    #[test]
    fn another_build_is_measured_from_outside() {
        let workspace = Workspace::load().unwrap();
        let refusal = |area: &str| {
            // A folder is no program.
            let args = ["--binary", workspace.root.to_str().unwrap(), area].map(str::to_owned);
            chore(&workspace, &args).unwrap_err().to_string()
        };
        assert_eq!(refusal("decode"), "`decode` is measured in this program, so `--binary` is not for it");
        assert_eq!(refusal("size"), format!("{} was not built", workspace.root.display()));
        assert!(OUTSIDE.iter().all(|name| AREAS.iter().any(|area| area.name == *name)));
    }
}
