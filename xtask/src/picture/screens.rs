//! `cargo xtask picture screens [FOLDER]`: the main screens of the chat as PNGs, in every depth of colour on light and dark ground, made from
//! real runs against a scripted model. They are for looking at, before a change to the chat is called done; nothing compares them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::reply::Reply;
use zori_testkit::rewrite::Rewrite;
use zori_testkit::server::ModelServer;
use zori_testkit::terminal::{Kind, Terminal};

use super::png::{self, DARK, Fonts, Ground, LIGHT};

const SIZE: Size = Size { rows: 30, cols: 100 };

/// A way to look at a screen.
struct Look {
    name: &'static str,
    term: &'static str,
    true_colour: bool,
    no_colour: bool,
    ground: &'static Ground,
}

const LOOKS: &[Look] = &[
    Look { name: "true-dark", term: "xterm-256color", true_colour: true, no_colour: false, ground: &DARK },
    Look { name: "true-light", term: "xterm-256color", true_colour: true, no_colour: false, ground: &LIGHT },
    Look { name: "16-dark", term: "xterm", true_colour: false, no_colour: false, ground: &DARK },
    Look { name: "16-light", term: "xterm", true_colour: false, no_colour: false, ground: &LIGHT },
    Look { name: "none-dark", term: "xterm", true_colour: false, no_colour: true, ground: &DARK },
];

/// A screen: what the model says, with which flags, what is typed (each piece after the text before it was seen), and what is seen at the end.
struct Scene {
    name: &'static str,
    args: &'static [&'static str],
    replies: fn(&Gate) -> Vec<Reply>,
    typed: &'static [(&'static str, &'static str)],
    seen: &'static str,
}

const SCENES: &[Scene] = &[
    Scene { name: "idle", args: &[], replies: |_| Vec::new(), typed: &[], seen: "›" },
    Scene {
        name: "streaming",
        args: &[],
        replies: streaming,
        typed: &[
            ("›", "why does add() fail?\r"),
            ("prints the sum", "also run the tests\r"),
            ("queued", "and look at util.py"),
        ],
        seen: "look at util.py",
    },
    Scene {
        name: "command",
        args: &[],
        replies: |_| vec![bash("for i in $(seq 212); do echo test early::$i ... ok; done; sleep 20").into()],
        typed: &[("›", "run the tests\r")],
        seen: "Ctrl-O opens",
    },
    Scene {
        name: "cells",
        args: &[],
        replies: cells,
        typed: &[("›", "fix add() in calc.py and run it\r")],
        seen: "That is all.",
    },
    Scene {
        name: "question",
        args: &["--permission-mode", "default", "--sandbox", "off"],
        replies: |_| vec![bash("rm -rf build && git push origin main").into()],
        typed: &[("›", "clean and push\r"), ("y once", "then tag it")],
        seen: "then tag it",
    },
    Scene { name: "completion", args: &[], replies: |_| Vec::new(), typed: &[("›", "/re")], seen: "/re" },
    Scene {
        name: "models", args: &[], replies: |_| Vec::new(), typed: &[("›", "/model opus")], seen: "of"
    },
    Scene {
        name: "error",
        args: &[],
        replies: |_| vec![anthropic::http_error(400, "invalid_request_error", "the model is not for you")],
        typed: &[("›", "fix add() in calc.py\r")],
        seen: "Enter sends again",
    },
];

fn bash(command: &str) -> Message {
    anthropic::tool_use("t1", "bash", json!({ "command": command }))
}

fn streaming(gate: &Gate) -> Vec<Reply> {
    let text = "The function **subtracts**: line 2 of `calc.py` has `a - b`. Two callers depend on it:\n\n\
                - src/main.rs:14 prints the sum\n- tests/calc.rs:9 expects 5; this is the test that fails\n";
    vec![Reply::sse(anthropic::text(text).sse_unfinished()).wait(gate)]
}

fn cells(_: &Gate) -> Vec<Reply> {
    let text = "Both calls of `add()` now return **the sum**:\n\n```python\ndef add(a, b):\n    \
                return a + b  # was: a - b\n\nprint(\"sum\", add(2, 3))\n```\n\n\
                | file | before | after |\n|---|---|---|\n| calc.py | -1 | 5 |\n| util.py | – | – |\n\nThat is all.";
    vec![
        anthropic::thinking("The operator is wrong.", "s")
            .tool_use("t1", "read", json!({"path": "calc.py"}))
            .into(),
        anthropic::tool_use("t2", "edit", json!({"path": "calc.py", "old": "a - b", "new": "a + b"})).into(),
        bash("python3 calc.py; for i in $(seq 9); do echo line $i; done").into(),
        anthropic::tool_use("t4", "edit", json!({"path": "calc.py", "old": "nowhere", "new": "x"})).into(),
        anthropic::text(text).into(),
    ]
}

/// Draws every scene in every look.
pub fn chore(zori: &Path, folder: &Path) -> Result<()> {
    let fonts = Fonts::find()?;
    std::fs::create_dir_all(folder)?;
    for scene in SCENES {
        for look in LOOKS {
            let file = folder.join(format!("{}-{}.png", scene.name, look.name));
            let picture =
                shot(zori, scene, look, &fonts).with_context(|| format!("{}, {}", scene.name, look.name))?;
            std::fs::write(&file, picture)?;
            println!("wrote {}", file.display());
        }
    }
    Ok(())
}

fn shot(zori: &Path, scene: &Scene, look: &Look, fonts: &Fonts) -> Result<Vec<u8>> {
    let gate = Gate::new();
    let server = ModelServer::start((scene.replies)(&gate));
    let mut world = TestEnv::new(PathBuf::from(zori));
    world.use_server(&server);
    world.write("calc.py", "def add(a, b):\n    return a - b\n\nprint(add(2, 3))\n");
    let args: Vec<&str> = ["--no-save"].iter().chain(scene.args).copied().collect();
    let mut command = world.cmd(&args);
    command.env("TERM", look.term);
    if look.true_colour {
        command.env("COLORTERM", "truecolor");
    }
    if look.no_colour {
        command.env("NO_COLOR", "1");
    }
    let mut pty = Pty::start(command, SIZE, Rewrite::default());
    let [red, green, blue] = look.ground.background;
    pty.send(&format!("\x1b]11;rgb:{red:02x}/{green:02x}/{blue:02x}\x1b\\\x1b[?62c"));
    for (seen, keys) in scene.typed {
        see(&pty, seen)?;
        for key in keys.chars() {
            pause(25);
            pty.send(&key.to_string());
        }
    }
    let terminal = see(&pty, scene.seen)?;
    drop(terminal);
    pause(400);
    let terminal = Terminal::drawn(Kind::Cutting, SIZE, &pty.drawn());
    let picture = png::draw(&terminal.cells(), look.ground, fonts, terminal.cursor());
    gate.open();
    picture
}

fn see(pty: &Pty, text: &str) -> Result<Terminal> {
    let since = Instant::now();
    loop {
        let terminal = Terminal::drawn(Kind::Cutting, SIZE, &pty.drawn());
        if terminal.rows().iter().any(|row| row.contains(text)) {
            return Ok(terminal);
        }
        if since.elapsed() > Duration::from_secs(20) {
            bail!("`{text}` is not to be seen:\n{}", terminal.rows().join("\n"));
        }
        pause(20);
    }
}

fn pause(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}
