//! `--show-config` (O-015): whatever the command, the settings that would hold, as `config show` prints them.

use zori_contract::flag::Flag;

use crate::program::ZORI;
use zori_setup::args::flags::SHOW_CONFIG;

/// Makes `config show` of a call that asks for it. Only what every command takes is kept of the others.
pub fn rewrite(words: &mut Vec<String>) {
    let asks = words.iter().take_while(|word| *word != "--").any(|word| *word == SHOW_CONFIG.param());
    if !asks {
        return;
    }
    let global: Vec<Flag> = ZORI.global_flags();
    let mut kept = vec!["config".to_owned(), "show".to_owned()];
    let mut rest = std::mem::take(words).into_iter();
    while let Some(word) = rest.next().filter(|word| word != "--") {
        let long = word.strip_prefix("--").map(|word| word.split('=').next().unwrap_or_default());
        let known = |flag: &Flag| match long {
            Some(long) => flag.is_called(long),
            None => flag
                .short
                .is_some_and(|short| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(short))),
        };
        let Some(flag) = global.iter().find(|flag| known(flag) && flag.long != SHOW_CONFIG.long) else {
            continue;
        };
        let wants = flag.wants_next(&word);
        kept.push(word);
        if wants {
            kept.extend(rest.next());
        }
    }
    *words = kept;
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(line: &str, wanted: &str) {
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        super::rewrite(&mut words);
        assert_eq!(words.join(" "), wanted);
    }

    #[test]
    fn in_the_place_of_any_command() {
        check("--show-config", "config show");
        check("exec --model m -p hi --show-config -ojson", "config show --model m -ojson");
        check("--retries=3 sessions rm x --show-config --yes", "config show --retries=3 --yes");
        check("exec -p -- --show-config", "exec -p -- --show-config");
    }
}
