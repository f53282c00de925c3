//! `demo`: a bundled scripted model through the real engine, the real tools and the real renderer.

use zori_contract::command::Command;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::mode::{Class, Format};
use zori_core::cost::Spent;

use super::{Cx, example, exec, failure_event, own_streams};
use crate::args::LowArgs;
use crate::demo::Demo;
use crate::network::Network;
use crate::outlet::Outlet;
use crate::program::App;
use crate::sandbox::confinement::Confinement;
use crate::signals::Signals;
use crate::wire_up::{Run, Saved, Session};

/// The entry. It changes nothing but a folder of its own, which goes with it.
pub const COMMAND: Command<App> = Command {
    flags: const { &[Flag::switch("keep", "Keep the scratch folder and say where it is")] },
    class: Class::Agent,
    formats: &[("plain", Format::Plain), ("jsonl", Format::Jsonl)],
    exits: &[Exit::Partial],
    timeout_ms: None,
    failure_line: Some(failure_event),
    examples: &[example("watch it", "zori demo"), example("and look at what it wrote", "zori demo --keep")],
    ..Command::new(
        &["demo"],
        "Watch a scripted model edit and test a small program; needs no key",
        |cx, args| own_streams(cx, args, run),
    )
};

/// Plays the demo in a scratch folder that is removed afterwards.
fn run(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let signals = Signals::install(&cx.cancel)?;
    let demo = Demo::prepare(cx)?;
    let settings = demo.settings(args)?;
    let confinement = Confinement::start(&settings)?;
    cx.ui.say("This is a demo: a scripted model, not a real one. Engine, tools and files are real.");
    cx.ui.say(&format!("Scratch folder: {}\n", demo.folder().display()));
    cx.ui.say(&format!("you> {}\n", demo.prompt()));
    let network = Network::open(cx, &settings)?;
    let (provider, inside) = (demo.provider(), confinement.clone());
    let outlet = Outlet::plain(cx, &settings)?;
    let run = Run {
        settings: &settings,
        network: &network,
        provider,
        confinement: inside,
        spent_before: Spent::NOTHING,
    };
    let mut session = Session::start(cx, run, Saved::nowhere(), outlet)?;
    let exit = exec::turn(&mut session, demo.prompt().into(), &signals).exit;
    signals.leave();
    let closed = session.finish(cx.ui);
    if let Some(confinement) = confinement {
        confinement.end(cx.ui);
    }
    match args.keep {
        true => cx.ui.say(&format!("\nThe result is in {}", demo.keep().display())),
        false => drop(demo),
    }
    if exit == Exit::Success {
        cx.ui.say(&format!(
            "\nThat was {name} with a script for a model. With one of your own:\n\n    \
             export ANTHROPIC_API_KEY=...\n    {name} exec -p \"What does this project do?\"",
            name = cx.profile.name
        ));
    }
    signals.die_of_hangup();
    Ok(if exit == Exit::Success { closed } else { exit })
}
