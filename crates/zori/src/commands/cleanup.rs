//! `cleanup`: removes what runs left behind that ended without tidying up: temporary folders, and remembered answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::PARTIAL_FAILURE;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::reply::{Effect, Reply};

use super::{Context, example};
use crate::base::Base;
use crate::program::App;

/// The entry.
pub const COMMAND: Command<App> = Command {
    flags: const {
        &[
            Flag::valued(
                "scope",
                "SCOPE",
                Kind::Choice(&["all", "temp", "cache"]),
                "What to remove: temp (folders of runs that are gone), cache (remembered answers), all",
            )
            .default("all"),
            Flag::valued("min-age", "DURATION", Kind::Duration, "Only what is older than this").default("1h"),
        ]
    },
    examples: &[
        example("what would go", "zori cleanup --dry-run"),
        example("let it go", "zori cleanup --yes"),
        example("only old temporary folders", "zori cleanup --scope temp --min-age 24h --yes"),
    ],
    danger: Danger::Destructive,
    preview: Some(|cx, args| {
        let items = leftovers(cx, args).into_iter().map(|left| left.path.display().to_string()).collect();
        Ok(Preview { verb: "delete", items, reversible: false })
    }),
    exits: &[Exit::Partial],
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"effect":{"enum":["deleted","noop"]},
        "cleaned":{"type":"array","items":{"type":"object","required":["path","type","bytes_freed"]}},
        "total_bytes_freed":{"type":"integer"}}}"#,
    ..Command::new(&["cleanup"], "Remove what runs that are gone left behind", run)
};

/// Something that nobody needs any more.
struct Leftover {
    path: PathBuf,
    kind: &'static str,
}

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (mut cleaned, mut failed, mut total) = (Vec::new(), Vec::new(), 0);
    for Leftover { path, kind } in leftovers(cx, args) {
        cx.cancel.check()?;
        let bytes = size(&path);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        let shown = path.display().to_string();
        match removed {
            Ok(()) => {
                total += bytes;
                cleaned.push(json!({"path": shown, "type": kind, "bytes_freed": bytes}));
                cx.steps.done(shown);
            }
            Err(error) => failed.push(format!("{shown}: {error}")),
        }
    }
    let count = cleaned.len();
    let effect = if count == 0 { Effect::Noop } else { Effect::Deleted };
    let data = json!({"cleaned": cleaned, "total_bytes_freed": total});
    if !failed.is_empty() {
        let mut data = data;
        data["effect"] = json!(effect);
        data["partial"] = json!(true);
        let message = format!("some could not be removed: {}", failed.join("; "));
        return Err(Failure::new(&PARTIAL_FAILURE, message).with_data(data));
    }
    let text = match count {
        0 => "Nothing to remove.".to_owned(),
        n => format!("Removed {n}, {total} bytes."),
    };
    Ok(Reply::changed(effect, data).text(text))
}

/// Returns what can go, sorted by path.
fn leftovers(cx: &Context<'_>, args: &Args) -> Vec<Leftover> {
    let scope = args.text("scope").unwrap_or("all");
    let age = args.duration("min-age").unwrap_or_default();
    let old = |path: &Path| {
        let changed = fs::symlink_metadata(path).and_then(|facts| facts.modified());
        let since = |changed| SystemTime::now().duration_since(changed).unwrap_or(Duration::ZERO);
        changed.is_ok_and(|changed| since(changed) >= age)
    };
    let mut found = Vec::new();
    if matches!(scope, "all" | "temp") {
        let dead = children(&std::env::temp_dir()).filter(|path| is_of_a_dead_run(path, cx.program.name));
        found.extend(dead.map(|path| Leftover { path, kind: "temp" }));
    }
    if matches!(scope, "all" | "cache")
        && let Ok(base) = Base::find(cx.app.profile)
    {
        found.extend(children(&base.dir().join("idempotency")).map(|path| Leftover { path, kind: "cache" }));
    }
    found.retain(|left| old(&left.path));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn children(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns whether a folder is one that a run of ours made for itself, and the run is gone: `zori-PID-N` of the tools, whose
/// process is not there, or `zori-ID` of the framework, whose lock nobody holds.
fn is_of_a_dead_run(path: &Path, program: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ours = name.strip_prefix(program).or_else(|| name.strip_prefix("zori"));
    let Some(rest) = ours.and_then(|rest| rest.strip_prefix('-')) else { return false };
    let Ok(facts) = fs::symlink_metadata(path) else { return false };
    if !facts.is_dir() || !is_mine(&facts) {
        return false;
    }
    if let Ok(lock) = fs::OpenOptions::new().write(true).open(path.join(".alive")) {
        return lock.try_lock().is_ok();
    }
    let process = rest.split_once('-').and_then(|(pid, n)| {
        n.parse::<u32>().ok()?;
        rustix::process::Pid::from_raw(pid.parse().ok()?)
    });
    process.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

fn is_mine(facts: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    facts.uid() == rustix::process::getuid().as_raw()
}

fn size(path: &Path) -> u64 {
    let own = fs::symlink_metadata(path);
    match own {
        Ok(facts) if facts.is_dir() => children(path).map(|child| size(&child)).sum(),
        Ok(facts) => facts.len(),
        Err(_) => 0,
    }
}
