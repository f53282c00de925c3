//! `context show`: the workspace as an Agent Zero server's agent is told of it (AZ-9).

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::failure::Failure;
use zori_contract::reply::Reply;

use super::{Context, example};
use zori_setup::agent_zero::preface::{ContextPreface, PrefaceSources};
use zori_setup::agent_zero::{connection, project};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::config::Config;
use zori_setup::settings;

pub const SHOW: Command<App> = Command {
    examples: &[
        example("what the server's agent would read of this folder", "zori context show"),
        example("of another one", "zori context show --root ../other"),
    ],
    output_schema: r#"{"type":"object","required":["text","signature","notes"],"additionalProperties":false,"properties":{
        "text":{"type":"string"},"signature":{"type":"string"},
        "notes":{"type":"array","x-ordered":true,"items":{"type":"string"}}}}"#,
    declares: r#"{"subprocess":{"binary":"git","user_controlled_args":false,"hardcoded_args":["status"]}}"#,
    standalone: true,
    ..Command::new(
        &["context", "show"],
        "Show the workspace as the provider agent-zero sends it: files, beginnings, git status, tools",
        show,
    )
};

fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let args = LowArgs::new(args);
    let config = match cx.app.data_dir() {
        Ok(data_dir) => data_dir.read_config()?,
        Err(_) => Config::default(),
    };
    let config = project::overlaid(config, &cx.app.env, &args.overlay)?;
    let root = match connection::workspace_root(&args, &config, &cx.app.env, cx.app.profile) {
        Some(given) => settings::root_at(given)?,
        None => settings::root(&args)?,
    };
    let policy = settings::policy_of_remote_agent(cx.app, &args)?;
    let (preface, mut notes) = ContextPreface::read(PrefaceSources {
        config: &config,
        env: &cx.app.env,
        root,
        mode: policy.mode,
        shell: &policy.shell,
        redactor: cx.app.redactor(),
    })?;
    let shown = preface.shown();
    notes.extend(shown.status);
    let text = shown.blocks.join("\n\n");
    let said = notes.iter().fold(text.clone(), |said, note| format!("{said}\n\n{note}"));
    let signature = shown.signature.unwrap_or_default();
    Ok(Reply::one(json!({ "text": text, "signature": signature, "notes": notes })).text(said))
}
