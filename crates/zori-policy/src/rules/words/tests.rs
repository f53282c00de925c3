use zori_shell::CommandEffect;

use super::*;

fn command(argv: &[&str]) -> Command {
    let word = |text: &&str| match text.starts_with('$') {
        true => Word::Opaque { shown: (*text).to_owned() },
        false => Word::Literal((*text).to_owned()),
    };
    Command {
        bare_argv: None,
        argv: argv.iter().map(word).collect(),
        base_name: argv.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word)).to_owned(),
        source: argv.join(" "),
        effect: CommandEffect::Other,
        reads: vec![],
        writes: vec![],
        net: vec![],
        parent: None,
        via: None,
        no_auto_approval: vec![],
    }
}

fn check(pattern: &str, argv: &[&str]) -> String {
    let pattern = WordPattern::parse(pattern).unwrap();
    let command = command(argv);
    format!("{} {:?}", pattern.covers(&command), pattern.hits(&command))
}

#[test]
fn exact() {
    assert_eq!(check("git status", &["git", "status"]), "true Yes");
    assert_eq!(check("git status", &["git", "status", "-s"]), "false No");
    assert_eq!(check("git status", &["git", "$x"]), "false Maybe");
    assert_eq!(check("git status", &["git", "status", "$x"]), "false Maybe");
    assert_eq!(check("git status", &["./git", "status"]), "false Yes");
    assert_eq!(check("git commit -m 'a b'", &["git", "commit", "-m", "a b"]), "true Yes");
    assert_eq!(check("git commit -m 'a b'", &["git", "commit", "-m", "a", "b"]), "false No");
    assert_eq!(check("echo '*'", &["echo", "*"]), "true Yes");
    assert_eq!(check("echo '*'", &["echo", "x"]), "false No");
}

#[test]
fn leading_words() {
    for pattern in ["ls:*", "ls *"] {
        assert_eq!(check(pattern, &["ls"]), "true Yes");
        assert_eq!(check(pattern, &["ls", "-l"]), "true Yes");
        assert_eq!(check(pattern, &["lsof"]), "false No");
        assert_eq!(check(pattern, &["ls", "$x"]), "true Yes");
        assert_eq!(check(pattern, &["$x"]), "false Maybe");
        assert_eq!(check(pattern, &["/tmp/ls"]), "false Yes");
    }
    assert_eq!(check("npm run test:*", &["npm", "run", "test-evil"]), "false No");
    assert_eq!(check("*", &["anything"]), "true Yes");
    assert_eq!(check("*", &["$anything"]), "false Yes");
}

#[test]
fn globs() {
    let pattern = "npm run * --ci";
    assert_eq!(check(pattern, &["npm", "run", "build", "--ci"]), "true Yes");
    assert_eq!(check(pattern, &["npm", "run", "build"]), "false No");
    assert_eq!(check(pattern, &["npm", "run", "$x"]), "false Maybe");
    assert_eq!(check("git * main", &["git", "push", "origin", "main"]), "true Yes");
    assert_eq!(check("git * *", &["git", "push", "origin"]), "true Yes");
}

#[test]
fn texts_that_could_not_be_read() {
    let hits = |pattern: &str, words: &[&str]| WordPattern::parse(pattern).unwrap().hits_scan(words);
    assert!(hits("git push:*", &["echo", "/usr/bin/git", "push"]));
    assert!(hits("rm:*", &["a", "b", "rm"]));
    assert!(!hits("rm:*", &["a", "rmdir"]));
    assert!(!hits("git push", &["git", "status", "push"]));
}

#[test]
fn rules_written_by_us_mean_exactly_their_words() {
    for words in
        [&["git", "commit", "-m", "a b"][..], &["echo", "*"], &["x", ""], &["a'b", "\"", "\\"], &["e:*"]]
    {
        let text = quoted(words);
        let owned: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        assert_eq!(WordPattern::parse(&text), Ok(WordPattern::exact(owned)), "{text}");
    }
}

#[test]
fn what_cannot_be_read() {
    assert_eq!(WordPattern::parse("echo 'a"), Err("a quote is not closed"));
    assert_eq!(WordPattern::parse(":*"), Err("no word before `:*`"));
}
