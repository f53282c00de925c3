//! `demo`: a bundled scripted model through the real engine, the real tools and the real renderer.

use zori_contract::command::Command;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_contract::mode::Class;

use super::{AGENT_FORMATS, AgentCx, example, failure_event, own_streams};
use zori_chat::demo;
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::args::flags;
use zori_setup::signals::Signals;

/// It changes nothing but a folder of its own, which goes with it.
pub const COMMAND: Command<App> = Command {
    flags: const { &[flags::KEEP, flags::PLAIN] },
    class: Class::Agent,
    formats: AGENT_FORMATS,
    output_schema: super::exec::OUTPUT_SCHEMA,
    exits: &[Exit::Partial],
    timeout_ms: None,
    failure_line: Some(failure_event),
    examples: &[example("watch it", "zori demo"), example("and look at what it wrote", "zori demo --keep")],
    standalone: true,
    declares: r#"{"subprocess":{"binary":"*","user_controlled_args":false,"hardcoded_args":["-c"]},
        "filesystem_side_effects":[{"path":"$TMPDIR","type":"temp"}]}"#,
    ..Command::new(
        &["demo"],
        "Watch a scripted model edit and test a small program; needs no key",
        |cx, args| own_streams(cx, args, run),
    )
};

/// Plays the demo in a scratch folder that is removed afterwards.
fn run(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    demo::play(cx, args, signals)
}
