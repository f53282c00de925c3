//! `cleanup`: removes what runs left behind: temporary folders of those that ended without tidying up, remembered answers,
//! and logs that were put aside long ago.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use serde_json::json;
use zori_contract::args::Args;
use zori_contract::cancel::Cancel;
use zori_contract::command::Command;
use zori_contract::error::{IO_ERROR, PARTIAL_FAILURE};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::path::AbsPath;
use zori_contract::reply::{Effect, Reply};
use zori_contract::walk::Walk;

use super::{Context, example};
use zori_setup::app::App;

const SCOPE: Flag = Flag::valued(
                "scope",
                "SCOPE",
                Kind::Choice(&["all", "temp", "cache", "logs"]),
                "What to remove: temp (folders of runs that are gone), cache (remembered answers, lists of models), logs (put aside for 30 days), all",
            )
            .default("all");
const MIN_AGE: Flag =
    Flag::valued("min-age", "DURATION", Kind::Duration, "Only what is older than this").default("1h");

pub const COMMAND: Command<App> = Command {
    flags: const { &[SCOPE, MIN_AGE] },
    examples: &[
        example("what would go", "zori cleanup --dry-run"),
        example("let it go", "zori cleanup --yes"),
        example("only old temporary folders", "zori cleanup --scope temp --min-age 24h --yes"),
    ],
    danger: Danger::Destructive,
    walks: true,
    preview: Some(|cx, args| {
        let items = leftovers(cx, args)?.into_iter().map(|left| left.path.display().to_string()).collect();
        Ok(Preview { verb: "delete", items, reversible: false })
    }),
    exits: &[Exit::Partial],
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"effect":{"enum":["deleted","noop"]},
        "cleaned":{"type":"array","items":{"type":"object","required":["path","type","bytes_freed"]}},
        "total_bytes_freed":{"type":"integer"}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"$ZORI_HOME","type":"cache"},{"path":"$TMPDIR","type":"temp"}]}"#,
    ..Command::new(&["cleanup"], "Remove what runs that are gone left behind", run)
};

/// How long a log that was put aside is kept in any case.
const KEPT_LOGS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Something that nobody needs any more.
struct Leftover {
    path: PathBuf,
    kind: &'static str,
    bytes: u64,
}

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (mut cleaned, mut failed, mut total) = (Vec::new(), Vec::new(), 0);
    for Leftover { path, kind, bytes } in leftovers(cx, args)? {
        cx.cancel.check()?;
        // What is found is never entered through a link.
        let folder = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir());
        let removed = if folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
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

/// Returns what can go, sorted by path. Everything is looked at before anything goes.
fn leftovers(cx: &Context<'_>, args: &Args) -> Result<Vec<Leftover>, Failure> {
    let scope = args.text(&SCOPE).unwrap_or("all");
    let age = args.duration(&MIN_AGE).unwrap_or_default();
    let walk = Walk::asked(args);
    let wanted = |kind: &str| scope == "all" || scope == kind;
    let mut found = Vec::new();
    if wanted("temp") {
        let dead = children(&cx.cwd.join(cx.app.env.temp_dir()), walk)?;
        found.extend(dead.filter(|path| is_from_dead_run(path, cx.program.name)).map(|path| ("temp", path)));
    }
    if let Ok(data_dir) = cx.app.data_dir() {
        let data_dir = cx.cwd.join(data_dir.dir());
        if wanted("cache") {
            // The lock beside them may be held at any time.
            let answers =
                children(&data_dir.join("idempotency"), walk)?.filter(|path| !path.ends_with(".lock"));
            let lists = children(&data_dir.join("models"), walk)?;
            found.extend(answers.chain(lists).map(|path| ("cache", path)));
        }
        if wanted("logs") {
            let projects = children(&data_dir.join("projects"), walk)?.map(|project| data_dir.join(project));
            for folder in projects.chain([data_dir.clone()]) {
                let aside = children(&folder, walk)?.filter(|path| is_rotated_log(path));
                found.extend(aside.map(|path| ("logs", path)));
            }
        }
    }
    let age_of = |kind: &str| if kind == "logs" { age.max(KEPT_LOGS) } else { age };
    found.retain(|(kind, path)| is_older(path, age_of(kind)));
    found.sort_by(|a, b| a.1.cmp(&b.1));
    let sized = |(kind, path): (&'static str, PathBuf)| {
        let bytes = size(&path, walk, &cx.cancel)?;
        Ok(Leftover { path, kind, bytes })
    };
    found.into_iter().map(sized).collect()
}

fn is_older(path: &Path, age: Duration) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|facts| facts.modified());
    changed.is_ok_and(|changed| SystemTime::now().duration_since(changed).unwrap_or(Duration::ZERO) >= age)
}

/// Returns what lies in a folder; nothing, where it is a link and those are not followed. One that leads to itself is a failure.
fn children(folder: &AbsPath, walk: Walk) -> Result<impl Iterator<Item = PathBuf> + use<>, Failure> {
    let link = fs::symlink_metadata(folder).is_ok_and(|facts| facts.is_symlink());
    let entries = match fs::read_dir(folder) {
        _ if link && !walk.follow => None,
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            let next = fs::read_link(folder).unwrap_or_default();
            return Err(Failure::symlink_loop(folder, &folder.join("..").join(next), 0));
        }
        entries => entries.ok(),
    };
    Ok(entries.into_iter().flatten().flatten().map(|entry| entry.path()))
}

/// Returns whether a file is a part of an audit log that was put aside because it was full.
fn is_rotated_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix("audit.jsonl.").is_some_and(|number| number.parse::<u32>().is_ok());
    number && fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file())
}

/// Returns whether a folder is one that a run of ours made for itself, and the run is gone: `zori-PID-N` of the tools, whose
/// process is not there, or `zori-ID` of the framework, whose lock nobody holds.
fn is_from_dead_run(path: &Path, program: &str) -> bool {
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
    process.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH))
}

fn is_mine(facts: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    facts.uid() == rustix::process::getuid().as_raw()
}

/// Returns how many bytes go with it. What lies behind its links stays.
fn size(path: &Path, walk: Walk, cancel: &Cancel) -> Result<u64, Failure> {
    match (fs::symlink_metadata(path), AbsPath::new(path)) {
        (Ok(facts), Some(path)) if facts.is_dir() => {
            match (Walk { follow: false, ..walk }).below(&path, cancel) {
                Ok(below) => Ok(below.iter().map(|found| found.bytes).sum()),
                // Whoever cannot look into it will not be able to remove it, and say so.
                Err(failure) if failure.kind == &IO_ERROR => Ok(0),
                Err(failure) => Err(failure),
            }
        }
        (Ok(facts), _) => Ok(facts.len()),
        (Err(_), _) => Ok(0),
    }
}
