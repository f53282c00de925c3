//! What a decision depends on beside the call: a value that is gathered first. Nothing is looked up while deciding.

use zori_core::permission::{Layer, Verdict};

use crate::blacklist::{self, BlacklistPattern};
use crate::mode::{ModeChoice, ModeSource};
use crate::paths::Workspace;
use crate::rules::words::WordPattern;
use crate::rules::{Narrowing, OwnedAnchors, RuleWarning, Rules, UnparsedRule};

/// The policy in force.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The permission mode, and who chose it.
    pub mode: ModeChoice,
    /// The rules of all layers, and the approvals of this session as rules of their own (DEC-2).
    pub rules: Rules,
    /// The workspace that paths are judged against.
    pub workspace: Workspace,
    /// The settings for shell commands.
    pub shell: ShellPolicy,
    /// Whether a person or client can answer a question in this run.
    pub approver: Approver,
    /// The sub-agent whose calls are judged; its questions name it (DEC-5).
    pub agent: Option<String>,
}

impl Policy {
    /// Adds a rule for the rest of the session, and returns what its author should know about it.
    pub fn add_for_session(&mut self, verdict: Verdict, rule: &str) -> Vec<RuleWarning> {
        let written = UnparsedRule {
            verdict,
            text: rule.to_owned(),
            layer: Layer::Session,
            source: "approved in this session".into(),
        };
        let mut warnings = Vec::new();
        self.rules.add(&written, &self.anchors(), &mut warnings);
        warnings
    }

    /// Narrows calls to what rules cover, beside what only looks, until [`Policy::widen`]. It lets nothing run that would not; a rule that
    /// cannot be read covers nothing.
    pub fn narrow(&mut self, by: &str, rules: &[String]) {
        let (anchors, mut read) = (self.anchors(), Rules::default());
        for text in rules {
            let written = UnparsedRule {
                verdict: Verdict::Allow,
                text: text.clone(),
                layer: Layer::Session,
                source: by.into(),
            };
            read.add(&written, &anchors, &mut Vec::new());
        }
        self.rules.narrowing = Some(Narrowing { by: by.to_owned(), rules: read.allow });
    }

    /// Takes that back.
    pub fn widen(&mut self) {
        self.rules.narrowing = None;
    }

    fn anchors(&self) -> OwnedAnchors {
        OwnedAnchors {
            home: self.workspace.home.clone(),
            workspace: self.workspace.cwd.clone(),
            rule_root: self.workspace.cwd.clone(),
        }
    }
}

/// Settings for shell commands beside the rules (MODE-6, BL-3, BL-4).
#[derive(Clone, Debug)]
pub struct ShellPolicy {
    /// Whether shell commands are possible at all.
    pub allowed: bool,
    /// Commands that run without a question when they stand alone.
    pub whitelist: Vec<WordPattern>,
    /// Commands that never run.
    pub blacklist: Vec<BlacklistPattern>,
    /// Ids of built-in blacklist entries that are off.
    pub blacklist_off: Vec<String>,
}

/// The user's settings for shell commands; the defaults depend on the mode.
#[derive(Clone, Debug, Default)]
pub struct ShellSettings {
    pub allow_shell: Option<bool>,
    pub whitelist: Option<Vec<String>>,
    pub blacklist_patterns: Option<Vec<String>>,
    pub blacklist_off: Vec<String>,
}

/// Whether a question can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approver {
    /// A person or client answers.
    Present,
    /// Nobody answers: a call that would be asked about is denied.
    Absent,
}

/// The Agent Zero document's whitelist (SEC-5).
pub const AGENT_ZERO_WHITELIST: &[&str] = &["ls", "dir", "cat", "echo", "git status", "pwd", "whoami"];

/// Why a setting for the shell cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellSettingError {
    /// A pattern or id of the blacklist.
    #[error(transparent)]
    Blacklist(#[from] blacklist::BlacklistError),
    /// An entry of the whitelist.
    #[error("whitelist entry `{entry}`: {why}")]
    Whitelist {
        entry: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl ShellPolicy {
    /// No lists, and shell commands are allowed.
    pub const OPEN: Self =
        Self { allowed: true, whitelist: Vec::new(), blacklist: Vec::new(), blacklist_off: Vec::new() };

    /// Combines the user's settings with the defaults of the mode's name (MODE-6).
    pub fn new(settings: &ShellSettings, mode: ModeChoice) -> Result<Self, ShellSettingError> {
        let agent_zero = mode.source == ModeSource::AsAgentZero;
        let list = |given: &Option<Vec<String>>, defaults: &[&str]| match given {
            Some(given) => given.clone(),
            None if agent_zero => defaults.iter().map(|&text| text.to_owned()).collect(),
            None => Vec::new(),
        };
        // A whitelist means something in `balanced` only; the blacklist holds everywhere.
        let whitelist =
            if mode.is_balanced() { list(&settings.whitelist, AGENT_ZERO_WHITELIST) } else { Vec::new() };
        let entry = |entry: &String| {
            let bad = |why| ShellSettingError::Whitelist { entry: entry.clone(), why };
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
            blacklist: blacklist
                .iter()
                .map(|text| BlacklistPattern::parse(text))
                .collect::<Result<_, _>>()?,
            blacklist_off: settings.blacklist_off.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Protocol;

    fn shell(mode: &str, settings: &ShellSettings) -> String {
        match ShellPolicy::new(settings, ModeChoice::named(mode, Protocol::Own).unwrap()) {
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
