//! No text costs more than its size allows (DEC-7), however it is made.

use std::time::{Duration, Instant};

use zori_shell::{MAX_BYTES, analyse};
use zori_testkit::shell::hostile;

use crate::show::scene;

/// What a test build may take; a release build is an order of magnitude faster.
const BOUND: Duration = Duration::from_secs(10);

#[test]
fn no_text_takes_long() {
    let scene = scene();
    for (name, text) in hostile(MAX_BYTES) {
        let start = Instant::now();
        let analysis = analyse(&text, &scene);
        let took = start.elapsed();
        assert!(took < BOUND, "{name} took {took:?}");
        assert!(analysis.commands.len() <= 2 * 4200, "{name} has {} commands", analysis.commands.len());
    }
}

#[test]
fn a_limit_never_hides_a_command() {
    let scene = scene();
    for text in [
        format!("{}curl x", "true; ".repeat(5000)),
        format!("{}curl x", "nohup ".repeat(500)),
        format!("{}curl x{}", "(".repeat(150), ")".repeat(150)),
        format!("{}curl x", "# ".repeat(40_000) + "\n"),
    ] {
        let analysis = analyse(&text, &scene);
        let seen = analysis.commands.iter().any(|command| command.base_name == "curl");
        let kept = analysis.words.iter().flat_map(|words| words.iter()).any(|word| word == "curl");
        assert!(seen || kept, "{}", &text[..40]);
        assert!(
            !analysis.unresolved.is_empty()
                || analysis
                    .commands
                    .iter()
                    .any(|c| matches!(c.effect, zori_shell::CommandEffect::Unresolved(_)))
        );
    }
}
