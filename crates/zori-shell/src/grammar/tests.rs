use std::rc::Rc;

use zori_testkit::fixture;
use zori_testkit::random::{Random, cases};
use zori_testkit::shell;

use super::*;
use crate::lex::lex;

const DIALECTS: [Dialect; 2] = [Dialect::Dash, Dialect::Bash];

fn shown(parsed: Result<List, SyntaxError>) -> String {
    parsed.map_or_else(|error| format!("{error:?}"), |list| format!("{list:?}"))
}

fn compare(script: &Script, what: &str) {
    for dialect in DIALECTS {
        assert_eq!(
            shown(parse(script, dialect)),
            shown(oracle::parse(script, dialect)),
            "{dialect:?}: {what}"
        );
    }
}

fn compare_text(text: &str) {
    for dialect in DIALECTS {
        if let Ok(lexed) = lex(text, dialect) {
            let (ours, theirs) = (parse(&lexed.script, dialect), oracle::parse(&lexed.script, dialect));
            assert_eq!(shown(ours), shown(theirs), "{dialect:?}: {text}");
        }
    }
}

/// Every command that is kept, and what comes of one when a piece of it is missing.
#[test]
fn kept_commands() {
    let mut seen = 0;
    for name in ["bypass", "bypass-2", "own", "everyday", "variants"] {
        let list = std::fs::read_to_string(fixture::path(&format!("shell/{name}.tsv"))).unwrap();
        for line in list.lines().filter(|line| !line.starts_with('#')) {
            let Some(json) = line.split('\t').find(|column| column.starts_with('"')) else { continue };
            let text: String = serde_json::from_str(json).unwrap();
            compare_text(&text);
            let words: Vec<&str> = text.split(' ').collect();
            for left_out in 0..words.len().min(8) {
                compare_text(&[&words[..left_out], &words[left_out + 1..]].concat().join(" "));
            }
            seen += 1;
        }
    }
    assert!(seen > 1_000, "{seen} commands");
}

#[test]
fn made_up_texts() {
    for seed in 0..cases(4_000, 400_000) {
        compare_text(&shell::text(&mut Random::new(seed as u64)));
    }
}

/// Tokens in any order, and programs with a token too many, too few or in another place.
#[test]
fn made_up_tokens() {
    for seed in 0..cases(20_000, 2_000_000) {
        let mut random = Random::new(seed as u64);
        let mut kinds = Vec::new();
        match random.below(3) {
            0 => (0..1 + random.below(9)).for_each(|_| kinds.push(token(&mut random))),
            _ => {
                list(&mut random, 3, &mut kinds);
                for _ in 0..random.below(3) {
                    let at = random.below(kinds.len());
                    match random.below(3) {
                        0 if kinds.len() > 1 => drop(kinds.remove(at)),
                        1 => kinds.insert(at, token(&mut random)),
                        _ => kinds[at] = token(&mut random),
                    }
                }
            }
        }
        // The lexer makes neither two parentheses in a row, nor one behind an assignment.
        let open = TokenKind::Operator("(");
        let never = |pair: &[TokenKind]| {
            pair[1] == open && (pair[0] == open || matches!(pair[0], TokenKind::Assignment(_)))
        };
        if kinds.len() > 60 || kinds.windows(2).any(never) {
            continue;
        }
        let tokens = kinds.iter().map(|kind| Token { kind: *kind, start: 0, end: 0 }).collect();
        let script = Script { text: Rc::from(""), tokens, words: Vec::new(), redirects: Vec::new() };
        compare(&script, &format!("{kinds:?}"));
    }
}

/// sh takes `function` for a name where no definition follows. Whether one does is asked once for each place, or a hundred of them
/// inside each other would take for ever.
#[test]
fn functions_without_end() {
    let text = "function f { a; ".repeat(90);
    let lexed = lex(&text, Dialect::Dash).unwrap();
    assert_eq!(parse(&lexed.script, Dialect::Dash).unwrap().0.len(), 90);
    assert!(parse(&lexed.script, Dialect::Bash).is_err());
}

const OPERATORS: &[&str] = &["\n", ";", "&", "&&", "|", "||", ";;", "(", ")"];
const WORDS: &[&str] = &[
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until",
    "while", "time", "-p", "function", "coproc",
];

fn token(random: &mut Random) -> TokenKind {
    match random.below(8) {
        0..3 => TokenKind::Operator(random.pick(OPERATORS)),
        3..6 => TokenKind::Reserved(random.pick(WORDS), 0),
        6 => TokenKind::Word(0),
        _ => random.pick(&[TokenKind::Redirect(0), TokenKind::Assignment(0)]),
    }
}

fn list(random: &mut Random, depth: usize, out: &mut Vec<TokenKind>) {
    for more in (0..1 + random.below(2)).rev() {
        for joined in (0..1 + random.below(2)).rev() {
            if random.below(6) == 0 {
                out.push(TokenKind::Reserved(random.pick(&["!", "time"]), 0));
            }
            command(random, depth, out);
            if joined > 0 {
                out.push(TokenKind::Operator(random.pick(&["&&", "||", "|"])));
            }
        }
        if more > 0 || random.below(2) == 0 {
            out.push(TokenKind::Operator(random.pick(&[";", "&", "\n"])));
        }
    }
}

fn command(random: &mut Random, depth: usize, out: &mut Vec<TokenKind>) {
    let reserved = |word| TokenKind::Reserved(word, 0);
    let operator = |word| TokenKind::Operator(word);
    let word = TokenKind::Word(0);
    let shape = if depth == 0 { 0 } else { random.below(14) };
    let mut nested = |open: &[TokenKind], random: &mut Random, close: &[TokenKind]| {
        out.extend_from_slice(open);
        list(random, depth - 1, out);
        out.extend_from_slice(close);
    };
    match shape {
        1 => nested(&[reserved("{")], random, &[reserved("}")]),
        2 => nested(&[operator("(")], random, &[operator(")")]),
        3 => {
            nested(&[reserved("if")], random, &[reserved("then")]);
            nested(&[], random, &[]);
            if random.below(2) == 0 {
                nested(&[reserved("elif")], random, &[reserved("then")]);
                nested(&[], random, &[]);
            }
            if random.below(2) == 0 {
                nested(&[reserved("else")], random, &[]);
            }
            out.push(reserved("fi"));
        }
        4 => {
            nested(&[reserved(random.pick(&["while", "until"]))], random, &[reserved("do")]);
            nested(&[], random, &[reserved("done")]);
        }
        5 => {
            let head: &[&[TokenKind]] = &[
                &[reserved("for"), word, reserved("in"), word, operator(";"), reserved("do")],
                &[reserved("for"), word, operator("\n"), reserved("in"), operator("\n"), reserved("do")],
                &[reserved("for"), word, reserved("do")],
                &[reserved("for"), word, operator(";"), reserved("do")],
            ];
            nested(random.pick(head), random, &[reserved("done")]);
        }
        6 => {
            out.extend([reserved("case"), word, reserved("in")]);
            for _ in 0..random.below(3) {
                if random.below(3) == 0 {
                    out.push(operator("("));
                }
                out.extend([word, operator("|"), reserved("esac"), operator(")")]);
                match random.below(4) {
                    0 => out.push(operator(";;")),
                    _ => {
                        list(random, depth - 1, out);
                        out.push(operator(";;"));
                    }
                }
            }
            out.push(reserved("esac"));
        }
        7 => nested(&[word, operator("("), operator(")"), reserved("{")], random, &[reserved("}")]),
        8 => nested(&[reserved("function"), word, reserved("{")], random, &[reserved("}")]),
        9 => nested(&[reserved("function"), word, operator("(")], random, &[operator(")")]),
        10 => nested(&[reserved("coproc"), word, reserved("{")], random, &[reserved("}")]),
        11 => out.extend([reserved("coproc"), word, word]),
        _ => {
            if random.below(4) == 0 {
                out.push(random.pick(&[TokenKind::Assignment(0), TokenKind::Redirect(0)]));
            }
            out.push(word);
            for _ in 0..random.below(3) {
                out.push(random.pick(&[word, reserved("in"), reserved("}"), TokenKind::Redirect(0)]));
            }
        }
    }
    if random.below(8) == 0 {
        out.push(TokenKind::Redirect(0));
    }
}
