//! The policy of a run: the administrator's file, the command line, the user's config and the project's own settings,
//! put together once, before anything runs (MODE-1, RULE-7, TRUST-4).

use std::path::{Path, PathBuf};

use zori_core::permission::{Layer, Verdict};
use zori_policy::mode::Protocol;
use zori_policy::paths::{Ground, GroundParts};
use zori_policy::policy::{ShellPolicy, ShellSettings};
use zori_policy::rules::{OwnedAnchors, Rules, Written};
use zori_policy::{Asker, Choice, Chosen, Mode, Policy};
use zori_tools::hooks::Hook;

use crate::args::LowArgs;
use crate::base::Base;
use crate::command_error::{CommandError, ErrorCode};
use crate::config::Config;
use crate::hooks;
use crate::trust::project::Project;

/// The variables that name a mode, in order (DECISIONS 32).
const MODE_VARIABLES: &[&str] = &["ZORI_PERMISSION_MODE", "ZORI_SECURITY_MODE", "AGENT_SECURITY_MODE"];

/// What a policy is made of, as far as it comes from outside.
pub struct Sources<'a> {
    /// The command line.
    pub args: &'a LowArgs,
    /// The user's config.
    pub config: &'a Config,
    /// The administrator's file.
    pub managed: &'a Path,
    /// The base directory.
    pub base: Option<&'a Base>,
    /// The workspace root, canonical.
    pub root: &'a Path,
    /// What the folder says itself.
    pub project: &'a Project,
    /// Whether the user said that it is not trusted.
    pub untrusted: bool,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// What the environment says about the mode: variable and value.
    pub mode_variable: Option<(&'static str, String)>,
    /// The folders of `PATH`.
    pub programs: Vec<PathBuf>,
}

/// A policy, and what its author should know about it.
pub struct Gathered {
    /// The policy.
    pub policy: Policy,
    /// The hooks of the user and the administrator.
    pub hooks: Vec<Hook>,
    /// One line each.
    pub warnings: Vec<String>,
}

/// Returns the first variable that names a mode.
pub fn mode_variable() -> Option<(&'static str, String)> {
    let set =
        |name: &&'static str| Some((*name, std::env::var(name).ok().filter(|value| !value.is_empty())?));
    MODE_VARIABLES.iter().find_map(set)
}

/// Returns the folders of `PATH`.
pub fn programs() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Puts the policy together. A setting that cannot be used is an error; a rule that cannot is a warning, and leaves
/// its tool asking (RULE-1).
pub fn gather(sources: Sources<'_>) -> Result<Gathered, CommandError> {
    let Sources { args, config, managed, base, root, project, home, .. } = &sources;
    let managed_config = Config::load(managed, "")?;
    let user_file = base.map(Base::config).unwrap_or_default();
    let (hooks, mut warnings) = hooks::of_user(*base, [(managed, &managed_config), (&user_file, config)])?;
    warnings.extend(project.remarks());

    let mode = mode(&sources, &managed_config)?;
    let shell = shell(mode, config, &managed_config)?;
    if !shell.off.is_empty() {
        warnings.push(format!("built-in blacklist entries are off: {}", shell.off.join(", ")));
    }

    let layers = [
        (Layer::Managed, Origin::File(managed, &managed_config)),
        (Layer::Flags, Origin::Flags(args)),
        (Layer::User, Origin::File(&user_file, config)),
        (Layer::Project, Origin::File(&project.config_path, &project.config)),
    ]
    .map(|(layer, origin)| origin.rules(layer));
    let managed_only = managed_config.flag("security.managed_allow_only") == Some(true);
    let counts = |rule: &Written| {
        let allow = rule.verdict == Verdict::Allow;
        // A project's allow rules were remarked above, with its other keys.
        !(allow && (rule.layer == Layer::Project || managed_only && rule.layer != Layer::Managed))
    };
    let written: Vec<Written> = layers.into_iter().flatten().filter(counts).collect();
    let anchors = |rule: &Written| OwnedAnchors {
        home: home.map(Path::to_owned),
        workspace: root.to_path_buf(),
        rule_root: match rule.layer {
            Layer::Managed => managed.parent().unwrap_or(Path::new("/")).to_owned(),
            Layer::User => base.map_or_else(|| root.to_path_buf(), |base| base.dir().to_owned()),
            Layer::Flags | Layer::Session | Layer::Project => root.to_path_buf(),
        },
    };
    let (rules, remarks) = Rules::read(written, &anchors);
    warnings.extend(remarks.into_iter().map(|remark| remark.text));

    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let ground = Ground::new(GroundParts {
        roots: vec![root.to_path_buf()],
        cwd: root.to_path_buf(),
        home: home.map(real),
        base: base.map(|base| real(base.dir())),
        repo: root.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_owned),
        programs: sources.programs,
        sensitive: Vec::new(),
    });
    // Nobody is asked until a front end says that it can.
    let policy = Policy { mode, rules, ground, shell, asker: Asker::Absent, agent: None };
    Ok(Gathered { policy, hooks, warnings })
}

/// Returns what the demo may do: everything in its folder, by a script that is part of the program.
pub fn of_demo(folder: &Path) -> Policy {
    let ground = Ground::new(GroundParts {
        roots: vec![folder.to_owned()],
        cwd: folder.to_owned(),
        home: None,
        base: None,
        repo: None,
        programs: Vec::new(),
        sensitive: Vec::new(),
    });
    let (mode, shell) = (Choice::implicit(Mode::Yolo), ShellPolicy::OPEN);
    Policy { mode, rules: Rules::default(), ground, shell, asker: Asker::Absent, agent: None }
}

/// Flag, variable, config, implicit (MODE-1); the administrator may forbid `yolo`, chosen or not (MODE-2).
fn mode(sources: &Sources<'_>, managed: &Config) -> Result<Choice, CommandError> {
    let flag = sources.args.permission_mode.clone().map(|mode| ("--permission-mode", mode));
    let config = sources.config.text("security.mode").map(|mode| ("security.mode", mode.to_owned()));
    let administrator = managed.text("security.mode").map(|mode| ("security.mode", mode.to_owned()));
    let asked = flag.or_else(|| sources.mode_variable.clone()).or(config).or(administrator);
    let choice = match asked {
        // In a folder that somebody does not trust, changes are asked about unless they say otherwise (MODE-2).
        None if sources.untrusted => Choice::implicit(Mode::Default),
        None => Choice::implicit(Mode::Yolo),
        Some((spelling, name)) => Choice::named(&name, Protocol::Own).ok_or_else(|| {
            CommandError::new(ErrorCode::SettingInvalid, format!("`{spelling}` cannot be `{name}`"))
                .hint(format!("the modes are {}", Choice::names().join(", ")))
        })?,
    };
    if choice.mode == Mode::Yolo && managed.flag("security.forbid_yolo") == Some(true) {
        if choice.chosen != Chosen::Implicit {
            let message = format!("the administrator forbids the mode {}", choice.shown());
            return Err(CommandError::new(ErrorCode::SettingInvalid, message)
                .hint(format!("{} says `security.forbid_yolo`", sources.managed.display()))
                .hint("`--permission-mode acceptEdits` asks least of the others"));
        }
        return Ok(Choice::implicit(Mode::Default));
    }
    Ok(choice)
}

/// The user's lists and the administrator's; what denies adds up.
fn shell(mode: Choice, config: &Config, managed: &Config) -> Result<ShellPolicy, CommandError> {
    let list = |config: &Config, key: &str| -> Option<Vec<String>> {
        Some(config.list(key)?.into_iter().map(|(text, _)| text.to_owned()).collect())
    };
    let both = |key: &str| match (list(config, key), list(managed, key)) {
        (None, None) => None,
        (user, managed) => Some([user.unwrap_or_default(), managed.unwrap_or_default()].concat()),
    };
    let settings = ShellSettings {
        allow_shell: match (config.flag("security.allow_shell"), managed.flag("security.allow_shell")) {
            (_, Some(false)) => Some(false),
            (user, managed) => user.or(managed),
        },
        whitelist: both("security.whitelist"),
        blacklist_patterns: both("security.blacklist_patterns"),
        blacklist_off: both("security.blacklist_off").unwrap_or_default(),
    };
    ShellPolicy::new(&settings, mode)
        .map_err(|error| CommandError::new(ErrorCode::SettingInvalid, error.to_string()))
}

/// Where a layer's rules stand.
enum Origin<'a> {
    File(&'a Path, &'a Config),
    Flags(&'a LowArgs),
}

impl Origin<'_> {
    fn rules(&self, layer: Layer) -> Vec<Written> {
        let mut written = Vec::new();
        for (verdict, key, flag) in [
            (Verdict::Allow, "permissions.allow", "--allow"),
            (Verdict::Ask, "permissions.ask", "--ask"),
            (Verdict::Deny, "permissions.deny", "--deny"),
        ] {
            match self {
                Self::File(path, config) => {
                    for (text, line) in config.list(key).unwrap_or_default() {
                        let source = format!("{}:{line}", path.display()).into();
                        written.push(Written { verdict, text: text.to_owned(), layer, source });
                    }
                }
                Self::Flags(args) => {
                    let given = match verdict {
                        Verdict::Allow => &args.allow,
                        Verdict::Ask => &args.ask,
                        Verdict::Deny => &args.deny,
                    };
                    written.extend(given.iter().map(|text| Written {
                        verdict,
                        text: text.clone(),
                        layer,
                        source: flag.into(),
                    }));
                }
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        dir: tempfile::TempDir,
        untrusted: bool,
    }

    impl World {
        fn new(managed: &str, user: &str, project: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(dir.path().join("ws/.zori")).unwrap();
            std::fs::write(dir.path().join("managed.toml"), managed).unwrap();
            std::fs::write(dir.path().join("user.toml"), user).unwrap();
            std::fs::write(dir.path().join("ws/.zori/config.toml"), project).unwrap();
            Self { dir, untrusted: false }
        }

        fn gather(&self, args: &LowArgs, variable: Option<&str>) -> String {
            let dir = self.dir.path();
            let config = Config::load(&dir.join("user.toml"), "").unwrap();
            let gathered = gather(Sources {
                args,
                config: &config,
                managed: &dir.join("managed.toml"),
                base: None,
                root: &dir.join("ws"),
                project: &Project::look(&dir.join("ws")).unwrap(),
                untrusted: self.untrusted,
                home: None,
                mode_variable: variable.map(|value| ("ZORI_PERMISSION_MODE", value.to_owned())),
                programs: Vec::new(),
            });
            let text = match gathered {
                Ok(Gathered { policy, warnings, .. }) => {
                    let show = |rules: &[zori_policy::rules::Rule]| {
                        let one = |rule: &zori_policy::rules::Rule| {
                            format!("{}/{}", rule.shown.layer.as_str(), rule.shown.text)
                        };
                        rules.iter().map(one).collect::<Vec<_>>().join(" ")
                    };
                    let rules = &policy.rules;
                    let lists = [show(&rules.allow), show(&rules.ask), show(&rules.deny)].join(" | ");
                    format!(
                        "{} {:?} | {lists} | {}",
                        policy.mode.shown(),
                        policy.mode.chosen,
                        warnings.join("; ")
                    )
                }
                Err(error) => format!("{} ({})", error.message, error.hints.join("; ")),
            };
            text.replace(&dir.display().to_string(), "$DIR")
        }
    }

    fn args(mode: Option<&str>) -> LowArgs {
        LowArgs { permission_mode: mode.map(str::to_owned), ..LowArgs::default() }
    }

    #[test]
    fn the_mode_is_the_first_that_was_said() {
        let world = World::new("", "security.mode = \"plan\"", "security.mode = \"yolo\"");
        let said = |flag, variable| {
            let text = world.gather(&args(flag), variable);
            text.split(" | ").next().unwrap().to_owned()
        };
        assert_eq!(said(Some("deny"), Some("paranoid")), "deny ByName");
        assert_eq!(said(None, Some("god_mode")), "god_mode AsAgentZero");
        assert_eq!(said(None, None), "plan ByName");
        let nothing = World::new("", "", "");
        assert_eq!(nothing.gather(&args(None), None), "yolo Implicit |  |  |  | ");
        assert!(
            nothing
                .gather(&args(Some("fast")), None)
                .starts_with("`--permission-mode` cannot be `fast` (the modes are acceptEdits,")
        );
        assert!(nothing.gather(&args(None), Some("x")).starts_with("`ZORI_PERMISSION_MODE` cannot be `x`"));
    }

    #[test]
    fn every_layer_has_its_say_and_a_project_can_only_tighten() {
        let rules = |name: &str| {
            format!(
                "[permissions]\nallow = [\"Bash({name})\"]\nask = [\"Bash(ask {name})\"]\ndeny = [\"Bash(no {name})\"]\n"
            )
        };
        let project = format!("model = \"x\"\nprovider = \"openai\"\n{}", rules("p"));
        let world = World::new(&rules("m"), &rules("u"), &project);
        let flags = LowArgs { allow: vec!["Bash(f)".into()], deny: vec!["Bsh".into()], ..LowArgs::default() };
        insta::assert_snapshot!(world.gather(&flags, None).replace(" | ", "\n"), @r"
        yolo Implicit
        managed/Bash(m) flags/Bash(f) user/Bash(u)
        managed/Bash(ask m) user/Bash(ask u) project/Bash(ask p)
        managed/Bash(no m) user/Bash(no u) project/Bash(no p)
        `permissions.allow`, `provider` in $DIR/ws/.zori/config.toml is ignored: a project cannot set that; --deny: rule `Bsh`: there is no tool `Bsh`; did you mean `Bash`?; it has no effect
        ");
    }

    /// MODE-2: distrust asks, unless the user says otherwise.
    #[test]
    fn a_folder_that_is_not_trusted() {
        let mut world = World::new("", "", "");
        world.untrusted = true;
        assert_eq!(world.gather(&args(None), None), "default Implicit |  |  |  | ");
        assert_eq!(world.gather(&args(Some("yolo")), None), "yolo ByName |  |  |  | ");
    }

    #[test]
    fn the_administrator_may_forbid() {
        let world = World::new(
            "[security]\nforbid_yolo = true\nmanaged_allow_only = true\n[permissions]\nallow = [\"Bash(m)\"]\n",
            "permissions.allow = [\"Bash(u)\"]",
            "",
        );
        assert_eq!(world.gather(&args(None), None), "default Implicit | managed/Bash(m) |  |  | ");
        assert!(
            world
                .gather(&args(Some("yolo")), None)
                .starts_with("the administrator forbids the mode yolo ($DIR/managed.toml says")
        );
    }

    #[test]
    fn lists_that_cannot_be_used_are_errors() {
        let world = World::new("", "security.blacklist_patterns = [\"re:(\"]", "");
        assert_eq!(
            world.gather(&args(None), None),
            "blacklist pattern `re:(` is no regular expression: unclosed group ()"
        );
    }
}
