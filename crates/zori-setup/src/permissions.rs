//! The policy of a run: the administrator's file, the command line, the user's config and the project's own settings,
//! put together once, before anything runs (MODE-1, RULE-7, TRUST-4).

pub mod folders;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use zori_contract::failure::Failure;
use zori_core::permission::{Layer, Verdict};
use zori_host::Modes;
use zori_host::sandbox::SandboxSettings;
use zori_policy::mode::Protocol;
use zori_policy::paths::pattern::{Anchors, PathPattern};
use zori_policy::paths::{Workspace, WorkspaceParts};
use zori_policy::policy::{ShellPolicy, ShellSettings};
use zori_policy::rules::{OwnedAnchors, Rules, UnparsedRule};
use zori_policy::{Approver, Mode, ModeChoice, ModeSource, Policy};
use zori_tools::hooks::Hook;

use crate::args::LowArgs;
use crate::config::Config;
use crate::data_dir::DataDir;
use crate::environment::Environment;
use crate::error::SETTING_INVALID;
use crate::hooks;
use crate::host_failure::of_mode;
use crate::sandbox::{self, SandboxSources};
use crate::trust::project::Project;

/// The variables that name a mode, in order (DECISIONS 32).
const MODE_VARIABLES: &[&str] = &["ZORI_PERMISSION_MODE", "ZORI_SECURITY_MODE", "AGENT_SECURITY_MODE"];

/// The variable that lets a server's agent use the shell.
pub const SHELL_VARIABLE: &str = "AGENTZERO_ALLOW_SHELL";

/// The flag that names one.
const MODE_FLAG: &str = "--permission-mode";

/// The inputs of a policy.
pub struct PolicySources<'a> {
    pub args: &'a LowArgs,
    pub config: &'a Config,
    /// The administrator's file.
    pub managed: &'a Path,
    pub data_dir: Option<&'a DataDir>,
    /// The workspace root, canonical.
    pub root: &'a Path,
    /// The folder's own settings.
    pub project: &'a Project,
    /// Whether the user marked the folder as untrusted.
    pub untrusted: bool,
    pub home: Option<&'a Path>,
    /// The same without links.
    pub real_home: Option<&'a Path>,
    /// Whether the agent runs on a server (DECISIONS 11).
    pub remote_agent: bool,
    /// Whether a variable lets a server's agent use the shell (AZ-7).
    pub shell_variable: Option<bool>,
    /// The environment variable that sets the mode: name and value.
    pub mode_variable: Option<(&'static str, String)>,
    /// The folders of `PATH`.
    pub programs: Vec<PathBuf>,
}

/// A policy with everything that was resolved beside it.
pub struct ResolvedPolicy {
    pub policy: Policy,
    /// What another mode would depend on.
    pub modes: Modes,
    /// What confines the commands it lets run.
    pub sandbox: SandboxSettings,
    /// The hooks of the user and the administrator.
    pub hooks: Vec<Hook>,
    /// The administrator's MCP servers, by name.
    pub managed_servers: Option<Map<String, Value>>,
    pub warnings: Vec<String>,
}

/// Returns the first variable that names a mode.
pub fn mode_variable(env: &Environment) -> Option<(&'static str, String)> {
    let set =
        |name: &&'static str| Some((*name, env.text(name).filter(|value| !value.is_empty())?.to_owned()));
    MODE_VARIABLES.iter().find_map(set)
}

/// Puts the policy together. A setting that cannot be used is an error; a rule that cannot is a warning, and leaves
/// its tool asking (RULE-1).
pub fn gather(sources: PolicySources<'_>) -> Result<ResolvedPolicy, Failure> {
    let PolicySources { args, config, managed, data_dir, root, project, home, .. } = &sources;
    let managed_config = Config::load(managed, "")?;
    let user_file = data_dir.map(DataDir::config).unwrap_or_default();
    let (hooks, mut warnings) =
        hooks::load_user_hooks(*data_dir, [(managed, &managed_config), (&user_file, config)])?;
    warnings.extend(project.warnings());

    let (modes, mode, shell) = mode(&sources, &managed_config)?;
    // SEC-2 of that document: with its names the shell is off unless somebody says so.
    if mode.source == ModeSource::AsAgentZero && modes.shell.allow_shell == Some(true) {
        let name = mode.shown();
        let said = match sources.shell_variable {
            Some(true) if sources.remote_agent => SHELL_VARIABLE,
            _ => "security.allow_shell",
        };
        warnings.push(format!("`{said}` lets the model run shell commands in the mode {name}"));
    }
    let sandbox = sandbox::resolve(&SandboxSources {
        flag: args.permission.sandbox,
        config,
        managed: &managed_config,
        managed_path: managed,
        home: *home,
        mode: mode.mode,
    })?;
    if !shell.blacklist_off.is_empty() {
        warnings.push(format!("built-in blacklist entries are off: {}", shell.blacklist_off.join(", ")));
    }

    let layers = [
        (Layer::Managed, RuleSource::File(managed, &managed_config)),
        (Layer::Flags, RuleSource::Flags(args)),
        (Layer::User, RuleSource::File(&user_file, config)),
        (Layer::Project, RuleSource::File(&project.config_path, &project.config)),
    ]
    .map(|(layer, source)| source.rules(layer));
    let managed_only = managed_config.flag("security.managed_allow_only") == Some(true);
    let counts = |rule: &UnparsedRule| {
        let allow = rule.verdict == Verdict::Allow;
        // A project's allow rules were remarked above, with its other keys.
        !(allow && (rule.layer == Layer::Project || managed_only && rule.layer != Layer::Managed))
    };
    let foreign = project.rules.iter().map(|rule| UnparsedRule {
        verdict: rule.verdict,
        text: rule.text.clone(),
        layer: Layer::Project,
        source: rule.file.display().to_string().into(),
    });
    let written: Vec<UnparsedRule> = layers.into_iter().flatten().filter(counts).chain(foreign).collect();
    let anchors = |rule: &UnparsedRule| OwnedAnchors {
        home: home.map(Path::to_owned),
        workspace: root.to_path_buf(),
        rule_root: match rule.layer {
            Layer::Managed => managed.parent().unwrap_or(Path::new("/")).to_owned(),
            Layer::User => data_dir.map_or_else(|| root.to_path_buf(), |data_dir| data_dir.dir().to_owned()),
            Layer::Flags | Layer::Session | Layer::Project => root.to_path_buf(),
        },
    };
    let (rules, remarks) = Rules::read(written, &anchors);
    warnings.extend(remarks.into_iter().map(|remark| remark.text));

    let mut sensitive = Vec::new();
    let files = [(*managed, &managed_config), (&user_file, *config), (&project.config_path, &project.config)];
    for (file, config) in files {
        sensitive.extend(sensitive_paths(file, config, root, *home)?);
    }
    if sources.remote_agent {
        sensitive.extend(kept_from_servers(config, root, *home, &mut warnings));
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let workspace = Workspace::new(WorkspaceParts {
        roots: vec![root.to_path_buf()],
        cwd: root.to_path_buf(),
        home: sources.real_home.or(*home).map(Path::to_owned),
        data_dir: data_dir.map(|data_dir| real(data_dir.dir())),
        path_dirs: sources.programs,
        sensitive,
    });
    // Nobody is asked until a front end says that it can.
    let policy = Policy { mode, rules, workspace, shell, approver: Approver::Absent, agent: None };
    let managed_servers = managed_config.mcp_servers;
    Ok(ResolvedPolicy { policy, modes, sandbox, hooks, managed_servers, warnings })
}

/// Flag, variable, config, implicit (MODE-1); the administrator may forbid `yolo`, chosen or not (MODE-2).
fn mode(sources: &PolicySources<'_>, managed: &Config) -> Result<(Modes, ModeChoice, ShellPolicy), Failure> {
    let of = |config: &Config, file: &Path| {
        let name = config.text("security.mode")?.to_owned();
        Some(("security.mode", name, format!("`security.mode` in {}", file.display())))
    };
    let described = |(spelling, name): (&'static str, String)| (spelling, name, format!("`{spelling}`"));
    let flag = sources.args.permission.mode.clone().map(|mode| described((MODE_FLAG, mode)));
    let user = sources.data_dir.map(DataDir::config).unwrap_or_default();
    let asked = flag
        .or_else(|| sources.mode_variable.clone().map(described))
        .or_else(|| of(sources.config, &user))
        .or_else(|| of(managed, sources.managed));
    let forbidden = (managed.flag("security.forbid_yolo") == Some(true)).then(|| sources.managed.to_owned());
    let shell =
        shell_settings(sources.config, managed, sources.shell_variable.filter(|_| sources.remote_agent));
    let user_rules = managed.flag("security.managed_allow_only") != Some(true);
    let shell_forbidden =
        (managed.flag("security.allow_shell") == Some(false)).then(|| sources.managed.to_owned());
    let modes = |source: String| Modes {
        forbidden: forbidden.clone(),
        shell: shell.clone(),
        shell_forbidden: shell_forbidden.clone(),
        user_rules,
        ..Modes::unrestricted(source)
    };
    let implicit = |mode: Mode, source: &str| {
        let (modes, choice) = (modes(source.to_owned()), ModeChoice::implicit(mode));
        let shell = modes.shell(choice).map_err(of_mode)?;
        Ok((modes, choice, shell))
    };
    match asked {
        Some((spelling, name, source)) => {
            let modes = modes(source);
            // A variable and a file are ours, whoever speaks.
            let spoken = if spelling == MODE_FLAG { sources.args.protocol.spoken() } else { None };
            let (choice, shell) =
                modes.named_in(spelling, &name, spoken.unwrap_or(Protocol::Own)).map_err(of_mode)?;
            Ok((modes, choice, shell))
        }
        None if sources.remote_agent => {
            let modes = modes("the provider agent-zero".to_owned());
            let shell = modes.shell(ModeChoice::AGENT_ZERO).map_err(of_mode)?;
            Ok((modes, ModeChoice::AGENT_ZERO, shell))
        }
        None if forbidden.is_some() => implicit(Mode::Default, "nobody chose one, and yolo is forbidden"),
        None if sources.untrusted => {
            implicit(Mode::Default, "nobody chose one, and this folder is not trusted")
        }
        None if sources.args.protocol.spoken().is_some() => {
            implicit(Mode::Default, "nobody chose one, and a program is at the other end")
        }
        None => implicit(Mode::Yolo, "nobody chose one"),
    }
}

/// The user's lists and the administrator's; what denies adds up.
fn shell_settings(config: &Config, managed: &Config, variable: Option<bool>) -> ShellSettings {
    let list = |config: &Config, key: &str| -> Option<Vec<String>> {
        Some(config.list(key)?.into_iter().map(|(text, _)| text.to_owned()).collect())
    };
    let both = |key: &str| match (list(config, key), list(managed, key)) {
        (None, None) => None,
        (user, managed) => Some([user.unwrap_or_default(), managed.unwrap_or_default()].concat()),
    };
    ShellSettings {
        allow_shell: match (config.flag("security.allow_shell"), managed.flag("security.allow_shell")) {
            (_, Some(false)) => Some(false),
            (user, managed) => variable.or(user).or(managed),
        },
        whitelist: both("security.whitelist"),
        blacklist_patterns: both("security.blacklist_patterns"),
        blacklist_off: both("security.blacklist_off").unwrap_or_default(),
    }
}

/// Where a layer's rules come from.
enum RuleSource<'a> {
    File(&'a Path, &'a Config),
    Flags(&'a LowArgs),
}

impl RuleSource<'_> {
    fn rules(&self, layer: Layer) -> Vec<UnparsedRule> {
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
                        written.push(UnparsedRule { verdict, text: text.to_owned(), layer, source });
                    }
                }
                Self::Flags(args) => {
                    let given = match verdict {
                        Verdict::Allow => &args.permission.allow,
                        Verdict::Ask => &args.permission.ask,
                        Verdict::Deny => &args.permission.deny,
                    };
                    written.extend(given.iter().map(|text| UnparsedRule {
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

/// What a server's agent does not read without a question on top of the list (RD-6, RD-7).
fn kept_from_servers(
    config: &Config,
    root: &Path,
    home: Option<&Path>,
    warnings: &mut Vec<String>,
) -> Vec<PathPattern> {
    let anchors = Anchors { home, workspace: root, rule_root: root };
    let own = config.list("context.sensitive_files").unwrap_or_default().into_iter();
    let all = zori_tools::context::sensitive_patterns().chain(own.map(|(text, _)| text.to_owned()));
    all.filter_map(|text| {
        let parsed = PathPattern::parse(&text, &anchors);
        parsed
            .map_err(|why| warnings.push(format!("`context.sensitive_files` cannot hold `{text}`: {why}")))
            .ok()
    })
    .collect()
}

/// What a file adds to the list of what may hold secrets. Nothing takes away from it, so a project may add too.
pub fn sensitive_paths(
    file: &Path,
    config: &Config,
    root: &Path,
    home: Option<&Path>,
) -> Result<Vec<PathPattern>, Failure> {
    const KEY: &str = "security.sensitive_paths";
    let rule_root = file.parent().unwrap_or(root);
    let anchors = Anchors { home, workspace: root, rule_root };
    let pattern = |(text, line): (&str, usize)| {
        PathPattern::parse(text, &anchors).map_err(|why| {
            let place = format!("{}:{line}", file.display());
            let message = format!("{place}: `{KEY}` cannot hold `{}`: {why}", text.escape_debug());
            Failure::new(&SETTING_INVALID, message)
                .hint("it takes paths as rules do: `~/notes`, `//srv/keys`, `*.tfstate`")
        })
    };
    config.list(KEY).unwrap_or_default().into_iter().map(pattern).collect()
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
            let gathered = gather(PolicySources {
                args,
                config: &config,
                managed: &dir.join("managed.toml"),
                data_dir: None,
                root: &dir.join("ws"),
                project: &Project::load(&dir.join("ws")).unwrap(),
                untrusted: self.untrusted,
                remote_agent: false,
                home: None,
                real_home: None,
                shell_variable: None,
                mode_variable: variable.map(|value| ("ZORI_PERMISSION_MODE", value.to_owned())),
                programs: Vec::new(),
            });
            let text = match gathered {
                Ok(ResolvedPolicy { policy, warnings, .. }) => {
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
                        policy.mode.source,
                        warnings.join("; ")
                    )
                }
                Err(error) => format!("{} ({})", error.message, error.facts.hints.join("; ")),
            };
            text.replace(&dir.display().to_string(), "$DIR")
        }
    }

    fn args(mode: Option<&str>) -> LowArgs {
        let mut args = LowArgs::default();
        args.permission.mode = mode.map(str::to_owned);
        args
    }

    #[test]
    fn the_mode_is_the_first_that_was_said() {
        let world = World::new("", "security.mode = \"plan\"", "security.mode = \"yolo\"");
        let described = |flag, variable| {
            let text = world.gather(&args(flag), variable);
            text.split(" | ").next().unwrap().to_owned()
        };
        assert_eq!(described(Some("deny"), Some("paranoid")), "deny ByName");
        assert_eq!(described(None, Some("god_mode")), "god_mode AsAgentZero");
        assert_eq!(described(None, None), "plan ByName");
        let nothing = World::new("", "", "");
        assert_eq!(nothing.gather(&args(None), None), "yolo Implicit |  |  |  | ");
        assert!(
            nothing
                .gather(&args(Some("fast")), None)
                .starts_with("`--permission-mode` cannot be `fast` (the modes are acceptEdits,")
        );
        assert!(nothing.gather(&args(None), Some("x")).starts_with("`ZORI_PERMISSION_MODE` cannot be `x`"));
    }

    /// SEC-2 of the Agent Zero document.
    #[test]
    fn switching_the_shell_on_is_said() {
        let world = World::new("", "security.allow_shell = true", "");
        let described = world.gather(&args(Some("balanced")), None);
        assert_eq!(
            described,
            "balanced AsAgentZero |  |  |  | `security.allow_shell` lets the model run shell commands in the mode balanced"
        );
        assert_eq!(world.gather(&args(Some("default")), None), "default ByName |  |  |  | ");
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
        let mut flags = args(None);
        flags.permission.allow = vec!["Bash(f)".into()];
        flags.permission.deny = vec!["Bsh".into()];
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

    /// Extensible by everybody, reducible by nobody.
    #[test]
    fn everybody_may_call_more_sensitive() {
        let list = |pattern: &str| format!("security.sensitive_paths = [\"{pattern}\"]");
        let world = World::new(&list("//srv/m"), &list("//srv/u"), &list("*.tfstate"));
        assert_eq!(world.gather(&args(None), None), "yolo Implicit |  |  |  | ");
        let bad = World::new("", &list("a/../b"), "");
        assert_eq!(
            bad.gather(&args(None), None),
            ":1: `security.sensitive_paths` cannot hold `a/../b`: `..` has no place in a pattern (it takes paths as \
             rules do: `~/notes`, `//srv/keys`, `*.tfstate`)"
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
