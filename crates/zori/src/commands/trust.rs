//! `trust show|allow|deny|forget|list`: what the user says about a folder's own settings (`security.md` chapter 6).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use zori_core::text::one_line;

use super::Cx;
use crate::args::LowArgs;
use crate::asking::discard;
use crate::audit;
use crate::base::Base;
use crate::command_error::{CommandError, ErrorCode};
use crate::config::Config;
use crate::exit::Exit;
use crate::settings::{check_output, root};
use crate::trust::project::Project;
use crate::trust::store::{self, Decided, Entry, Store};
use crate::trust::{self, Answer};

/// Shows what a folder says, and what was said about it.
pub fn show(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let (base, folder) = start(cx, args)?;
    let project = Project::look(&folder)?;
    let store = load(&base)?;
    let entry = store.holds(&folder);
    let mut text = format!("{}: {}\n", one_line(&folder.display().to_string()), state(entry, &folder));
    for hook in &project.hooks {
        let fate = match entry.filter(|entry| entry.state == Decided::Trusted) {
            Some(entry) if entry.run.contains(&hook.digest) => "runs",
            Some(entry) if entry.skip.contains(&hook.digest) => "does not run",
            Some(_) => "new or changed; does not run",
            None => "does not run",
        };
        let _ = writeln!(text, "{}: {fate}", trust::lines(&[project.item(hook)])[0]);
    }
    for item in project.items().iter().filter(|item| item.kind != "hook") {
        text += &trust::lines(std::slice::from_ref(item))[0];
        text.push('\n');
    }
    let trouble = project.trouble.iter().map(|trouble| format!("cannot be used: {trouble}"));
    let foreign = project.foreign.iter().map(|why| format!("cannot be trusted: {why}"));
    for line in trouble.chain(foreign).chain(project.remarks()) {
        let _ = writeln!(text, "  {}", one_line(&line));
    }
    Ok(cx.ui.document(&text))
}

/// Trusts a folder.
pub fn allow(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let (base, folder) = start(cx, args)?;
    let project = Project::look(&folder)?;
    if let Some(why) = &project.foreign {
        let message = format!("{} cannot be trusted: {why}", folder.display());
        return Err(CommandError::new(ErrorCode::SettingInvalid, message)
            .hint("others could change what runs; make the folder `.zori` and its files yours alone"));
    }
    load(&base)?;
    let items = project.items();
    for line in trust::lines(&items) {
        cx.ui.say(&line);
    }
    confirm(cx, args, &folder)?;
    let answer = match (args.without_hooks, args.below) {
        (true, _) => Answer::WithoutPrograms,
        (false, true) => Answer::TrustBelow,
        (false, false) => Answer::Trust,
    };
    let mut entry = trust::record(&base, &project, answer, cx.ui)?;
    if args.below && !entry.below {
        store::change(&base, &folder, |old| old.map(|old| Entry { below: true, ..old }))?;
        entry.below = true;
    }
    let below = if entry.below { ", and the folders below" } else { "" };
    Ok(cx.ui.document(&format!("Trusted {}{below}\n", one_line(&folder.display().to_string()))))
}

/// Marks a folder as one that is not trusted.
pub fn deny(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let (base, folder) = start(cx, args)?;
    // Whatever is in there, it can be distrusted.
    let Some(entry) = Entry::new(&folder, Decided::Untrusted) else {
        let message = format!("{} cannot be remembered: its name is not text", folder.display());
        return Err(CommandError::new(ErrorCode::Usage, message));
    };
    store::change(&base, &folder, |_| Some(entry))?;
    audit::trust(&base, &folder, Decided::Untrusted.as_str(), &[], "user", cx.ui);
    let shown = one_line(&folder.display().to_string()).into_owned();
    Ok(cx
        .ui
        .document(&format!("{shown} is not trusted; the mode there is `default` unless you choose one\n")))
}

/// Forgets what was said.
pub fn forget(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let (base, folder) = start(cx, args)?;
    let shown = one_line(&folder.display().to_string()).into_owned();
    if load(&base)?.of(&folder).is_none() {
        return Ok(cx.ui.document(&format!("Nothing was decided about {shown}\n")));
    }
    store::change(&base, &folder, |_| None)?;
    audit::trust(&base, &folder, "undecided", &[], "user", cx.ui);
    Ok(cx.ui.document(&format!("Forgot what was decided about {shown}\n")))
}

/// Lists all decisions.
pub fn list(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let store = load(&Base::find(cx.profile)?)?;
    let line = |entry: &Entry| {
        let path = Path::new(&entry.path);
        format!("{}: {}\n", one_line(&entry.path), state(Some(entry), path))
    };
    let text: String = store.entries().iter().map(line).collect();
    Ok(cx.ui.document(if text.is_empty() { "No folder was decided about.\n" } else { &text }))
}

/// Returns the base directory and the folder in question, canonical.
fn start(cx: &mut Cx<'_>, args: &LowArgs) -> Result<(Base, PathBuf), CommandError> {
    check_output(cx, args, &Config::default())?;
    let base = Base::find(cx.profile)?;
    let folder = match args.positionals.first() {
        Some(folder) => match Path::new(folder).canonicalize() {
            Ok(path) if path.is_dir() => path,
            found => {
                let why = found.map_or_else(|error| error.to_string(), |_| "it is not a directory".into());
                return Err(CommandError::new(
                    ErrorCode::Usage,
                    format!("the folder `{folder}` cannot be used: {why}"),
                ));
            }
        },
        None => root(args)?,
    };
    Ok((base, folder))
}

fn load(base: &Base) -> Result<Store, CommandError> {
    let store = Store::load(Some(base));
    match &store.trouble {
        None => Ok(store),
        Some(trouble) => Err(CommandError::new(ErrorCode::BaseUnusable, trouble)
            .hint("look at the file, and move it away if it is not yours")),
    }
}

fn state(entry: Option<&Entry>, folder: &Path) -> String {
    let Some(entry) = entry else { return "undecided".to_owned() };
    let mut text = entry.state.as_str().to_owned();
    if Path::new(&entry.path) != folder {
        let _ = write!(text, ", because {} is", one_line(&entry.path));
    }
    if entry.below {
        text += ", with the folders below";
    }
    text
}

/// Asks, unless `-y` has answered (DECISIONS 26).
fn confirm(cx: &mut Cx<'_>, args: &LowArgs, folder: &Path) -> Result<(), CommandError> {
    let folder = one_line(&folder.display().to_string()).into_owned();
    if args.yes {
        return Ok(());
    }
    let refused = |message: String| {
        CommandError::new(ErrorCode::ConfirmationRequired, message)
            .hint("`-y` answers yes without a question")
    };
    if !(cx.terminal.attended && cx.terminal.stdin && cx.terminal.stderr) {
        return Err(refused(format!("to trust {folder} has to be confirmed, and nobody can be asked")));
    }
    discard();
    cx.ui.raw(&format!("Trust {folder}? [y/N] "));
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    match (read, line.trim().to_lowercase().as_str()) {
        (Ok(1..), "y" | "yes") => Ok(()),
        _ => Err(refused(format!("{folder} is as it was: only `y` trusts it"))),
    }
}
