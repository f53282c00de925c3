//! The chat's commands about permissions: `/mode` and `/permissions`. Here the user speaks, so a mode may be widened as
//! well as tightened (MODE-1, MODE-4).

use rustix::process::geteuid;
use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_host::summary;
use zori_policy::{Mode, Policy};

use super::Chat;
use super::slash::Next;
use crate::config::set_key;
use crate::host_failure::of_mode;
use crate::plain::PlainSession;

/// What root is told (MODE-3).
pub(crate) const AS_ROOT: &str =
    "you are root, and the mode yolo runs commands as root without a question; `/mode default` asks first";

/// What is said when a mode is chosen that would have started in a sandbox (DECISIONS 12).
const NO_SANDBOX: &str = "Commands of this chat run outside a sandbox, since it was switched off";

/// Returns whether commands run as root and without a question.
pub(crate) fn as_root_without_questions(policy: &Policy) -> bool {
    policy.mode.mode == Mode::Yolo && geteuid().is_root()
}

/// Shows the mode, or changes it for the rest of the chat.
pub(super) fn mode(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let (name, save) = match rest.strip_suffix("--save") {
        Some(name) => (name.trim(), true),
        None => (rest, false),
    };
    let PlainSession { host, .. } = &mut chat.plain;
    if !name.is_empty() {
        let permission = &mut host.settings.permission;
        let (choice, shell) = permission.modes.named("/mode", name).map_err(of_mode)?;
        host.settings.tools.child_env.set_mode(choice.mode);
        permission.policy.mode = choice;
        permission.policy.shell = shell.clone();
        permission.modes.source = "`/mode`".to_owned();
        chat.plain.session_mut().set_mode(choice, shell);
    }
    let (host, policy) = (&chat.plain.host, chat.plain.session().policy());
    chat.cx.ui.say(&summary::mode_line(policy, &host.settings.permission.modes.source));
    if !policy.shell.allowed {
        chat.cx.ui.say(summary::SHELL_OFF);
    }
    let mode = host.settings.permission.policy.mode.mode;
    if !name.is_empty() && mode != Mode::Yolo {
        let said = match host.confinement_of(mode) {
            Some((confinement, holding)) => format!("Sandbox: {}", confinement.status(holding)),
            None => NO_SANDBOX.to_owned(),
        };
        chat.cx.ui.say(&said);
    }
    if save {
        keep(chat)?;
    }
    if name.is_empty() && !save {
        let own = Mode::ALL.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(", ");
        chat.cx.ui.say(&format!("`/mode NAME` changes it: {own}"));
    }
    Ok(Next::Done)
}

/// Writes the mode that holds into the config file, for later chats.
fn keep(chat: &mut Chat<'_, '_>) -> Result<(), Failure> {
    let mode = chat.plain.session().policy().mode.shown().to_owned();
    let Some(base) = &chat.plain.run.base else {
        return Err(Failure::new(&VALIDATION_ERROR, "there is no base directory to keep it in"));
    };
    let file = base.config();
    let value = serde_json::Value::from(mode.as_str()).to_string();
    set_key::set(&file, "security", "mode", &value)
        .map_err(|why| Failure::new(&IO_ERROR, format!("{} was not changed: {why}", file.display())))?;
    chat.cx.ui.say(&format!("Mode {mode}, kept in {}", file.display()));
    Ok(())
}

/// Shows all that decides about a call.
pub(super) fn permissions(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let mut lines = summary::permission_lines(
        chat.plain.session().policy(),
        &chat.plain.host.settings.permission.modes.source,
    );
    lines.push(format!("`{} policy explain` says what would happen to a call", chat.cx.profile.name));
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}
