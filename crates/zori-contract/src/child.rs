//! What children find in their environment, so that none of them pages, colours, asks or opens an editor.

use crate::mode::{Mode, Vars};

/// For whom a child works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Ours: its output is read by the program, so its language must be known.
    Internal,
    /// The user's: language and `CI` stay as they are, because both change what a build does.
    Foreign,
}

/// Always: no pager, no colour, no question for a password.
const ALWAYS: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("LESS", "-F -X -R"),
    ("MORE", ""),
    ("NO_COLOR", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Where nobody is there: no editor, no notice of updates.
const UNATTENDED: &[(&str, &str)] = &[
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("HOMEBREW_NO_AUTO_UPDATE", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
];

/// Returns what to set for a child, on top of what it inherits.
pub fn environment(mode: &Mode, purpose: Purpose, vars: &Vars, prefix: &str) -> Vec<(String, String)> {
    let mut set: Vec<(String, String)> = Vec::new();
    let mut add = |pairs: &[(&str, &str)]| {
        set.extend(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())))
    };
    add(ALWAYS);
    if !mode.interactive {
        add(UNATTENDED);
        if purpose == Purpose::Internal {
            add(&[("CI", "1")]);
        }
    }
    if purpose == Purpose::Internal {
        add(&[("LC_ALL", "C"), ("LC_NUMERIC", "C")]);
    }
    if let Some(trace) = vars.tool(prefix, "TRACE_ID") {
        set.push((format!("{prefix}_TRACE_ID"), trace.to_owned()));
        set.push(("TOOL_TRACE_ID".to_owned(), trace.to_owned()));
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::{Class, Inputs, OutputRequest};

    fn names(terminal: bool, purpose: Purpose) -> String {
        let vars = Vars([("TOOL_TRACE_ID".to_owned(), "t".to_owned())].into());
        let inputs = Inputs { stdin_terminal: terminal, stdout_terminal: terminal, ..Inputs::default() };
        let mode = Mode::detect(&inputs, Class::Agent, OutputRequest::default(), "NOTES");
        let set = environment(&mode, purpose, &vars, "NOTES");
        set.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn no_pager_no_colour_no_question() {
        let always =
            "PAGER=cat GIT_PAGER=cat MANPAGER=cat LESS=-F -X -R MORE= NO_COLOR=1 GIT_TERMINAL_PROMPT=0";
        let alone = "EDITOR=true VISUAL=true GIT_EDITOR=true NO_UPDATE_NOTIFIER=1 HOMEBREW_NO_AUTO_UPDATE=1 \
                     PIP_DISABLE_PIP_VERSION_CHECK=1";
        let trace = "NOTES_TRACE_ID=t TOOL_TRACE_ID=t";
        assert_eq!(names(true, Purpose::Foreign), format!("{always} {trace}"));
        assert_eq!(names(false, Purpose::Foreign), format!("{always} {alone} {trace}"));
        assert_eq!(names(true, Purpose::Internal), format!("{always} LC_ALL=C LC_NUMERIC=C {trace}"));
        assert_eq!(
            names(false, Purpose::Internal),
            format!("{always} {alone} CI=1 LC_ALL=C LC_NUMERIC=C {trace}")
        );
    }
}
