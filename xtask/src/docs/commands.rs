//! The page of commands, flags and exit codes, and the page of settings.

use zori::commands::COMMANDS;
use zori::program::ZORI;
use zori_contract::command::Command;
use zori_contract::exit::Exit;
use zori_contract::flag::Flag;
use zori_setup::app::App;
use zori_setup::config::keys::{KEYS, Key, Kind, LOGIN_KEYS};
use zori_setup::config::own_models::MODEL_KEYS;

use super::cell;

/// Returns the page of commands.
pub fn commands() -> String {
    let mut page = String::from("# Commands\n");
    for command in COMMANDS {
        page.push_str(&section(command));
    }
    page.push_str("\n## Options of every command\n\nBefore or after its name.\n\n");
    page.push_str(&flags(&ZORI.global_flags()));
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---:|---|\n");
    for exit in Exit::ALL {
        page.push_str(&format!("| {} | {} |\n", exit.code(), cell(exit.about())));
    }
    page.push_str(
        "\n## Error codes\n\n`error.code` of an answer.\n\n| code | exit | meaning |\n|---|---:|---|\n",
    );
    let mut errors: Vec<_> = ZORI.all_errors().collect();
    errors.sort_by_key(|kind| kind.code);
    for kind in errors {
        page.push_str(&format!("| `{}` | {} | {} |\n", kind.code, kind.exit.code(), cell(kind.about)));
    }
    page.push_str("\n## Environment variables\n\n| variable | meaning |\n|---|---|\n");
    for (name, about) in ZORI.all_variables() {
        page.push_str(&format!("| `{name}` | {} |\n", cell(about)));
    }
    page
}

/// Returns the page of settings.
pub fn settings() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         `config.toml` in the base directory; `zori config path` says where that is, `zori config init` writes one with every\n\
         setting as a comment. A flag wins over an environment variable, which wins over this file.\n\n\
         | key | value | example | meaning |\n|---|---|---|---|\n",
    );
    page.push_str(&rows(KEYS));
    page.push_str(
        "\n## Models of your own\n\n\
         A table `[models.\"provider:model\"]` adds a model to the catalogue or corrects one, without waiting for a release. What\n\
         it leaves out is as the catalogue has it, or as the model that `base` names; a model that the catalogue does not know\n\
         needs a `context_window`, and calls tools, sees no images and does not think unless the table says so. `zori models\n\
         list` marks it.\n\n\
         ```toml\n[models.\"openrouter:qwen/qwen3-coder\"]\ncontext_window = 262144\nprice_input = 0.22\nprice_output = 0.95\n```\n\n\
         | key | value | example | meaning |\n|---|---|---|---|\n",
    );
    page.push_str(&rows(MODEL_KEYS));
    page
}

fn rows(keys: &[Key]) -> String {
    let row = |Key { name, kind, example, about }: &Key| {
        format!("| `{name}` | {} | `{}` | {} |\n", value(*kind), cell(example), cell(about))
    };
    keys.iter().map(row).collect()
}

/// Returns the words of every command.
pub fn command_paths() -> impl Iterator<Item = &'static [&'static str]> {
    COMMANDS.iter().map(|command| command.path)
}

fn section(command: &Command<App>) -> String {
    let mut usage: Vec<String> = ["zori"].iter().chain(command.path).map(|word| (*word).to_owned()).collect();
    let title = usage.join(" ");
    for arg in command.args {
        let many = if arg.many { "..." } else { "" };
        usage.push(match arg.required {
            true => format!("<{}>{many}", arg.name),
            false => format!("[{}]{many}", arg.name),
        });
    }
    let mut text = format!("\n## `{title}`\n\n{}.\n\n```text\n{}\n```\n", command.about, usage.join(" "));
    if !command.args.is_empty() {
        text.push_str("\n| argument | meaning |\n|---|---|\n");
        for arg in command.args {
            text.push_str(&format!("| `{}` | {} |\n", arg.name, cell(arg.about)));
        }
    }
    let own = ZORI.own_flags(command);
    let mut headings: Vec<&str> = Vec::new();
    for flag in &own {
        if !headings.contains(&flag.group) {
            headings.push(flag.group);
        }
    }
    for heading in headings {
        let below: Vec<Flag> = own.iter().filter(|flag| flag.group == heading).copied().collect();
        let title = if heading.is_empty() { String::new() } else { format!("\n{heading}:\n") };
        text.push_str(&format!("{title}\n{}", flags(&below)));
    }
    let exits: Vec<_> = command.exit_map().iter().map(|exit| exit.code().to_string()).collect();
    text.push_str(&format!("\nExit codes: {}\n", exits.join(", ")));
    let examples: Vec<_> =
        command.examples.iter().map(|example| format!("# {}\n{}", example.about, example.command)).collect();
    text.push_str(&format!("\n```sh\n{}\n```\n", examples.join("\n")));
    text
}

fn flags(flags: &[Flag]) -> String {
    let mut text = String::from("| option | meaning |\n|---|---|\n");
    for flag in flags {
        let short = flag.short.map(|short| format!("-{short}, ")).unwrap_or_default();
        let value = if flag.value.is_empty() { String::new() } else { format!(" <{}>", flag.value) };
        let aliases: String = flag.aliases.iter().map(|alias| format!(", `--{alias}`")).collect();
        text.push_str(&format!("| `{short}--{}{value}`{aliases} | {} |\n", flag.long, cell(flag.about)));
    }
    text
}

fn value(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Choice(choices) => {
            choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Count(min, max) if max >= u64::from(u32::MAX) => format!("whole number from {min}"),
        Kind::Count(min, max) => format!("whole number, {min} to {max}"),
        Kind::Number => "number".to_owned(),
        Kind::Price => "dollars for a million tokens".to_owned(),
        Kind::Money => "an amount of dollars".to_owned(),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Switch => "`\"auto\"`, `true` or `false`".to_owned(),
        Kind::Logins => {
            let keys: Vec<_> = LOGIN_KEYS.iter().map(|key| format!("`{key}`")).collect();
            format!("tables of {}", keys.join(", "))
        }
        Kind::List => "list of texts".to_owned(),
        Kind::Hooks => "a table of hooks, by event".to_owned(),
        Kind::Keymap => "a table of keys, by action".to_owned(),
        Kind::Projects => "a table of settings, by name".to_owned(),
        Kind::Profiles => "a table of words, by name".to_owned(),
    }
}
