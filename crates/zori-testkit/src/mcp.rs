//! A scripted MCP server: a shell script that speaks as much of the protocol as tests need, and misbehaves on request.

use std::path::{Path, PathBuf};

use crate::env::TestEnv;

/// The script. Its first argument says how it behaves; tools: `add`, `fail`, `slow`, `die`, `ask`, `look`.
pub const SCRIPT: &str = r#"
mode=${1:-plain}
lists=0
say() { printf '%s\n' "$1"; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
text() { answer '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object","properties":{%s}}%s}' "$1" "$2" "$3" "$4"; }
echo "serving as $mode" >&2
case $mode in banner) say 'Welcome to the server!'; say '' ;; hushed) exec 2>&- ;; esac
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}; id=${id%%\}*}
  case $line in
    *'"method":"initialize"'*)
      case $mode in
        silent) continue ;;
        dies) echo "no licence" >&2; exit 3 ;;
        version) answer '{"protocolVersion":"1999-01-01","capabilities":{}}'; continue ;;
        newer) say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"what?"}}'; continue ;;
      esac
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"},"instructions":"Adds numbers."}'
      case $mode in changes) for n in 1 2 3; do say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; done ;; esac ;;
    *'"method":"server/discover"'*) answer '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
    *'"method":"tools/list"'*)
      lists=$((lists+1))
      [ -n "$LISTS" ] && echo "$lists" >> "$LISTS"
      about="Adds two numbers"
      [ -n "$ABOUT" ] && about=$ABOUT
      more=
      [ -n "$MANY" ] && { n=0; while [ $n -lt "$MANY" ]; do n=$((n+1)); more="$more,$(tool "tool_$n" "Does the thing of number $n, and says at length what came of it" '')"; done; }
      answer '{"tools":['"$(tool add "$about" '"a":{"type":"integer"},"b":{"type":"integer"}' ',"annotations":{"readOnlyHint":true}')"','"$(tool fail 'Fails')"','"$(tool slow 'Never answers')"','"$(tool die 'Ends the server')"','"$(tool ask 'Asks the user')"','"$(tool look 'Shows its environment')$more"']}' ;;
    *'"method":"tools/call"'*'"name":"add"'*) text '3' ;;
    *'"method":"tools/call"'*'"name":"tool_2"'*) text 'two' ;;
    *'"method":"tools/call"'*'"name":"fail"'*) answer '{"isError":true,"content":[{"type":"text","text":"it cannot"}]}' ;;
    *'"method":"tools/call"'*'"name":"slow"'*) [ -n "$CALLED" ] && echo "$line" >> "$CALLED" ;;
    *'"method":"tools/call"'*'"name":"die"'*) echo "out of memory" >&2; exit 7 ;;
    *'"method":"tools/call"'*'"name":"look"'*) text "$(env | sed 's/=.*//' | sort | tr '\n' ' ')" ;;
    *'"method":"tools/call"'*'"name":"ask"'*)
      waiting=$id
      form='{"type":"object","properties":{"name":{"type":"string"},"colour":{"type":"string","enum":["red","blue"],"default":"blue"}},"required":["name"]}'
      [ -n "$FORM" ] && form=$FORM
      say '{"jsonrpc":"2.0","id":"form","method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":'"$form"'}}' ;;
    *'"id":"form"'*)
      id=$waiting
      text "$(printf '%s' "$line" | sed 's/.*"result":\({.*}\)}$/\1/; s/.*"error":\({.*}\)}$/\1/; s/"/\\"/g')" ;;
    *'"method":"notifications/cancelled"'*) [ -n "$CANCELLED" ] && echo "$line" >> "$CANCELLED" ;;
  esac
done
case $mode in deaf) trap '' TERM; while :; do sleep 1; done ;; esac
"#;

/// Writes the script into a world, and returns its path.
pub fn scripted_server(world: &TestEnv) -> PathBuf {
    let path = world.tmp().join("server.sh");
    world.write(path.clone(), SCRIPT.trim_start());
    path
}

/// A server that says what files say: `answering.sh LIST RESULT` answers every list of tools and every call with what is in them.
const ANSWERING: &str = r#"
say() { printf '%s\n' "$1"; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}; id=${id%%\}*}
  case $line in
    *'"method":"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"answering","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer "$(cat "$1")" ;;
    *'"method":"tools/call"'*) answer "$(cat "$2")" ;;
  esac
done
"#;

/// That server in a world.
pub struct AnsweringServer<'w> {
    world: &'w TestEnv,
    script: PathBuf,
}

impl<'w> AnsweringServer<'w> {
    /// Writes it into a world.
    pub fn new(world: &'w TestEnv) -> Self {
        let script = world.tmp().join("answering.sh");
        world.write(script.clone(), ANSWERING.trim_start());
        Self { world, script }
    }

    /// Has it answer lists of tools with this.
    pub fn list(&self, list: &serde_json::Value) -> &Self {
        self.world.write(self.file("list"), list.to_string());
        self
    }

    /// Has it answer calls with this.
    pub fn result(&self, result: &serde_json::Value) -> &Self {
        self.world.write(self.file("result"), result.to_string());
        self
    }

    /// Returns its `[mcp.servers.s]`.
    pub fn table(&self) -> String {
        let args = [self.script.clone(), self.file("list"), self.file("result")];
        format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = {args:?}\n")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.world.tmp().join(format!("{name}.json"))
    }
}

/// Returns a `[mcp.servers.s]` for the config, whose tool `ask` asks by this form.
pub fn asking_server(script: &Path, form: &serde_json::Value) -> String {
    let form = form.to_string();
    format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}]\nenv = {{ FORM = {form:?} }}\n")
}

/// Returns a `--mcp-config` with one server of this behaviour.
pub fn config(name: &str, script: &Path, mode: &str) -> String {
    let server = serde_json::json!({"command": "sh", "args": [script, mode]});
    let mut servers = serde_json::Map::new();
    servers.insert(name.to_owned(), server);
    serde_json::json!({ "mcpServers": servers }).to_string()
}

/// A server that goes wrong at one moment in one way: `faulty.sh PHASE FAULT`. Phases are `open`, `initialize`, `list`, `relist`, `call`
/// and `end`; after a fault that it survives it answers as it should. It has one tool, `add`, whose answer is 3.
const FAULTY: &str = r#"
phase=$1 fault=$2
[ -n "$STARTS" ] && echo x >> "$STARTS"
say() { printf '%s\n' "$1"; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
stay() { sh -c 'while :; do sleep 1; done' "$0"; }
repeat() { n=0; while [ $n -lt "$1" ]; do n=$((n+1)); say "$2"; done; }
# Does the deed. Returns false where there is to be no answer.
misbehave() {
  case $fault in
    exit0) exit 0 ;;
    exit3) echo "out of luck" >&2; exit 3 ;;
    killed) kill -KILL $$ ;;
    crash) ulimit -c 0; kill -SEGV $$ ;;
    silent) return 1 ;;
    stuck) stay ;;
    stopped) kill -STOP $$ ;;
    half_exit) printf '{"jsonrpc":"2.0","id":'; exit 0 ;;
    half_stuck) printf '{"jsonrpc":"2.0","id":'; stay ;;
    closes_output) exec 1>&-; stay ;;
    closes_input) exec 0<&-; stay ;;
    closes_all) exec 0<&- 1>&- 2>&-; stay ;;
    huge) head -c 17825792 /dev/zero | tr '\0' x; say ; return 1 ;;
    other_id) say '{"jsonrpc":"2.0","id":"'"$id"'","result":{}}'; return 1 ;;
    error) say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32000,"message":"not today"}}'; return 1 ;;
    null) answer null; return 1 ;;
    list) answer '[]'; return 1 ;;
    garbage) say 'Loading model... 42 %' ;;
    binary) printf '\377\376\000\001\n\n\r\n' ;;
    number) repeat 3 42 ;;
    deep) head -c 200000 /dev/zero | tr '\0' '['; say ;;
    wrong_id) say '{"jsonrpc":"2.0","id":424242,"result":{}}'; say '{"jsonrpc":"2.0","id":null,"result":{}}' ;;
    shapes) say '{}'; say '{"jsonrpc":"1.0"}'; say '{"id":{},"method":7}'; say '[1,[2],{"method":[]}]' ;;
    notices) repeat 500 '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"x"}}' ;;
    progress) repeat 200 '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1e308}}' ;;
    requests) repeat 50 '{"jsonrpc":"2.0","id":"r","method":"sampling/createMessage","params":{}}' ;;
    stderr) head -c 4000000 /dev/zero | tr '\0' 'e' >&2; repeat 2000 'a line of words' >&2 ;;
    child) stay & ;;
    daemon) setsid sh -c 'while :; do sleep 1; done' "$0" & ;;
    slow) sleep 0.3 ;;
    twice) case $phase in call) answer '{"content":[{"type":"text","text":"3"}]}' ;; esac ;;
  esac
  return 0
}
[ "$phase" = open ] && { misbehave || true; }
lists=0
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}; id=${id%%\}*}
  case $line in
    *'"method":"initialize"'*)
      [ "$phase" = initialize ] && { misbehave || continue; }
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"faulty","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      lists=$((lists+1))
      [ "$phase" = list ] && { misbehave || continue; }
      [ "$phase" = relist ] && [ $lists -gt 1 ] && { misbehave || continue; }
      answer '{"tools":[{"name":"add","description":"Adds","inputSchema":{"type":"object"}}]}'
      [ "$phase" = relist ] && [ $lists = 1 ] && say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}' ;;
    *'"method":"tools/call"'*)
      [ "$phase" = call ] && { misbehave || continue; }
      # The list is asked for again meanwhile.
      [ "$phase" = relist ] && sleep 0.6
      answer '{"content":[{"type":"text","text":"3"}]}' ;;
  esac
done
[ "$phase" = end ] && { trap '' TERM HUP INT; misbehave; stay; }
"#;

/// Writes that server into a world, and returns its path.
pub fn faulty_server(world: &TestEnv) -> PathBuf {
    let path = world.tmp().join("faulty.sh");
    world.write(path.clone(), FAULTY.trim_start());
    path
}

/// The command lines of processes that run a script, or were started by it with its name.
pub fn processes_of(script: &Path) -> Vec<String> {
    let script = script.to_str().expect("its name is text");
    let lines =
        std::fs::read_dir("/proc").expect("the system shows processes").flatten().filter_map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&line).replace('\0', " "))
        });
    lines.filter(|line| line.starts_with("sh ") && line.contains(script)).collect()
}
