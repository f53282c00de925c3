//! A client of a protocol of lines that lives long: what it has read is gone, so that thousands of answers cost no more than one.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader};
use std::os::fd::OwnedFd;
use std::time::Duration;

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Running, Stdin, Stdout};

pub(super) struct LineClient {
    pub run: Running,
    out: BufReader<PipeReader>,
    asked: usize,
}

impl LineClient {
    /// Starts the program.
    pub fn new(world: &TestEnv, args: &[&str]) -> Self {
        let (reader, writer) = io::pipe().expect("a pipe can be made");
        let stdout = Stdout::File(File::from(OwnedFd::from(writer)));
        let run = world.start(world.cmd(args), Stdin::Open, stdout).within(Duration::from_secs(600));
        Self { run, out: BufReader::new(reader), asked: 0 }
    }

    /// Returns a number that no request had yet.
    pub fn number(&mut self) -> usize {
        self.asked += 1;
        self.asked
    }

    pub fn send(&mut self, message: &Value) {
        self.run.write_stdin(format!("{message}\n"));
    }

    /// Reads the next message.
    pub fn read(&mut self) -> Value {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("it is text");
        assert!(line.ends_with('\n'), "the program ended: {}", self.run.stderr());
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Reads on to a message of which something is true.
    pub fn read_until(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.read();
            if is(&message) {
                return message;
            }
        }
    }

    /// Sends a request of JSON-RPC; returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> usize {
        let id = self.number();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request of JSON-RPC, and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Waits for the answer to a request of JSON-RPC.
    pub fn answer(&mut self, id: usize) -> Value {
        self.read_until(|message| message["id"] == json!(id) && message.get("method").is_none())
    }

    /// Hangs up, and reads what is left.
    pub fn hang_up(mut self) {
        self.run.close_stdin();
        let mut rest = String::new();
        while self.out.read_line(&mut rest).expect("it is text") > 0 {}
        let output = self.run.finish();
        assert_eq!(output.code(), Some(0), "{output}");
    }
}
