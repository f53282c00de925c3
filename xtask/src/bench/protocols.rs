//! The protocols, each as its clients drive it: how soon a word is on stdout, how long 20,000 of them take, and what is kept
//! in memory while nobody reads.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::area::{Bench, RUNS};
use super::figure::{Bar, Figure, median, megabytes, ms};
use super::replies::{self, Reply};
use super::run::{self, Used, ms_between};

/// How a client drives zori.
struct Front {
    args: &'static [&'static str],
    /// What the client says, and what it waits for before that.
    says: &'static [(&'static str, &'static str)],
    /// What tells the client that the turn is over.
    over: &'static str,
    names: [&'static str; 3],
}

/// Stands for the session's id in what a client says.
const SESSION: &str = "@SESSION@";

const FRONTS: &[Front] = &[
    Front {
        args: &["--json", "-p", "go"],
        says: &[],
        over: "\"response_end\"",
        names: [
            "`--json`: first word",
            "`--json`: 20,000 deltas",
            "`--json`: peak memory while nobody reads",
        ],
    },
    Front {
        args: &[
            "--output-format",
            "stream-json",
            "--input-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
        ],
        says: &[("", r#"{"type":"user","message":{"role":"user","content":"go"}}"#)],
        over: "\"type\":\"result\"",
        names: [
            "stream-json: first word",
            "stream-json: 20,000 deltas",
            "stream-json: peak memory while nobody reads",
        ],
    },
    Front {
        args: &["start", "--prompt", "go"],
        says: &[],
        over: "\"message_stop\"",
        names: ["`start`: first word", "`start`: 20,000 deltas", "`start`: peak memory while nobody reads"],
    },
    Front {
        args: &["acp"],
        says: &[
            (
                "",
                r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#,
            ),
            (
                "\"id\":0",
                r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"@WORK@","mcpServers":[]}}"#,
            ),
            (
                "\"sessionId\":\"",
                r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"@SESSION@","prompt":[{"type":"text","text":"go"}]}}"#,
            ),
        ],
        over: "\"stopReason\"",
        names: ["ACP: first word", "ACP: 20,000 deltas", "ACP: peak memory while nobody reads"],
    },
];

/// How many words are sent while nobody reads.
const UNREAD: usize = 300_000;

/// Measures each of them.
pub fn protocols(bench: &Bench) -> Result<Vec<Figure>> {
    let paced = [Arc::new(replies::paced("word", Duration::from_millis(20)))];
    let flood = [Arc::new(replies::text(std::iter::repeat_n("word ", 20_000)))];
    let long = [Arc::new(replies::text(std::iter::repeat_n("word ", UNREAD)))];
    let mut figures = Vec::new();
    for front in FRONTS {
        let (mut first, mut all) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            first.push(front.first_word(bench, &paced)?);
            all.push(front.all_words(bench, &flood)?);
        }
        let read = front.peak(bench, &long, Reading::AtOnce)?;
        let unread = front.peak(bench, &long, Reading::Late)?;
        let [word, words, memory] = front.names;
        figures.push(Figure { name: word, measured: ms(median(&first)), floor: None, bar: Bar::Under(1.0) });
        figures.push(Figure { name: words, measured: ms(median(&all)), floor: None, bar: Bar::Under(150.0) });
        let (measured, floor) = (megabytes(unread), Some(megabytes(read)));
        figures.push(Figure { name: memory, measured, floor, bar: Bar::Ratio(1.1) });
    }
    Ok(figures)
}

/// When the client reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    AtOnce,
    Late,
}

impl Front {
    fn first_word(&self, bench: &Bench, script: &[Arc<Reply>]) -> Result<f64> {
        bench.server().begin(script);
        let mut client = Client::start(self, bench)?;
        let shown = client.read_until("word")?;
        client.end(self)?;
        let sent = bench.server().exchanges(1)[0].parts[1];
        Ok(ms_between(sent, shown))
    }

    fn all_words(&self, bench: &Bench, script: &[Arc<Reply>]) -> Result<f64> {
        bench.server().begin(script);
        Client::start(self, bench)?.end(self)?;
        Ok(Used::read(&bench.note())?.cpu)
    }

    fn peak(&self, bench: &Bench, script: &[Arc<Reply>], reading: Reading) -> Result<f64> {
        bench.server().begin(script);
        let mut client = Client::start(self, bench)?;
        client.read_until("word")?;
        if reading == Reading::Late {
            let taken = bench.server().bytes_sent();
            ensure!(bench.server().exchanges(0).is_empty(), "{:?} takes {taken} bytes unread", self.args);
        }
        client.end(self)?;
        Ok(Used::read(&bench.note())?.memory)
    }
}

/// zori, driven.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    read: String,
    looked_at: usize,
}

impl Client {
    fn start(front: &Front, bench: &Bench) -> Result<Self> {
        let mut command = bench.zori(front.args);
        command.env("ANTHROPIC_BASE_URL", format!("http://{}", bench.server().address));
        command.env("ANTHROPIC_API_KEY", "dummy");
        let mut command = run::launched(bench.launcher(), &bench.note(), &command);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("stdout is a pipe")?;
        let mut client = Self { child, stdin, stdout, read: String::new(), looked_at: 0 };
        for (behind, line) in front.says {
            client.read_until(behind)?;
            let session = client.session();
            let line = line.replace(SESSION, &session).replace("@WORK@", &bench.work().to_string_lossy());
            writeln!(client.stdin.as_mut().context("it was not closed")?, "{line}")?;
        }
        if front.says.len() < 2 {
            client.stdin = None;
        }
        Ok(client)
    }

    /// Reads until this has come, and returns when it did.
    fn read_until(&mut self, text: &str) -> Result<Instant> {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            if let Some(at) = self.read[self.looked_at..].find(text) {
                self.looked_at += at;
                return Ok(Instant::now());
            }
            self.looked_at = self.read.len().saturating_sub(text.len());
            while !self.read.is_char_boundary(self.looked_at) {
                self.looked_at -= 1;
            }
            let count = self.stdout.read(&mut chunk)?;
            ensure!(count > 0, "the output ended before {text:?} came");
            self.read.push_str(&String::from_utf8_lossy(&chunk[..count]));
        }
    }

    /// Returns the id of the session as it was told.
    fn session(&self) -> String {
        let told = self.read.split("\"sessionId\":\"").nth(1).and_then(|rest| rest.split('"').next());
        told.unwrap_or_default().to_owned()
    }

    /// Reads to the end of the turn, closes stdin and reads to the end.
    fn end(mut self, front: &Front) -> Result<()> {
        self.read_until(front.over)?;
        self.stdin = None;
        let mut rest = Vec::new();
        self.stdout.read_to_end(&mut rest)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "{:?} ended with {status}", front.args);
        Ok(())
    }
}
