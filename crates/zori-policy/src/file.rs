//! A policy as a file: what `zori policy check` and `zori policy test` read (DEC-6). JSON; the form of
//! `fixtures/shell/profiles.json`. What is not known in it is an error: a misspelt `deny` must not go unnoticed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::permission::{Layer, Verdict};

use crate::mode::{Mode, ModeChoice, ModeSource, Protocol};
use crate::paths::{Workspace, WorkspaceParts};
use crate::policy::{Approver, Policy, ShellPolicy, ShellSettingError, ShellSettings};
use crate::rules::{OwnedAnchors, RuleWarning, Rules, UnparsedRule};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// Of the format; 1.
    version: u32,
    /// The workspace root.
    pub workspace: PathBuf,
    /// Where commands start; the workspace unless given.
    cwd: Option<PathBuf>,
    /// The home directory.
    home: PathBuf,
    /// Who runs it. Decisions do not depend on it; the form has it.
    #[serde(rename = "uid")]
    _uid: Option<u32>,
    /// Whether the folder is trusted: what is not said about the mode depends on it (MODE-2).
    #[serde(default)]
    trusted: bool,
    profiles: BTreeMap<String, Profile>,
    /// What the policy is expected to decide, for `policy test`.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    mode: Option<String>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    allow_shell: Option<bool>,
    whitelist: Option<Vec<String>>,
    blacklist_patterns: Option<Vec<String>>,
    #[serde(default)]
    blacklist_off: Vec<String>,
}

/// What a policy is expected to decide about a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The profile; may be left out where the file has one only.
    pub profile: Option<String>,
    pub tool: String,
    pub input: Box<RawValue>,
    /// The verdict: `allow`, `ask`, `deny`, or `ask+` for ask or deny.
    pub verdict: ExpectedVerdict,
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ExpectedVerdict {
    /// The call runs.
    #[serde(rename = "allow")]
    Allow,
    /// Somebody is asked.
    #[serde(rename = "ask")]
    Ask,
    /// The call does not run.
    #[serde(rename = "deny")]
    Deny,
    /// The call is asked about or denied.
    #[serde(rename = "ask+")]
    AtLeastAsk,
}

impl ExpectedVerdict {
    /// Parses the name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny, Self::AtLeastAsk].into_iter().find(|w| w.as_str() == text)
    }

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::AtLeastAsk => "ask+",
        }
    }

    pub fn is_met_by(self, verdict: Verdict) -> bool {
        match self {
            Self::Allow => verdict == Verdict::Allow,
            Self::Ask => verdict == Verdict::Ask,
            Self::Deny => verdict == Verdict::Deny,
            Self::AtLeastAsk => verdict >= Verdict::Ask,
        }
    }
}

/// Why a policy file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFileError {
    /// It is not JSON of that form.
    #[error("{file}:{line}:{column}: {what}")]
    Form {
        file: String,
        /// Where, from 1.
        line: usize,
        /// Where, from 1.
        column: usize,
        what: String,
    },
    /// It is of another version.
    #[error("{file}: `version` is {version}; this program knows 1")]
    Version { file: String, version: u32 },
    /// A path in it is relative.
    #[error("{file}: `{key}` must be an absolute path, not `{value}`")]
    Relative { file: String, key: &'static str, value: String },
    /// There is no such profile.
    #[error("{file} has no profile `{name}`; it has {known}")]
    NoProfile {
        file: String,
        /// What was asked for.
        name: String,
        known: String,
    },
    /// The file has several, and none was named.
    #[error("{file} has several profiles, name one of {known}")]
    WhichProfile { file: String, known: String },
    /// An unknown mode.
    #[error("{file}: profile `{profile}`: there is no mode `{mode}`; the modes are {known}", known = ModeChoice::names().join(", "))]
    Mode { file: String, profile: String, mode: String },
    /// A list of shell commands that cannot be used.
    #[error("{file}: profile `{profile}`: {source}")]
    Shell { file: String, profile: String, source: ShellSettingError },
}

impl PolicyFile {
    /// Reads a file's text; `file` is how messages name it.
    pub fn parse(text: &str, file: &str) -> Result<Self, PolicyFileError> {
        let parsed: Self = serde_json::from_str(text).map_err(|error| {
            let what = error.to_string();
            let what = what.rsplit_once(" at line").map_or(what.as_str(), |(what, _)| what).to_owned();
            PolicyFileError::Form { file: file.to_owned(), line: error.line(), column: error.column(), what }
        })?;
        if parsed.version != 1 {
            return Err(PolicyFileError::Version { file: file.to_owned(), version: parsed.version });
        }
        let paths = [
            ("workspace", Some(&parsed.workspace)),
            ("cwd", parsed.cwd.as_ref()),
            ("home", Some(&parsed.home)),
        ];
        for (key, path) in paths {
            if let Some(path) = path.filter(|path| !path.is_absolute()) {
                let value = path.display().to_string();
                return Err(PolicyFileError::Relative { file: file.to_owned(), key, value });
            }
        }
        Ok(parsed)
    }

    /// Returns where commands start.
    pub fn cwd(&self) -> &Path {
        self.cwd.as_deref().unwrap_or(&self.workspace)
    }

    /// Returns the home directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the names of the profiles.
    pub fn profiles(&self) -> Vec<&str> {
        self.profiles.keys().map(String::as_str).collect()
    }

    /// Returns the name of the profile that was asked for, or of the only one.
    pub fn choose<'a>(&'a self, asked: Option<&str>, file: &str) -> Result<&'a str, PolicyFileError> {
        let known = || self.profiles().iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let mut names = self.profiles.keys();
        match (asked, names.next(), names.next()) {
            (Some(name), _, _) => {
                self.profiles.keys().find(|known| *known == name).map(String::as_str).ok_or_else(|| {
                    PolicyFileError::NoProfile {
                        file: file.to_owned(),
                        name: name.to_owned(),
                        known: known(),
                    }
                })
            }
            (None, Some(only), None) => Ok(only),
            (None, _, _) => Err(PolicyFileError::WhichProfile { file: file.to_owned(), known: known() }),
        }
    }

    /// Returns the policy of a profile. Somebody to ask is assumed to be there (DEC-6).
    pub fn policy(&self, name: &str, file: &str) -> Result<(Policy, Vec<RuleWarning>), PolicyFileError> {
        let profile = &self.profiles[self.choose(Some(name), file)?];
        let mode = match &profile.mode {
            Some(mode) => ModeChoice::named(mode, Protocol::Own).ok_or_else(|| PolicyFileError::Mode {
                file: file.to_owned(),
                profile: name.to_owned(),
                mode: mode.clone(),
            })?,
            None if self.trusted => ModeChoice { mode: Mode::Yolo, source: ModeSource::Implicit },
            None => ModeChoice { mode: Mode::Default, source: ModeSource::Implicit },
        };
        let settings = ShellSettings {
            allow_shell: profile.allow_shell,
            whitelist: profile.whitelist.clone(),
            blacklist_patterns: profile.blacklist_patterns.clone(),
            blacklist_off: profile.blacklist_off.clone(),
        };
        let shell = ShellPolicy::new(&settings, mode).map_err(|source| PolicyFileError::Shell {
            file: file.to_owned(),
            profile: name.to_owned(),
            source,
        })?;
        let lists = [
            (Verdict::Allow, "allow", &profile.allow),
            (Verdict::Ask, "ask", &profile.ask),
            (Verdict::Deny, "deny", &profile.deny),
        ];
        let written = lists.into_iter().flat_map(|(verdict, key, list)| {
            list.iter().enumerate().map(move |(i, text)| UnparsedRule {
                verdict,
                text: text.clone(),
                layer: Layer::User,
                source: format!("{file}: {name}.{key}[{i}]").into(),
            })
        });
        let anchors = OwnedAnchors {
            home: Some(self.home.clone()),
            workspace: self.workspace.clone(),
            rule_root: self.workspace.clone(),
        };
        let (rules, warnings) = Rules::read(written.collect(), &|_| anchors.clone());
        let workspace = Workspace::new(WorkspaceParts {
            roots: vec![self.workspace.clone()],
            cwd: self.cwd().to_owned(),
            home: Some(self.home.clone()),
            data_dir: Some(self.home.join(".config/zori")),
            path_dirs: Vec::new(),
            sensitive: Vec::new(),
        });
        Ok((Policy { mode, rules, workspace, shell, approver: Approver::Present, agent: None }, warnings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match PolicyFile::parse(text, "p.json").and_then(|file| file.policy("a", "p.json")) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn with(profile: &str) -> String {
        error(&format!(r#"{{"version":1,"workspace":"/ws","home":"/h","profiles":{{"a":{profile}}}}}"#))
    }

    #[test]
    fn errors_say_where_and_what() {
        assert_eq!(with(r#"{"mode":"default"}"#), "fine");
        assert_eq!(
            with(r#"{"denny":[]}"#),
            "p.json:1:67: unknown field `denny`, expected one of `mode`, `allow`, `ask`, `deny`, `allow_shell`, \
             `whitelist`, `blacklist_patterns`, `blacklist_off`"
        );
        assert!(
            with(r#"{"mode":"fast"}"#).starts_with(
                "p.json: profile `a`: there is no mode `fast`; the modes are acceptEdits, auto,"
            )
        );
        assert!(
            with(r#"{"blacklist_patterns":["re:("]}"#)
                .starts_with("p.json: profile `a`: blacklist pattern `re:(`")
        );
        assert_eq!(error("{"), "p.json:1:1: EOF while parsing an object");
        assert_eq!(
            error(r#"{"version":2,"workspace":"/ws","home":"/h","profiles":{}}"#),
            "p.json: `version` is 2; this program knows 1"
        );
        assert_eq!(
            error(r#"{"version":1,"workspace":"ws","home":"/h","profiles":{}}"#),
            "p.json: `workspace` must be an absolute path, not `ws`"
        );
        assert_eq!(
            error(r#"{"version":1,"workspace":"/ws","home":"/h","profiles":{"b":{},"c":{}}}"#),
            "p.json has no profile `a`; it has `b`, `c`"
        );
    }
}
