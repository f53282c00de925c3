//! What the output flags ask for: several spellings of one setting, and what they mean on which command.

use crate::args::Args;
use crate::error;
use crate::failure::{Issue, IssueCode};
use crate::flag::framework;
use crate::mode::{Class, Format, OutputRequest, Vars, Verbosity};

/// Reads the flags, then the variable, then the configured default: a format, or `--json` for what that means. Everything that is wrong is noted.
pub fn read(
    args: &Args,
    (class, known): (Class, &[(&str, Format)]),
    list: bool,
    (vars, prefix): (&Vars, &str),
    configured: impl FnOnce() -> Option<String>,
    issues: &mut Vec<Issue>,
) -> OutputRequest {
    let spelled = spelled(args, class);
    let differing = differing(&spelled);
    // One flag with two values is told by whoever checks flags.
    if let Some(((one, a), (other, b))) = differing.filter(|(one, other)| one.0 != other.0) {
        let message = format!("`{one}` asks for {a} and `{other}` for {b}");
        issues.push(
            Issue::new("--output", IssueCode::ConflictingArguments, message).suggest("leave one of them out"),
        );
    }
    if args.has(&framework::STREAM) && !list && class != Class::Agent {
        let message = "`--stream` is for commands that print line by line, and this one does not";
        issues.push(Issue::new("--stream", IssueCode::Kind(&error::STREAMING_NOT_SUPPORTED), message));
    }
    let variable = format!("{prefix}_OUTPUT");
    let from_vars =
        vars.get(&variable).filter(|value| !value.is_empty()).map(|value| (variable.as_str(), value));
    let asked = spelled.first().copied().or(from_vars);
    // Only asked where nothing nearer says it.
    let configured = if asked.is_none() { configured() } else { None };
    let configured = configured.map(|name| if name == "--json" { json(class).to_owned() } else { name });
    // A setting is for all commands, and some cannot print that.
    let configured = configured.filter(|name| known.iter().any(|(known, _)| known == name));
    let asked = asked.or(configured.as_deref().map(|value| ("output", value)));
    let verbosity: Vec<_> = [
        (framework::QUIET, Verbosity::Silent),
        (framework::VERBOSE, Verbosity::Verbose),
        (framework::DEBUG, Verbosity::Debug),
    ]
    .into_iter()
    .filter(|(flag, _)| args.has(flag))
    .collect();
    if let [(one, _), (other, _), ..] = verbosity.as_slice() {
        let message = format!("`{}` and `{}` do not go together", one.param(), other.param());
        issues.push(Issue::new(&one.param(), IssueCode::ConflictingArguments, message));
    }
    OutputRequest {
        // Whoever asks for two things at once is told so in the way nobody had to ask for.
        format: match differing {
            Some(_) => None,
            None => asked.and_then(|(source, name)| format(source, name, known, issues)),
        },
        non_interactive: args.has(&framework::NON_INTERACTIVE),
        no_color: args.has(&framework::NO_COLOR),
        verbosity: verbosity.first().map(|(_, verbosity)| *verbosity).or_else(|| {
            let debug = vars.get(&format!("{prefix}_DEBUG")) == Some("1");
            debug.then_some(Verbosity::Debug)
        }),
    }
}

/// Returns what `--json` means: to a command that streams, JSON is its stream.
fn json(class: Class) -> &'static str {
    if class == Class::Agent { "jsonl" } else { "json" }
}

/// Returns each spelling that was used, with the format it means.
fn spelled(args: &Args, class: Class) -> Vec<(&'static str, &str)> {
    let json = json(class);
    let mut found = Vec::new();
    found.extend(args.all(&framework::OUTPUT).iter().map(|name| ("--output", name.as_str())));
    found.extend(args.all(&framework::FORMAT).iter().map(|name| match name.as_str() {
        "text" => ("--format", "plain"),
        "json" => ("--format", json),
        other => ("--format", other),
    }));
    let switches = [
        (framework::JSON, "--json", json),
        (framework::STREAM, "--stream", "jsonl"),
        (framework::NO_STREAM, "--no-stream", "json"),
    ];
    let given = switches.into_iter().filter(|(flag, ..)| args.has(flag));
    found.extend(given.map(|(_, spelling, name)| (spelling, name)));
    found
}

type Spelled<'a> = (&'static str, &'a str);

fn differing<'a>(spelled: &[Spelled<'a>]) -> Option<(Spelled<'a>, Spelled<'a>)> {
    let first = spelled.first()?;
    spelled.iter().find(|other| other.1 != first.1).map(|other| (*first, *other))
}

fn format(source: &str, name: &str, known: &[(&str, Format)], issues: &mut Vec<Issue>) -> Option<Format> {
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, format)| *format);
    // A flag with a value that is none at all has been noted by its kind.
    let noted = source.starts_with("--") && Format::by_name(name).is_none();
    if found.is_none() && !noted {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        let message = match matches!(source, "--json" | "--stream" | "--no-stream") {
            true => format!("`{source}` is not for this command, whose output can be {names}"),
            false => format!("`{source}` can be {names} here, not `{name}`"),
        };
        issues.push(Issue::new(source, IssueCode::InvalidValue, message).value(name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(flags: &[(&str, &str)], class: Class, variable: &str) -> Result<Option<Format>, String> {
        let mut args = Args::default();
        flags.iter().for_each(|(name, value)| args.push_named(name, *value));
        let vars = Vars([("NOTES_OUTPUT".to_owned(), variable.to_owned())].into());
        let mut issues = Vec::new();
        let asked = read(
            &args,
            (class, Format::of(class)),
            false,
            (&vars, "NOTES"),
            || Some("tsv".into()),
            &mut issues,
        );
        match issues.first() {
            Some(issue) => Err(issue.message.clone()),
            None => Ok(asked.format),
        }
    }

    #[test]
    fn flag_then_variable_then_config() {
        assert_eq!(asked(&[("output", "id")], Class::Utility, "plain"), Ok(Some(Format::Id)));
        assert_eq!(asked(&[], Class::Utility, "plain"), Ok(Some(Format::Plain)));
        assert_eq!(asked(&[], Class::Utility, ""), Ok(Some(Format::Tsv)));
    }

    #[test]
    fn spellings_agree_or_fail() {
        let twice = [("output", "json"), ("json", "true")];
        assert_eq!(asked(&twice, Class::Utility, ""), Ok(Some(Format::Json)));
        assert_eq!(
            asked(&twice, Class::Agent, "").unwrap_err(),
            "`--output` asks for json and `--json` for jsonl"
        );
        assert_eq!(asked(&[("format", "text")], Class::Agent, ""), Ok(Some(Format::Plain)));
        assert_eq!(asked(&[("stream", "true")], Class::Agent, ""), Ok(Some(Format::Jsonl)));
    }

    #[test]
    fn what_a_class_cannot_print() {
        assert_eq!(
            asked(&[("output", "tsv")], Class::Agent, "").unwrap_err(),
            "`--output` can be json, jsonl, plain here, not `tsv`"
        );
        assert_eq!(
            asked(&[], Class::Utility, "yaml").unwrap_err(),
            "`NOTES_OUTPUT` can be json, jsonl, tsv, plain, table, id here, not `yaml`"
        );
        let mut issues = Vec::new();
        assert_eq!(format("--json", "json", &[("plain", Format::Plain)], &mut issues), None);
        assert_eq!(issues[0].message, "`--json` is not for this command, whose output can be plain");
        assert!(asked(&[("stream", "true")], Class::Utility, "").unwrap_err().contains("does not"));
        assert_eq!(
            asked(&[("quiet", "true"), ("debug", "true")], Class::Utility, "").unwrap_err(),
            "`--quiet` and `--debug` do not go together"
        );
    }
}
