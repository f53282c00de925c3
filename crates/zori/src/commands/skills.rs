//! `generate-skills`: files that tell another agent how to use this program, made from the tables.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::atomic::atomic_write;
use zori_contract::command::Command;
use zori_contract::error::IO_ERROR;
use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::manifest;
use zori_contract::program::Program;
use zori_contract::reply::{Effect, Reply};

use super::{COMMANDS, Context, example};
use zori_setup::app::App;

const OUTPUT_DIR: Flag = Flag::valued("output-dir", "DIR", Kind::Path, "Where the files go").required();
const SKILL_FORMAT: Flag =
    Flag::valued("skill-format", "FORMAT", Kind::Choice(&["markdown", "json"]), "What they are")
        .default("markdown");

pub const COMMAND: Command<App> = Command {
    flags: const { &[OUTPUT_DIR, SKILL_FORMAT] },
    examples: &[
        example("for another agent", "zori generate-skills --output-dir skills/zori"),
        example("which files", "zori generate-skills --output-dir skills/zori --dry-run"),
    ],
    danger: Danger::Mutating,
    preview: Some(|cx, args| {
        let folder = cx.cwd.join(args.text(&OUTPUT_DIR).unwrap_or_default());
        let items =
            files(cx.program, json(args)).iter().map(|file| folder.join(&file.name).to_string()).collect();
        Ok(Preview { verb: "create", items, reversible: true })
    }),
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"effect":{"enum":["updated","noop"]},
        "skills":{"type":"array","x-ordered":true,"items":{"type":"object","required":["path","type","command","format"]}},
        "cleanup":{"type":"object"}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"--output-dir","type":"config"}]}"#,
    ..Command::new(&["generate-skills"], "Write files that tell another agent how to use this program", run)
};

/// A file to write.
struct File {
    name: String,
    kind: &'static str,
    command: Option<String>,
    text: String,
}

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let folder = cx.cwd.join(args.text(&OUTPUT_DIR).unwrap_or_default());
    let format = args.text(&SKILL_FORMAT).unwrap_or_default().to_owned();
    let failed =
        |error: std::io::Error| Failure::new(&IO_ERROR, format!("cannot write to {folder}: {error}"));
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut skills = Vec::new();
    for file in files(cx.program, json(args)) {
        cx.cancel.check()?;
        let path = folder.join(&file.name);
        atomic_write(&path, file.text.as_bytes()).map_err(failed)?;
        skills.push(json!({"path": path, "type": file.kind, "command": file.command, "format": format}));
    }
    let text = format!("Wrote {} files to {folder}", skills.len());
    let cleanup = json!({"command": format!("rm -r {folder}"), "auto_cleanup_after_seconds": null});
    Ok(Reply::changed(Effect::Updated, json!({"skills": skills, "cleanup": cleanup})).text(text))
}

/// Returns the files as the repository and the packages hold them: name and text.
pub fn shipped(program: &Program<App>) -> Vec<(String, String)> {
    files(program, false).into_iter().map(|file| (file.name, file.text)).collect()
}

fn json(args: &Args) -> bool {
    args.text(&SKILL_FORMAT) == Some("json")
}

fn files(program: &Program<App>, json: bool) -> Vec<File> {
    let mut files = vec![context(program, json)];
    files.extend(COMMANDS.iter().map(|command| skill(program, command, json)));
    files
}

fn context(program: &Program<App>, json: bool) -> File {
    let text = match json {
        true => pretty(&manifest::extended(program)),
        false => {
            let mut text = format!(
                "# {} {}\n\n{}.\n\nOn a pipe every result is one line of JSON with `ok`, `data`, `error`, `warnings` and `meta`; \
                 `{} manifest` describes everything.\n\n| command | what it does | changes |\n|---|---|---|\n",
                program.name, program.version, program.about, program.name
            );
            for command in COMMANDS {
                let _ = writeln!(
                    text,
                    "| `{}` | {} | {} |",
                    command.name(),
                    command.about,
                    command.danger.as_str()
                );
            }
            text
        }
    };
    File { name: format!("CONTEXT.{}", ending(json)), kind: "context", command: None, text }
}

fn skill(program: &Program<App>, command: &'static Command<App>, json: bool) -> File {
    let name = command.path.join("-");
    let call = format!("{} {}", program.name, command.name());
    let text = match json {
        true => pretty(&manifest::schema(program, command)),
        false => {
            let mut text = format!(
                "---\nname: {}-{name}\ndescription: {}\nversion: {}\ndanger: {}\n---\n\n# {call}\n\n{}.\n\n## Examples\n\n```sh\n",
                program.name,
                command.about,
                program.version,
                command.danger.as_str(),
                command.about
            );
            for example in command.examples {
                let _ = writeln!(text, "# {}\n{}", example.about, example.command);
            }
            let _ = write!(text, "# what it takes and returns\n{call} --schema\n```\n\n## Options\n\n");
            for arg in command.args {
                let _ = writeln!(text, "- `{}`: {}", arg.name, arg.about);
            }
            for flag in program.own_flags(command) {
                let _ = writeln!(text, "- `--{}`: {}", flag.long, flag.about);
            }
            let _ = write!(text, "\n## Exit codes\n\n");
            for exit in command.exit_map() {
                let _ = writeln!(text, "- {}: {}", exit.code(), exit.about());
            }
            text
        }
    };
    File {
        name: format!("SKILL-{name}.{}", ending(json)),
        kind: "skill",
        command: Some(command.name()),
        text,
    }
}

fn ending(json: bool) -> &'static str {
    if json { "json" } else { "md" }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON values can be written") + "\n"
}
