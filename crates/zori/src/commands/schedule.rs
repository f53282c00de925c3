//! `schedule add|list|show|rm|run`: prompts that run at set times in this project (`docs/contracts/schedule.md`).

pub mod runner;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::{Command, Rule};
use zori_contract::error::{ALREADY_EXISTS, VALIDATION_ERROR};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::{Kind, Pattern};
use zori_contract::reply::{Effect, Reply};
use zori_core::text::one_line;
use zori_core::time::Timestamp;
use zori_index::{Job, JobRun, NewJob, ProjectStore, When};

use super::memory::{now, place_of};
use super::{Context, example};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::error::JOB_NOT_FOUND;
use zori_setup::memory::unusable;
use zori_setup::schedule::{local_zone, mark, may_run, unmark};
use zori_setup::settings;

const NAME_KIND: Kind = Kind::Name(Pattern::ALPHANUMERIC);
const NAME: Positional = Positional::required("NAME", NAME_KIND, "The job");
const CRON: Flag = Flag::valued(
    "cron",
    "LINE",
    Kind::Text,
    "When, again and again: minute, hour, day, month, weekday; a sixth field in front is seconds",
)
.max_length(200);
const AT: Flag =
    Flag::valued("at", "TIME", Kind::Text, "When, once: `2027-01-31T09:30`, or with a zone behind it")
        .max_length(64);
const TZ: Flag = Flag::valued(
    "tz",
    "ZONE",
    Kind::Text,
    "The time zone, such as Europe/Berlin; this machine's unless given",
)
.max_length(64);
const PROMPT: Flag =
    Flag::valued("prompt", "TEXT", Kind::Text, "What the model is asked then").short('p').required();

/// How many runs `schedule show` lists.
const RUNS: u32 = 20;

const JOB_SCHEMA: &str =
    r#"{"type":"object","required":["name","cron","at","tz","prompt","mode","next_run"]}"#;

pub const ADD: Command<App> = Command {
    args: const { &[NAME] },
    flags: const { &[CRON, AT, TZ, PROMPT] },
    rules: const { &[Rule::Excludes { flag: &CRON, other: &AT }] },
    examples: &[
        example(
            "on work days at nine",
            "zori schedule add triage --cron \"0 9 * * mon-fri\" --prompt \"Summarise the open issues\"",
        ),
        example(
            "once",
            "zori schedule add check --at 2027-01-31T09:30 --tz Europe/Berlin -p \"Run the tests\"",
        ),
    ],
    danger: Danger::Mutating,
    exits: &[Exit::Conflict],
    preview: Some(|cx, args| {
        let job = wanted(cx, args)?;
        let next = zori_index::next_slot(&job.when, now(cx)).map(time);
        let items = vec![format!("{} (next: {})", job.name, next.unwrap_or_default())];
        Ok(Preview { verb: "add", items, reversible: true })
    }),
    output_schema: JOB_SCHEMA,
    declares: super::DATABASE,
    ..Command::new(
        &["schedule", "add"],
        "Have a prompt run at set times: by a chat in the project, or by `schedule run`",
        add,
    )
};

pub const LIST: Command<App> = Command {
    list: true,
    id_field: Some("name"),
    columns: &["name", "next_run", "last_run", "last_status", "prompt"],
    line: Some(row_line),
    examples: &[
        example("the jobs of this project", "zori schedule list"),
        example("their names", "zori schedule list --output id"),
    ],
    output_schema: r#"{"type":"array","x-ordered":true,"items":{"type":"object","required":["name","next_run"]}}"#,
    ..Command::new(&["schedule", "list"], "List the scheduled jobs of this project", list)
};

pub const SHOW: Command<App> = Command {
    args: const { &[NAME] },
    exits: &[Exit::NotFound],
    examples: &[
        example("a job and its last runs", "zori schedule show triage"),
        example("for a program", "zori schedule show triage --output json"),
    ],
    output_schema: JOB_SCHEMA,
    ..Command::new(&["schedule", "show"], "Show a scheduled job and its last runs", show)
};

pub const REMOVE: Command<App> = Command {
    args: const { &[NAME] },
    danger: Danger::Destructive,
    examples: &[
        example("what would go", "zori schedule rm triage --dry-run"),
        example("let it go", "zori schedule rm triage --yes"),
    ],
    preview: Some(|cx, args| {
        let name = args.text(&NAME).unwrap_or_default();
        let found = read(cx)?.map(|store| store.job(name)).transpose().map_err(|error| unusable(&error))?;
        let items = found.flatten().map(|job| job.name).into_iter().collect();
        Ok(Preview { verb: "remove", items, reversible: false })
    }),
    output_schema: r#"{"type":"object","required":["effect","name"],"properties":{"effect":{"enum":["deleted","noop"]}}}"#,
    declares: super::DATABASE,
    ..Command::new(&["schedule", "rm"], "Remove a scheduled job and the list of its runs", rm)
};

/// Opens the project's part of the database for reading; `None` where there is none yet.
fn read(cx: &Context<'_>) -> Result<Option<ProjectStore>, Failure> {
    place_of(cx)?.read().map_err(|error| unusable(&error))
}

fn open(cx: &Context<'_>) -> Result<ProjectStore, Failure> {
    place_of(cx)?.open().map_err(|error| unusable(&error))
}

/// Returns the job that is asked for. Its mode is the one that holds for the person who makes it (DECISIONS 67).
fn wanted<'a>(cx: &Context<'_>, args: &'a Args) -> Result<NewJob<'a>, Failure> {
    let zone = match args.text(&TZ) {
        Some(zone) => zone.to_owned(),
        None => local_zone(&cx.app.env),
    };
    let when = match (args.text(&CRON), args.text(&AT)) {
        (Some(line), _) => When::cron(line, &zone, now(cx)),
        (None, Some(at)) => When::once(at, &zone, now(cx)),
        (None, None) => {
            let message = "a job needs a time: `--cron LINE`, or `--at TIME`";
            return Err(Failure::new(&VALIDATION_ERROR, message));
        }
    };
    let when = when.map_err(|error| Failure::new(&VALIDATION_ERROR, error.to_string()))?;
    let prompt = args.text(&PROMPT).unwrap_or_default();
    if prompt.trim().is_empty() {
        return Err(Failure::new(&VALIDATION_ERROR, "`--prompt` is empty: say what the model is asked"));
    }
    if prompt == "-" {
        let message = "`--prompt -` is standard input, which a job has not: say what the model is asked";
        return Err(Failure::new(&VALIDATION_ERROR, message));
    }
    let (resolved, _) = settings::policy(cx.app, &LowArgs::new(args))?;
    let mode = resolved.policy.mode.mode.as_str();
    Ok(NewJob { name: args.text(&NAME).unwrap_or_default(), when, prompt, created_by: "user", mode })
}

fn add(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let job = wanted(cx, args)?;
    let added = open(cx)?.add_job(&job, now(cx)).map_err(|error| unusable(&error))?;
    let Some(added) = added else {
        let message = format!("there is a job `{}` already", job.name);
        return Err(Failure::new(&ALREADY_EXISTS, message)
            .field("conflict_id", job.name)
            .hint(format!("`{} schedule rm {}` removes it", cx.program.name, job.name)));
    };
    // Open chats hear of it, too.
    let data_dir = cx.app.data_dir()?;
    mark(&data_dir, &place_of(cx)?.project)?;
    let next = added.next_run.map(time).unwrap_or_default();
    let runner = format!("`{} schedule run`", cx.program.name);
    // The tabs of a panel do not: it runs the jobs of the project it was opened in.
    let runs = match data_dir.read_config().map_or(true, |config| may_run(&config)) {
        true => format!("A chat opened in this project runs it then, or {runner}."),
        false => format!("No chat runs it (`scheduler.enabled`), but {runner} does."),
    };
    let text = format!("Added `{}`: next at {next}, in the mode {}. {runs}", added.name, added.mode);
    Ok(Reply::changed(Effect::Created, row(&added)).text(text))
}

fn list(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let jobs = read(cx)?
        .map(|store| store.jobs())
        .transpose()
        .map_err(|error| unusable(&error))?
        .unwrap_or_default();
    let text = match jobs.is_empty() {
        true => "No jobs are scheduled in this project.".to_owned(),
        false => jobs.iter().map(|job| line(job) + "\n").collect(),
    };
    Ok(Reply::rows(jobs.iter().map(row)).text(text))
}

fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let name = args.text(&NAME).unwrap_or_default();
    let missing = || no_job(cx, name);
    let store = read(cx)?.ok_or_else(missing)?;
    let job = store.job(name).map_err(|error| unusable(&error))?.ok_or_else(missing)?;
    let runs = store.job_runs(&job, RUNS).map_err(|error| unusable(&error))?;
    let mut text = format!(
        "{}\n  mode {}, made by {}\n  {}\n",
        line(&job),
        job.mode,
        job.created_by,
        one_line(&job.prompt)
    );
    for run in &runs {
        let status = run.status.as_deref().unwrap_or("not finished");
        text.push_str(&format!("  {}  {status}\n", time(run.scheduled_for)));
    }
    let mut data = row(&job);
    data["runs"] = runs.iter().map(run_row).collect();
    Ok(Reply::one(data).text(text))
}

fn rm(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let name = args.text(&NAME).unwrap_or_default();
    let known = read(cx)?.map(|store| store.job(name)).transpose().map_err(|error| unusable(&error))?;
    if known.flatten().is_none() {
        return Ok(
            Reply::changed(Effect::Noop, json!({"name": name})).text(format!("There is no job `{name}`"))
        );
    }
    let mut store = open(cx)?;
    store.remove_job(name, now(cx)).map_err(|error| unusable(&error))?;
    unmark(&cx.app.data_dir()?, &place_of(cx)?.project, &store);
    Ok(Reply::changed(Effect::Deleted, json!({"name": name})).text(format!("Removed `{name}`")))
}

fn no_job(cx: &Context<'_>, name: &str) -> Failure {
    Failure::new(&JOB_NOT_FOUND, format!("There is no job `{name}` in this project"))
        .hint(format!("`{} schedule list` shows those there are", cx.program.name))
}

fn time(seconds: i64) -> String {
    Timestamp(seconds).rfc3339()
}

fn row(job: &Job) -> Value {
    let (cron, at, zone) = match &job.when {
        When::Cron { line, zone } => (Some(line), None, zone),
        When::Once { at, zone } => (None, Some(time(*at)), zone),
    };
    json!({"name": job.name, "cron": cron, "at": at, "tz": zone, "prompt": job.prompt, "mode": job.mode,
        "created_by": job.created_by, "next_run": job.next_run.map(time), "last_run": job.last_run.map(time),
        "last_status": job.last_status})
}

fn run_row(run: &JobRun) -> Value {
    json!({"scheduled_for": time(run.scheduled_for), "started": time(run.started),
        "finished": run.finished.map(time), "status": run.status})
}

fn line(job: &Job) -> String {
    row_line(&row(job))
}

/// Returns a row as a line.
fn row_line(row: &Value) -> String {
    let text = |key: &str| row[key].as_str();
    let zone = text("tz").unwrap_or_default();
    let when = text("cron").map_or_else(|| format!("once ({zone})"), |line| format!("{line} ({zone})"));
    let next = text("next_run").map_or_else(|| "never again".to_owned(), |next| format!("next {next}"));
    let last = match (text("last_run"), text("last_status")) {
        (Some(at), Some(status)) => format!(", last {at} {status}"),
        _ => String::new(),
    };
    format!("{}  {when}  {next}{last}", text("name").unwrap_or_default())
}
