//! `start`: a run for a GUI, as lines of the Yume dialect (`docs/contracts/claude-protocol.md`).

use zori_contract::command::{Command, Rule};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_contract::mode::{Class, Format};
use zori_policy::mode::Protocol;

use super::exec::DECLARES;
use super::{example, own_streams};
use crate::gui;
use crate::stream_json;
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::args::flags;
use zori_setup::args::flags::{API_BASE, HISTORY_FILE, PROTOCOL_VERSION, SESSION_NAME, TRUST_WORKSPACE};

const PROMPT: Flag = Flag::valued(
    "prompt",
    "TEXT",
    Kind::Text,
    "The prompt of the one turn; else standard input has it, or lines",
)
.short('p');
const SESSION_ID: Flag =
    Flag::valued("session-id", "ID", Kind::Id(SESSION_NAME), "What the new session is called");
const RESUME: Flag = Flag::valued("resume", "ID", Kind::Id(SESSION_NAME), "Go on with this session");
const OUTPUT_FORMAT: Flag =
    Flag::valued("output-format", "FORMAT", Kind::Choice(&["stream-json"]), "What is written: stream-json")
        .default("stream-json");

pub const COMMAND: Command<App> = Command {
    flags: FLAGS,
    rules: const { &[Rule::Excludes { flag: &flags::SESSION, other: &SESSION_ID }] },
    danger: Danger::Mutating,
    class: Class::Protocol,
    formats: const { &[("plain", Format::Plain)] },
    timeout_ms: None,
    examples: &[
        example(
            "one turn",
            "zori start --provider openai --model gpt-5.4 --prompt \"What does main.rs do?\"",
        ),
        example("go on with a session", "zori start --resume sess-1 --prompt \"And the tests?\""),
        example("many turns, with lines on standard input", "zori start --session-id sess-1 < frames.jsonl"),
    ],
    declares: DECLARES,
    failure_line: Some(gui::failure_lines),
    standalone: true,
    ..Command::new(&["start"], "Run for a GUI: flat JSON lines, in the dialect of Yume", |cx, args| {
        own_streams(cx, args, start)
    })
};

const FLAGS: &[Flag] =
    &[PROMPT, SESSION_ID, RESUME, PROTOCOL_VERSION, OUTPUT_FORMAT, API_BASE, HISTORY_FILE, TRUST_WORKSPACE];

fn start(cx: &mut super::AgentCx<'_>, low: &LowArgs) -> Result<Exit, Failure> {
    let mut low = low.clone();
    if low.protocol.version == Some(Protocol::Claude) {
        low.protocol.output = Some("stream-json".to_owned());
        low.protocol.stream_input = low.prompt.text.is_none();
        return stream_json::serve(cx, &low);
    }
    low.protocol.version = Some(Protocol::Yume);
    gui::run(cx, &low)
}
