//! `start`: a run for a GUI, as lines of the Yume dialect (`stream-json.md` chapters 5, 6 and 11).

use zori_contract::command::{Command, Rule};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_contract::mode::{Class, Format};
use zori_policy::mode::Protocol;

use super::exec::DECLARES;
use super::{example, own_streams};
use crate::args::LowArgs;
use crate::args::flags::{PROTOCOL_VERSION, SESSION};
use crate::gui;
use crate::program::App;
use crate::stream_json;

/// The entry.
pub const COMMAND: Command<App> = Command {
    flags: FLAGS,
    rules: const { &[Rule::Excludes { flag: "session", other: "session-id" }] },
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
    ..Command::new(&["start"], "Run for a GUI: flat JSON lines, in the dialect of Yume", |cx, args| {
        own_streams(cx, args, start)
    })
};

const FLAGS: &[Flag] = &[
    Flag::valued(
        "prompt",
        "TEXT",
        Kind::Text,
        "The prompt of the one turn; else standard input has it, or lines",
    )
    .short('p'),
    Flag::valued("session-id", "ID", Kind::Id(SESSION), "What the new session is called"),
    Flag::valued("resume", "ID", Kind::Id(SESSION), "Go on with this session"),
    PROTOCOL_VERSION,
    Flag::valued("output-format", "FORMAT", Kind::Choice(&["stream-json"]), "What is written: stream-json")
        .default("stream-json"),
    Flag::valued("api-base", "URL", Kind::Text, "Where the provider's API is, for this run"),
    Flag::valued(
        "history-file",
        "FILE",
        Kind::Text,
        "Accepted; no effect here: sessions are kept, and `--resume` goes on with one",
    )
    .rare(),
    Flag::switch("trust-workspace", "Trust this folder's own settings for this run, and list them").rare(),
];

fn start(cx: &mut super::Cx<'_>, low: &LowArgs) -> Result<Exit, Failure> {
    let mut low = low.clone();
    if low.claude.version == Some(Protocol::Claude) {
        low.claude.output = Some("stream-json".to_owned());
        low.claude.stream_input = low.prompt.is_none();
        return stream_json::serve(cx, &low);
    }
    low.protocol = Some(Protocol::Yume);
    if low.history_file {
        cx.ui.warn(
            "`--history-file` has no effect here: sessions are kept, and `--resume ID` goes on with one",
        );
    }
    gui::run(cx, &low)
}
