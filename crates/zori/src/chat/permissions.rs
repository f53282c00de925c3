//! The chat's commands about permissions: `/mode` and `/permissions`. Here the user speaks, so a mode may be widened as
//! well as tightened (MODE-1, MODE-4).

use rustix::process::geteuid;
use zori_contract::failure::Failure;
use zori_core::permission::{Layer, Verdict};
use zori_core::text::one_line;
use zori_policy::rules::{Rule, Rules};
use zori_policy::{Choice, Mode, Policy};

use super::Chat;
use super::slash::Next;

/// What root is told (MODE-3).
pub(super) const AS_ROOT: &str =
    "you are root, and the mode yolo runs commands as root without a question; `/mode default` asks first";

/// What some names of modes bring with them (MODE-6).
const SHELL_OFF: &str =
    "Shell commands are off in it; `security.allow_shell = true` in the config file switches them on";

/// What is said when a mode is chosen that would have started in a sandbox (DECISIONS 12).
const NO_SANDBOX: &str = "Commands of this chat run outside a sandbox; a chat that starts in this mode, or with \
    `--sandbox workspace`, has one where the machine does";

/// Returns whether commands run as root and without a question.
pub(super) fn as_root_without_questions(policy: &Policy) -> bool {
    policy.mode.mode == Mode::Yolo && geteuid().is_root()
}

/// Shows the mode, or changes it for the rest of the chat.
pub(super) fn mode(chat: &mut Chat<'_, '_>, name: &str) -> Result<Next, Failure> {
    if !name.is_empty() {
        let (choice, shell) = chat.settings.modes.named("/mode", name)?;
        chat.settings.child_env.set_mode(choice.mode);
        chat.settings.policy.mode = choice;
        chat.settings.policy.shell = shell.clone();
        chat.settings.modes.source = "`/mode`".to_owned();
        chat.session.engine.set_mode(choice, shell);
    }
    let line = mode_line(chat.session.engine.policy(), &chat.settings.modes.source);
    chat.cx.ui.say(&line);
    if !chat.session.engine.policy().shell.allowed {
        chat.cx.ui.say(SHELL_OFF);
    }
    if !name.is_empty() && chat.settings.policy.mode.mode != Mode::Yolo && chat.confinement.is_none() {
        chat.cx.ui.say(NO_SANDBOX);
    }
    if name.is_empty() {
        let own = Mode::ALL.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(", ");
        chat.cx.ui.say(&format!("`/mode NAME` changes it: {own}"));
    }
    Ok(Next::Done)
}

/// Shows all that decides about a call.
pub(super) fn permissions(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    let mut lines = permission_lines(chat.session.engine.policy(), &chat.settings.modes.source);
    lines.push(format!("`{} policy explain` says what would happen to a call", chat.cx.profile.name));
    lines.iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Says which mode and which rules hold.
pub(crate) fn permission_lines(policy: &Policy, source: &str) -> Vec<String> {
    let mut lines = vec![mode_line(policy, source)];
    if !policy.shell.allowed {
        lines.push(SHELL_OFF.to_owned());
    }
    let rules = rule_lines(&policy.rules);
    match rules.is_empty() {
        true => lines.push(
            "Rules: none; `--allow`, `--ask`, `--deny` and `permissions` in the config file add some".into(),
        ),
        false => lines.push("Rules; deny beats ask beats allow:".to_owned()),
    }
    lines.extend(rules);
    lines
}

fn mode_line(policy: &Policy, source: &str) -> String {
    let choice: Choice = policy.mode;
    format!("Mode: {} ({source}): {}", choice.shown(), choice.mode.about())
}

/// One line for each rule, by whose word it is.
fn rule_lines(rules: &Rules) -> Vec<String> {
    let named = |verdict: Verdict, rules: &[Rule]| -> Vec<(Layer, String)> {
        let line = |rule: &Rule| {
            let (shown, verdict) = (&rule.shown, verdict.as_str());
            let line =
                format!("  {:<8} {verdict:<6} {} ({})", shown.layer.as_str(), shown.text, shown.source);
            (shown.layer, one_line(&line).into_owned())
        };
        rules.iter().map(line).collect()
    };
    let mut lines = named(Verdict::Deny, &rules.deny);
    lines.extend(named(Verdict::Ask, &rules.ask));
    lines.extend(named(Verdict::Allow, &rules.allow));
    lines.sort_by_key(|(layer, _)| *layer);
    lines.into_iter().map(|(_, line)| line).collect()
}
