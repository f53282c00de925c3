//! What a decision depends on beside the call: a value, gathered before, never looked up while deciding.

use zori_core::permission::{Layer, Verdict};

use crate::blacklist::{self, Pattern};
use crate::mode::{Choice, Chosen};
use crate::paths::Ground;
use crate::rules::words::WordPattern;
use crate::rules::{OwnedAnchors, Remark, Rules, Written};

/// What is in force.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The permission mode, and who chose it.
    pub mode: Choice,
    /// The rules of all layers, and the approvals of this session as rules of their own (DEC-2).
    pub rules: Rules,
    /// The place it happens in.
    pub ground: Ground,
    /// What holds for shell commands on top.
    pub shell: ShellPolicy,
    /// Whether a person or client can answer a question in this run.
    pub asker: Asker,
    /// The sub-agent whose calls are judged; its questions name it (DEC-5).
    pub agent: Option<String>,
}

impl Policy {
    /// Allows for the rest of the session what a person approved: the rule of [`always`](crate::always::always).
    pub fn allow_for_session(&mut self, rule: &str) {
        // A rule that cannot be read is no allow; then the next call asks again.
        self.add_for_session(Verdict::Allow, rule);
    }

    /// Adds a rule for the rest of the session, and returns what its author should know about it.
    pub fn add_for_session(&mut self, verdict: Verdict, rule: &str) -> Vec<Remark> {
        let written = Written {
            verdict,
            text: rule.to_owned(),
            layer: Layer::Session,
            source: "approved in this session".into(),
        };
        let anchors = OwnedAnchors {
            home: self.ground.home.clone(),
            workspace: self.ground.cwd.clone(),
            rule_root: self.ground.cwd.clone(),
        };
        let mut remarks = Vec::new();
        self.rules.add(&written, &anchors, &mut remarks);
        remarks
    }
}

/// What holds for shell commands beside rules (MODE-6, BL-3, BL-4).
#[derive(Clone, Debug)]
pub struct ShellPolicy {
    /// Whether shell commands are possible at all.
    pub allowed: bool,
    /// Commands that run without a question when they stand alone.
    pub whitelist: Vec<WordPattern>,
    /// Commands that never run.
    pub blacklist: Vec<Pattern>,
    /// Ids of built-in blacklist entries that are off.
    pub off: Vec<String>,
}

/// What the user says about shell commands; what is not said depends on the mode.
#[derive(Clone, Debug, Default)]
pub struct ShellSettings {
    /// `allow_shell`.
    pub allow_shell: Option<bool>,
    /// `whitelist`.
    pub whitelist: Option<Vec<String>>,
    /// `blacklist_patterns`.
    pub blacklist_patterns: Option<Vec<String>>,
    /// `blacklist_off`.
    pub blacklist_off: Vec<String>,
}

/// Whether somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A person or client answers.
    Present,
    /// Nobody: what would ask is denied.
    Absent,
}

/// The Agent Zero document's whitelist (SEC-5).
pub const AGENT_ZERO_WHITELIST: &[&str] = &["ls", "dir", "cat", "echo", "git status", "pwd", "whoami"];

/// Why a setting for the shell cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadShellSetting {
    /// A pattern or id of the blacklist.
    #[error(transparent)]
    Blacklist(#[from] blacklist::BadBlacklist),
    /// An entry of the whitelist.
    #[error("whitelist entry `{entry}`: {why}")]
    Whitelist {
        /// The entry.
        entry: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl ShellPolicy {
    /// No lists, and the shell can be used.
    pub const OPEN: Self =
        Self { allowed: true, whitelist: Vec::new(), blacklist: Vec::new(), off: Vec::new() };

    /// Completes what the user said by what the mode's name brings with it (MODE-6).
    pub fn new(settings: &ShellSettings, mode: Choice) -> Result<Self, BadShellSetting> {
        let agent_zero = mode.chosen == Chosen::AsAgentZero;
        let list = |given: &Option<Vec<String>>, defaults: &[&str]| match given {
            Some(given) => given.clone(),
            None if agent_zero => defaults.iter().map(|&text| text.to_owned()).collect(),
            None => Vec::new(),
        };
        // A whitelist means something in `balanced` only; the blacklist holds everywhere.
        let whitelist =
            if mode.is_balanced() { list(&settings.whitelist, AGENT_ZERO_WHITELIST) } else { Vec::new() };
        let entry = |entry: &String| {
            let bad = |why| BadShellSetting::Whitelist { entry: entry.clone(), why };
            match entry.contains('*') {
                true => Err(bad("it takes whole leading words, without `*`")),
                false => WordPattern::parse(&format!("{entry}:*")).map_err(bad),
            }
        };
        let blacklist = list(&settings.blacklist_patterns, blacklist::AGENT_ZERO);
        settings.blacklist_off.iter().try_for_each(|id| blacklist::check_id(id))?;
        Ok(Self {
            allowed: settings.allow_shell.unwrap_or(!agent_zero),
            whitelist: whitelist.iter().map(entry).collect::<Result<_, _>>()?,
            blacklist: blacklist.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>()?,
            off: settings.blacklist_off.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Protocol;

    fn shell(mode: &str, settings: &ShellSettings) -> String {
        match ShellPolicy::new(settings, Choice::named(mode, Protocol::Own).unwrap()) {
            Ok(shell) => format!("{} {} {}", shell.allowed, shell.whitelist.len(), shell.blacklist.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn agent_zeros_names_bring_its_lists_and_no_shell() {
        let unset = ShellSettings::default();
        assert_eq!(shell("default", &unset), "true 0 0");
        assert_eq!(shell("yolo", &unset), "true 0 0");
        assert_eq!(shell("balanced", &unset), "false 7 6");
        assert_eq!(shell("god_mode", &unset), "false 0 6");
        assert_eq!(shell("paranoid", &unset), "false 0 6");
        let set = ShellSettings {
            allow_shell: Some(true),
            whitelist: Some(vec!["ls".into()]),
            blacklist_patterns: Some(vec![]),
            blacklist_off: vec![],
        };
        assert_eq!(shell("balanced", &set), "true 1 0");
    }

    #[test]
    fn settings_that_cannot_be_used() {
        let white = ShellSettings { whitelist: Some(vec!["ls *".into()]), ..ShellSettings::default() };
        assert_eq!(
            shell("balanced", &white),
            "whitelist entry `ls *`: it takes whole leading words, without `*`"
        );
        let off = ShellSettings { blacklist_off: vec!["all".into()], ..ShellSettings::default() };
        assert!(
            shell("default", &off)
                .starts_with("there is no built-in blacklist entry `all`; they are `remove-system`")
        );
    }
}
