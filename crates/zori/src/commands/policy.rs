//! `policy check`, `policy explain` and `policy test`: what would happen to a call, and why (DEC-6, RULE-8). The same
//! function decides as in a run; nothing is executed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::{Command, StdinInput};
use zori_contract::error::{IO_ERROR, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_contract::reply::Reply;
use zori_contract::warning::Warning;
use zori_core::BoxFuture;
use zori_core::permission::Decision;
use zori_core::tool::{Effect, Toolbox};
use zori_core::transport::{HttpRequest, HttpResponse, Transport, TransportFailure};
use zori_policy::decide::Explanation;
use zori_policy::file::{ExpectedVerdict, PolicyFile};
use zori_policy::{Approver, Call, Policy, decide, explain as walk};
use zori_tools::env::ToolEnv;
use zori_tools::lookup;
use zori_tools::toolset::ToolSet;

use super::{Context, example};
use zori_setup::app::App;
use zori_setup::args::{LowArgs, flags};
use zori_setup::error::{CONFIG_INVALID, POLICY_UNEXPECTED};
use zori_setup::settings;

const TOOL: Flag =
    Flag::valued("tool", "NAME", Kind::Text, "The tool; without it the call is a shell command");
const INPUT: Flag = Flag::valued("input", "JSON", Kind::Json, "Its input, a JSON object");
const COMMAND_ARG: Positional = Positional::optional("COMMAND", Kind::Text, "A shell command");
const CORPUS: Flag = Flag::valued(
    "corpus",
    "TSV",
    Kind::Path,
    "Further cases: id, class, profile, command as JSON, verdict, why",
);
const FILE_ARG: Positional = Positional::required("FILE", Kind::Path, "The policy file");

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

const POLICY: &[Flag] = &[flags::POLICY, flags::PROFILE];

/// The entry of `policy check`: a stream of lines, printed as it is (DECISIONS 21).
pub const CHECK: Command<App> = Command {
    flags: POLICY,
    class: Class::Document,
    stdin: Some(StdinInput { max_bytes: usize::MAX, format: "jsonl", required: false }),
    examples: &[
        example(
            "what would happen to a command",
            r#"echo '{"id":1,"tool":"bash","input":{"command":"ls"}}' | zori policy check --policy policy.json"#,
        ),
        example("to many calls", "zori policy check --policy policy.json --input-file calls.jsonl"),
    ],
    standalone: true,
    ..Command::new(&["policy", "check"], "Decide about calls on standard input, a JSON object a line", check)
};

pub const EXPLAIN: Command<App> = Command {
    flags: const { &[flags::POLICY, flags::PROFILE, TOOL, INPUT] },
    args: const { &[COMMAND_ARG] },
    examples: &[
        example("a command", "zori policy explain \"git push\""),
        example(
            "another call",
            r#"zori policy explain --tool read --input '{"path":".env"}' --permission-mode default"#,
        ),
    ],
    output_schema: r#"{"type":"object","required":["tool","input","mode","class","verdict","reason","rule","steps"],
        "properties":{"verdict":{"enum":["allow","ask","deny"]},"rule":{"type":["object","null"]},
        "steps":{"type":"array","x-ordered":true,"items":{"type":"string"}}}}"#,
    standalone: true,
    ..Command::new(&["policy", "explain"], "Say step by step what would happen to a call", explain)
};

pub const TEST: Command<App> = Command {
    flags: const { &[flags::PROFILE, CORPUS] },
    args: const { &[FILE_ARG] },
    examples: &[
        example("by what the file expects", "zori policy test policy.json"),
        example("and by more cases", "zori policy test policy.json --corpus cases.tsv"),
    ],
    output_schema: r#"{"type":"object","required":["total","failed","failures"],"properties":{"total":{"type":"integer"},
        "failed":{"type":"integer"},"failures":{"type":"array","x-ordered":true,"items":{"type":"object",
        "required":["case","profile","tool","input","expected","got","reason"]}}}}"#,
    standalone: true,
    ..Command::new(&["policy", "test"], "Hold a policy file against its own expectations", test)
};

/// Decides about every call on standard input, one JSON object a line, and prints one decision each.
fn check(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (file, name) = open(args)?;
    let policy = chosen(cx, &file, &name, args.text(&flags::PROFILE))?;
    let harness = PolicyHarness::new(policy, file.home(), cx);
    let mut out = String::new();
    let mut bad = 0;
    let input = text(cx.input(args)?.unwrap_or_default())?;
    for (number, line) in (1..).zip(input.lines().filter(|line| !line.trim().is_empty())) {
        let (id, decision) = match serde_json::from_str::<CallLine>(line) {
            Ok(call) => {
                let cwd =
                    call.cwd.as_deref().map_or_else(|| file.cwd().to_owned(), |cwd| file.cwd().join(cwd));
                let decision = decide(&harness.policy, &harness.call(&call.tool, &call.input, &cwd)?);
                (call.id, decision)
            }
            Err(error) => {
                bad += 1;
                let flaw = format!("line {number} is not a call: {error}");
                (None, decide(&harness.policy, &Call::malformed("", flaw)))
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
    if bad == 0 {
        return Ok(Reply::document(out));
    }
    // What could be decided is: a reader that is gone will not miss the rest.
    let _ = cx.streams.stream(&out);
    let message = format!("lines that are no calls, and count as denied: {bad}");
    Err(Failure::new(&VALIDATION_ERROR, message)
        .hint("a line is `{\"id\":1,\"tool\":\"bash\",\"input\":{\"command\":\"ls\"}}`"))
}

/// Prints for one call what each step had to say.
fn explain(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (tool, input) = asked(args)?;
    let (policy, home, cwd) = match args.text(&flags::POLICY) {
        Some(_) => {
            let (file, name) = open(args)?;
            let policy = chosen(cx, &file, &name, args.text(&flags::PROFILE))?;
            (policy, file.home().to_owned(), file.cwd().to_owned())
        }
        None => {
            let (gathered, home) = settings::policy(cx.app, &LowArgs::new(args))?;
            for warning in &gathered.warnings {
                cx.warn(Warning::new("POLICY_WARNING", warning.clone()));
            }
            let cwd = gathered.policy.workspace.cwd.clone();
            // What would be asked is said to be asked, whoever runs this.
            (Policy { approver: Approver::Present, ..gathered.policy }, home.unwrap_or_default(), cwd)
        }
    };
    let harness = PolicyHarness::new(policy, &home, cx);
    let explanation = walk(&harness.policy, &harness.call(&tool, &input, &cwd)?);
    let Decision { verdict, class, reason, rule, .. } = &explanation.decision;
    let rule = rule.as_ref().map(
        |rule| json!({"text": &*rule.text, "source": rule.source.to_string(), "layer": rule.layer.as_str()}),
    );
    let data = json!({
        "tool": tool,
        "input": serde_json::from_str::<Value>(input.get()).unwrap_or(Value::Null),
        "mode": harness.policy.mode.shown(),
        "class": class.as_str(),
        "verdict": verdict.as_str(),
        "reason": reason,
        "rule": rule,
        "steps": explanation.lines(),
    });
    Ok(Reply::one(data).text(shown(&tool, &input, &harness.policy, &explanation)))
}

/// Checks a policy against its own expectations.
fn test(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let path = args.text(&FILE_ARG).unwrap_or_default();
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
    if let Some(corpus) = args.text(&CORPUS) {
        cases.extend(corpus_cases(corpus)?);
    }
    if cases.is_empty() {
        return Err(Failure::new(&VALIDATION_ERROR, format!("{name} expects nothing"))
            .hint("add `\"expect\": [{\"tool\":\"bash\",\"input\":{\"command\":\"rm -rf /\"},\"verdict\":\"deny\"}]`")
            .hint("or give `--corpus TSV`"));
    }
    let mut harnesses: Vec<(String, PolicyHarness)> = Vec::new();
    let mut failures = Vec::new();
    let mut out = String::new();
    for case in &cases {
        let asked = case.profile.as_deref().or(args.text(&flags::PROFILE));
        let profile = file.choose(asked, &name).map_err(bad_file)?.to_owned();
        if !harnesses.iter().any(|(known, _)| *known == profile) {
            let policy = chosen(cx, &file, &name, Some(&profile))?;
            harnesses.push((profile.clone(), PolicyHarness::new(policy, file.home(), cx)));
        }
        let (_, harness) = harnesses.iter().find(|(known, _)| *known == profile).expect("it was just added");
        let decision = decide(&harness.policy, &harness.call(&case.tool, &case.input, file.cwd())?);
        if !case.wanted.is_met_by(decision.verdict) {
            failures.push(json!({
                "case": case.name,
                "profile": profile,
                "tool": case.tool,
                "input": serde_json::from_str::<Value>(case.input.get()).unwrap_or(Value::Null),
                "expected": case.wanted.as_str(),
                "got": decision.verdict.as_str(),
                "reason": decision.reason,
            }));
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
    let (total, failed) = (cases.len(), failures.len());
    let _ = writeln!(out, "{} of {total} as expected", total - failed);
    let data = json!({"total": total, "failed": failed, "failures": failures});
    if failed == 0 {
        return Ok(Reply::one(data).text(out));
    }
    let message = format!("{failed} of {total} cases are not decided as expected");
    Err(Failure::new(&POLICY_UNEXPECTED, message).with_data(data).text(out))
}

struct Case {
    name: String,
    profile: Option<String>,
    tool: String,
    input: Box<RawValue>,
    wanted: ExpectedVerdict,
    why: String,
}

/// Reads a corpus: tab-separated id, class, profile, command as a JSON string, verdict, why.
fn corpus_cases(path: &str) -> Result<Vec<Case>, Failure> {
    let text = text_of(path)?;
    let rows = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let case = |(number, line): (usize, &str)| {
        let bad = |what: &str| Failure::new(&VALIDATION_ERROR, format!("{path}:{number}: {what}"));
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, _, profile, command, wanted, why @ ..] = columns.as_slice() else {
            return Err(bad("a row has an id, class, profile, command, verdict and why, separated by tabs"));
        };
        let wanted = ExpectedVerdict::parse(wanted)
            .ok_or_else(|| bad("the verdict is `allow`, `ask`, `deny` or `ask+`"))?;
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

/// A policy with the tools that parse calls.
struct PolicyHarness {
    policy: Policy,
    env: ToolEnvParts,
}

struct ToolEnvParts {
    home: PathBuf,
    temp_dir: PathBuf,
    dialect: &'static zori_tools::dialect::Dialect,
}

/// A transport that sends nothing, so that no certificate is read.
struct NoNetwork;

impl Transport for NoNetwork {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportFailure>> {
        Box::pin(async { Err(TransportFailure::Connect("calls are only looked at here".to_owned())) })
    }
}

impl PolicyHarness {
    fn new(policy: Policy, home: &Path, cx: &Context<'_>) -> Self {
        Self {
            policy,
            env: ToolEnvParts {
                home: home.to_owned(),
                temp_dir: cx.app.env.temp_dir().to_owned(),
                dialect: cx.app.profile.dialect,
            },
        }
    }

    /// Understands a call as a run would, with what the disk says about its paths.
    fn call(&self, tool: &str, input: &RawValue, cwd: &Path) -> Result<Call, Failure> {
        let workspace = &self.policy.workspace;
        let effects = match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, name)) => Some(vec![Effect::Mcp {
                server: server.to_owned(),
                tool: name.to_owned(),
                trusted_reader: false,
                change: Default::default(),
            }]),
            None if matches!(tool, "task" | "Task" | "Agent") => Some(vec![Effect::Agent]),
            None if tool == "schedule" => Some(vec![Effect::Schedule]),
            None => None,
        };
        if let Some(effects) = effects {
            return Ok(Call::new(tool, None, &effects, workspace));
        }
        let env = ToolEnv {
            root: cwd.to_owned(),
            home: Some(self.env.home.clone()),
            timeout: None,
            leniency: zori_core::tool::Leniency::Forgiving,
            shell: zori_tools::env::ShellProgram::Sh,
            job_after: None,
            bash_max_output: 0,
            temp_parent: self.env.temp_dir.clone(),
            child_env_removed: Box::new(Vec::new),
            child_env_set: Vec::new(),
            confine: None,
            files: None,
            terminals: None,
            transport: Arc::new(NoNetwork),
        };
        let tools = ToolSet::new(Arc::new(env), self.env.dialect);
        Ok(match tools.resolve(tool, input) {
            Ok(resolved) => {
                let mut call = Call::new(tool, resolved.tool.kind(), &resolved.effects, workspace);
                call.gather(lookup::look);
                call
            }
            Err(bad) => Call::malformed(tool, bad.message),
        })
    }
}

/// The call that was asked about: a command, or a tool with its input.
fn asked(args: &Args) -> Result<(String, Box<RawValue>), Failure> {
    let usage = |message: &str| {
        Failure::new(&VALIDATION_ERROR, message)
            .hint("`zori policy explain \"git push\"`, or `--tool read --input '{\"path\":\".env\"}'`")
    };
    let json = |text: String| {
        RawValue::from_string(text.trim().to_owned())
            .map_err(|error| usage(&format!("the input is not JSON: {error}")))
    };
    let tool = args.text(&TOOL).unwrap_or("bash").to_owned();
    let input = match (args.text(&COMMAND_ARG), args.text(&INPUT)) {
        (Some(_), Some(_)) => return Err(usage("a command and `--input` are two calls")),
        (Some(_), None) if args.has(&TOOL) => {
            return Err(usage("`--tool` wants `--input`, not a command"));
        }
        (Some(command), None) => {
            json(format!(r#"{{"command":{}}}"#, serde_json::to_string(command).expect("a string is JSON")))?
        }
        (None, Some(input)) => json(input.to_owned())?,
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
fn open(args: &Args) -> Result<(PolicyFile, String), Failure> {
    let missing = || {
        Failure::new(&VALIDATION_ERROR, "`policy check` needs `--policy FILE`")
            .hint("docs/policy-files.md says what is in one")
    };
    read(args.text(&flags::POLICY).ok_or_else(missing)?)
}

fn read(path: &str) -> Result<(PolicyFile, String), Failure> {
    let file = PolicyFile::parse(&text_of(path)?, path).map_err(bad_file)?;
    Ok((file, path.to_owned()))
}

fn text_of(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::new(&VALIDATION_ERROR, format!("cannot read {path}: {error}")))
}

fn bad_file(error: zori_policy::file::PolicyFileError) -> Failure {
    Failure::new(&CONFIG_INVALID, error.to_string())
}

/// Returns the policy of a profile; what is remarkable about its rules is said.
fn chosen(cx: &Context<'_>, file: &PolicyFile, name: &str, asked: Option<&str>) -> Result<Policy, Failure> {
    let profile = file.choose(asked, name).map_err(bad_file)?.to_owned();
    let (policy, remarks) = file.policy(&profile, name).map_err(bad_file)?;
    for remark in remarks {
        cx.warn(Warning::new("POLICY_WARNING", remark.text));
    }
    Ok(policy)
}

fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes)
        .map_err(|error| Failure::new(&IO_ERROR, format!("standard input is not UTF-8 text: {error}")))
}
