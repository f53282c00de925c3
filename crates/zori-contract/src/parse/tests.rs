//! Whole calls against what they mean: a table by hand, and every way of writing a flag against every other.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use zori_testkit::random::{Random, cases};

use super::*;
use crate::flag::Positional;
use crate::kind::Pattern;
use crate::program;
use crate::reply::Reply;

const fn command(
    path: &'static [&'static str],
    aliases: &'static [&'static str],
    flags: &'static [Flag],
    args: &'static [Positional],
) -> Command<()> {
    Command { aliases, flags, args, ..Command::new(path, "Do it", |_, _| Ok(Reply::streamed())) }
}

const TAGS: Flag = Flag::valued("tag", "NAME", Kind::Text, "A tag").short('t').aliases(&["label"]).many();
const SIZE: Flag =
    Flag::valued("size", "N", Kind::Int { min: 0, max: 99 }, "How large").short('s').default("1");
const FORCE: Flag = Flag::switch("force", "Do it all the same").short('f').aliases(&["really"]);
const RECURSIVE: Flag = Flag::switch("recursive", "Go deeper").short('r');
const MODEL: Flag = Flag::valued("model", "NAME", Kind::Text, "Who").short('m');
const FROM: Positional = Positional::required("FROM", Kind::Path, "From");
const PROMPT: Flag = Flag::valued("prompt", "TEXT", Kind::Text, "What").short('p');

static PROGRAM: Program<()> = Program {
    name: "do",
    version: "1.2.3",
    about: "Things",
    prefix: "DO",
    commands: &[
        command(&["run"], &["go"], &[PROMPT, FORCE], &[]),
        command(
            &["copy"],
            &["cp"],
            &[TAGS, SIZE, FORCE, RECURSIVE],
            &[FROM, Positional::optional("TO", Kind::Path, "To")],
        ),
        command(
            &["box", "remove"],
            &["rm"],
            &[FORCE],
            &[Positional::required("ID", Kind::Id(Pattern::ALPHANUMERIC), "It").many()],
        ),
        command(&["box", "list"], &[], &[SIZE], &[]),
        command(&["bag", "list"], &[], &[], &[]),
        command(&["bag", "init"], &[], &[], &[]),
    ],
    groups: &[("box", "Boxes"), ("bag", "Bags")],
    flags: &[MODEL],
    errors: &[],
    variables: &[],
    renamed: &[],
    no_command: program::NoCommand::Help,
    plain: false,
    note: "",
    examples: &[],
    unknown: None,
    audit_log: None,
    ahead: &[PROMPT],
    implied: |args, words| (args.has(&PROMPT) || words.contains(&"-")).then_some(&["run"]),
    rewrite: |_| {},
};

/// Returns the command, what was read by name, and what is wrong.
fn read_words(argv: &[&str]) -> String {
    shown(&read(&PROGRAM, &argv.iter().map(OsString::from).collect::<Vec<_>>()))
}

fn shown(parsed: &Parsed<()>) -> String {
    let mut said = vec![parsed.path.join(" ")];
    said.extend(parsed.args.iter().map(|(name, values)| format!("{name}={}", values.join(","))));
    said.extend(parsed.issues.iter().map(|issue| {
        let hint = issue.suggestion.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
        format!("{}: {}{hint}", issue.code.as_str(), issue.message)
    }));
    said.join("; ")
}

#[track_caller]
fn check(line: &str, wanted: &str) {
    assert_eq!(read_words(&line.split_whitespace().collect::<Vec<_>>()), wanted, "{line}");
}

#[test]
fn where_a_value_stands() {
    let values = |line: &str| {
        let argv: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let words = read(&PROGRAM, &argv).words;
        let cut = |word: &Word| {
            let (flag, at) = word.value?;
            Some(format!("{flag}: {}|{}", &word.text[..at], &word.text[at..]))
        };
        words.iter().filter_map(cut).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(values("copy -frs3 a"), "size: -frs|3, FROM: |a");
    assert_eq!(values("copy -frs=3 a"), "size: -frs=|3, FROM: |a");
    assert_eq!(values("copy -frs 3 a"), "size: |3, FROM: |a");
    assert_eq!(values("copy --label=z --tag --force a -f"), "tag: --label=|z, tag: |--force, FROM: |a");
    // Of two values one counts, and both were typed.
    assert_eq!(values("-px run -py"), "prompt: -p|x, prompt: -p|y");
    assert_eq!(values("copy a --tag"), "FROM: |a");
}

#[test]
fn flags_and_their_values() {
    check("copy a", "copy; FROM=a");
    check("copy --size 3 a", "copy; FROM=a; size=3");
    check("copy --size=3 a", "copy; FROM=a; size=3");
    check("copy -s3 a", "copy; FROM=a; size=3");
    check("copy -s=3 a", "copy; FROM=a; size=3");
    check("copy -s 3 a", "copy; FROM=a; size=3");
    check("copy -frs3 a", "copy; FROM=a; force=true; recursive=true; size=3");
    check("copy -frs 3 a", "copy; FROM=a; force=true; recursive=true; size=3");
    check("copy --really a -f", "copy; FROM=a; force=true,true");
    check("copy --tag x -ty --label=z a", "copy; FROM=a; tag=x,y,z");
    // A value may begin with a dash, be a command, or be `--`.
    check("copy --tag --force a", "copy; FROM=a; tag=--force");
    check("copy --tag -- --tag copy a", "copy; FROM=a; tag=--,copy");
    check("copy --size= a", "copy; FROM=a; size=");
    check("copy -s= a", "copy; FROM=a; size=");
    check("copy --tag=a=b a", "copy; FROM=a; tag=a=b");
}

#[test]
fn commands_and_arguments() {
    check("", "");
    check("cp a b", "copy; FROM=a; TO=b");
    check("box rm a b c", "box remove; ID=a,b,c");
    check("box -q rm a --force b", "box remove; ID=a,b; force=true; quiet=true");
    check("copy - -", "copy; FROM=-; TO=-");
    check("copy -- -a --force", "copy; FROM=-a; TO=--force");
    check("copy a -- b", "copy; FROM=a; TO=b");
    check("copy copy box", "copy; FROM=copy; TO=box");
    check("help", "; help=true");
    check("help copy", "copy; help=true");
    check(
        "help box",
        "box; help=true; UNKNOWN_COMMAND: `do box` needs a command (one of `do box remove`, `do box list`)",
    );
    check("help box rm", "box remove; help=true");
    check("copy help", "copy; FROM=help");
}

#[test]
fn flags_of_all_commands_stand_anywhere() {
    check("--model x box list", "box list; model=x");
    check("box --model x list", "box list; model=x");
    check("box list --model x", "box list; model=x");
    // The nearest one counts.
    check("--model a box --model b list --model c", "box list; model=c");
    check("--model a box --model b list", "box list; model=b");
    // Two outputs contradict each other wherever they stand.
    check("-o json box -otsv list --output=id", "box list; output=json,tsv,id");
    // Before the command stands only what is made for it.
    check("-p a run -f", "run; force=true; prompt=a");
    check("-p a run -p b", "run; prompt=a,b");
    check("-p a", "run; prompt=a");
    check("-p a -f", "run; force=true; prompt=a");
    check("-qp a", "run; prompt=a; quiet=true");
    check("-", "run; UNEXPECTED_ARGUMENT: there is an argument too many");
    check(
        "-p a box list",
        "box list; UNKNOWN_ARGUMENT: `-p` is no option of this command (it goes with `do run`)",
    );
    check(
        "-f copy a",
        "copy; FROM=a; UNKNOWN_ARGUMENT: `-f` is no option of this command (it goes with `do run`, `do copy`, `do box remove`)",
    );
}

#[test]
fn flags_that_are_not_there() {
    check(
        "copy --szie 3 a",
        "copy; FROM=a; UNKNOWN_ARGUMENT: there is no option `--szie` (did you mean `--size`?)",
    );
    // Where there is no room for it, the word behind is its value.
    check(
        "copy a b --szie 3",
        "copy; FROM=a; TO=b; UNKNOWN_ARGUMENT: there is no option `--szie` (did you mean `--size`?)",
    );
    check(
        "copy a --szie 3 b",
        "copy; FROM=a; TO=b; UNKNOWN_ARGUMENT: there is no option `--szie` (did you mean `--size`?)",
    );
    // It would fit as an argument that may be left out, and is the flag's all the same.
    check(
        "copy a --szie 3",
        "copy; FROM=a; UNKNOWN_ARGUMENT: there is no option `--szie` (did you mean `--size`?)",
    );
    check(
        "copy --szie=3 a b c",
        "copy; FROM=a; TO=b; UNKNOWN_ARGUMENT: there is no option `--szie` (did you mean `--size`?); UNEXPECTED_ARGUMENT: there is an argument too many",
    );
    check("--modle x", "; UNKNOWN_ARGUMENT: there is no option `--modle` (did you mean `--model`?)");
    check(
        "--modle x copy a",
        "copy; FROM=a; UNKNOWN_ARGUMENT: there is no option `--modle` (did you mean `--model`?)",
    );
    check(
        "--modle copy a",
        "copy; FROM=a; UNKNOWN_ARGUMENT: there is no option `--modle` (did you mean `--model`?)",
    );
    // Another command's flag has its value all the same.
    check(
        "box list --tag x",
        "box list; UNKNOWN_ARGUMENT: `--tag` is no option of this command (it goes with `do copy`)",
    );
    check("box list -xf", "box list; UNKNOWN_ARGUMENT: there is no option `-x`");
    check("copy a -fx", "copy; FROM=a; force=true; UNKNOWN_ARGUMENT: there is no option `-x`");
    check("copy a --all", "copy; FROM=a; UNKNOWN_ARGUMENT: there is no option `--all`");
    check("copy a --all --help", "copy; FROM=a; help=true");
}

#[test]
fn values_that_are_missing_or_too_many() {
    check("copy a --size", "copy; FROM=a; MISSING_VALUE: `--size` needs a value");
    check("copy a -s", "copy; FROM=a; MISSING_VALUE: `--size` needs a value");
    check("copy a --force=yes", "copy; FROM=a; UNEXPECTED_VALUE: `--force` takes no value");
    check("copy a -f=yes", "copy; FROM=a; UNEXPECTED_VALUE: `--force` takes no value");
    check("-p", "run; prompt=; MISSING_VALUE: `--prompt` needs a value");
    check(
        "box list x y",
        "box list; UNEXPECTED_ARGUMENT: there is an argument too many; UNEXPECTED_ARGUMENT: there is an argument too many",
    );
    check("-- x", "; UNEXPECTED_ARGUMENT: there is an argument too many");
    // In the order they were typed.
    check(
        "box list x --bogus -q=1 y",
        "box list; UNEXPECTED_ARGUMENT: there is an argument too many; UNKNOWN_ARGUMENT: there is no option `--bogus`; UNEXPECTED_VALUE: `--quiet` takes no value; UNEXPECTED_ARGUMENT: there is an argument too many",
    );
}

/// Every suggestion can be run, and of the rest only what every command takes is read.
#[test]
fn commands_that_are_not_there() {
    for (line, wanted) in [
        ("cpoy a b", "`cpoy` (did you mean `copy`?)"),
        ("boxx list", "`boxx` (did you mean `box list`?)"),
        ("boxx", "`boxx` (did you mean `box remove` or `box list`?)"),
        ("boxx --size 3 lits", "`boxx` (did you mean `box list`?)"),
        ("list", "`list` (did you mean `box list` or `bag list`?)"),
        ("init", "`init` (did you mean `bag init`?)"),
        ("remove", "`remove` (did you mean `box remove`?)"),
        ("hlep", "`hlep` (did you mean `help`?)"),
        ("help cpoy", "`cpoy` (did you mean `copy`?)"),
        ("banana", "`banana` (`do --help` shows what there is)"),
        ("box lsit", "`lsit` (did you mean `box list`?)"),
        ("box banana", "`banana` (one of `do box remove`, `do box list`)"),
        ("cpoy --what --force -p hi -x", "`cpoy` (did you mean `copy`?)"),
    ] {
        let group = if line.starts_with("box ") { "box" } else { "" };
        check(line, &format!("{group}; UNKNOWN_COMMAND: there is no command {wanted}"));
    }
    check(
        "cpoy -p --quiet --output plain -q --help",
        "; help=true; output=plain; quiet=true; UNKNOWN_COMMAND: there is no command `cpoy` (did you mean `copy`?)",
    );
    assert_eq!(
        read_words(&["what is this?"]),
        "; UNKNOWN_COMMAND: there is no command `what` (`do --help` shows what there is)"
    );
    check("box", "box; UNKNOWN_COMMAND: `do box` needs a command (one of `do box remove`, `do box list`)");
}

#[test]
fn words_that_are_not_text() {
    let garbled = OsString::from_vec(b"caf\xe9".to_vec());
    let flag = OsString::from_vec(b"--caf\xe9".to_vec());
    for (argv, wanted) in [
        (
            ["copy".into(), "--tag".into(), garbled.clone()],
            "copy; tag=caf\u{fffd}; INVALID_UTF8: `caf\u{fffd}` is not UTF-8",
        ),
        (
            ["box".into(), "list".into(), garbled.clone()],
            "box list; INVALID_UTF8: `caf\u{fffd}` is not UTF-8",
        ),
        (["box".into(), "list".into(), flag], "box list; INVALID_UTF8: `--caf\u{fffd}` is not UTF-8"),
        ([garbled, "-q".into(), "x".into()], "; quiet=true; INVALID_UTF8: `caf\u{fffd}` is not UTF-8"),
    ] {
        assert_eq!(shown(&read(&PROGRAM, &argv)), wanted);
    }
}

/// Writes a flag in one of the ways there are.
fn written(flag: &Flag, value: &str, random: &mut Random) -> Vec<String> {
    let names: Vec<_> = std::iter::once(flag.long).chain(flag.aliases.iter().copied()).collect();
    let name = random.pick(&names);
    let short = flag.short.filter(|_| random.below(2) == 0);
    match (matches!(flag.kind, Kind::Switch), short) {
        (true, Some(short)) => vec![format!("-{short}")],
        (true, None) => vec![format!("--{name}")],
        (false, Some(short)) => match random.below(3) {
            // Glued without `=` it must not be empty, nor begin with one.
            0 if !value.is_empty() && !value.starts_with('=') => vec![format!("-{short}{value}")],
            1 => vec![format!("-{short}={value}")],
            _ => vec![format!("-{short}"), value.to_owned()],
        },
        (false, None) => match random.below(2) {
            0 => vec![format!("--{name}={value}")],
            _ => vec![format!("--{name}"), value.to_owned()],
        },
    }
}

/// However the flags are written, wherever they stand among the words, the call means the same.
#[test]
fn every_way_of_writing_parses_alike() {
    let values = ["x", "", "-", "--", "--force", "-q", "copy", "=", "a=b", "a b", "é"];
    for seed in 0..cases(2_000, 200_000) {
        let random = &mut Random::new(seed as u64);
        let (mut wanted, mut before, mut after) = (Args::default(), Vec::new(), Vec::new());
        for flag in [TAGS, SIZE, FORCE, RECURSIVE, MODEL, framework::QUIET, framework::OUTPUT] {
            let times = if flag.many { random.below(3) } else { random.below(2) };
            let place =
                if PROGRAM.global_flags().iter().any(|known| known.long == flag.long) { 2 } else { 1 };
            for _ in 0..times {
                let value = if matches!(flag.kind, Kind::Switch) { "true" } else { random.pick(&values) };
                wanted.push(&flag, value);
                let words = written(&flag, value, random);
                if random.below(place) == 1 { before.push(words) } else { after.push(words) }
            }
        }
        wanted.push(&FROM, "a");
        let at = random.below(after.len() + 1);
        after.insert(at, vec!["a".to_owned()]);
        // Switches behind one dash.
        if let [.., one, other] = after.as_mut_slice()
            && let ([one], [other]) = (one.as_mut_slice(), other.as_slice())
            && ["-f", "-r", "-q"].contains(&one.as_str())
            && let Some(letters) =
                other.strip_prefix('-').filter(|rest| !rest.is_empty() && !rest.starts_with('-'))
        {
            one.push_str(letters);
            after.pop();
        }
        let mut argv: Vec<OsString> = before.concat().into_iter().map(Into::into).collect();
        argv.push(random.pick(&["copy", "cp"]).into());
        argv.extend(after.concat().into_iter().map(OsString::from));
        let parsed = read(&PROGRAM, &argv);
        let typed = |args: &Args| args.iter().map(|(n, v)| (n.to_owned(), v.to_vec())).collect::<Vec<_>>();
        assert_eq!(typed(&parsed.args), typed(&wanted), "{seed}: {argv:?}");
        assert_eq!(parsed.issues, [], "{seed}: {argv:?}");
    }
}

/// No call breaks the parser, and what it complains about was typed.
#[test]
fn any_words_are_read() {
    let words = [
        "copy", "box", "rm", "list", "help", "-", "--", "-f", "-fs", "-p", "--tag", "--size=3", "--=", "-=",
        "--bogus", "x", "", "--all", "--help", "-é", "---",
    ];
    for seed in 0..cases(5_000, 500_000) {
        let random = &mut Random::new(seed as u64);
        let argv: Vec<OsString> = (0..random.below(7)).map(|_| random.pick(&words).into()).collect();
        let parsed = read(&PROGRAM, &argv);
        let unknown = parsed
            .issues
            .iter()
            .filter(|issue| issue.code == IssueCode::Kind(&crate::error::UNKNOWN_COMMAND));
        assert!(unknown.count() <= 1, "{seed}: {argv:?}");
        assert!(!parsed.unknown || parsed.command.is_none(), "{seed}: {argv:?}");
    }
}
