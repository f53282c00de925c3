//! `jq`: a filter that may import modules and files.

use super::options::OptionGrammar;
use super::{Call, EffectKind, ProgramEffects};
use crate::arg::Arg;

/// Options that take two values: a name, and a text or a file.
const NAMED_TEXT: &[&str] = &["--arg", "--argjson"];
const NAMED_FILE: &[&str] = &["--slurpfile", "--rawfile", "--argfile"];

/// jq 1.7.1.
pub const GRAMMAR: OptionGrammar = OptionGrammar {
    short: "cCMSrjaesRnf:L:hV",
    long: "compact-output color-output monochrome-output sort-keys raw-output raw-output0 join-output \
        ascii-output exit-status slurp raw-input null-input tab indent= unbuffered stream stream-errors seq \
        from-file= args jsonargs binary help version build-configuration",
    stops_at_operand: false,
};

/// Returns what a `jq` command does.
pub fn analyse(call: &Call<'_>) -> ProgramEffects {
    let mut effects = ProgramEffects::read_only();
    let mut args: Vec<Arg> = Vec::new();
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        at += 1;
        match arg.literal() {
            Some(option) if NAMED_TEXT.contains(&option) => at += 2,
            Some(option) if NAMED_FILE.contains(&option) => {
                effects.kind = EffectKind::Other;
                effects.reads.extend(call.args.get(at + 1).cloned());
                at += 2;
            }
            _ => args.push(arg.clone()),
        }
    }
    let parsed = GRAMMAR.parse(&args);
    if parsed.has_unknown_option || parsed.has(&["L", "f", "from-file"]) {
        effects.kind = EffectKind::Other;
    }
    effects.reads.extend(parsed.values(&["L", "f", "from-file"]).cloned());
    if parsed.may_be_option {
        effects.unknown = Some("a word that is not known may become an option");
    }
    let given = parsed.has(&["f", "from-file"]);
    let mut operands = parsed.operands.iter();
    if !given && let Some(program) = operands.next() {
        match program.literal() {
            Some(text) if imports(text) => effects.kind = EffectKind::Other,
            Some(_) => {}
            None => effects.kind = EffectKind::Other,
        }
    }
    if !parsed.has(&["args", "jsonargs"]) {
        effects.reads.extend(operands.cloned());
    }
    effects
}

/// Whether a program names files of its own, or shows the environment. A word in a string counts, too.
fn imports(program: &str) -> bool {
    let word = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    program
        .split(word)
        .any(|name| matches!(name, "import" | "include" | "env" | "ENV" | "modulemeta" | "input_filename"))
}
