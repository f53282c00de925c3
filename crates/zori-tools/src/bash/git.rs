//! The environment in which git only shows what a repository holds (SH-11): for commands that run without a question
//! because they only read.
//!
//! What cannot be switched off without changing the result (filters, diff drivers) keeps a command from running without a
//! question in the first place: `zori_policy::repository`.

use std::ffi::OsString;

/// Settings that start programs or reach other machines.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
];

/// Variables that do the same, or that would come before a setting.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
];

/// Returns the variables.
pub(super) fn inert() -> Vec<(OsString, OsString)> {
    let settings = SETTINGS.iter().enumerate().flat_map(|(number, (name, value))| {
        [
            (format!("GIT_CONFIG_KEY_{number}").into(), OsString::from(*name)),
            (format!("GIT_CONFIG_VALUE_{number}").into(), OsString::from(*value)),
        ]
    });
    let count = ("GIT_CONFIG_COUNT".into(), SETTINGS.len().to_string().into());
    let variables = VARIABLES.iter().map(|(name, value)| (OsString::from(*name), OsString::from(*value)));
    settings.chain([count]).chain(variables).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_number() {
        let variables = inert();
        let get = |name: &str| {
            let found = variables.iter().find(|(set, _)| set == name);
            found.map(|(_, value)| value.to_str().expect("text").to_owned())
        };
        let count: usize = get("GIT_CONFIG_COUNT").expect("a count").parse().expect("a number");
        let settings: Vec<String> = (0..count)
            .map(|n| {
                let part = |what: &str| get(&format!("GIT_CONFIG_{what}_{n}")).expect("both parts");
                format!("{}={}", part("KEY"), part("VALUE"))
            })
            .collect();
        assert_eq!(settings.len(), SETTINGS.len());
        assert!(settings.contains(&"core.fsmonitor=false".to_owned()), "{settings:?}");
        assert_eq!(get("GIT_PAGER").as_deref(), Some("cat"));
    }
}
