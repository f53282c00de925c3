//! CH-6: every way in which a command can end, and what the model reads of it.

use serde_json::json;
use zori_testkit::anthropic;

use super::row;
use crate::sessions::exec_in;
use crate::world::with_model;

/// Commands that cannot start something, with the code that shells have for it.
const CANNOT_START: &[(&str, &str)] = &[
    ("no-such-program-here", "exit 127"),
    ("./no-such-file-here", "exit 127"),
    ("exec /no/such/program", "exit 127"),
    ("touch plain && ./plain", "exit 126"),
    ("mkdir folder && ./folder", "exit 126"),
    ("cp /bin/sleep busy && exec 3>>busy && ./busy 1", "exit 126"),
    ("/bin/true $(head -c 3000000 /dev/zero | tr '\\0' x)", "exit 126"),
    ("cp /bin/sleep locked && chmod 644 locked && ./locked 1", "exit 126"),
];
const CODES: &[u8] = &[1, 2, 3, 64, 77, 100, 124, 125, 128, 130, 137, 143, 255];
const SIGNALS: &[&str] =
    &["HUP", "ILL", "ABRT", "FPE", "KILL", "SEGV", "PIPE", "ALRM", "TERM", "USR1", "USR2"];

#[test]
fn every_end_is_told() {
    let code = |code: &u8| (format!("exit {code}"), format!("exit {code}"));
    let signal = |name: &&str| (format!("ulimit -c 0; kill -{name} $$"), "killed by a signal".to_owned());
    let cannot = |(command, told): &(&str, &str)| ((*command).to_owned(), (*told).to_owned());
    let ends: Vec<(String, String)> = CODES
        .iter()
        .map(code)
        .chain(SIGNALS.iter().map(signal))
        .chain(CANNOT_START.iter().map(cannot))
        .collect();
    let mut reply = anthropic::Message::new();
    for (n, (command, _)) in ends.iter().enumerate() {
        reply = reply.tool_use(&format!("t{n}"), "bash", json!({"command": command}));
    }
    let (world, model) = with_model([reply, anthropic::text("Done.")]);
    exec_in(&world, "s", "go").finish().success();
    let last = model.request(1).messages().pop().expect("a message");
    let results = last["content"].as_array().expect("results");
    let read = |n: usize| results[n]["content"].as_str().unwrap_or_default().to_owned();
    for (n, (command, told)) in ends.iter().enumerate() {
        let text = read(n);
        // What a command that cannot start says of it, and in which words, is the shell's.
        assert_eq!(text.lines().next(), Some(told.as_str()), "{command}: {text}");
        let silent = n < CODES.len() + SIGNALS.len();
        assert_eq!(
            text.lines().nth(1),
            Some(if silent { "(no output)" } else { "stderr:" }),
            "{command}: {text}"
        );
    }
    assert!(ends.len() >= 30, "{} ends", ends.len());
    row("CH-6", "every end is told exactly", ends.len());
}
