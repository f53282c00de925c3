//! A scripted MCP server: a shell script that speaks as much of the protocol as tests need, and misbehaves on request.

use std::path::{Path, PathBuf};

use crate::env::TestEnv;

/// The script. Its first argument says how it behaves; tools: `add`, `fail`, `slow`, `die`, `ask`, `look`.
const SCRIPT: &str = r#"
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
    *'"method":"tools/call"'*'"name":"slow"'*) ;;
    *'"method":"tools/call"'*'"name":"die"'*) echo "out of memory" >&2; exit 7 ;;
    *'"method":"tools/call"'*'"name":"look"'*) text "$(env | sed 's/=.*//' | sort | tr '\n' ' ')" ;;
    *'"method":"tools/call"'*'"name":"ask"'*)
      waiting=$id
      say '{"jsonrpc":"2.0","id":"form","method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"colour":{"type":"string","enum":["red","blue"],"default":"blue"}},"required":["name"]}}}' ;;
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

/// Returns a `--mcp-config` with one server of this behaviour.
pub fn config(name: &str, script: &Path, mode: &str) -> String {
    let server = serde_json::json!({"command": "sh", "args": [script, mode]});
    let mut servers = serde_json::Map::new();
    servers.insert(name.to_owned(), server);
    serde_json::json!({ "mcpServers": servers }).to_string()
}
