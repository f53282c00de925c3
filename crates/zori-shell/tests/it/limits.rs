//! No text costs more than its size allows (DEC-7), however it is made.

use std::time::Duration;

use zori_shell::{MAX_BYTES, analyse};
use zori_testkit::shell::hostile;
use zori_testkit::wait::computing_time;

use crate::show::context;

/// What a test build may compute; a release build is an order of magnitude faster.
const BOUND: Duration = Duration::from_secs(10);

#[test]
fn no_text_takes_long() {
    let context = context();
    for (name, text) in hostile(MAX_BYTES) {
        let start = computing_time();
        let analysis = analyse(&text, &context);
        let took = computing_time() - start;
        assert!(took < BOUND, "{name} took {took:?}");
        assert!(analysis.commands.len() <= 2 * 4200, "{name} has {} commands", analysis.commands.len());
    }
}

#[test]
fn a_limit_never_hides_a_command() {
    let context = context();
    for text in [
        format!("{}curl x", "true; ".repeat(5000)),
        format!("{}curl x", "nohup ".repeat(500)),
        format!("{}curl x{}", "(".repeat(150), ")".repeat(150)),
        format!("{}curl x", "# ".repeat(40_000) + "\n"),
    ] {
        let analysis = analyse(&text, &context);
        let seen = analysis.commands.iter().any(|command| command.base_name == "curl");
        let kept = analysis.raw_words.iter().flat_map(|words| words.iter()).any(|word| word == "curl");
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
