//! `check-permissions`: which scopes commands need. Keys of providers have none to look at, so the report is short.

use serde_json::{Map, Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::failure::{Failure, Issue, IssueCode};
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_contract::path::AbsPath;
use zori_contract::reply::Reply;

use super::{COMMANDS, Context, example};
use zori_setup::app::App;

const FOR: Flag = Flag::valued("for", "COMMAND", Kind::Text, "One command, such as `sessions list`");

pub const COMMAND: Command<App> = Command {
    flags: const { &[FOR] },
    examples: &[
        example("of every command", "zori check-permissions"),
        example("of one", "zori check-permissions --for \"sessions list\""),
    ],
    output_schema: r#"{"type":"object","properties":{"command":{"type":"string"},
        "required_scopes":{"type":"array","items":{"type":"string"}},
        "active_scopes":{"type":"array","items":{"type":"string"}},"over_privileged":{"type":"boolean"},
        "commands":{"type":"object"}}}"#,
    validate: known,
    standalone: true,
    ..Command::new(&["check-permissions"], "Show which scopes commands need", run)
};

fn find(name: &str) -> Option<&'static Command<App>> {
    COMMANDS.iter().find(|command| command.name() == name.replace('.', " "))
}

fn known(args: &Args, _: &AbsPath) -> Vec<Issue> {
    let unknown = args.text(&FOR).filter(|name| find(name).is_none());
    let issue = |name: &str| {
        Issue::new(
            "--for",
            IssueCode::InvalidValue,
            format!("`--for` takes the name of a command, not `{name}`"),
        )
        .value(name)
    };
    unknown.map(issue).into_iter().collect()
}

fn run(_: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    const NONE: &str = "No command needs a scope: providers' keys have none.";
    if let Some(command) = args.text(&FOR).and_then(find) {
        let data = json!({"command": command.name(), "required_scopes": [], "active_scopes": [], "over_privileged": false});
        return Ok(Reply::one(data).text(format!("`{}` needs no scope.", command.name())));
    }
    let entry = |command: &Command<App>| {
        (command.name(), json!({"required_scopes": [], "covered": true, "over_privileged": false}))
    };
    let commands: Map<String, Value> = COMMANDS.iter().map(entry).collect();
    Ok(Reply::one(json!({"commands": commands})).text(NONE))
}
