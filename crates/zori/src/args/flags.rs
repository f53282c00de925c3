//! The flags, as a table. Parsing, help, the reference page and later the manifest walk it.

use std::str::FromStr;

use zori_core::cost::MicroUsd;
use zori_core::provider::Effort;

use super::LowArgs;
use crate::timeout;

/// A flag.
pub struct Flag {
    /// The long name, without dashes.
    pub long: &'static str,
    /// The short name.
    pub short: Option<char>,
    /// Other long names; not shown.
    pub aliases: &'static [&'static str],
    /// What its value is called; a switch has none.
    pub value: Option<&'static str>,
    /// What it does.
    pub about: &'static str,
    /// Where help shows it.
    pub shown: Shown,
    /// How often it may be given.
    pub times: Times,
    /// Takes the value down; an error says what is wrong with it.
    pub apply: fn(&mut LowArgs, &str) -> Result<(), String>,
}

/// Where help shows a flag, and what help shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In the short help.
    Common,
    /// Only with `--all`.
    All,
}

/// How often a flag may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Once.
    Once,
    /// Any number of times; each value is applied.
    Many,
}

const fn flag(
    long: &'static str,
    value: Option<&'static str>,
    about: &'static str,
    apply: fn(&mut LowArgs, &str) -> Result<(), String>,
) -> Flag {
    Flag { long, short: None, aliases: &[], value, about, shown: Shown::Common, times: Times::Once, apply }
}

/// `-p`, for the commands that take a prompt.
pub const PROMPT: Flag = Flag {
    short: Some('p'),
    ..flag("prompt", Some("TEXT"), "The prompt; `-` reads it from standard input", |args, value| {
        args.prompt = Some(value.to_owned());
        Ok(())
    })
};

/// `--image`, for the commands that take a prompt.
pub const IMAGE: Flag = Flag {
    times: Times::Many,
    ..flag(
        "image",
        Some("FILE"),
        "Show the model an image with the prompt; may be repeated",
        |args, value| {
            args.images.push(value.to_owned());
            Ok(())
        },
    )
};

/// `--keep`, for the demo.
pub const KEEP: Flag = flag("keep", None, "Keep the scratch folder and say where it is", |args, _| {
    args.keep = true;
    Ok(())
});

/// `--with-token`, for the login.
pub const WITH_TOKEN: Flag =
    flag("with-token", None, "Read a key from standard input instead of opening a browser", |args, _| {
        args.with_token = true;
        Ok(())
    });

/// `--policy`, for the commands about one.
pub const POLICY: Flag =
    flag("policy", Some("FILE"), "A policy file, in place of this machine's settings", |args, value| {
        args.policy = Some(value.to_owned());
        Ok(())
    });

/// `--profile`, which of a policy file's.
pub const PROFILE: Flag =
    flag("profile", Some("NAME"), "The profile of the policy file [default: the only one]", |args, value| {
        args.policy_profile = Some(value.to_owned());
        Ok(())
    });

/// `--tool`, of the call to explain.
pub const TOOL: Flag = flag("tool", Some("NAME"), "The tool [default: bash]", |args, value| {
    args.tool = Some(value.to_owned());
    Ok(())
});

/// `--input`, of the call to explain.
pub const INPUT: Flag = flag("input", Some("JSON"), "Its input, a JSON object", |args, value| {
    args.input = Some(value.to_owned());
    Ok(())
});

/// `--corpus`, further cases for a policy.
pub const CORPUS: Flag = flag(
    "corpus",
    Some("TSV"),
    "Further cases: id, class, profile, command as JSON, verdict, why",
    |args, value| {
        args.corpus = Some(value.to_owned());
        Ok(())
    },
);

/// `--without-hooks`, for trust.
pub const WITHOUT_HOOKS: Flag =
    flag("without-hooks", None, "Trust its settings, and run none of its hooks", |args, _| {
        args.without_hooks = true;
        Ok(())
    });

/// `--below`, for trust.
pub const BELOW: Flag = flag("below", None, "Trust this folder and all below it", |args, _| {
    args.below = true;
    Ok(())
});

/// `--event`, for the audit log.
pub const EVENT: Flag =
    flag("event", Some("NAME"), "Show only these: decision, approval, tool, trust or run", |args, value| {
        let known = ["decision", "approval", "tool", "trust", "run"];
        if !known.contains(&value) {
            return Err(format!("`--event` takes one of `{}`, not `{value}`", known.join("`, `")));
        }
        args.event = Some(value.to_owned());
        Ok(())
    });

/// `--limit`, for the audit log.
pub const LIMIT: Flag =
    flag("limit", Some("N"), "Show at most so many, the latest [default: 100]", |args, value| {
        let count: Option<usize> = value.parse().ok().filter(|count| *count > 0);
        args.limit =
            Some(count.ok_or_else(|| format!("`--limit` takes a whole number from 1, not `{value}`"))?);
        Ok(())
    });

/// `--verify`, for the audit log.
pub const VERIFY: Flag =
    flag("verify", None, "Check the chains of all audit logs and name the first broken link", |args, _| {
        args.verify = true;
        Ok(())
    });

/// The flags every command takes, before and after its name (CLI-1).
pub const GLOBAL: &[Flag] = &[
    Flag {
        aliases: &["cwd"],
        ..flag("root", Some("DIR"), "Working directory of the tools [default: .]", |args, value| {
            args.root = Some(value.to_owned());
            Ok(())
        })
    },
    flag("model", Some("MODEL"), "The model, or `provider:model`", |args, value| {
        args.model = Some(value.to_owned());
        Ok(())
    }),
    flag("provider", Some("NAME"), "Who serves the model", |args, value| {
        args.provider = Some(value.to_owned());
        Ok(())
    }),
    flag("session", Some("ID"), "Go on with this session, or start one of this name", |args, value| {
        args.session = Some(value.to_owned());
        Ok(())
    }),
    flag("no-save", None, "Save no session", |args, _| {
        args.no_save = true;
        Ok(())
    }),
    flag(
        "system-prompt",
        Some("TEXT"),
        "Replace the configured system prompt; empty clears it",
        |args, value| {
            args.system_prompt = Some(value.to_owned());
            Ok(())
        },
    ),
    Flag {
        short: Some('o'),
        ..flag("output", Some("FORMAT"), "What to print: plain", |args, value| {
            args.outputs.push(("--output", value.to_owned()));
            Ok(())
        })
    },
    Flag {
        shown: Shown::All,
        ..flag(
            "format",
            Some("FORMAT"),
            "What to print: text (the same as `--output plain`)",
            |args, value| {
                args.outputs.push(("--format", value.to_owned()));
                Ok(())
            },
        )
    },
    Flag {
        aliases: &["security-mode"],
        shown: Shown::All,
        ..flag(
            "permission-mode",
            Some("MODE"),
            "What runs without a question: yolo, acceptEdits, default, paranoid, plan, dontAsk, deny",
            |args, value| {
                args.permission_mode = Some(value.to_owned());
                Ok(())
            },
        )
    },
    Flag {
        aliases: &["allowedTools", "allowed-tools"],
        times: Times::Many,
        shown: Shown::All,
        ..flag("allow", Some("RULES"), "Let these calls run, such as `Bash(git diff:*)`", |args, value| {
            args.allow.extend(rules(value));
            Ok(())
        })
    },
    Flag {
        times: Times::Many,
        shown: Shown::All,
        ..flag("ask", Some("RULES"), "Ask about these calls in every mode", |args, value| {
            args.ask.extend(rules(value));
            Ok(())
        })
    },
    Flag {
        aliases: &["disallowedTools", "disallowed-tools"],
        times: Times::Many,
        shown: Shown::All,
        ..flag("deny", Some("RULES"), "Never let these calls run", |args, value| {
            args.deny.extend(rules(value));
            Ok(())
        })
    },
    Flag {
        short: Some('y'),
        aliases: &["auto"],
        shown: Shown::All,
        ..flag(
            "yes",
            None,
            "Answer every question about a call with yes; what is denied stays denied",
            |args, _| {
                args.yes = true;
                Ok(())
            },
        )
    },
    Flag {
        shown: Shown::All,
        ..flag(
            "trust-workspace",
            None,
            "Trust this folder's own settings for this run, and list them",
            |args, _| {
                args.trust_workspace = true;
                Ok(())
            },
        )
    },
    Flag {
        shown: Shown::All,
        ..flag("retries", Some("N"), "How often a failed request is tried again", |args, value| {
            args.retries = Some(number("--retries", value, 20)? as u32);
            Ok(())
        })
    },
    Flag {
        shown: Shown::All,
        ..flag("retry-delay", Some("MS"), "The first wait before that, in milliseconds", |args, value| {
            args.retry_delay_ms = Some(number("--retry-delay", value, 60_000)?);
            Ok(())
        })
    },
    Flag {
        shown: Shown::All,
        ..flag(
            "thinking",
            Some("LEVEL"),
            "How much the model thinks: off, low, medium, high, max",
            |args, value| {
                let wrong = || format!("`--thinking` takes off, low, medium, high or max, not `{value}`");
                args.thinking = Some(Effort::by_name(value).ok_or_else(wrong)?);
                Ok(())
            },
        )
    },
    Flag {
        shown: Shown::All,
        ..flag("max-turns", Some("N"), "Ask the model at most N times for one prompt", |args, value| {
            args.max_turns = Some(at_least_one("--max-turns", value)?);
            Ok(())
        })
    },
    Flag {
        aliases: &["max-cost"],
        shown: Shown::All,
        ..flag("max-budget-usd", Some("USD"), "Stop when the run has cost that much", |args, value| {
            let amount = value.parse().ok().and_then(MicroUsd::from_dollars);
            let wrong =
                || format!("`--max-budget-usd` takes an amount of dollars such as 0.50, not `{value}`");
            args.max_budget = Some(amount.ok_or_else(wrong)?);
            Ok(())
        })
    },
    Flag {
        shown: Shown::All,
        ..flag(
            "max-tokens-total",
            Some("N"),
            "Stop when the run has used that many tokens, read and written",
            |args, value| {
                args.max_tokens_total = Some(at_least_one("--max-tokens-total", value)?);
                Ok(())
            },
        )
    },
    Flag {
        shown: Shown::All,
        ..flag(
            "timeout",
            Some("DURATION"),
            "End the command after 500ms, 30s, 5m, 1h; 0: never",
            |args, value| {
                args.timeout = Some(timeout::parse(value)?);
                Ok(())
            },
        )
    },
    Flag {
        shown: Shown::All,
        ..flag(
            "record",
            Some("FILE"),
            "Write what goes to and comes from the provider to a new file",
            |args, value| {
                args.record = Some(value.into());
                Ok(())
            },
        )
    },
    Flag {
        shown: Shown::All,
        ..flag(
            "replay",
            Some("FILE"),
            "Run a recording again, offline and without a key; tools really run",
            |args, value| {
                args.replay = Some(value.into());
                Ok(())
            },
        )
    },
    Flag {
        shown: Shown::All,
        ..flag("replay-lenient", None, "Go on where a replay differs from its recording", |args, _| {
            args.replay_lenient = true;
            Ok(())
        })
    },
    Flag {
        shown: Shown::All,
        ..flag("as", Some("NAME"), "Behave as the program of this name: zori, zdx", |_, _| Ok(()))
    },
];

/// Takes rules apart: commas and blanks separate them, except between brackets.
fn rules(text: &str) -> Vec<String> {
    let mut rules = vec![String::new()];
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ' ' if depth == 0 => {
                rules.push(String::new());
                continue;
            }
            _ => {}
        }
        rules.last_mut().expect("there is always one").push(c);
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}

fn at_least_one<N: FromStr + PartialEq + From<u8>>(flag: &str, value: &str) -> Result<N, String> {
    let wrong = || format!("`{flag}` takes a whole number from 1, not `{value}`");
    value.parse().ok().filter(|n| *n != N::from(0)).ok_or_else(wrong)
}

fn number(flag: &str, value: &str, max: u64) -> Result<u64, String> {
    match value.parse() {
        Ok(n) if n <= max => Ok(n),
        _ => Err(format!("`{flag}` takes a whole number from 0 to {max}, not `{value}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_separated_outside_brackets() {
        assert_eq!(rules("Bash(git log:*) Edit, Read(a, b)"), ["Bash(git log:*)", "Edit", "Read(a, b)"]);
        assert_eq!(rules("Bash(echo (x))"), ["Bash(echo (x))"]);
        assert_eq!(rules(" , "), [""; 0]);
    }
}
