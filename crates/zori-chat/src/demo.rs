//! The demo: a bundled scripted model through the real engine, the real tools and the real renderers. `stage` is what it plays in.

mod stage;

use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_host::{Answers, Upstream, Which};

use self::stage::Demo;
use crate::plain::{Advice, PlainSession};
use crate::screen::{self, Left, Opening};
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::LowArgs;
use zori_setup::host_failure::of_session;
use zori_setup::network;
use zori_setup::outcome::{self, Report};
use zori_setup::settings::Settings;
use zori_setup::signals::Signals;
use zori_setup::wire_up::{self, Prepared};

/// Plays it; `/demo` of a chat does so, too.
pub fn play(cx: &mut AgentCx<'_>, args: &LowArgs, signals: Signals) -> Result<Exit, Failure> {
    let demo = Demo::prepare(cx)?;
    let on_screen = screen::fits(cx, args.plain);
    let Settings { mut session, run } = demo.settings(args)?;
    if on_screen {
        demo.make_undoable(&mut session)?;
        session.permission.answers = Answers::Person;
    }
    let host = wire_up::host(session)?;
    let what = if demo.is_mock_server() { "server" } else { "model" };
    cx.ui.say(&format!(
        "This is a demo: a scripted {what}, not a real one. Engine, tools and files are real."
    ));
    cx.ui.say(&format!("Scratch folder: {}\n", demo.folder().display()));
    if !on_screen {
        cx.ui.say(&format!("you> {}\n", demo.prompt()));
    }
    let network = network::open(cx, &host.settings, &run)?;
    let opened = host.open(Which::New, &mut Vec::new()).map_err(of_session)?;
    let provider = demo.model().unwrap_or_else(|| wire_up::provider(&host.settings.model, &run, &network));
    let upstream = Upstream { network, provider };
    if on_screen {
        let prepared = Prepared { host, opened, upstream };
        let parts = (prepared, run, None, Vec::new());
        let opening = Opening::Prompt(demo.prompt().to_owned());
        let exit = match demo.is_mock_server() {
            // The bare call of that name opens the panel, too.
            true => screen::run_panel(cx, signals.clone(), parts, opening, None)?,
            false => match screen::run(cx, signals.clone(), parts, opening, &mut None)? {
                Left::Over(exit) => exit,
                Left::Again(_) => Exit::Success,
            },
        };
        farewell(cx, args, demo, "");
        signals.die_of_hangup();
        return Ok(exit);
    }
    let mut plain = PlainSession::start(cx, Prepared { host, opened, upstream }, run, None)?;
    let end = plain.turn(demo.prompt().into(), &signals);
    let exit = outcome::exit(&end.summary.outcome, end.summary.effects);
    let way = cx.app.network.way_to(&plain.host.settings.model.base_url, cx.profile.name);
    let mut report = Report::new(plain.session().id(), false, 0, way);
    report.add_turn(&end, plain.session().messages());
    cx.report = Some(report);
    signals.leave();
    let [closed, _] = plain.close(cx.ui, Advice::default());
    if exit == Exit::Success {
        farewell(cx, args, demo, " exec -p \"What does this project do?\"");
    } else if args.keep {
        cx.ui.say(&format!("\nThe result is in {}", demo.keep().display()));
    }
    signals.die_of_hangup();
    Ok(if exit == Exit::Success { closed } else { exit })
}

/// Says where the result is, and how to go on with a real model: with a call of the kind that this was.
fn farewell(cx: &mut AgentCx<'_>, args: &LowArgs, demo: Demo, call: &str) {
    let mock = demo.is_mock_server();
    match args.keep {
        true => cx.ui.say(&format!("\nThe result is in {}", demo.keep().display())),
        false => drop(demo),
    }
    let name = cx.profile.name;
    cx.ui.say(&match mock {
        true => format!(
            "\nThat was {name} with a script for a server. With one of your own:\n\n    \
             export AGENTZERO_API_URL=http://localhost:50001/api_message\n    export AGENTZERO_API_KEY=...\n    {name}"
        ),
        false => format!(
            "\nThat was {name} with a script for a model. With one of your own:\n\n    \
             export ANTHROPIC_API_KEY=...\n    {name}{call}"
        ),
    });
}
