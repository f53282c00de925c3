//! Command lines by their option grammar: separate, attached, bundled and abbreviated options.

use crate::arg::{Arg, Rest};

/// How a program reads its options.
#[derive(Clone, Copy, Debug)]
pub struct OptionGrammar {
    /// Letters in the notation of getopt: `a` is a flag, `b:` takes a value, `c::` an attached one.
    pub short: &'static str,
    /// Names, separated by blanks: `all` is a flag, `width=` takes a value, `color=?` an attached one. One text is one pointer, and the
    /// loader writes each pointer of each table at every start.
    pub long: &'static str,
    /// Whether options end at the first operand.
    pub stops_at_operand: bool,
}

/// A command line that was read.
#[derive(Debug, Default)]
pub struct ParsedOptions {
    /// Options in order, by letter or name, with their values.
    pub options: Vec<(String, Option<Arg>)>,
    /// The rest, in order.
    pub operands: Vec<Arg>,
    /// Where the operands started, as an index into the arguments, if options end there.
    pub rest: Option<usize>,
    /// Whether there was an option the grammar does not know.
    pub has_unknown_option: bool,
    /// Whether a word that is not known may be an option.
    pub may_be_option: bool,
}

impl ParsedOptions {
    /// Whether an option was given under any of these names.
    pub fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// Returns the values an option got under any of these names.
    pub fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Arg> {
        self.options
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_ref())
    }
}

/// Whether an option takes a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Attached,
}

impl OptionGrammar {
    /// Reads `args`.
    pub fn parse(&self, args: &[Arg]) -> ParsedOptions {
        let mut parsed = ParsedOptions::default();
        let mut at = 0;
        while at < args.len() {
            let arg = &args[at];
            if arg.may_be_option() && !arg.text.starts_with('-') {
                parsed.may_be_option = true;
            }
            if arg.literal() == Some("--") {
                parsed.rest = Some(at + 1);
                parsed.operands.extend_from_slice(&args[at + 1..]);
                break;
            } else if arg.text.starts_with("--") {
                self.long(args, &mut at, &mut parsed);
            } else if arg.text.len() > 1 && arg.text.starts_with('-') {
                self.bundle(args, &mut at, &mut parsed);
            } else {
                if arg.literal().is_none() && arg.text == "-" {
                    parsed.may_be_option = true;
                }
                if self.stops_at_operand {
                    parsed.rest = Some(at);
                    parsed.operands.extend_from_slice(&args[at..]);
                    break;
                }
                parsed.operands.push(arg.clone());
            }
            at += 1;
        }
        parsed
    }

    /// Returns the long names, with what says whether they take a value.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.long.split_ascii_whitespace()
    }

    fn long(&self, args: &[Arg], at: &mut usize, parsed: &mut ParsedOptions) {
        let arg = &args[*at];
        let body = &arg.text[2..];
        let (name, value) = match body.split_once('=') {
            Some((name, _)) => (name, Some(arg.tail(2 + name.len() + 1))),
            None => (body, None),
        };
        if value.is_none() && arg.rest != Rest::Nothing {
            parsed.may_be_option = true;
            return;
        }
        let strip = |entry: &'static str| entry.trim_end_matches('?').trim_end_matches('=');
        let exact = self.names().find(|entry| strip(entry) == name);
        let found: Vec<&'static str> = match exact {
            Some(entry) => vec![entry],
            None if name.is_empty() => Vec::new(),
            None => self.names().filter(|entry| strip(entry).starts_with(name)).collect(),
        };
        if found.is_empty() {
            parsed.has_unknown_option = true;
            return;
        }
        // An abbreviation of several is an error to the program; here each of them counts.
        let mut next = None;
        for entry in found {
            let takes = match entry {
                entry if entry.ends_with("=?") => Takes::Attached,
                entry if entry.ends_with('=') => Takes::Value,
                _ => Takes::Nothing,
            };
            let value = match (&value, takes) {
                (Some(value), _) => Some(value.clone()),
                (None, Takes::Value) => {
                    next = args.get(*at + 1).cloned();
                    next.clone()
                }
                _ => None,
            };
            parsed.options.push((strip(entry).to_owned(), value));
        }
        if next.is_some() {
            *at += 1;
        }
    }

    fn bundle(&self, args: &[Arg], at: &mut usize, parsed: &mut ParsedOptions) {
        let arg = &args[*at];
        for (offset, letter) in arg.text.char_indices().skip(1) {
            let behind = offset + letter.len_utf8();
            let attached = behind < arg.text.len() || arg.rest != Rest::Nothing;
            match self.takes(letter) {
                None => parsed.has_unknown_option = true,
                Some(Takes::Nothing) => parsed.options.push((letter.to_string(), None)),
                Some(Takes::Attached) => {
                    parsed.options.push((letter.to_string(), attached.then(|| arg.tail(behind))));
                    return;
                }
                Some(Takes::Value) => {
                    let value = if attached {
                        Some(arg.tail(behind))
                    } else {
                        *at += 1;
                        args.get(*at).cloned()
                    };
                    parsed.options.push((letter.to_string(), value));
                    return;
                }
            }
        }
        if arg.rest != Rest::Nothing {
            parsed.may_be_option = true;
        }
    }

    fn takes(&self, letter: char) -> Option<Takes> {
        if letter == ':' {
            return None;
        }
        let at = self.short.find(letter)?;
        let behind = &self.short[at + letter.len_utf8()..];
        Some(match behind {
            behind if behind.starts_with("::") => Takes::Attached,
            behind if behind.starts_with(':') => Takes::Value,
            _ => Takes::Nothing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMMAR: OptionGrammar =
        OptionGrammar { short: "ab:c::", long: "all width= color=? colour", stops_at_operand: false };

    fn show(line: &str) -> String {
        let args: Vec<Arg> = line.split_whitespace().map(Arg::known).collect();
        let parsed = GRAMMAR.parse(&args);
        let options: Vec<String> = parsed
            .options
            .iter()
            .map(|(name, value)| format!("{name}={}", value.as_ref().map_or("-", |v| &v.text)))
            .collect();
        let operands: Vec<&str> = parsed.operands.iter().map(|arg| arg.text.as_str()).collect();
        format!(
            "{} | {}{}",
            options.join(" "),
            operands.join(" "),
            if parsed.has_unknown_option { " !" } else { "" }
        )
    }

    #[test]
    fn separate_attached_bundled_and_abbreviated() {
        assert_eq!(show("-a -b x y"), "a=- b=x | y");
        assert_eq!(show("-abx y"), "a=- b=x | y");
        assert_eq!(show("-cx -c y"), "c=x c=- | y");
        assert_eq!(show("--width 3 --width=4 --wid=5"), "width=3 width=4 width=5 | ");
        assert_eq!(show("--col=x"), "color=x colour=x | ");
        assert_eq!(show("x -a -- -b --all"), "a=- | x -b --all");
        assert_eq!(show("-z --zebra -"), " | - !");
    }
}
