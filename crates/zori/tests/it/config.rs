//! The config file: where it is, what `config init` writes, what a bad one leads to, and that its keys do something.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::world::{with_model, world};

fn config(world: &TestEnv, text: impl AsRef<[u8]>) {
    world.write(world.base().join("config.toml"), text);
}

/// CFG-6, PATH-1, PATH-3.
#[test]
fn the_path_follows_from_the_environment() {
    let mut world = world();
    let path = |world: &TestEnv| world.run(&["config", "path"]).to_string();
    assert_eq!(path(&world), "$BASE/config.toml\n[exit status: 0]");
    world.set_var("XDG_CONFIG_HOME", world.home().join("xdg"));
    assert_eq!(path(&world), "$BASE/config.toml\n[exit status: 0]");
    world.set_var("ZORI_HOME", "");
    assert_eq!(path(&world), "$HOME/xdg/zori/config.toml\n[exit status: 0]");
    world.set_var("XDG_CONFIG_HOME", "");
    assert_eq!(path(&world), "$HOME/.config/zori/config.toml\n[exit status: 0]");
    assert_eq!(fs::read_dir(world.home()).unwrap().count(), 0, "asking creates nothing");
}

#[test]
fn the_path_is_absolute_and_the_same_whether_or_not_the_file_exists() {
    let mut world = world();
    world.set_var("ZORI_HOME", "relative");
    assert_eq!(world.run(&["config", "path"]).stdout(), "$WORK/relative/config.toml\n");
    world.write("relative/config.toml", "");
    assert_eq!(world.run(&["config", "path"]).stdout(), "$WORK/relative/config.toml\n");
}

/// CFG-7.
#[test]
fn init_writes_every_key_as_a_comment() {
    let world = world();
    insta::assert_snapshot!(world.run(&["config", "init"]), @"
    Created config at $BASE/config.toml
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.read(world.base().join("config.toml")), @r#"
    # Settings of zori. Every line is a comment that shows the default or an example.
    # API keys are never read from this file: they come from the environment (ANTHROPIC_API_KEY),
    # from the credential store (`auth login`), or from the vault (`vault set`), to which `vault:NAME` refers.

    # Who serves the model.
    # provider = "anthropic"

    # The model.
    # model = "claude-sonnet-5-5"

    # What holds the provider's key, where the environment has none: an entry of the vault, never the key itself.
    # api_key = "vault:ANTHROPIC_API_KEY"

    # Upper bound of a reply; unset: the model's own limit.
    # max_tokens = 32000

    # Sent only if set.
    # temperature = 1.0

    # How much the model thinks; unset: as the provider has it.
    # thinking = "medium"

    # Take replies as they are made; false: in one piece.
    # stream = true

    # What the model is told before everything else, in place of the built-in prompt; empty: nothing.
    # system_prompt = ""

    # The same from a file, which wins; relative to this file.
    # system_prompt_file = "prompt.md"

    # Another address for Anthropic.
    # anthropic_base_url = "https://api.anthropic.com"

    # Another address for OpenAI.
    # openai_base_url = "https://api.openai.com/v1"

    # Another address for Gemini.
    # gemini_base_url = "https://generativelanguage.googleapis.com/v1beta"

    # Another address for OpenRouter.
    # openrouter_base_url = "https://openrouter.ai/api/v1"

    # Another address for GitHub Copilot.
    # copilot_base_url = "https://api.githubcopilot.com"

    # Another address for Groq.
    # groq_base_url = "https://api.groq.com/openai/v1"

    # Another address for xAI.
    # xai_base_url = "https://api.x.ai/v1"

    # Another address for DeepSeek.
    # deepseek_base_url = "https://api.deepseek.com/v1"

    # Another address for Mistral.
    # mistral_base_url = "https://api.mistral.ai/v1"

    # Another address for Cerebras.
    # cerebras_base_url = "https://api.cerebras.ai/v1"

    # Another address for Together.
    # together_base_url = "https://api.together.xyz/v1"

    # Another address for Amazon Bedrock.
    # bedrock_base_url = "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1"

    # Another address for LiteLLM.
    # litellm_base_url = "http://127.0.0.1:4000/v1"

    # The address of your Azure OpenAI.
    # azure_base_url = "https://NAME.openai.azure.com/openai/v1"

    # The address of your Vertex AI project.
    # vertex_base_url = "https://aiplatform.googleapis.com/v1/projects/NAME/locations/global/publishers/google"

    # The address of Claude in your Vertex AI project.
    # vertex_claude_base_url = "https://aiplatform.googleapis.com/v1/projects/NAME/locations/global/publishers/anthropic"

    # Another address for Ollama.
    # ollama_base_url = "http://127.0.0.1:11434/v1"

    # Another address for llama.cpp.
    # llamacpp_base_url = "http://127.0.0.1:8080/v1"

    # Another address for LM Studio.
    # lmstudio_base_url = "http://127.0.0.1:1234/v1"

    # Another address for vLLM.
    # vllm_base_url = "http://127.0.0.1:8000/v1"

    # Another address for any other server that speaks Chat Completions.
    # compat_base_url = "http://127.0.0.1:8080/v1"

    # A program that keeps keys and logins in place of the system's credential store.
    # credential_helper = "my-helper"

    # Where to log in with a client id of your own, by provider; also as a section [auth.openai].
    # auth = { openai = { client_id = "", authorize_url = "https://", token_url = "https://", scopes = "" } }

    # How tools are offered over Chat Completions; prose: in the text, for models that know no others.
    # tool_calls = "prose"

    # Time limit of one tool call in seconds; 0: none.
    # tool_timeout_secs = 120

    # How long a client of the Claude protocol or a GUI may take to answer for a call; then it is denied. 0: no limit.
    # approval_timeout_secs = 0

    # How much of each output stream of a command the model sees; 0: up to 8 MiB.
    # bash_max_output_bytes = 65536

    # How many tokens the model takes, prompt and reply together; unset: what the catalogue says of it.
    # context_window = 32768

    # When so much of that is used, old tool outputs are left out, then old messages summarised; 0: only when asked.
    # compact_at_percent = 80

    # What commands print that can; unset: text at a terminal, JSON elsewhere.
    # output = "plain"

    # Survive the death of the process, or with "full" also a loss of power.
    # durability = "process"

    # A model of the same provider that gives a chat its title after the first turn; unset: the first sentence is the title.
    # session.title_model = "claude-haiku-4-5"

    # Who sums the session up for /recap, as PROVIDER or PROVIDER:MODEL: what was said is sent there; unset: the model in use.
    # session.recap.provider = "anthropic:claude-haiku-4-5"

    # How long a recap is at most, in tokens.
    # session.recap.max_tokens = 512

    # How long the model may take for it.
    # session.recap.timeout_secs = 30

    # How much of the session it is sent; of a longer one the beginning and the end.
    # session.recap.max_input_tokens = 50000

    # Stop when the session cannot be saved.
    # session_required = false

    # Keep an audit log of decisions, calls and commands; "required": nothing runs that cannot be written there.
    # audit = "on"

    # How often a failed request is tried again.
    # retries = 4

    # The first wait before that; it doubles each time.
    # retry_delay_ms = 1000

    # How long a connection to the provider may take; 0: for ever.
    # connect_timeout_ms = 15000

    # How long the provider may think before its answer begins; 0: for ever.
    # first_byte_timeout_ms = 120000

    # How long a begun answer may be silent; 0: for ever.
    # idle_timeout_ms = 300000

    # How long an answer may go on with nothing but signs of life; 0: for ever.
    # ping_timeout_ms = 600000

    # How often the model is asked for one prompt; unset: as often as it takes.
    # max_turns = 50

    # What a run may cost in dollars; unset: any amount.
    # max_budget_usd = 0.50

    # Use a model whose price is not known although there is a budget, which it does not count towards.
    # allow_unpriced = false

    # What all sessions of a day may cost together, in dollars, over all projects; unset: any amount.
    # cost.max_daily_usd = 5.00

    # How many tokens a run may use, read and written; unset: any number.
    # max_tokens_total = 1000000

    # How deep sub-agents may start sub-agents; 0: the model has no tool `task`.
    # subagent_depth = 1

    # How many sub-agents one prompt may start.
    # subagent_max = 16

    # Commands in a sandbox: off, whatever the machine has, or required; unset: off in the mode yolo, else auto.
    # sandbox = "auto"

    # Where commands in a sandbox may write: the workspace, or nowhere.
    # sandbox_level = "workspace"

    # Whether they may use the network; one that you approved yourself always may.
    # sandbox_network = "off"

    # Folders outside the workspace that they may write, too.
    # sandbox_caches = ["~/.cargo/registry"]

    # Print events where there is a model to ask, as `--json` does.
    # cli.json = false

    # Start nothing in the background, as `--bare` does.
    # cli.bare = false

    # Answer every question about a call with yes, as `-y` does.
    # cli.auto = false

    # The permission mode; unset: yolo, which asks nothing.
    # security.mode = "default"

    # Whether the model may run shell commands at all.
    # security.allow_shell = true

    # Commands that run without a question in the mode balanced.
    # security.whitelist = ["ls", "git status"]

    # Commands that never run: words with options folded, or re: and an expression.
    # security.blacklist_patterns = ["rm -rf", "re:^npm publish"]

    # Entries of the built-in blacklist to switch off.
    # security.blacklist_off = ["power-off"]

    # Environment variables that commands do not inherit, on top of keys and, outside yolo, what looks like a secret.
    # security.child_env_deny = ["DATABASE_URL", "MY_*"]

    # Environment variables that commands inherit all the same.
    # security.child_env_allow = ["GITHUB_TOKEN"]

    # Files that are not read without a question, on top of the built-in list; patterns as in Read rules.
    # security.sensitive_paths = ["~/.config/work", "*.tfstate"]

    # No mode without questions; of use in the administrator's file /etc/zori/config.toml.
    # security.forbid_yolo = false

    # Only the administrator's allow rules count; of use in that file.
    # security.managed_allow_only = false

    # Programs that are told what happens and may object, as in Claude Code; also as [[hooks.PreToolUse]].
    # hooks = { PreToolUse = [{ matcher = "Bash", hooks = [{ type = "command", command = "my-check", timeout = 60 }] }] }

    # Capture what calls change, so that it can be put back.
    # undo.checkpoints = true

    # Refuse calls whose changes cannot be captured.
    # undo.required = false

    # Files larger than this are not copied; up to 1 GiB they are captured where their blocks can be shared.
    # undo.max_file_mb = 16

    # Folders with more files are not looked at.
    # undo.max_files = 500000

    # Nor those of which more would be copied.
    # undo.max_baseline_mb = 512

    # How long a call waits for the first look.
    # undo.max_wait_ms = 5000

    # How much is kept over all projects.
    # undo.max_total_mb = 1024

    # For how long.
    # undo.keep_days = 14

    # How long the first request waits for MCP servers whose tools are not known yet; 3 in the chat.
    # mcp.first_wait_secs = 10

    # How many bytes of tools of MCP servers are listed one by one; above it they are found with `mcp_find`.
    # mcp.tools_budget_bytes = 8192

    # For how long contents of sensitive files are.
    # undo.sensitive_hours = 24

    # Earlier sessions of the project: not used, found by the model's tools once `memory rebuild` was run, or what fits goes with each prompt.
    # memory.recall = "manual"

    # How many messages of a project can be recalled; of more, those that were not asked for in a long time leave recall.
    # memory.max_entries = 100000

    # The model that likeness is by, as PROVIDER:MODEL: messages of the project are sent to it; unset: words are compared on this machine.
    # memory.embedder = "openai:text-embedding-3-small"

    # Where vectors are kept: the database, or a Qdrant server.
    # memory.vectors = "local"

    # The Qdrant server; its key is in QDRANT_API_KEY, or `memory.qdrant.api_key` refers to it.
    # memory.qdrant.url = "http://127.0.0.1:6333"

    # The key of the Qdrant server, as a reference to the vault.
    # memory.qdrant.api_key = "vault:QDRANT_API_KEY"

    # The model that takes facts from messages of the project in the background of a chat, as PROVIDER:MODEL: messages are sent to it; unset: none does.
    # memory.graph = "anthropic:claude-haiku-4-5"

    # How many sessions there must have been before memory is put in order again, when a chat ends.
    # memory.dream.min_sessions = 3

    # How many hours must have passed before memory is put in order again.
    # memory.dream.min_hours = 24

    # Whether scheduled jobs run: "auto" in chats of a project that has some, true also beside one prompt, false only in `schedule run`.
    # scheduler.enabled = "auto"

    # The code index of a project: used once `index build` was run there, always, or never.
    # index.enabled = "auto"

    # Find code by likeness, too: by vectors of `memory.embedder`, else of the built-in embedder.
    # index.vectors = true

    # Chat line by line, without a screen: for screen readers and simple terminals.
    # ui.plain = true

    # The colours of the chat; unset: the terminal's own.
    # ui.theme = "Studio Dark"

    # Whether the chat has colours; NO_COLOR says no, too.
    # ui.colour = false

    # Signs of the chat in ASCII; unset: unless the locale is UTF-8.
    # ui.ascii = true

    # Whether the sign of a running turn moves; REDUCE_MOTION says no, too.
    # ui.motion = false

    # How a chat nobody looks at says that a long turn is over, or that it asks.
    # ui.notify = "bell"

    # What the last row of the chat shows, and in which order; also "title". The mode is always there.
    # ui.footer = ["model", "mode", "context", "cost", "cache", "branch", "folder"]

    # How many columns the terminal gives characters of which Unicode leaves that open, as East Asian fonts do; with 2 the chat's own signs are ASCII.
    # ui.ambiguous_width = 2

    # What plays in the panel while a turn runs; F3 plays it, too.
    # ui.waiting_game = "invaders"

    # Whether the lines of the panel's feed begin with their time.
    # ui.show_timestamps = true

    # Whether the panel shows what the provider says of its work in the chat, too, not in the feed alone.
    # ui.status_in_chat = true

    # Whether the wheel scrolls the panel; text is marked with Shift then.
    # ui.mouse = true

    # Whether the chat sets the title of the window.
    # ui.title = false

    # A command for the shell that is run for such a notice, too.
    # ui.notify_command = "notify-send zori \"$ZORI_NOTICE\""

    # How the chat's composer is edited.
    # ui.keys = "vim"

    # How much the chat shows of what the model thinks.
    # ui.thinking = "show"

    # Other keys for the chat's actions, which /keys lists; also as a section [ui.keymap].
    # ui.keymap = { editor = ["ctrl+g", "ctrl+x ctrl+e"] }

    # Further folders of custom commands, beside `commands` in the base directory; `import` adds some.
    # commands.paths = ["~/.claude/commands"]

    # Further folders of sub-agents, beside `agents` in the base directory; `import` adds some.
    # agents.paths = ["~/.claude/agents"]

    # Further folders of skills, beside `skills` in the base directory and `~/.agents/skills`.
    # skills.paths = ["~/.claude/skills"]

    # How many skills go along with a prompt that means them; 0: the model loads them itself.
    # skills.inject = 3

    # How long the list of skills may be that the model reads.
    # skills.catalogue_bytes = 4096

    # What a folder's instructions are called; the first file that is there counts.
    # instructions.names = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"]

    # Further instructions of yours, beside AGENTS.md in the base directory.
    # instructions.user_files = ["~/.claude/CLAUDE.md"]

    # What runs without a question.
    # permissions.allow = ["Bash(git diff:*)"]

    # What is asked about in every mode.
    # permissions.ask = ["Bash(git commit:*)"]

    # What never runs.
    # permissions.deny = ["Read(.env)", "Bash(curl:*)"]

    # The address of an Agent Zero server's message handler.
    # connection.api_url = "http://localhost:50001/api_message"

    # The server's host, where no address is set.
    # connection.host = "localhost"

    # Its port.
    # connection.port = 50001

    # Its handler's path.
    # connection.path = "/api_message"

    # Whether that host is reached over https.
    # connection.secure = false

    # Answer from a script inside this program, to try it without a server.
    # connection.use_mock = false

    # The server's own user interface, which F5 opens; unset: the address without its path.
    # connection.ui_url = "http://localhost:50001"

    # Another name of `connection.ui_url`, which counts first.
    # connection.dashboard_url = "http://localhost:50001"

    # Whether the server deletes a chat when it is closed here: a tab, the chat, the panel.
    # connection.terminate_on_close = false

    # How long the server keeps a chat, in hours.
    # connection.lifetime_hours = 24

    # How long the server may be silent; 0: for ever.
    # connection.timeout_seconds = 0

    # How often a wait is reported; 0: never.
    # connection.keepalive_seconds = 5

    # How long an answer may take in all; 0: for ever.
    # connection.max_wait_seconds = 0

    # The workspace of that provider, where no --root is given.
    # connection.workspace_root = "."

    # Whether results of local tools go back to the server.
    # connection.send_tool_results = true

    # How many results one prompt may lead to.
    # connection.max_tool_rounds = 50

    # Ask that server for a stream.
    # connection.stream = true

    # How its answer is read.
    # connection.stream_mode = "auto"

    # How often its log is read while it works; 0: never.
    # connection.log_poll_seconds = 1

    # The server's own project, named with the first message.
    # connection.server_project = "demo"

    # The server's own agent profile, named with the first message.
    # connection.server_profile = "hacker"

    # Which of the projects below is laid over these settings.
    # active_project = "default"

    # Settings under a name; also as a section [projects.NAME].
    # projects = { default = { security_mode = "balanced" } }

    # Which of the profiles below the server's agent is told of.
    # agent_profile = "default"

    # Words for that agent under a name; also as a section [agent_profiles.NAME].
    # agent_profiles = { default = { prompt = "" } }

    # Whether that agent is told what is in the workspace.
    # context.enabled = true

    # When.
    # context.mode = "on_change"

    # How long that may be.
    # context.max_bytes = 20000

    # How many files it names.
    # context.max_files = 200

    # How deep folders are entered for it.
    # context.max_depth = 4

    # Whether it names the files.
    # context.include_tree = true

    # Whether it shows the beginnings of some.
    # context.include_previews = true

    # Whether it shows git's status.
    # context.include_git = true

    # Whether it tells time, folder and mode.
    # context.include_system = true

    # Whether it lists the local tools, without which the server's agent uses none.
    # context.include_tools = true

    # The files whose beginnings are shown.
    # context.preview_files = ["README.md", "AGENTS.md", "Cargo.toml"]

    # How long a beginning may be.
    # context.max_preview_bytes = 6000

    # Names whose values are taken out, also as part of a name.
    # context.redact_keys = ["api_key", "token", "password"]

    # Expressions for what is taken out wherever it stands.
    # context.redact_patterns = ["(?i)bearer [a-z0-9._-]+"]

    # Folders that are not entered.
    # context.ignore_dirs = [".git", "node_modules", "target"]

    # Whether ignore files count for it.
    # context.respect_gitignore = true

    # Files whose beginnings are never shown, on top of the built-in list.
    # context.sensitive_files = ["*.tfvars"]

    # Whether a summary of the workspace goes before it.
    # observer.enabled = false

    # When.
    # observer.mode = "automatic"

    # Shown by `/observer`, for other clients; without effect.
    # observer.type = "agent_zero"

    # The same.
    # observer.provider = "agent_zero"

    # The same.
    # observer.model = "gpt-4o-mini"

    # The same.
    # observer.endpoint = ""

    # The same.
    # observer.path = ""

    # A model that the catalogue does not have, or has wrong; as many lines, or tables `[models.".."]`, as you like.
    # models."ollama:qwen3" = { context_window = 32768, max_output = 8192, images = false }

    # A server that the catalogue does not have, by the API it speaks (anthropic, openai, openai-chat, gemini); then `--provider acme` works.
    # Its key comes from the variable that `key_env` names, or from the entry of the vault that `api_key` refers to; without either, none is sent.
    # A built-in provider takes `api_key` alone.
    # providers.openai = { api_key = "vault:OPENAI_API_KEY" }
    # providers.acme = { api = "openai-chat", base_url = "https://llm.example/v1", key_env = "ACME_API_KEY", models = ["large"] }

    # MCP servers, whose tools the model gets: a program that is started, or an address. Each may also have `env_pass` (variables it
    # inherits), `trust` (trusted, untrusted, sandboxed), `tools_allow`, `tools_deny`, `defer` (auto, never, always), `required`, `enabled`,
    # `elicitation`, `answers`, `oauth` (for `zori mcp login`: client_id, client_secret, client_metadata_url, scopes, callback_port),
    # `start_timeout_secs` and `tool_timeout_secs`; in a sandbox `sandbox_write` (folders it may write) and `network` (true, false).
    # mcp.servers.time = { command = "uvx", args = ["mcp-server-time==2026.10.19"] }
    # mcp.servers.docs = { url = "https://mcp.example/mcp", headers = { Authorization = "vault:docs" } }
    "#);
    assert_eq!(fs::metadata(world.base()).unwrap().permissions().mode() & 0o777, 0o700);
    let loaded = world.run(&["exec", "-p", "hi"]);
    assert!(!loaded.stderr().contains("Warning"), "{loaded}");
}

/// CFG-7.
#[test]
fn init_leaves_an_existing_file_alone() {
    let world = world();
    config(&world, "model = \"mine\"\n");
    insta::assert_snapshot!(world.run(&["config", "init"]), @"
    ------- stderr -------
    Error: Config file already exists at $BASE/config.toml
    [exit status: 6]
    ");
    assert_eq!(world.read(world.base().join("config.toml")), "model = \"mine\"\n");
}

/// CFG-5, FS-8: exit 2 before anything happens, with file, line and column.
#[test]
fn a_bad_file_is_refused() {
    let (world, model) = with_model([anthropic::text("x")]);
    let said = |text: &[u8]| {
        config(&world, text);
        world.run(&["exec", "-p", "hi"]).to_string()
    };
    insta::assert_snapshot!(said(b"model = \"m\"\nmax_tokens = = 5\n"), @"
    ------- stderr -------
    Error: $BASE/config.toml:2:14: extra `=`, expected nothing
    [exit status: 2]
    ");
    insta::assert_snapshot!(said(b"model = \"not closed\nprovider\n"), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:1:20: invalid basic string, expected `"`
    [exit status: 2]
    "#);
    insta::assert_snapshot!(said(b"model = 5\n"), @"
    ------- stderr -------
    Error: $BASE/config.toml:1:9: `model` must be a string, not 5
    [exit status: 2]
    ");
    insta::assert_snapshot!(said(b"\n\ntool_timeout_secs = \"soon\"\n"), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:3:21: `tool_timeout_secs` must be a whole number from 0 to 86400, not the string "soon"
    [exit status: 2]
    "#);
    insta::assert_snapshot!(said(b"tool_timeout_secs = 1.5\n"), @"
    ------- stderr -------
    Error: $BASE/config.toml:1:21: `tool_timeout_secs` must be a whole number from 0 to 86400, not 1.5
    [exit status: 2]
    ");
    insta::assert_snapshot!(said(b"model = \"\xc3\x28\"\n"), @"
    ------- stderr -------
    Error: $BASE/config.toml:1:10: not UTF-8 text
    [exit status: 2]
    ");
    insta::assert_snapshot!(said(b"model = \"a\"\nmodel = \"b\"\n"), @"
    ------- stderr -------
    Error: $BASE/config.toml:2:1: duplicate key
    [exit status: 2]
    ");
    assert_eq!(model.count(), 0);
    assert!(!world.base().join("sessions").exists());
}

/// FS-8.
#[test]
fn a_directory_or_a_link_to_itself_instead_of_a_file() {
    let world = world();
    let path = world.base().join("config.toml");
    fs::create_dir_all(&path).unwrap();
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: cannot read the config file $BASE/config.toml: Is a directory (os error 21)
    [exit status: 2]
    ");
    fs::remove_dir(&path).unwrap();
    symlink("config.toml", &path).unwrap();
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: cannot read the config file $BASE/config.toml: Too many levels of symbolic links (os error 40)
    [exit status: 2]
    ");
}

/// CFG-4, CFG-5.
#[test]
fn unknown_keys_and_keys_of_providers_warn() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    config(
        &world,
        "modle = \"typo\"\napi_key = \"sk-secret\"\nanthropic_api_key = \"sk-secret\"\n[secrets]\nmode = \"x\"\n",
    );
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Hi.
    ------- stderr -------
    Warning: `anthropic_api_key` in $BASE/config.toml is ignored: keys are never read from files; set ANTHROPIC_API_KEY instead
    Warning: `api_key` in $BASE/config.toml is ignored: keys are never read from files; set ANTHROPIC_API_KEY instead
    Warning: unknown key `modle` in $BASE/config.toml
    Warning: unknown key `secrets` in $BASE/config.toml
    [exit status: 0]
    ");
    assert_eq!(model.request(0).header("x-api-key"), Some(zori_testkit::env::TEST_KEY));
}

/// An empty file and a comment say nothing.
#[test]
fn an_empty_file_is_fine() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    config(&world, "# nothing\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Hi.
    [exit status: 0]
    ");
}

#[test]
fn model_and_limits_are_sent() {
    let (world, model) = with_model([anthropic::text("a"), anthropic::text("b")]);
    config(&world, "model = \"claude-sonnet-4-5\"\nmax_tokens = 77\ntemperature = 3.5\n");
    world.run(&["exec", "-p", "hi"]).success();
    world.run(&["exec", "--model", "claude-haiku-4-5", "-p", "hi"]).success();
    let facts = |n: usize| {
        let body = model.request(n).json();
        json!([body["model"], body["max_tokens"], body["temperature"], body["stream"]])
    };
    // CFG-8: a temperature out of range is the provider's to refuse.
    assert_eq!(facts(0), json!(["claude-sonnet-4-5", 77, 3.5, true]));
    assert_eq!(facts(1), json!(["claude-haiku-4-5", 77, 3.5, true]), "CFG-1: a flag wins");
}

#[test]
fn a_reply_in_one_piece() {
    let (world, model) = with_model([Reply::json(200, anthropic::text("Whole.").json())]);
    config(&world, "stream = false\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Whole.
    [exit status: 0]
    ");
    assert_ne!(model.request(0).json()["stream"], true);
}

/// PROV-3: the environment wins over the file; blank counts as unset.
#[test]
fn the_providers_address() {
    let (mut world, by_variable) = with_model([anthropic::text("Variable.")]);
    let by_file = ModelServer::strict([anthropic::text("File.")]);
    config(&world, format!("anthropic_base_url = \"  {}  \"\n", by_file.url()));
    assert_eq!(world.run(&["exec", "-p", "hi"]).success().stdout(), "Variable.\n");
    world.set_var("ANTHROPIC_BASE_URL", "  ");
    assert_eq!(world.run(&["exec", "-p", "hi"]).success().stdout(), "File.\n");
    assert_eq!((by_variable.count(), by_file.count()), (1, 1));
}

fn bash(command: &str) -> [anthropic::Message; 2] {
    [anthropic::tool_use("t1", "bash", json!({"command": command})), anthropic::text("Done.")]
}

/// BASH-3.
#[test]
fn tool_timeout_secs() {
    let (world, model) = with_model(bash("echo before; exec sleep 300"));
    config(&world, "tool_timeout_secs = 1\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "go"]), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="echo before; exec sleep 300"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash timed_out=true
    [exit status: 0]
    "#);
    insta::assert_snapshot!(model.request(1).conversation(), @r#"
    user: go
    assistant: tool_use t1 bash {"command":"echo before; exec sleep 300"}
    user: tool_result t1 timed out
    before
    stderr:
    Command timed out after 1 seconds
    "#);
}

/// BASH-4, DECISIONS 14.
#[test]
fn bash_max_output_bytes() {
    let command = "i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i+1)); done; echo short >&2";
    let read_back = |path: &str| anthropic::tool_use("t2", "read", json!({"path": path}));
    let (world, model) = with_model([bash(command)[0].clone()]);
    config(&world, "bash_max_output_bytes = 60\n");
    // The spill file's name is known only after the first call: it has the process id in it.
    let run = crate::sessions::exec_in(&world, "s", "go");
    let file = world.tmp().join(format!("zori-{}-0/1-stdout.txt", run.pid()));
    model.push(read_back(file.to_str().unwrap()));
    model.push(anthropic::text("Done."));
    run.finish().success();
    let shown = world.rewrite().apply(&model.request(2).conversation());
    let pid = file.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    insta::assert_snapshot!(shown.replace(&pid, "zori-$PID-0"), @r#"
    user: go
    assistant: tool_use t1 bash {"command":"i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i+1)); done; echo short >&2"}
    user: tool_result t1 line 0
    line 1
    line 2
    line 3
    [... 338 of 390 bytes cut here; all of it is in $TMP/zori-$PID-0/1-stdout.txt ...]
    line 47
    line 48
    line 49
    stderr:
    short
    assistant: tool_use t2 read {"path":"$TMP/zori-$PID-0/1-stdout.txt"}
    user: tool_result t2 $TMP/zori-$PID-0/1-stdout.txt (50 lines)
    line 0
    line 1
    line 2
    line 3
    line 4
    line 5
    line 6
    line 7
    line 8
    line 9
    line 10
    line 11
    line 12
    line 13
    line 14
    line 15
    line 16
    line 17
    line 18
    line 19
    line 20
    line 21
    line 22
    line 23
    line 24
    line 25
    line 26
    line 27
    line 28
    line 29
    line 30
    line 31
    line 32
    line 33
    line 34
    line 35
    line 36
    line 37
    line 38
    line 39
    line 40
    line 41
    line 42
    line 43
    line 44
    line 45
    line 46
    line 47
    line 48
    line 49
    "#);
}

/// NET-7.
#[test]
fn retries() {
    let busy = || anthropic::http_error(503, "api_error", "busy");
    let (world, model) = with_model([busy(), busy(), busy(), busy()]);
    config(&world, "retries = 1\nretry_delay_ms = 1\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r#"
    ------- stderr -------
    Retrying in 0.0s (1/1): HTTP 503: busy
    Error [http_status]: HTTP 503: busy
      Details: {"error":{"message":"busy","type":"api_error"},"type":"error"}
    [exit status: 12]
    "#);
    assert_eq!(model.count(), 2);
    assert_eq!(world.run(&["exec", "--retries", "0", "-p", "hi"]).code(), Some(12));
    assert_eq!(model.count(), 3, "a flag wins");
}

/// DECISIONS 29: the records are the same; only the syncs differ.
#[test]
fn durability_full() {
    let (world, _model) = with_model(bash("echo hi").into_iter().chain(bash("echo hi")));
    crate::sessions::exec_in(&world, "process", "go").finish().success();
    config(&world, "durability = \"full\"\n");
    crate::sessions::exec_in(&world, "full", "go").finish().success();
    let saved = |id| crate::sessions::saved(&world, id);
    assert_eq!(saved("full"), saved("process"));
}

/// DECISIONS 20: asked for what there is not.
#[test]
fn an_output_that_is_not_known() {
    let (mut world, model) = with_model([anthropic::text("Hi.")]);
    config(&world, "output = \"xml\"\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:1:10: `output` must be one of "json", "jsonl", "tsv", "plain", "table", "id", not the string "xml"
    [exit status: 2]
    "#);
    config(&world, "output = \"plain\"\n");
    world.set_var("ZORI_OUTPUT", "xml");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: `ZORI_OUTPUT` can be plain, json, jsonl here, not `xml`
    [exit status: 2]
    ");
    assert_eq!(model.count(), 0);
    assert_eq!(world.run(&["exec", "--output", "plain", "-p", "hi"]).success().stdout(), "Hi.\n");
}
