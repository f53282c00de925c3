//! `demo`: a bundled scripted model through the real engine, the real tools and the real renderer.

use zori_core::cost::Spent;

use super::{Cx, exec};
use crate::args::LowArgs;
use crate::command_error::CommandError;
use crate::demo::Demo;
use crate::exit::Exit;
use crate::network::Network;
use crate::sandbox::confinement::Confinement;
use crate::settings::check_output;
use crate::signals::Signals;
use crate::wire_up::{Saved, Session};

/// Plays the demo in a scratch folder that is removed afterwards.
pub fn run(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &crate::config::Config::default())?;
    let signals = Signals::install(cx.timeout.as_ref())?;
    let demo = Demo::prepare(cx)?;
    let settings = demo.settings(args)?;
    let confinement = Confinement::start(&settings)?;
    cx.ui.say("This is a demo: a scripted model, not a real one. Engine, tools and files are real.");
    cx.ui.say(&format!("Scratch folder: {}\n", demo.folder().display()));
    cx.ui.say(&format!("you> {}\n", demo.prompt()));
    let network = Network::open(cx, &settings)?;
    let (provider, inside) = (demo.provider(), confinement.clone());
    let mut session =
        Session::start(cx, &settings, &network, provider, inside, Saved::nowhere(), Spent::NOTHING)?;
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
