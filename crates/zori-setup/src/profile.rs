//! Profiles: the program under another name. A profile is a table of values; it never changes what a tool does or
//! whether it is allowed (DECISIONS 1, 19).

mod a0;
mod yume;
mod zdx;
mod zeph;
mod zori;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

pub use a0::A0;
pub use yume::YUME;
pub use zdx::ZDX;
pub use zeph::ZEPH;
pub use zori::ZORI;
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::tool::Leniency;
use zori_policy::mode::Protocol;
use zori_providers::catalog::ProviderFacts;
use zori_tools::dialect::Dialect;

/// The profiles there are.
pub const ALL: &[&Profile] = &[&ZORI, &ZDX, &ZEPH, &YUME, &A0];

/// What changes with the name the program is called by.
pub struct Profile {
    /// The name: of the link, in help and banner.
    pub name: &'static str,
    /// How its variables begin.
    pub prefix: &'static str,
    /// Whether a chat can be held over a pipe.
    pub chats_on_a_pipe: bool,
    /// The variable that names the base directory.
    pub home_var: &'static str,
    /// Where the base directory is when nobody names one.
    pub base: DataDirDefault,
    /// How exit codes are told.
    pub exits: Exits,
    /// What `sessions show` does without such a session.
    pub missing_session: MissingSession,
    /// Whether `sessions resume` without a name takes the latest of all folders (DECISIONS 49).
    pub resumes_any: bool,
    /// The names the model sees.
    pub dialect: &'static Dialect,
    /// The protocol in which `exec` answers when nobody asks for anything else.
    pub speaks: Option<Protocol>,
    /// `tool_timeout_secs` when nobody sets it.
    pub tool_timeout: Duration,
    /// The administrator's settings.
    pub managed_config: &'static str,
    /// What becomes of a model's call that is not exact (DECISIONS 71).
    pub leniency: Leniency,
    /// `bash_max_output_bytes` when nobody sets it.
    pub bash_max_output: usize,
    /// Whether the built-in system prompt is sent (DECISIONS 42).
    pub built_in_prompt: bool,
    /// The provider, unless a flag names another.
    pub provider: Option<&'static str>,
    /// The model of a provider when nobody names one, where it is not the catalogue's (DECISIONS 43).
    pub default_models: &'static [(&'static str, &'static str)],
}

/// Where the base directory is when nobody names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataDirDefault {
    /// A folder of this name where XDG has settings: `$XDG_CONFIG_HOME`, else `~/.config`.
    Config(&'static str),
    /// A folder of this name in the home directory.
    Home(&'static str),
}

/// How exit codes are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exits {
    /// As the table has them.
    Fine,
    /// 0, 2, 130 and 143 stay; everything else is 1.
    Folded,
}

/// How a session that is not there is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingSession {
    Error,
    /// A line on standard output, and success.
    Text,
}

impl Profile {
    /// Returns the number the process exits with.
    pub fn exit_code(&self, code: u8) -> u8 {
        match (self.exits, code) {
            (Exits::Fine, code) | (Exits::Folded, code @ (0 | 2 | 130 | 143)) => code,
            (Exits::Folded, _) => Exit::General.code(),
        }
    }

    /// Returns the model of a provider that is used when nobody names one.
    pub fn default_model(&self, facts: &'static ProviderFacts) -> &'static str {
        let own = self.default_models.iter().find(|(provider, _)| *provider == facts.name);
        own.map_or(facts.default_model, |(_, model)| *model)
    }

    /// Returns whether its chat is a screen; the strings of a line chat are the contract of others (DECISIONS 56).
    pub fn has_screen(&self) -> bool {
        !self.chats_on_a_pipe
    }
}

/// Chooses the profile by `--as NAME`, else by the name of the executable, and returns the other arguments.
pub fn choose(program: &OsStr, argv: &[OsString]) -> Result<(&'static Profile, Vec<OsString>), Failure> {
    let (asked, rest) = take_as(argv)?;
    let profile = match asked {
        Some(name) => by_name(&name).ok_or_else(|| {
            let known: Vec<_> = ALL.iter().map(|profile| profile.name).collect();
            Failure::new(&VALIDATION_ERROR, format!("unknown profile `{}`", name.to_string_lossy()))
                .hint(format!("this version knows {}", known.join(", ")))
        })?,
        None => Path::new(program).file_name().and_then(by_name).unwrap_or(&ZORI),
    };
    Ok((profile, rest))
}

fn by_name(name: &OsStr) -> Option<&'static Profile> {
    ALL.iter().copied().find(|profile| name == profile.name)
}

/// Takes `--as NAME` or `--as=NAME` out of the arguments: the flag table depends on it, so it is read first.
fn take_as(argv: &[OsString]) -> Result<(Option<OsString>, Vec<OsString>), Failure> {
    let mut name = None;
    let mut rest = Vec::with_capacity(argv.len());
    let mut args = argv.iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            rest.push(arg.clone());
            rest.extend(args.cloned());
            break;
        }
        if arg == "--as" {
            let missing =
                || Failure::new(&VALIDATION_ERROR, "`--as` needs a name").hint("for example `--as zdx`");
            name = Some(args.next().ok_or_else(missing)?.clone());
        } else if let Some(value) = arg.to_str().and_then(|arg| arg.strip_prefix("--as=")) {
            name = Some(value.into());
        } else {
            rest.push(arg.clone());
        }
    }
    Ok((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(program: &str, argv: &[&str]) -> String {
        let argv: Vec<OsString> = argv.iter().map(Into::into).collect();
        match choose(program.as_ref(), &argv) {
            Ok((profile, rest)) => format!("{} {rest:?}", profile.name),
            Err(error) => error.message,
        }
    }

    #[test]
    fn by_link_name_and_by_flag() {
        assert_eq!(chosen("/usr/bin/zori", &["exec"]), r#"zori ["exec"]"#);
        assert_eq!(chosen("zdx", &[]), "zdx []");
        assert_eq!(chosen("./zeph", &[]), "zeph []");
        assert_eq!(chosen("/opt/yume-cli", &["start"]), r#"yume-cli ["start"]"#);
        assert_eq!(chosen("something", &[]), "zori []");
        assert_eq!(chosen("zori", &["--as", "zdx", "exec"]), r#"zdx ["exec"]"#);
        assert_eq!(chosen("zdx", &["exec", "--as=zori"]), r#"zori ["exec"]"#);
        assert_eq!(chosen("zori", &["--", "--as", "zdx"]), r#"zori ["--", "--as", "zdx"]"#);
        assert_eq!(chosen("zori", &["--as", "vim"]), "unknown profile `vim`");
        assert_eq!(chosen("zori", &["--as"]), "`--as` needs a name");
    }

    #[test]
    fn zdx_and_zeph_fold_exit_codes() {
        let told = |profile: &Profile| -> Vec<u8> {
            Exit::ALL.iter().map(|exit| profile.exit_code(exit.code())).collect()
        };
        for profile in [&ZDX, &ZEPH] {
            assert_eq!(
                told(profile),
                [0, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 130, 143],
                "{}",
                profile.name
            );
        }
        assert_eq!(told(&YUME), told(&ZORI));
    }
}
