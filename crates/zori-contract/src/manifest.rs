//! The program, described for programs: the manifest, which keeps to the published schema, and the extended form of
//! `--schema` with everything else there is to say. Both are made from the same tables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::command::{Command, Example, Rule};
use crate::exit::{Danger, Exit};
use crate::flag::{Flag, Positional, framework};
use crate::help;
use crate::kind::Kind;
use crate::program::Program;

/// The version of the manifest's form.
const SCHEMA_VERSION: &str = "1.0";

/// The manifest, as text: it is large, and each call makes it anew.
pub struct Manifest {
    /// What changes when it does.
    pub etag: String,
    /// All of it.
    pub json: Box<RawValue>,
}

/// Returns the manifest. What its closed schema has no place for is below `output_schema["x-cli"]` of each command.
pub fn manifest<A>(program: &Program<A>) -> Manifest {
    let shared = Shared::of(program);
    let commands: BTreeMap<_, _> =
        program.commands.iter().map(|command| (key(command), entry(program, command, &shared))).collect();
    let commands = raw(&commands);
    let etag = etag(commands.get());
    let document = Document {
        commands: &commands,
        etag: &etag,
        framework_version: program.version,
        schema_version: SCHEMA_VERSION,
    };
    Manifest { json: raw(&document), etag }
}

/// Returns the extended form: the same commands, with every declaration on the entry itself.
pub fn extended<A>(program: &Program<A>) -> Value {
    let commands: BTreeMap<_, _> =
        program.commands.iter().map(|command| (key(command), schema(program, command))).collect();
    let commands = Value::Object(commands.into_iter().collect());
    let mut document = json!({
        "schema_version": SCHEMA_VERSION,
        "framework_version": program.version,
        "etag": etag(&commands.to_string()),
        "commands": commands,
    });
    let variables = program.all_variables();
    document["environment"] = variables
        .iter()
        .map(|(name, about)| json!({"name": name, "description": about, "required": false}))
        .collect();
    document["dependencies"] = json!([]);
    document["errors"] = errors(program);
    document
}

/// Returns the extended entry of one command, with its parameters and the schema of its data.
pub fn schema<A>(program: &Program<A>, command: &Command<A>) -> Value {
    let mut all = json!(entry(program, command, &Shared::of(program)));
    let declared = declared(program, command);
    all["output_schema"] = output_schema(command);
    let object = all.as_object_mut().expect("an entry is an object");
    object.extend(declared.as_object().expect("declarations are an object").clone());
    let flags = help::flags(program, command);
    let parameters: Map<_, _> = flags
        .iter()
        .map(|flag| match flag.long == framework::OUTPUT.long {
            true => (flag.long.to_owned(), restricted(command, extended_flag(flag))),
            false => (flag.long.to_owned(), extended_flag(flag)),
        })
        .chain(command.args.iter().map(|arg| (arg.name.to_owned(), extended_positional(arg))))
        .collect();
    object.insert("parameters".into(), Value::Object(parameters));
    object.insert("tool_version".into(), json!(program.version));
    all
}

/// Returns the JSON Schema of a command's `data`.
///
/// # Panics
///
/// When the table does not hold JSON; the registry's invariants say so first.
pub fn output_schema<A>(command: &Command<A>) -> Value {
    serde_json::from_str(command.output_schema).expect("an output schema is JSON: the registry's invariants")
}

/// Returns every error code with what it means for a caller.
pub fn errors<A>(program: &Program<A>) -> Value {
    let mut all: Vec<_> = program.all_errors().collect();
    all.sort_by_key(|kind| kind.code);
    all.iter()
        .map(|kind| {
            json!({
                "code": kind.code,
                "exit_code": kind.exit.code(),
                "retryable": kind.retryable(),
                "description": kind.about,
                "fix_required": kind.fix_required,
            })
        })
        .collect()
}

/// The manifest's fields, in the order of the alphabet as everywhere in it.
#[derive(Serialize)]
struct Document<'a> {
    commands: &'a RawValue,
    etag: &'a str,
    framework_version: &'a str,
    schema_version: &'a str,
}

/// No map here has an order of its own, so the same tables always give the same text.
fn etag(commands: &str) -> String {
    let hash: String = Sha256::digest(commands).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hash}")
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("tables are plain values")
}

fn key<A>(command: &Command<A>) -> String {
    command.path.join(".")
}

/// What many commands have in common, written once.
struct Shared {
    flags: Vec<(&'static str, Box<RawValue>)>,
    exits: Vec<(Exit, Danger, Box<RawValue>)>,
}

impl Shared {
    fn of<A>(program: &Program<A>) -> Self {
        let dangers = [Danger::Safe, Danger::Mutating, Danger::Destructive];
        let exit =
            |danger: Danger| Exit::ALL.iter().map(move |exit| (*exit, danger, raw(&exit.entry(danger))));
        Self {
            flags: program.global_flags().iter().map(described_flag).collect(),
            exits: dangers.into_iter().flat_map(exit).collect(),
        }
    }
}

/// A map in the order it was made.
struct InOrder<'a>(Vec<(String, &'a RawValue)>);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// What the manifest says of a command.
#[derive(Serialize)]
struct Entry<'a> {
    aliases: &'a [&'a str],
    danger_level: &'a str,
    description: &'a str,
    examples: Vec<Value>,
    exit_codes: InOrder<'a>,
    flags: BTreeMap<&'a str, Cow<'a, RawValue>>,
    output_formats: Vec<&'a str>,
    output_schema: Value,
}
fn entry<'a, A>(program: &Program<A>, command: &'a Command<A>, shared: &'a Shared) -> Entry<'a> {
    let mut flags: BTreeMap<_, _> =
        shared.flags.iter().map(|(name, json)| (*name, Cow::Borrowed(&**json))).collect();
    let own = program.own_flags(command);
    flags.extend(own.iter().map(described_flag).map(|(name, json)| (name, Cow::Owned(json))));
    // Only what this command prints.
    let output = restricted(command, flag_entry(&framework::OUTPUT));
    flags.insert(framework::OUTPUT.long, Cow::Owned(raw(&output)));
    flags.extend(command.args.iter().map(|arg| (arg.name, Cow::Owned(raw(&positional_entry(arg))))));
    let mut output_schema = output_schema(command);
    output_schema["x-cli"] = declared(program, command);
    let example = |example: &Example| json!({"description": example.about, "command": example.command});
    let exit = |exit: &Exit| {
        let known = shared.exits.iter().find(|(known, danger, _)| known == exit && *danger == command.danger);
        (exit.code().to_string(), &*known.expect("all of them are there").2)
    };
    Entry {
        aliases: command.aliases,
        danger_level: command.danger.as_str(),
        description: command.about,
        examples: command.examples.iter().map(example).collect(),
        exit_codes: InOrder(command.exit_map().iter().map(exit).collect()),
        flags,
        output_formats: command.formats().iter().map(|(name, _)| *name).collect(),
        output_schema,
    }
}

fn described_flag(flag: &Flag) -> (&'static str, Box<RawValue>) {
    (flag.long, raw(&flag_entry(flag)))
}

fn flag_entry(flag: &Flag) -> Value {
    let mut entry =
        json!({"type": flag.kind.manifest_type(), "required": flag.required, "description": flag.about});
    if let Some(short) = flag.short {
        entry["short"] = json!(short.to_string());
    }
    if let Some(default) = flag.default {
        let number = matches!(flag.kind, Kind::Int { .. }).then(|| default.parse::<i64>().ok()).flatten();
        entry["default"] = number.map_or(json!(default), |number| json!(number));
    }
    if let Kind::Choice(names) = flag.kind {
        entry["enum_values"] = json!(names);
    }
    entry
}

/// Takes what a command does not print out of the entry of `--output`.
fn restricted<A>(command: &Command<A>, mut entry: Value) -> Value {
    entry["enum_values"] = command.formats().iter().map(|(name, _)| json!(name)).collect();
    entry["description"] = json!(crate::tree::format_help(command));
    entry
}

fn positional_entry(arg: &Positional) -> Value {
    let kind = if arg.many { "array" } else { arg.kind.manifest_type() };
    let mut entry = json!({"type": kind, "required": arg.required, "description": arg.about});
    if let (Kind::Choice(names), false) = (arg.kind, arg.many) {
        entry["enum_values"] = json!(names);
    }
    entry
}

fn extended_flag(flag: &Flag) -> Value {
    let mut entry = flag_entry(flag);
    entry["aliases"] = json!(flag.aliases);
    entry["max_length"] = json!(flag.max_length);
    entry["repeatable"] = json!(flag.many);
    extend(&mut entry, flag.kind);
    entry
}

fn extended_positional(arg: &Positional) -> Value {
    let mut entry = positional_entry(arg);
    entry["positional"] = json!(true);
    entry["stdin_fallback"] = json!(matches!(arg.kind, Kind::Id(_)));
    extend(&mut entry, arg.kind);
    entry
}

fn extend(entry: &mut Value, kind: Kind) {
    entry["kind"] = json!(kind.name());
    entry["agent_hardening"] = json!(kind.hardened().is_some());
    entry["sensitive"] = json!(false);
    if let Some(pattern) = kind.pattern() {
        entry["pattern"] = json!(pattern.regex);
        entry["pattern_type"] = json!(pattern.name);
    }
    if let Kind::Int { min, max } = kind {
        entry["minimum"] = json!(min);
        if max != i64::MAX {
            entry["maximum"] = json!(max);
        }
    }
}

/// Returns what becomes of a call whose standard input is no terminal.
fn non_tty_behavior<A>(command: &Command<A>) -> &'static str {
    match command.stdin {
        Some(stdin) if stdin.required => "fail_with_exit_4",
        Some(_) => "read_to_the_end",
        None => "not_read",
    }
}

/// Returns what a command declares beyond the manifest's own fields.
fn declared<A>(program: &Program<A>, command: &Command<A>) -> Value {
    let rules: Vec<_> = command
        .rules
        .iter()
        .map(|rule| match rule {
            Rule::Needs { flag, value, other } => {
                json!({"if_flag": flag.long, "if_value": value, "then_required": [other.long]})
            }
            Rule::Excludes { flag, other } => json!({"if_flag": flag.long, "prohibited": [other.long]}),
        })
        .collect();
    let mut all = json!({
        "output_class": command.class.as_str(),
        "read_only": command.danger == Danger::Safe && command.changes_with.is_none(),
        "changes_with": command.changes_with.map(Flag::param),
        "supports_streaming": command.list || command.class == crate::mode::Class::Agent,
        "streaming_default": false,
        "safe_default": command.safe_default,
        "requires_confirmation": command.needs_agreement() && !command.safe_default,
        "idempotent_key": command.takes_key(),
        "dry_run": command.preview.is_some(),
        "list": command.list,
        "primary_id_field": command.id_field,
        "recursive_traversal": command.walks,
        "steps": command.steps,
        "timeout_ms": command.timeout_ms.unwrap_or(0),
        "cancellable": true,
        "max_output_bytes": command.max_output_bytes.unwrap_or(crate::cap::DEFAULT_BYTES),
        "schema_version": command.schema_version,
        "introduced_in": command.introduced_in,
        "option_placement": "any",
        "requires_interactive": command.class == crate::mode::Class::Interactive,
        "stdin_fallback": command.stdin.is_some() || command.args.iter().any(|arg| matches!(arg.kind, Kind::Id(_))),
        "non_tty_behavior": non_tty_behavior(command),
        "required_scopes": [],
        "requires": rules,
        "stdin_input": command.stdin.map(|stdin| json!({
            "max_bytes": stdin.max_bytes, "format": stdin.format, "required": stdin.required,
            "non_tty_behavior": non_tty_behavior(command),
        })),
        "variables_prefix": program.prefix,
    });
    let own: Map<String, Value> = serde_json::from_str(command.declares)
        .expect("declarations are a JSON object: the registry's invariants");
    all.as_object_mut().expect("it was made so").extend(own);
    if let Some(log) = program.audit_log.filter(|_| command.danger != Danger::Safe) {
        let place = json!({"path": log, "type": "log"});
        match all["filesystem_side_effects"].as_array_mut() {
            Some(places) => places.push(place),
            None => all["filesystem_side_effects"] = json!([place]),
        }
    }
    all
}
