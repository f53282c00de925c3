//! `policy check`, `policy explain` and `policy test`: what would happen to a call, and why (DEC-6, RULE-8). The same
//! function decides as in a run; nothing is executed.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::permission::Decision;
use zori_core::tool::{Effect, Toolbox};
use zori_policy::decide::Explanation;
use zori_policy::file::{PolicyFile, Wanted};
use zori_policy::{Asker, Call, Policy, decide, explain as walk};
use zori_tools::env::ToolEnv;
use zori_tools::lookup;
use zori_tools::toolset::ToolSet;

use super::Cx;
use crate::args::LowArgs;
use crate::command_error::{CommandError, ErrorCode};
use crate::config::Config;
use crate::exit::Exit;
use crate::network;
use crate::settings::{self, check_output};

/// One line of input.
#[derive(Deserialize)]
struct CallLine {
    #[serde(default)]
    id: Option<Box<RawValue>>,
    tool: String,
    input: Box<RawValue>,
    cwd: Option<PathBuf>,
}

/// One line of output.
#[derive(Serialize)]
struct DecisionLine<'a> {
    id: Option<&'a RawValue>,
    verdict: &'static str,
    class: &'static str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
}

/// Decides about every call on standard input, one JSON object a line, and prints one decision each.
pub fn check(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let (file, name) = open(args)?;
    let policy = chosen(cx, &file, &name, args.policy_profile.as_deref())?;
    let bench = Bench::new(policy, file.home(), cx)?;
    let mut out = String::new();
    let mut bad = 0;
    for (number, line) in (1..).zip(stdin()?.lines().filter(|line| !line.trim().is_empty())) {
        let (id, decision) = match serde_json::from_str::<CallLine>(line) {
            Ok(call) => {
                let cwd =
                    call.cwd.as_deref().map_or_else(|| file.cwd().to_owned(), |cwd| file.cwd().join(cwd));
                let decision = decide(&bench.policy, &bench.call(&call.tool, &call.input, &cwd)?);
                (call.id, decision)
            }
            Err(error) => {
                bad += 1;
                let flaw = format!("line {number} is not a call: {error}");
                (None, decide(&bench.policy, &Call::flawed("", flaw)))
            }
        };
        let line = DecisionLine {
            id: id.as_deref(),
            verdict: decision.verdict.as_str(),
            class: decision.class.as_str(),
            reason: &decision.reason,
            rule: decision.rule.as_ref().map(|rule| &*rule.text),
        };
        out.push_str(&serde_json::to_string(&line).expect("strings are JSON"));
        out.push('\n');
    }
    let printed = cx.ui.document(&out);
    match bad {
        0 => Ok(printed),
        _ => Err(CommandError::new(
            ErrorCode::Usage,
            format!("lines that are no calls, and count as denied: {bad}"),
        )
        .hint("a line is `{\"id\":1,\"tool\":\"bash\",\"input\":{\"command\":\"ls\"}}`")),
    }
}

/// Prints for one call what each step had to say.
pub fn explain(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let (tool, input) = asked(args)?;
    let (policy, home, cwd) = match &args.policy {
        Some(_) => {
            let (file, name) = open(args)?;
            let policy = chosen(cx, &file, &name, args.policy_profile.as_deref())?;
            (policy, file.home().to_owned(), file.cwd().to_owned())
        }
        None => {
            let (gathered, home) = settings::policy(cx, args)?;
            for warning in &gathered.warnings {
                cx.ui.warn(warning);
            }
            let cwd = gathered.policy.ground.cwd.clone();
            // What would be asked is said to be asked, whoever runs this.
            (Policy { asker: Asker::Present, ..gathered.policy }, home.unwrap_or_default(), cwd)
        }
    };
    let bench = Bench::new(policy, &home, cx)?;
    let explanation = walk(&bench.policy, &bench.call(&tool, &input, &cwd)?);
    Ok(cx.ui.document(&shown(&tool, &input, &bench.policy, &explanation)))
}

/// Holds a policy against its own expectations.
pub fn test(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let path = args.positionals.first().map_or("", String::as_str);
    let (file, name) = read(path)?;
    let mut cases = Vec::new();
    for (number, expect) in (1..).zip(&file.expect) {
        cases.push(Case {
            name: format!("expect[{}]", number - 1),
            profile: expect.profile.clone(),
            tool: expect.tool.clone(),
            input: expect.input.clone(),
            wanted: expect.verdict,
            why: expect.why.clone().unwrap_or_default(),
        });
    }
    if let Some(corpus) = &args.corpus {
        cases.extend(corpus_cases(corpus)?);
    }
    if cases.is_empty() {
        return Err(CommandError::new(ErrorCode::Usage, format!("{name} expects nothing"))
            .hint("add `\"expect\": [{\"tool\":\"bash\",\"input\":{\"command\":\"rm -rf /\"},\"verdict\":\"deny\"}]`")
            .hint("or give `--corpus TSV`"));
    }
    let mut benches: Vec<(String, Bench)> = Vec::new();
    let mut failed = 0;
    let mut out = String::new();
    for case in &cases {
        let asked = case.profile.as_deref().or(args.policy_profile.as_deref());
        let profile = file.choose(asked, &name).map_err(bad_file)?.to_owned();
        if !benches.iter().any(|(known, _)| *known == profile) {
            let policy = chosen(cx, &file, &name, Some(&profile))?;
            benches.push((profile.clone(), Bench::new(policy, file.home(), cx)?));
        }
        let (_, bench) = benches.iter().find(|(known, _)| *known == profile).expect("it was just added");
        let decision = decide(&bench.policy, &bench.call(&case.tool, &case.input, file.cwd())?);
        if !case.wanted.is_met_by(decision.verdict) {
            failed += 1;
            let why = if case.why.is_empty() { String::new() } else { format!(" ({})", case.why) };
            let _ = writeln!(
                out,
                "{}: {profile}: {} {}\n  expected {}{why}\n  got {}: {}",
                case.name,
                case.tool,
                case.input.get(),
                case.wanted.as_str(),
                decision.verdict.as_str(),
                decision.reason
            );
        }
    }
    let _ = writeln!(out, "{} of {} as expected", cases.len() - failed, cases.len());
    let printed = cx.ui.document(&out);
    Ok(if failed == 0 { printed } else { Exit::General })
}

struct Case {
    name: String,
    profile: Option<String>,
    tool: String,
    input: Box<RawValue>,
    wanted: Wanted,
    why: String,
}

/// Reads a corpus: tab-separated id, class, profile, command as a JSON string, verdict, why.
fn corpus_cases(path: &str) -> Result<Vec<Case>, CommandError> {
    let text = text_of(path)?;
    let rows = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let case = |(number, line): (usize, &str)| {
        let bad = |what: &str| CommandError::new(ErrorCode::Usage, format!("{path}:{number}: {what}"));
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, _, profile, command, wanted, why @ ..] = columns.as_slice() else {
            return Err(bad("a row has an id, class, profile, command, verdict and why, separated by tabs"));
        };
        let wanted =
            Wanted::parse(wanted).ok_or_else(|| bad("the verdict is `allow`, `ask`, `deny` or `ask+`"))?;
        let command: &RawValue =
            serde_json::from_str(command).map_err(|_| bad("the command is not a JSON string"))?;
        let input = RawValue::from_string(format!(r#"{{"command":{command}}}"#));
        Ok(Case {
            name: format!("{path}:{number} {id}"),
            profile: Some((*profile).to_owned()),
            tool: "bash".to_owned(),
            input: input.map_err(|_| bad("the command is not a JSON string"))?,
            wanted,
            why: why.join(" "),
        })
    };
    rows.map(case).collect()
}

/// A policy with tools to understand calls by.
struct Bench {
    policy: Policy,
    env: ToolEnvParts,
}

struct ToolEnvParts {
    home: PathBuf,
    dialect: &'static zori_tools::dialect::Dialect,
    transport: Arc<dyn zori_core::transport::Transport>,
}

impl Bench {
    fn new(policy: Policy, home: &Path, cx: &Cx<'_>) -> Result<Self, CommandError> {
        let env =
            ToolEnvParts { home: home.to_owned(), dialect: cx.profile.dialect, transport: network::http()? };
        Ok(Self { policy, env })
    }

    /// Understands a call as a run would, with what the disk says about its paths.
    fn call(&self, tool: &str, input: &RawValue, cwd: &Path) -> Result<Call, CommandError> {
        let ground = &self.policy.ground;
        let effects = match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, name)) => Some(vec![Effect::Mcp {
                server: server.to_owned(),
                tool: name.to_owned(),
                trusted_reader: false,
            }]),
            None if matches!(tool, "task" | "Task" | "Agent") => Some(vec![Effect::Agent]),
            None => None,
        };
        if let Some(effects) = effects {
            return Ok(Call::new(tool, None, &effects, ground));
        }
        let env = ToolEnv {
            root: cwd.to_owned(),
            home: Some(self.env.home.clone()),
            timeout: None,
            bash_max_output: 0,
            temp_parent: std::env::temp_dir(),
            child_env_removed: Box::new(Vec::new),
            child_env_set: Vec::new(),
            confine: None,
            transport: self.env.transport.clone(),
        };
        let tools = ToolSet::new(Arc::new(env), self.env.dialect);
        Ok(match tools.resolve(tool, input) {
            Ok(resolved) => {
                let mut call = Call::new(tool, Some(resolved.tool.kind()), &resolved.effects, ground);
                call.gather(lookup::look);
                call
            }
            Err(bad) => Call::flawed(tool, bad.message),
        })
    }
}

/// The call that was asked about: a command, or a tool with its input.
fn asked(args: &LowArgs) -> Result<(String, Box<RawValue>), CommandError> {
    let usage = |message: &str| {
        CommandError::new(ErrorCode::Usage, message)
            .hint("`zori policy explain \"git push\"`, or `--tool read --input '{\"path\":\".env\"}'`")
    };
    let json = |text: String| {
        RawValue::from_string(text.trim().to_owned())
            .map_err(|error| usage(&format!("the input is not JSON: {error}")))
    };
    let tool = args.tool.clone().unwrap_or_else(|| "bash".to_owned());
    let input = match (args.positionals.first(), &args.input) {
        (Some(_), Some(_)) => return Err(usage("a command and `--input` are two calls")),
        (Some(_), None) if args.tool.is_some() => {
            return Err(usage("`--tool` wants `--input`, not a command"));
        }
        (Some(command), None) => {
            json(format!(r#"{{"command":{}}}"#, serde_json::to_string(command).expect("a string is JSON")))?
        }
        (None, Some(input)) => json(input.clone())?,
        (None, None) if args.tool.is_some() => json(stdin()?)?,
        (None, None) => return Err(usage("there is no call to explain")),
    };
    Ok((tool, input))
}

fn shown(tool: &str, input: &RawValue, policy: &Policy, explanation: &Explanation) -> String {
    let Decision { verdict, class, reason, rule, .. } = &explanation.decision;
    let mut out = format!("Call:     {tool} {}\nMode:     {}\n", input.get(), policy.mode.shown());
    let _ = writeln!(out, "Class:    {}: {}", class.as_str(), class.about());
    let _ = writeln!(out, "Decision: {}: {reason}", verdict.as_str());
    if let Some(rule) = rule {
        let _ = writeln!(out, "Rule:     {} from {} ({})", rule.text, rule.source, rule.layer.as_str());
    }
    out.push('\n');
    for line in explanation.lines() {
        let _ = writeln!(out, "{line}");
    }
    zori_core::text::neutral(&out).into_owned()
}

/// Opens the file of `--policy`.
fn open(args: &LowArgs) -> Result<(PolicyFile, String), CommandError> {
    let missing = || {
        CommandError::new(ErrorCode::Usage, "`policy check` needs `--policy FILE`")
            .hint("docs/policy-files.md says what is in one")
    };
    read(args.policy.as_deref().ok_or_else(missing)?)
}

fn read(path: &str) -> Result<(PolicyFile, String), CommandError> {
    let file = PolicyFile::parse(&text_of(path)?, path).map_err(bad_file)?;
    Ok((file, path.to_owned()))
}

fn text_of(path: &str) -> Result<String, CommandError> {
    std::fs::read_to_string(path)
        .map_err(|error| CommandError::new(ErrorCode::Usage, format!("cannot read {path}: {error}")))
}

fn bad_file(error: zori_policy::file::BadFile) -> CommandError {
    CommandError::new(ErrorCode::ConfigInvalid, error.to_string())
}

/// Returns the policy of a profile; what is remarkable about its rules is said.
fn chosen(
    cx: &mut Cx<'_>,
    file: &PolicyFile,
    name: &str,
    asked: Option<&str>,
) -> Result<Policy, CommandError> {
    let profile = file.choose(asked, name).map_err(bad_file)?.to_owned();
    let (policy, remarks) = file.policy(&profile, name).map_err(bad_file)?;
    for remark in remarks {
        cx.ui.warn(&remark.text);
    }
    Ok(policy)
}

fn stdin() -> Result<String, CommandError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| CommandError::new(ErrorCode::Io, format!("cannot read standard input: {error}")))?;
    Ok(text)
}
