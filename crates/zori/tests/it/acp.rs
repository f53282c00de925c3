//! `zori acp`, as an editor sees it: whole dialogues with the executable, over a model server of the test.

mod bad_input;
mod files;
mod hostile;
mod live;
mod official;
mod permissions;
mod sessions;
mod terminals;
mod turns;
mod undo;

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::running::{Running, Stdin, Stdout};

/// An editor: it sends requests and reads what comes back.
pub struct Editor {
    run: Running,
    asked: i64,
    /// How many messages were looked at.
    seen: usize,
    /// The id of the session; in what was read it is `$SESSION`.
    session: String,
    work: String,
}

impl Editor {
    /// Starts the agent and says hello.
    pub fn new(world: &TestEnv, args: &[&str]) -> Self {
        Self::offering(world, args, json!({}))
    }

    /// The same for an editor that offers something.
    pub fn offering(world: &TestEnv, args: &[&str], capabilities: Value) -> Self {
        let mut editor = Self::silent(world, args);
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let (before, _) = editor.call("initialize", params);
        assert_eq!(before, Vec::<Value>::new());
        editor
    }

    /// The same for one that has said nothing yet.
    pub fn silent(world: &TestEnv, args: &[&str]) -> Self {
        let args = [&["acp"], args].concat();
        let run = world.start(world.cmd(&args), Stdin::Open, Stdout::Captured);
        let work = world.work().canonicalize().expect("the folder is there").display().to_string();
        Self { run, asked: 0, seen: 0, session: "-".to_owned(), work }
    }

    /// Opens a session in the work folder and waits for the commands it has.
    pub fn with_session(world: &TestEnv, args: &[&str]) -> Self {
        let mut editor = Self::new(world, args);
        editor.open();
        editor
    }

    /// Opens a session, which is the one meant from then on.
    pub fn open(&mut self) -> Value {
        let cwd = self.work.clone();
        let (_, answer) = self.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
        self.opened();
        self.next("available_commands_update");
        answer
    }

    /// Means the session that was opened last from then on; what was read has its id rewritten.
    pub fn opened(&mut self) {
        let raw = self.run.raw_stdout();
        let mut ids = messages(&raw)
            .into_iter()
            .filter_map(|one| Some(one["result"]["sessionId"].as_str()?.to_owned()));
        self.session = ids.next_back().expect("a session was opened");
    }

    /// Returns the id of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Sends a line as it is.
    pub fn line(&mut self, line: &str) {
        self.run.write_stdin(format!("{line}\n"));
    }

    /// Asks for something; returns the id of the request.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.asked += 1;
        let line =
            json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}).to_string();
        self.line(&line);
        self.asked
    }

    /// Says something.
    pub fn tell(&mut self, method: &str, params: Value) {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        self.line(&line);
    }

    /// Answers a request of the agent's.
    pub fn answer(&mut self, id: &Value, result: Value) {
        let line = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        self.line(&line);
    }

    /// Asks and waits; returns what came before the answer, and the answer.
    pub fn call(&mut self, method: &str, params: Value) -> (Vec<Value>, Value) {
        let id = self.ask(method, params);
        self.until(id)
    }

    /// Sends a prompt.
    pub fn prompt(&mut self, text: &str) -> i64 {
        let session = self.session.clone();
        self.ask("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// Sends a prompt and waits for the end of the turn: the updates, and the answer.
    pub fn turn(&mut self, text: &str) -> (Vec<Value>, Value) {
        let id = self.prompt(text);
        let (before, answer) = self.until(id);
        (updates(&before), answer)
    }

    /// Waits for the answer to a request; returns what came before it, and the answer.
    pub fn until(&mut self, id: i64) -> (Vec<Value>, Value) {
        let is = |message: &Value| message["id"] == json!(id) && message.get("method").is_none();
        let mut before = self.read("the answer", is);
        let answer = before.pop().expect("it was waited for");
        (before, answer)
    }

    /// Waits for a message with this word in it; returns it and what came before.
    pub fn next(&mut self, word: &str) -> Vec<Value> {
        self.read(word, |message| message.to_string().contains(word))
    }

    /// Reads on to a message of which something is true.
    fn read(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Vec<Value> {
        let seen = self.seen;
        let found = |run: &Running| messages(&run.stdout()).iter().skip(seen).position(&is);
        self.run.wait_until(what, |run| found(run).is_some());
        let count = found(&self.run).expect("it was waited for") + 1;
        self.seen += count;
        messages(&self.run.stdout()).into_iter().skip(seen).take(count).collect()
    }

    /// Hangs up; returns what was not looked at, and the end.
    pub fn hang_up(mut self) -> (Vec<Value>, CommandOutput) {
        self.run.close_stdin();
        let seen = self.seen;
        let output = self.run.finish();
        let rest = messages(&output.stdout()).into_iter().skip(seen).collect();
        (rest, output)
    }

    /// The process.
    pub fn run(&mut self) -> &mut Running {
        &mut self.run
    }
}

/// The whole lines of an output; each must be a message.
pub fn messages(stdout: &str) -> Vec<Value> {
    let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// What the updates among messages say.
pub fn updates(messages: &[Value]) -> Vec<Value> {
    let update = |message: &Value| message["params"]["update"].clone();
    messages.iter().map(update).filter(|update| update["sessionUpdate"] != "usage_update").collect()
}

pub fn text(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

pub fn stopped(id: i64, reason: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": reason}})
}
