//! `doctor`: whether everything is there that a run needs, each check with what mends it. The provider is asked for its models,
//! which costs nothing, and for a few seconds at most; `--offline` leaves that out.

use std::path::PathBuf;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use zori_contract::args::Args;
use zori_contract::child::{self, Purpose};
use zori_contract::command::Command;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::reply::Reply;
use zori_contract::warning::Warning;
use zori_core::transport::Timeouts;
use zori_providers::catalog::ProviderFacts;
use zori_providers::key::Credential;
use zori_providers::reachability::{self, Reachability};
use zori_sandbox::{Backend, Machine};

use super::status::{undo_covers, undo_size};
use super::{Context, example};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::config::Config;
use zori_setup::error::CHECKS_FAILED;
use zori_setup::model_choice::{self, ModelChoice};
use zori_setup::settings;
use zori_setup::ui::Ui;
use zori_setup::undo;
use zori_setup::wire_up;

const OFFLINE: Flag = Flag::switch("offline", "Do not ask the provider whether it can be reached");

/// How long the provider is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

pub const COMMAND: Command<App> = Command {
    flags: const { &[OFFLINE] },
    examples: &[
        example("what is missing", "zori doctor"),
        example("for one provider", "zori doctor --provider openai"),
        example("without the network", "zori doctor --offline"),
    ],
    output_schema: r#"{"type":"object","required":["checks","dependencies"],"properties":{
        "checks":{"type":"array","x-ordered":true,"items":{"type":"object","additionalProperties":false,
            "required":["name","ok","required","version","found","error","fix"],
            "properties":{"name":{"type":"string"},"ok":{"type":"boolean"},"required":{"type":"boolean"},
            "version":{"type":["string","null"]},"found":{"type":["string","null"]},
            "error":{"type":["string","null"]},"fix":{"type":["string","null"]}}}},
        "dependencies":{"type":"array","x-ordered":true,"items":{"type":"object","required":["name","check_command",
            "version_regex","min_version","found_version","ok","fix_command"]}}}}"#,
    declares: r#"{"has_network_io":true,"subprocess":{"binary":"git","user_controlled_args":false,"hardcoded_args":["--version"]},
        "required_tools":{"bash":"*"},"platform":["linux","macos"]}"#,
    standalone: true,
    ..Command::new(&["doctor"], "Check that everything is there, and say what mends what is not", run)
};

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    /// Without it nothing goes; otherwise it is good to have.
    required: bool,
    version: Option<String>,
    found: Option<String>,
    error: Option<String>,
    fix: Option<String>,
}

impl Check {
    fn fine(name: &'static str, found: impl Into<String>) -> Self {
        let found = Some(found.into());
        Self { name, ok: true, required: true, version: None, found, error: None, fix: None }
    }

    fn bad(name: &'static str, error: impl Into<String>, fix: impl Into<String>) -> Self {
        let (error, fix) = (Some(error.into()), Some(fix.into()));
        Self { name, ok: false, required: true, version: None, found: None, error, fix }
    }

    fn failed(name: &'static str, failure: &Failure, otherwise: &str) -> Self {
        let fix = failure.facts.hints.first().cloned().unwrap_or_else(|| otherwise.to_owned());
        Self::bad(name, &failure.message, fix)
    }

    fn optional(self) -> Self {
        Self { required: false, ..self }
    }

    /// Returns the line for people, and the way out below it.
    fn line(&self) -> String {
        let state = match (self.ok, self.required) {
            (true, _) => "ok     ",
            (false, true) => "FAILED ",
            (false, false) => "missing",
        };
        let what = self.error.as_ref().or(self.found.as_ref()).map_or("", String::as_str);
        let mut line = format!("{state}  {:<12} {what}\n", self.name);
        if let Some(fix) = &self.fix {
            line.push_str(&format!("{:22}fix: {fix}\n", ""));
        }
        line
    }
}

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let mut checks = vec![system(), data_dir(cx)];
    let config = match config(cx) {
        Ok((config, check)) => {
            checks.push(check);
            config
        }
        Err(check) => {
            checks.push(check);
            Config::default()
        }
    };
    checks.extend(provider(cx, args, &config));
    let (bash, git) = (program(cx, "bash"), program(cx, "git"));
    checks.extend([
        sandbox(cx),
        undo_check(cx, &config),
        tool("bash", bash.as_deref()),
        tool("git", git.as_deref()).optional(),
        terminal(cx),
    ]);
    let text: String = checks.iter().map(Check::line).collect();
    let data = json!({"checks": checks, "dependencies": [dependency("bash", bash), dependency("git", git)]});
    let failed: Vec<_> =
        checks.iter().filter(|check| check.required && !check.ok).map(|check| check.name).collect();
    if failed.is_empty() {
        let missing = checks.iter().filter(|check| !check.ok);
        let warning = |check: &Check| {
            Warning::new(
                "OPTIONAL_MISSING",
                format!("{}: {}", check.name, check.error.as_deref().unwrap_or("")),
            )
        };
        let mut reply = Reply::one(data).text(text);
        // A person has it in the list.
        if cx.mode.format.structured() {
            reply.warnings.extend(missing.map(warning));
        }
        return Ok(reply);
    }
    let message = match failed.as_slice() {
        [one] => format!("one check failed: {one}"),
        many => format!("{} checks failed: {}", many.len(), many.join(", ")),
    };
    Err(Failure::new(&CHECKS_FAILED, message).with_data(data).text(text))
}

fn system() -> Check {
    let name = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    match std::env::consts::OS {
        "linux" | "macos" => Check::fine("system", name),
        _ => Check::bad("system", format!("{name} is not promised to work"), "use Linux or macOS").optional(),
    }
}

fn data_dir(cx: &Context<'_>) -> Check {
    let data_dir = match cx.app.data_dir() {
        Ok(data_dir) => data_dir,
        Err(failure) => return Check::failed("base", &failure, "set HOME"),
    };
    let dir = data_dir.dir();
    // Where it is yet to be made, the folder it will be in has to be writable.
    let there = dir.ancestors().find(|folder| folder.exists()).unwrap_or(dir);
    let usable = match there.is_dir() {
        true => rustix::fs::access(there, rustix::fs::Access::WRITE_OK),
        false => Err(rustix::io::Errno::NOTDIR),
    };
    match usable {
        Ok(()) if there == dir => Check::fine("base", dir.display().to_string()),
        Ok(()) => Check::fine("base", format!("{} (made when something is saved)", dir.display())),
        Err(error) => {
            let wrong = match there == dir {
                true => format!("{} cannot be written to: {error}", dir.display()),
                false => format!("{} cannot be made in {}: {error}", dir.display(), there.display()),
            };
            let fix = format!("make it yours, or set {} to another folder", cx.app.profile.home_var);
            Check::bad("base", wrong, fix)
        }
    }
}

fn config(cx: &Context<'_>) -> Result<(Config, Check), Check> {
    let Ok(data_dir) = cx.app.data_dir() else {
        return Ok((Config::default(), Check::fine("config", "none: there is no base directory")));
    };
    let path = data_dir.config();
    match data_dir.read_config() {
        Ok(config) if !path.exists() => {
            let fine = Check::fine("config", format!("none; `{} config init` writes one", cx.program.name));
            Ok((config, fine))
        }
        Ok(config) if !config.warnings.is_empty() => {
            let check = Check::bad("config", config.warnings.join("; "), format!("edit {}", path.display()));
            Ok((config, check.optional()))
        }
        Ok(config) => Ok((config, Check::fine("config", path.display().to_string()))),
        Err(failure) => Err(Check::failed("config", &failure, &format!("edit {}", path.display()))),
    }
}

/// Checks which model would answer, and whether there is a key for it.
fn provider(cx: &Context<'_>, args: &Args, config: &Config) -> Vec<Check> {
    let choice = match model_choice::choose(
        &LowArgs::new(args),
        config,
        &cx.app.env,
        cx.app.profile,
        &mut Ui::silent(),
    ) {
        Ok(choice) => choice,
        Err(failure) => return vec![Check::failed("provider", &failure, "choose another with `--provider`")],
    };
    let chosen = Check::fine(
        "provider",
        format!("{}:{} at {}", choice.model.facts.name, choice.model.name, choice.model.base_url),
    );
    let name = cx.program.name;
    let credentials = match &choice.key {
        Ok(Some(_)) => Check::fine("credentials", format!("a key of {}", choice.model.facts.display)),
        Ok(None) => Check::fine("credentials", "none needed"),
        Err(why) => Check::bad(
            "credentials",
            why,
            format!(
                "set {}, or `{name} auth login --provider {}`",
                choice.model.facts.key_var, choice.model.facts.name
            ),
        ),
    };
    vec![chosen, credentials, connection(cx, args, config, &choice)]
}

/// Whether the provider answers and takes the key: a key that is refused, a network that is not there and a certificate that
/// is not trusted are mended in different ways.
fn connection(cx: &Context<'_>, args: &Args, config: &Config, choice: &ModelChoice) -> Check {
    const NAME: &str = "connection";
    let unasked = |why: &str| Check::fine(NAME, format!("not asked: {why}")).optional();
    let credential = match &choice.key {
        _ if args.has(&OFFLINE) => return unasked("`--offline`"),
        Err(_) => return unasked("there is no key"),
        Ok(None) => None,
        Ok(Some(key)) => match key.credential() {
            Some(credential) => Some(credential),
            None => return unasked("the login has expired, and is renewed when it is used"),
        },
    };
    let asked =
        ask(cx, choice, credential.as_ref(), settings::timeouts::http_limits(&LowArgs::new(args), config));
    let ProviderFacts { display, base_url_var, .. } = choice.model.facts;
    match asked {
        Err(failure) => Check::failed(NAME, &failure, "unset SSL_CERT_FILE"),
        Ok(Reachability::Answers) if credential.is_none() => Check::fine(NAME, format!("{display} answers")),
        Ok(Reachability::Answers) => Check::fine(NAME, format!("{display} answers, and takes the key")),
        Ok(Reachability::KeyRefused(why)) => Check::bad(
            NAME,
            format!("{display} answers, and refuses the key: {why}"),
            model_choice::key_hint(choice.model.facts, &choice.key, cx.program.name),
        ),
        Ok(Reachability::Certificate(why)) => Check::bad(
            NAME,
            format!("what answers for {display} is not trusted: {why}"),
            "set SSL_CERT_FILE to the certificates of whoever signs in this network, such as a proxy",
        ),
        Ok(Reachability::NoConnection(why)) if choice.model.facts.is_local() => Check::bad(
            NAME,
            format!("{display} is not there: {why}"),
            format!("start {display}, or set {base_url_var} to where it is"),
        ),
        Ok(Reachability::NoConnection(why)) => Check::bad(
            NAME,
            format!("{display} cannot be reached: {why}"),
            format!(
                "look at the network, at HTTPS_PROXY if there is a proxy, and at {base_url_var} if it is set"
            ),
        ),
        Ok(Reachability::Trouble(why)) => {
            Check::bad(NAME, format!("{display} is in trouble: {why}"), "try again later")
        }
    }
}

/// Asks for the models, and waits for a few seconds.
fn ask(
    cx: &Context<'_>,
    choice: &ModelChoice,
    credential: Option<&Credential>,
    limits: Timeouts,
) -> Result<Reachability, Failure> {
    let patient = |limit: Option<Duration>| Some(limit.unwrap_or(TIMEOUT).min(TIMEOUT));
    let limits =
        Timeouts { connect: patient(limits.connect), first_byte: patient(limits.first_byte), ..limits };
    let transport = wire_up::customised(choice.model.facts, cx.app.network.http()?);
    let runtime = wire_up::runtime()?;
    let asking =
        reachability::check(&*transport, choice.model.facts, &choice.model.base_url, credential, limits);
    let asked = runtime.block_on(async { tokio::time::timeout(TIMEOUT, asking).await });
    // A name that is still being looked up must not keep the program from ending.
    runtime.shutdown_background();
    Ok(asked.unwrap_or_else(|_| Reachability::NoConnection(format!("no answer within {TIMEOUT:?}"))))
}

fn sandbox(cx: &Context<'_>) -> Check {
    let machine = Machine::detect(&[PathBuf::from(cx.cwd.as_path())]);
    let told = machine.explain().join("; ");
    match machine.backend {
        Backend::Bubblewrap(_) | Backend::Landlock(_) => Check::fine("sandbox", told).optional(),
        Backend::None => Check::bad("sandbox", told, "install the package `bubblewrap`").optional(),
    }
}

/// Checks how much of what calls change in this folder can be put back, and what that costs.
fn undo_check(cx: &Context<'_>, config: &Config) -> Check {
    const NAME: &str = "undo";
    let Ok(data_dir) = cx.app.data_dir() else {
        return Check::fine(NAME, "off: there is no base directory").optional();
    };
    let root = cx.cwd.as_path();
    let settings = undo::settings(config, Some(&data_dir), root, false, false);
    let Some(dir) = &settings.dir else {
        return Check::fine(NAME, "off: `undo.checkpoints` is false").optional();
    };
    let covered = undo_covers(&settings.root, cx.app.env.home().as_deref());
    Check::fine(NAME, format!("{covered}; {} bytes are kept", undo_size(dir))).optional()
}

fn terminal(cx: &Context<'_>) -> Check {
    let size = match cx.inputs.stdin_terminal && cx.inputs.stdout_terminal {
        true => "here",
        false => "not here, as on a pipe; only a chat needs one",
    };
    let term = cx.inputs.vars.get("TERM").unwrap_or("not set");
    Check::fine("terminal", format!("{size}; TERM {term}")).optional()
}

/// Returns the first line of `NAME --version`, if there is such a program.
fn program(cx: &Context<'_>, name: &str) -> Option<String> {
    let env = child::environment(&cx.mode, Purpose::Internal, &cx.inputs.vars, cx.program.prefix);
    let output = Process::new(name).arg("--version").envs(env).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

fn tool(name: &'static str, found: Option<&str>) -> Check {
    match found {
        Some(line) => Check { version: version(line), ..Check::fine(name, line) },
        None => Check::bad(name, format!("`{name}` is not there"), format!("install the package `{name}`")),
    }
}

fn dependency(name: &str, found: Option<String>) -> serde_json::Value {
    let found = found.as_deref().and_then(version);
    json!({
        "name": name,
        "check_command": format!("{name} --version"),
        "version_regex": "[0-9]+(\\.[0-9]+)+",
        "min_version": null,
        "found_version": found,
        "ok": found.is_some(),
        "fix_command": null,
    })
}

/// Finds the version in a line: the first word that begins with a digit and has a dot.
fn version(line: &str) -> Option<String> {
    let numbers = |word: &str| word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    line.split_whitespace()
        .map(|word| word[..numbers(word)].trim_end_matches('.').to_owned())
        .find(|word| word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_what_programs_say() {
        for (line, wanted) in [
            ("git version 2.47.1", Some("2.47.1")),
            ("GNU bash, version 5.2.37(1)-release (x86_64)", Some("5.2.37")),
            ("no number", None),
        ] {
            assert_eq!(version(line).as_deref(), wanted);
        }
    }
}
