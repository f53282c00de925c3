//! What a child process inherits of our environment (SCR-1, DECISIONS 37): not our keys, and outside `yolo` nothing
//! that looks like a secret or that makes programs load what they were not asked to.
//!
//! Every child goes through here: commands of the model, hooks, helper programs.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zori_contract::failure::Failure;
use zori_host::ChildEnvironment;
use zori_policy::Mode;
use zori_policy::rules::words::glob;
use zori_providers::catalog;

use crate::config::Config;
use crate::environment::Environment;
use crate::error::SETTING_INVALID;

/// What programs are given to prove who somebody is.
const SECRETS: &[&str] = &[
    "*_API_KEY",
    "*_APIKEY",
    "*_TOKEN",
    "*_SECRET",
    "*_PASSWORD",
    "*_PASSWD",
    "*_PASSPHRASE",
    "*_PRIVATE_KEY",
    "*_SECRET_KEY",
    "*_ACCESS_KEY",
    "*CREDENTIAL*",
    "API_KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PGPASSWORD",
    "MYSQL_PWD",
    // Of these families what is secret; regions and profile names are not.
    "AWS_*KEY*",
    "AWS_*SECRET*",
    "AWS_*TOKEN*",
    "AZURE_*KEY*",
    "AZURE_*SECRET*",
    "AZURE_*TOKEN*",
    "AZURE_*PASSWORD*",
    "AZURE_*CONNECTION_STRING*",
    "GOOGLE_*KEY*",
    "GOOGLE_*SECRET*",
    "GOOGLE_*TOKEN*",
];

/// What makes a program run something before what it was started for.
const LOADERS: &[&str] = &[
    "LD_*",
    "DYLD_*",
    "BASH_ENV",
    "BASH_FUNC_*",
    "ENV",
    "PROMPT_COMMAND",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "RUBYOPT",
];

/// What children do not inherit. Clones follow the mode together.
#[derive(Clone, Debug)]
pub struct ChildEnv {
    lists: Arc<Lists>,
    /// Whether all of SCR-1 holds, or only what holds in every mode.
    full: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Lists {
    /// How names of our own begin.
    own: Vec<String>,
    added: Vec<String>,
    readmitted: Vec<String>,
    /// The variables of this process.
    names: Vec<OsString>,
}

/// Returns whether a variable has other code run than that of the program it is given to.
pub fn is_loader(name: &str) -> bool {
    let name = name.to_uppercase();
    LOADERS.iter().any(|pattern| glob(pattern, &name))
}

impl ChildEnv {
    /// What holds for a program whose own variables begin so, in this mode, with the user's own lists.
    pub fn new(prefix: &str, mode: Mode, config: &Config, env: &Environment) -> Result<Self, Failure> {
        let mut added = names(config, "security.child_env_deny")?;
        let named = config.catalog.providers().filter(|facts| facts.custom.is_some());
        added.extend(named.map(|facts| facts.key_var.to_uppercase()));
        let lists = Lists {
            names: env.names().cloned().collect(),
            own: own(prefix),
            added,
            readmitted: names(config, "security.child_env_allow")?,
        };
        let env = Self { lists: Arc::new(lists), full: Arc::default() };
        env.set_mode(mode);
        Ok(env)
    }

    /// What holds whatever the user says, and all that holds for programs that know secrets themselves: no keys of ours
    /// and none of our settings.
    pub fn keys_only(env: &Environment) -> Self {
        let names = env.names().cloned().collect();
        let lists = Lists { own: own("ZORI"), added: Vec::new(), readmitted: Vec::new(), names };
        Self { lists: Arc::new(lists), full: Arc::default() }
    }

    /// Takes them from a command that is about to be started.
    pub fn apply(&self, command: &mut Command) {
        for name in self.removed() {
            command.env_remove(name);
        }
    }

    /// Returns whether a variable is removed. What the user adds is stronger than what they let through again.
    fn removes(&self, name: &str) -> bool {
        let name = name.to_uppercase();
        let Lists { own, added, readmitted, .. } = &*self.lists;
        let any = |patterns: &[String]| patterns.iter().any(|pattern| glob(pattern, &name));
        let table = |patterns: &[&str]| patterns.iter().any(|pattern| glob(pattern, &name));
        let key = catalog::key_vars().any(|key| key == name);
        let ours = own.iter().any(|start| name.starts_with(start));
        let full = self.full.load(Ordering::Relaxed);
        any(added) || (!any(readmitted) && (key || ours || full && (table(SECRETS) || table(LOADERS))))
    }
}

impl ChildEnvironment for ChildEnv {
    fn removed(&self) -> Vec<OsString> {
        let names = self.lists.names.iter();
        names.filter(|name| self.removes(&name.to_string_lossy())).cloned().collect()
    }

    fn set_mode(&self, mode: Mode) {
        self.full.store(mode != Mode::Yolo, Ordering::Relaxed);
    }
}

fn own(prefix: &str) -> Vec<String> {
    vec!["ZORI_".to_owned(), format!("{prefix}_")]
}

fn names(config: &Config, key: &str) -> Result<Vec<String>, Failure> {
    let entry = |(text, line): (&str, usize)| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '*';
        if !text.is_empty() && text.chars().all(fits) {
            return Ok(text.to_uppercase());
        }
        let message = format!("`{key}` (line {line}) cannot hold `{}`", text.escape_debug());
        Err(Failure::new(&SETTING_INVALID, message)
            .hint("it takes names of environment variables, with `*` for any letters: `MY_*`"))
    };
    config.list(key).unwrap_or_default().into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(mode: Mode, config: &str) -> ChildEnv {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, config).unwrap();
        ChildEnv::new("YUME", mode, &Config::load(&file, "").unwrap(), &Environment::default()).unwrap()
    }

    /// Names, and in which modes they are removed: in all, outside yolo, in none.
    #[test]
    fn what_is_removed() {
        let (yolo, default) = (env(Mode::Yolo, ""), env(Mode::Default, ""));
        for (names, expected) in [
            ("ANTHROPIC_API_KEY COPILOT_GITHUB_TOKEN ZORI_HOME ZORI_X YUME_HOME YUME_X", (true, true)),
            ("MY_API_KEY GITHUB_TOKEN GH_TOKEN X_SECRET DB_PASSWORD npm_config_token", (false, true)),
            ("GOOGLE_APPLICATION_CREDENTIALS MYCREDENTIALS credential TOKEN PGPASSWORD", (false, true)),
            ("AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN", (false, true)),
            ("AZURE_CLIENT_SECRET AZURE_STORAGE_CONNECTION_STRING GOOGLE_MAPS_API_KEY", (false, true)),
            ("ANTHROPIC_AUTH_TOKEN GOOGLE_API_KEY AZURE_OPENAI_API_KEY", (true, true)),
            ("LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV PROMPT_COMMAND", (false, true)),
            ("NODE_OPTIONS PYTHONSTARTUP PERL5OPT RUBYOPT BASH_FUNC_ls%%", (false, true)),
            ("PATH HOME LANG AWS_REGION AWS_PROFILE AZURE_LOCATION GOOGLE_CLOUD_PROJECT", (false, false)),
            ("TOKENIZER MY_TOKENS SECRETARY ENVIRONMENT OLD_X SSH_AUTH_SOCK MYZORI_X", (false, false)),
        ] {
            for name in names.split_whitespace() {
                assert_eq!((yolo.removes(name), default.removes(name)), expected, "{name}");
            }
        }
    }

    #[test]
    fn the_user_adds_and_lets_through() {
        let lists = "[security]\nchild_env_allow = [\"GITHUB_TOKEN\", \"npm_*\", \"OPENAI_API_KEY\"]\n\
                     child_env_deny = [\"DATABASE_URL\", \"npm_config_token\"]\n";
        for (mode, others) in [(Mode::Yolo, false), (Mode::Default, true)] {
            let env = env(mode, lists);
            let removed = ["GITHUB_TOKEN", "NPM_TOKEN", "OPENAI_API_KEY", "DATABASE_URL", "npm_config_token"]
                .map(|name| env.removes(name));
            assert_eq!(removed, [false, false, false, true, true]);
            assert_eq!([env.removes("GH_TOKEN"), env.removes("GEMINI_API_KEY")], [others, true]);
        }
    }

    #[test]
    fn it_follows_the_mode() {
        let env = env(Mode::Yolo, "");
        let other = env.clone();
        env.set_mode(Mode::Plan);
        assert!(other.removes("GH_TOKEN"));
        env.set_mode(Mode::Yolo);
        assert!(!other.removes("GH_TOKEN"));
    }

    #[test]
    fn a_list_that_cannot_be_used_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, "security.child_env_deny = [\"A=B\"]").unwrap();
        let config = Config::load(&file, "").unwrap();
        let error = ChildEnv::new("ZORI", Mode::Yolo, &config, &Environment::default()).unwrap_err();
        assert_eq!(error.message, "`security.child_env_deny` (line 1) cannot hold `A=B`");
    }
}
