//! The chat's commands about permissions: `/mode`, `/security` and `/permissions`. Here the user speaks, so a mode may be widened as
//! well as tightened (MODE-1, MODE-4).

use rustix::process::geteuid;
use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_host::summary;
use zori_policy::mode::ModeSource;
use zori_policy::{Mode, ModeChoice, Policy};

use super::Chat;
use super::slash::Next;
use crate::plain::PlainSession;
use zori_setup::config::set_key;
use zori_setup::host_failure::of_mode;

/// What root is told (MODE-3).
pub const AS_ROOT: &str =
    "you are root, and the mode yolo runs commands as root without a question; `/mode default` asks first";

/// What is said when a mode is chosen that would have started in a sandbox (DECISIONS 12).
const NO_SANDBOX: &str = "Commands of this chat run outside a sandbox, since it was switched off";

/// Returns whether commands run as root and without a question.
pub fn as_root_without_questions(policy: &Policy) -> bool {
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
        let own: Vec<&str> = match &chat.plain.run.agent_zero {
            Some(_) => ModeChoice::OF_AGENT_ZERO.to_vec(),
            None => Mode::ALL.iter().map(|mode| mode.as_str()).collect(),
        };
        let own = own.join(", ");
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

/// Shows the mode and whether shell commands may run, or changes either for the rest of the chat (UI-8a).
pub(super) fn security(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words.as_slice() {
        [] => {
            let (host, policy) = (&chat.plain.host, chat.plain.session().policy());
            let lines = [
                summary::mode_line(policy, &host.settings.permission.modes.source),
                shell_line(policy),
                "`/security MODE` changes the mode, `/security shell` switches shell commands; both hold until the chat ends"
                    .to_owned(),
            ];
            lines.iter().for_each(|line| chat.cx.ui.say(line));
            Ok(Next::Done)
        }
        ["shell"] => {
            let on = !chat.plain.session().policy().shell.allowed;
            switch_shell(chat, on)
        }
        ["shell", "on"] => switch_shell(chat, true),
        ["shell", "off"] => switch_shell(chat, false),
        ["shell", other, ..] => {
            let message = format!("`/security shell {other}`: it is `on` or `off`");
            Err(Failure::new(&VALIDATION_ERROR, message))
        }
        [_] => mode(chat, rest),
        _ => Err(Failure::new(&VALIDATION_ERROR, format!("`/security {rest}`: it takes one word"))
            .hint("`/security`, `/security MODE`, `/security shell [on|off]`")),
    }
}

fn shell_line(policy: &Policy) -> String {
    format!("Shell commands: {}", if policy.shell.allowed { "on" } else { "off" })
}

/// Lets the shell be used, or not. That it may is a warning in the modes that come with it switched off (SEC-2).
fn switch_shell(chat: &mut Chat<'_, '_>, on: bool) -> Result<Next, Failure> {
    let mode = chat.plain.session().policy().mode;
    let permission = &mut chat.plain.host.settings.permission;
    let shell = permission.modes.switch_shell(on, mode).map_err(of_mode)?;
    permission.policy.shell = shell.clone();
    chat.plain.session_mut().set_shell(shell);
    chat.cx.ui.say(&shell_line(chat.plain.session().policy()));
    if on && mode.source == ModeSource::AsAgentZero {
        let name = mode.shown();
        chat.cx.ui.warn(&format!("the model may run shell commands in the mode {name} until the chat ends"));
    }
    Ok(Next::Done)
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
