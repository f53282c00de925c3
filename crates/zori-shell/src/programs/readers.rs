//! The list of programs that only read (`docs/contracts/shell-analysis.md`), with their vetted options. Any other
//! option makes a command more than a reader.

pub mod dumps;
pub mod text;

use super::EffectKind;
use super::options::OptionGrammar;
use super::table::{Operands, OptionEffect, Program};

pub(super) const fn reader(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
) -> Program {
    with(names, short, long, operands, &[])
}

pub(super) const fn with(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static str,
    operands: Operands,
    option_effects: &'static [(&'static str, OptionEffect)],
) -> Program {
    let grammar = OptionGrammar { short, long, stops_at_operand: false };
    Program { names, grammar, option_effects, operands, kind: EffectKind::ReadOnly }
}

/// The list. `find`, `git`, and the shell's own `echo`, `printf`, `test`, `pwd`, `type` are read elsewhere.
pub const READERS: &[Program] = &[
    reader(
        &["ls", "dir", "vdir"],
        "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
        "all almost-all author escape block-size= ignore-backups color=? directory dired classify=? file-type \
         format= full-time group-directories-first no-group human-readable si dereference-command-line \
         dereference-command-line-symlink-to-dir hide= hyperlink=? indicator-style= inode ignore= kibibytes \
         dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= \
         reverse recursive size sort= time= time-style= tabsize= width= context zero help version",
        Operands::ReadHere,
    ),
    reader(
        &["cat"],
        "AbeEnstTuv",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version",
        Operands::Read,
    ),
    reader(
        &["head"],
        "c:n:qvz0123456789",
        "bytes= lines= quiet silent verbose zero-terminated help version",
        Operands::Read,
    ),
    reader(
        &["tail"],
        "c:fFn:qs:vz0123456789",
        "bytes= follow=? lines= max-unchanged-stats= pid= quiet silent retry sleep-interval= verbose \
         zero-terminated help version",
        Operands::Read,
    ),
    with(
        &["wc"],
        "cmlLw",
        "bytes chars lines files0-from= max-line-length words total= help version",
        Operands::Read,
        &[("files0-from", OptionEffect::Lists)],
    ),
    reader(
        &["nl"],
        "b:d:f:h:i:l:n:ps:v:w:",
        "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= \
         join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width= \
         help version",
        Operands::Read,
    ),
    reader(
        &["cut"],
        "b:c:d:f:nsz",
        "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated \
         help version",
        Operands::Read,
    ),
    reader(&["tr"], "cCdst", "complement delete squeeze-repeats truncate-set1 help version", Operands::Text),
    reader(
        &["stat"],
        "Lfc:txrsnqF",
        "dereference file-system cached= format= printf= terse help version",
        Operands::Read,
    ),
    with(
        &["file"],
        "bhiIkLNnpPrsSvzZ0f:e:F:m:C",
        "brief mime mime-type mime-encoding dereference no-dereference keep-going files-from= magic-file= \
         compile separator= raw no-pad version help",
        Operands::Read,
        &[
            ("f", OptionEffect::Lists),
            ("files-from", OptionEffect::Lists),
            ("m", OptionEffect::Lists),
            ("magic-file", OptionEffect::Lists),
            ("C", OptionEffect::Changes),
            ("compile", OptionEffect::Changes),
            ("z", OptionEffect::Changes),
            ("Z", OptionEffect::Changes),
        ],
    ),
    with(
        &["du"],
        "0aB:bcd:DHhkLlmPSst:xX:",
        "null all apparent-size block-size= bytes total dereference-args max-depth= files0-from= \
         human-readable inodes dereference count-links no-dereference separate-dirs si summarize threshold= \
         time=? time-style= exclude-from= exclude= one-file-system help version",
        Operands::ReadHere,
        &[
            ("files0-from", OptionEffect::Lists),
            ("X", OptionEffect::Reads),
            ("exclude-from", OptionEffect::Reads),
        ],
    ),
    reader(
        &["df"],
        "aB:hHiklPTt:vx:",
        "all block-size= human-readable si inodes local no-sync output=? portability sync total type= \
         print-type exclude-type= help version",
        Operands::Read,
    ),
    with(
        &["tree"],
        "adflxL:P:I:qNQpugshDFrtcUXJiACSno:H:T:vR",
        "noreport charset= filelimit= timefmt= du prune dirsfirst filesfirst gitignore gitfile= matchdirs \
         ignore-case inodes device si sort= metafirst nolinks hintro= houtro= fromfile fromtabfile fflinks \
         info infofile= help version",
        Operands::ReadHere,
        &[
            ("o", OptionEffect::Writes),
            ("R", OptionEffect::Changes),
            ("gitfile", OptionEffect::Reads),
            ("infofile", OptionEffect::Reads),
            ("hintro", OptionEffect::Reads),
            ("houtro", OptionEffect::Reads),
            ("fromfile", OptionEffect::Changes),
            ("fromtabfile", OptionEffect::Changes),
        ],
    ),
    reader(&["basename"], "as:z", "multiple suffix= zero help version", Operands::Text),
    reader(&["dirname"], "z", "zero help version", Operands::Text),
    reader(
        &["realpath"],
        "eLmPqsz",
        "canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip \
         no-symlinks zero help version",
        Operands::Read,
    ),
    reader(
        &["readlink"],
        "femnqsvz",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help \
         version",
        Operands::Read,
    ),
    with(
        &["date"],
        "d:f:I::r:Rs:u",
        "date= debug file= iso-8601=? rfc-email rfc-3339= reference= set= utc universal help version",
        Operands::Format,
        &[
            ("s", OptionEffect::Changes),
            ("set", OptionEffect::Changes),
            ("f", OptionEffect::Reads),
            ("file", OptionEffect::Reads),
            ("r", OptionEffect::Reads),
            ("reference", OptionEffect::Reads),
        ],
    ),
    reader(
        &["uname"],
        "asnrvmpio",
        "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform \
         operating-system help version",
        Operands::Text,
    ),
    reader(&["whoami"], "", "help version", Operands::Text),
    reader(&["id"], "aZgGnruz", "context group groups name real user zero help version", Operands::Text),
    reader(&["which"], "a", "all", Operands::Text),
    reader(
        &["sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "md5sum"],
        "btcwz",
        "binary text check tag zero ignore-missing quiet status strict warn help version",
        Operands::Read,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The options of the programs themselves.
    const OPTIONS: &str = include_str!("../../../../fixtures/shell/options.tsv");

    /// Not in the table: no list in their help, or packaged under other names.
    const UNLISTED: &[&str] = &["which", "strings", "egrep", "fgrep", "rgrep"];

    fn takes(behind: &str) -> &'static str {
        match behind {
            behind if behind.starts_with("::") => "attached",
            behind if behind.starts_with(':') => "value",
            _ => "flag",
        }
    }

    /// The kind of an option as the program lists it.
    fn listed(program: &str, option: &str) -> Option<&'static str> {
        OPTIONS.lines().find_map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [name, found, takes, _] if name == program && found == option => Some(takes),
            _ => None,
        })
    }

    /// The options of jq, which has a grammar of its own, and of git, whose commands share one.
    #[test]
    fn options_of_jq_and_git() {
        use super::super::git::tables::{SHOWING, SHOWING_LONG};
        let mut wrong = Vec::new();
        let kind = |entry: &str| match entry {
            entry if entry.ends_with("=?") => "attached",
            entry if entry.ends_with('=') => "value",
            _ => "flag",
        };
        let mut hold = |program: &str, option: String, ours: &str| match listed(program, &option) {
            // A value that may be left out is listed like a flag, and never stands apart.
            Some(theirs) if (theirs == "value") != (ours == "value") => {
                wrong.push(format!("{program} {option}: {ours}, not {theirs}"));
            }
            _ => {}
        };
        let jq = super::super::jq::GRAMMAR;
        for (at, c) in jq.short.char_indices().filter(|(_, c)| *c != ':') {
            hold("jq", format!("-{c}"), takes(&jq.short[at + c.len_utf8()..]));
        }
        for entry in jq.names() {
            hold("jq", format!("--{}", entry.trim_end_matches(['=', '?'])), kind(entry));
        }
        // These print names alone, whatever their operands are.
        let names_only = ["shortlog", "tag", "for-each-ref", "branch"];
        for (command, _) in SHOWING.iter().filter(|(command, _)| !names_only.contains(command)) {
            for entry in SHOWING_LONG.split_ascii_whitespace() {
                hold(
                    &format!("git {command}"),
                    format!("--{}", entry.trim_end_matches(['=', '?'])),
                    kind(entry),
                );
            }
        }
        assert!(listed("git diff", "--unified").is_some() && listed("git grep", "--untracked").is_some());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Who takes a flag for an option with a value misses what stands behind it (`tree -F -o x`).
    #[test]
    fn options_take_what_the_programs_say() {
        let mut wrong = Vec::new();
        for program in READERS.iter().chain(text::TEXT_READERS).chain(dumps::DUMPS) {
            for name in program.names.iter().filter(|name| !UNLISTED.contains(name)) {
                let said = |option: &str| {
                    OPTIONS.lines().find_map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
                        [program, listed, takes, _] if program == *name && listed == option => Some(takes),
                        _ => None,
                    })
                };
                assert!(said("--help").is_some(), "{name} is not in the table of options");
                let short = program.grammar.short.char_indices().filter(|(_, c)| *c != ':');
                let short = short
                    .map(|(at, c)| (format!("-{c}"), takes(&program.grammar.short[at + c.len_utf8()..])));
                let long = program.grammar.names().map(|entry| {
                    let kind = match entry {
                        entry if entry.ends_with("=?") => "attached",
                        entry if entry.ends_with('=') => "value",
                        _ => "flag",
                    };
                    (format!("--{}", entry.trim_end_matches('?').trim_end_matches('=')), kind)
                });
                for (option, ours) in short.chain(long) {
                    match said(&option) {
                        Some(theirs) if theirs != ours => {
                            wrong.push(format!("{name} {option}: {ours}, not {theirs}"))
                        }
                        None if ours != "flag" && !option.starts_with("--") => {
                            wrong.push(format!("{name} {option}: not an option that takes a value"));
                        }
                        _ => {}
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
