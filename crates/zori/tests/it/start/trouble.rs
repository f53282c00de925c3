//! What goes wrong: providers, keys, arguments, and lines that are none.

use zori_testkit::anthropic;
use zori_testkit::running::{Stdin, Stdout};

use super::{HI, brief, lines, prompted, told, whole};
use crate::world::{with_model, world};

#[test]
fn a_provider_that_refuses() {
    let (world, _model) = with_model([anthropic::http_error(400, "invalid_request_error", "no")]);
    let output = prompted(&world, "hi", &[]);
    insta::assert_snapshot!(whole(&output), @r#"
    {"type":"system","subtype":"init","cwd":"$WORK","session_id":"s","tools":["Read","Write","Edit","Bash","MultiEdit","NotebookEdit","Glob","Grep","LS","WebFetch","TodoWrite","Task","TaskOutput","KillShell"],"mcp_servers":[],"model":"claude-sonnet-5-5","permissionMode":"default","slash_commands":[],"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.0","output_style":"default","agents":["general-purpose"],"skills":[],"plugins":[],"zori_version":"0.1.0","provider":"anthropic","uuid":"$SESSION"}
    {"type":"usage","input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}
    {"type":"error","message":"API error 400: no","code":"invalid_request"}
    {"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"API error 400: no","errors":["API error 400: no"],"stop_reason":"stop_sequence","terminal_reason":"api_error","duration_ms":"$TIME","duration_api_ms":"$TIME","num_turns":1,"session_id":"s","total_cost_usd":0.0,"modelUsage":{},"permission_denials":[],"uuid":"$SESSION"}
    {"type":"message_stop"}
    ------- stderr -------
    Error [http_status]: HTTP 400: no
      Details: {"error":{"message":"no","type":"invalid_request_error"},"type":"error"}
    [exit status: 1]
    "#);
}

#[test]
fn a_key_that_is_refused_or_missing() {
    let (mut world, _model) = with_model([anthropic::http_error(401, "authentication_error", "bad key")]);
    insta::assert_snapshot!(brief(&prompted(&world, "hi", &[])), @r#"
    init s default
    usage 0 0
    {"type":"system","subtype":"error","message":"API error 401: bad key","code":"AUTH","session_id":"s","uuid":"$SESSION"}
    result success is_error=true "api_error" turns=1 ["API error 401: bad key"]
    {"type":"message_stop"}
    ------- stderr -------
    Error [http_status]: HTTP 401: bad key
      Details: {"error":{"message":"bad key","type":"authentication_error"},"type":"error"}
    [exit status: 1]
    "#);
    world.remove_var("ANTHROPIC_API_KEY");
    insta::assert_snapshot!(brief(&world.run(&["start", "--session-id", "t", "--prompt", "hi"])), @r#"
    {"type":"system","subtype":"error","message":"ANTHROPIC_API_KEY is not set","code":"AUTH","session_id":"t","uuid":"$SESSION"}
    result success is_error=true "api_error" turns=0 ["ANTHROPIC_API_KEY is not set"]
    {"type":"message_stop"}
    ------- stderr -------
    Error: ANTHROPIC_API_KEY is not set
    Hint: set ANTHROPIC_API_KEY to your Anthropic key
    Hint: or store it: `zori auth login --provider anthropic --with-token`
    Hint: a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`
    Hint: `zori demo` shows what this program does without a key
    [exit status: 1]
    "#);
}

/// Chapter 9: the variable of Claude Code bounds the retries; a flag is nearer.
#[test]
fn retries() {
    let run = |args: &[&str]| {
        let (mut world, model) =
            with_model((0..3).map(|_| anthropic::http_error(529, "overloaded_error", "busy")));
        world.set_var("CLAUDE_CODE_MAX_RETRIES", "2");
        (brief(&prompted(&world, "hi", &[&["--retry-delay", "1"], args].concat())), model.count())
    };
    let (told, requests) = run(&[]);
    insta::assert_snapshot!(told, @r#"
    init s default
    {"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":"$TIME","error_status":529,"error":"overloaded","session_id":"s","uuid":"$SESSION"}
    {"type":"system","subtype":"api_retry","attempt":2,"max_retries":2,"retry_delay_ms":"$TIME","error_status":529,"error":"overloaded","session_id":"s","uuid":"$SESSION"}
    usage 0 0
    {"type":"error","message":"API error 529: busy","code":"overloaded"}
    result success is_error=true "api_error" turns=1 ["API error 529: busy"]
    {"type":"message_stop"}
    ------- stderr -------
    Retrying in 0.0s (1/2): HTTP 529: busy
    Retrying in 0.0s (2/2): HTTP 529: busy
    Error [http_status]: HTTP 529: busy
      Details: {"error":{"message":"busy","type":"overloaded_error"},"type":"error"}
    [exit status: 1]
    "#);
    assert_eq!((requests, run(&["--retries", "0"]).1), (3, 1));
}

/// A turn that fails does not end the run.
#[test]
fn the_next_prompt_is_served() {
    let (world, _model) = with_model([
        anthropic::http_error(400, "invalid_request_error", "no"),
        anthropic::text("Better.").reply(),
    ]);
    let output = told(&world, HI.repeat(2));
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    usage 0 0
    {"type":"error","message":"API error 400: no","code":"invalid_request"}
    result success is_error=true "api_error" turns=1 ["API error 400: no"]
    {"type":"message_stop"}
    {"type":"text","content":"Better.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Better."
    {"type":"message_stop"}
    ------- stderr -------
    Error [http_status]: HTTP 400: no
      Details: {"error":{"message":"no","type":"invalid_request_error"},"type":"error"}
    [exit status: 0]
    "#);
}

#[test]
fn bad_arguments() {
    let world = world();
    for args in [
        &["start", "--protocol-version", "3", "--prompt", "x"][..],
        &["start", "--output-format", "text", "--prompt", "x"],
        &["start", "--session-id", "a/b", "--prompt", "x"],
        &["start", "--nope"],
        &["start", "--prompt", " "],
    ] {
        let output = world.run(args);
        let told: Vec<_> = lines(&output.stdout()).iter().map(|line| line["type"].clone()).collect();
        assert_eq!(
            (told, output.code()),
            (vec!["system".into(), "result".into(), "message_stop".into()], Some(2)),
            "{output}"
        );
    }
    insta::assert_snapshot!(brief(&world.run(&["start", "--provider", "nope", "--prompt", "x"])), @r#"
    {"type":"system","subtype":"error","message":"unknown provider `nope`","code":"SETTING_INVALID","session_id":"$SESSION","uuid":"$SESSION"}
    result error_during_execution is_error=true "not_started" turns=0 ["unknown provider `nope`"]
    {"type":"message_stop"}
    ------- stderr -------
    Error: unknown provider `nope`
    Hint: use one of `anthropic`, `openai`, `openai-chat`, `codex`, `gemini`, `openrouter`, `copilot`, `groq`, `xai`, `deepseek`, `mistral`, `cerebras`, `together`, `bedrock`, `azure`, `vertex`, `vertex-claude`, `ollama`, `llamacpp`, `lmstudio`, `vllm`, `compat`, `litellm`, `agent-zero`
    Hint: or describe it in the config file: `[providers.nope]` with `api`, `base_url` and `key_env`
    [exit status: 2]
    "#);
    let (world, _model) = with_model([anthropic::text("x")]);
    insta::assert_snapshot!(brief(&world.run(&["start", "--permission-mode", "sudo", "--prompt", "x"])), @r#"
    {"type":"system","subtype":"error","message":"`--permission-mode` cannot be `sudo`","code":"SETTING_INVALID","session_id":"$SESSION","uuid":"$SESSION"}
    result error_during_execution is_error=true "not_started" turns=0 ["`--permission-mode` cannot be `sudo`"]
    {"type":"message_stop"}
    ------- stderr -------
    Error: `--permission-mode` cannot be `sudo`
    Hint: the modes are acceptEdits, auto, balanced, bypassPermissions, default, deny, dontAsk, god_mode, interactive, paranoid, plan, yolo
    [exit status: 2]
    "#);
    insta::assert_snapshot!(brief(&told(&world, " \n")), @"
    init s default
    [exit status: 0]
    ");
}

/// What the GUI kept of another conversation comes first; what is wrong with it is a `result`.
#[test]
fn a_conversation_that_is_brought() {
    let (world, model) = with_model([anthropic::text("Hi."), anthropic::text("Again.")]);
    world.write(
        "h.json",
        r#"[{"role":"user","content":"before"},{"role":"assistant","content":"Yes.","toolCalls":[{"id":"1","name":"LS","input":{}}]},
            {"role":"tool","toolCallId":"1","content":"a.txt"},{"role":"assistant","content":"One file."}]"#,
    );
    insta::assert_snapshot!(brief(&prompted(&world, "hi", &["--history-file", "h.json"])), @r#"
    init s default
    {"type":"text","content":"Hi.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Hi."
    {"type":"message_stop"}
    ------- stderr -------
    Context: went back before the last 0 messages, about 1529 -> 1572 tokens
    [exit status: 0]
    "#);
    world.run(&["start", "--resume", "s", "--prompt", "more"]).success();
    let conversations = [model.request(0).conversation(), model.request(1).conversation()];
    insta::assert_snapshot!(conversations.join("---\n"), @"
    user: before
    assistant: Yes.
    assistant: tool_use 1 LS {}
    user: tool_result 1 a.txt
    assistant: One file.
    user: hi
    ---
    user: before
    assistant: Yes.
    assistant: tool_use 1 LS {}
    user: tool_result 1 a.txt
    assistant: One file.
    user: hi
    assistant: Hi.
    user: more
    ");
    world.write("bad.json", r#"{"role":"user"}"#);
    insta::assert_snapshot!(brief(&world.run(&["start", "--prompt", "x", "--history-file", "bad.json"])), @r#"
    {"type":"system","subtype":"error","message":"`--history-file bad.json`: it is no JSON array of messages with `role` and `content`: invalid type: map, expected a sequence at line 1 column 0","code":"VALIDATION_ERROR","session_id":"$SESSION","uuid":"$SESSION"}
    result error_during_execution is_error=true "not_started" turns=0 ["`--history-file bad.json`: it is no JSON array of messages with `role` and `content`: invalid type: map, expected a sequence at line 1 column 0"]
    {"type":"message_stop"}
    ------- stderr -------
    Error: `--history-file bad.json`: it is no JSON array of messages with `role` and `content`: invalid type: map, expected a sequence at line 1 column 0
    [exit status: 2]
    "#);
}

/// Whatever is wrong with the call, the GUI gets a `result` that names it.
#[test]
fn calls_that_cannot_begin() {
    let world = world();
    insta::assert_snapshot!(brief(&world.run(&["start", "--cwd", "/nowhere", "--prompt", "x"])), @r#"
    {"type":"system","subtype":"error","message":"`--root` takes a folder, and /nowhere is none","code":"VALIDATION_ERROR","session_id":"$SESSION","uuid":"$SESSION"}
    result error_during_execution is_error=true "not_started" turns=0 ["`--root` takes a folder, and /nowhere is none"]
    {"type":"message_stop"}
    ------- stderr -------
    Error: `--root` takes a folder, and /nowhere is none
    [exit status: 2]
    "#);
    insta::assert_snapshot!(brief(&world.run(&["start", "--protocol-version", "3", "--prompt", "x"])), @r#"
    {"type":"system","subtype":"error","message":"`--protocol-version` takes 1, yume, flat, 2, claude or sdk, not `3`","code":"VALIDATION_ERROR","session_id":"$SESSION","uuid":"$SESSION"}
    result error_during_execution is_error=true "not_started" turns=0 ["`--protocol-version` takes 1, yume, flat, 2, claude or sdk, not `3`"]
    {"type":"message_stop"}
    ------- stderr -------
    Error: `--protocol-version` takes 1, yume, flat, 2, claude or sdk, not `3`
    [exit status: 2]
    "#);
}

/// IO-4: a line that is none costs that line; the GUI and whoever reads stderr are told.
#[test]
fn lines_that_are_none() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    let mut input =
        b"{\"type\":\"user\",\"content\":\n{\"type\":\"interrupt\"}{\"type\":\"interrupt\"}\n".to_vec();
    input.extend_from_slice(b"[1]\nhello\n{}\n{\"type\":\"frobnicate\"}\n{\"type\":\"user\"}\n\xff\xfe\n");
    input.extend_from_slice(
        b"{\"type\":\"tool_approval\",\"id\":\"t9\",\"approved\":true}\n{\"type\":\"tool_approval\"}\n",
    );
    input.extend_from_slice(b"{\"type\":\"user\",\"content\":\"  \"}\n");
    input.extend_from_slice(HI.as_bytes());
    let output = told(&world, input);
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    {"type":"error","message":"a line is not understood: EOF while parsing a value at line 1 column 25","code":"bad_input"}
    {"type":"error","message":"a line is not understood: trailing characters at line 1 column 21","code":"bad_input"}
    {"type":"error","message":"a line is not understood: invalid type: integer `1`, expected a string at line 1 column 2","code":"bad_input"}
    {"type":"error","message":"a line is not understood: expected value at line 1 column 1","code":"bad_input"}
    {"type":"error","message":"a line has no `type`","code":"bad_input"}
    {"type":"error","message":"a prompt has no `content` that is a text or a list","code":"bad_input"}
    {"type":"error","message":"a line is not UTF-8 text (byte 0)","code":"bad_input"}
    {"type":"error","message":"a line of the type `tool_approval` has no `id`","code":"bad_input"}
    {"type":"error","message":"a prompt is empty","code":"bad_input"}
    {"type":"text","content":"Hi.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Hi."
    {"type":"message_stop"}
    ------- stderr -------
    Warning: a line is not understood: EOF while parsing a value at line 1 column 25
    Warning: a line is not understood: trailing characters at line 1 column 21
    Warning: a line is not understood: invalid type: integer `1`, expected a string at line 1 column 2
    Warning: a line is not understood: expected value at line 1 column 1
    Warning: a line has no `type`
    Warning: a line of the unknown type `frobnicate` is ignored
    Warning: a prompt has no `content` that is a text or a list
    Warning: a line is not UTF-8 text (byte 0)
    Warning: no call `t9` waits for an answer
    Warning: a line of the type `tool_approval` has no `id`
    Warning: a prompt is empty
    [exit status: 0]
    "#);
}

#[test]
fn half_a_line() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    let output = told(&world, "{\"type\":\"user\",\"cont");
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    {"type":"error","message":"a line is not understood: EOF while parsing a string at line 1 column 20","code":"bad_input"}
    ------- stderr -------
    Warning: a line is not understood: EOF while parsing a string at line 1 column 20
    [exit status: 0]
    "#);
    assert_eq!(model.count(), 0);
}

#[test]
fn a_line_of_50_megabytes() {
    let (world, _model) = with_model([anthropic::text("Hi.")]);
    let long = format!("{{\"type\":\"user\",\"content\":\"{}\"}}\n{HI}", "x".repeat(50 << 20));
    let output = told(&world, long);
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    {"type":"error","message":"a line has more than 16777216 bytes","code":"bad_input"}
    {"type":"text","content":"Hi.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Hi."
    {"type":"message_stop"}
    ------- stderr -------
    Warning: a line has more than 16777216 bytes
    [exit status: 0]
    "#);
}

/// A reader that goes away ends the run without a word.
#[test]
fn a_reader_that_is_gone() {
    let (world, _model) = with_model((0..4).map(|_| anthropic::text("Hi.")));
    let args = ["start", "--session-id", "s", "--prompt", "hi"];
    for read in [0, 200, 600] {
        let output = world.start(world.cmd(&args), Stdin::Null, Stdout::ClosedAfter(read)).finish();
        assert!(matches!(output.code(), Some(0 | 1)), "{output}");
        assert_eq!(output.stderr(), "", "after {read} bytes");
        world.run(&["sessions", "rm", "s", "-y"]);
    }
    let mut run =
        world.start(world.cmd(&["start", "--session-id", "t"]), Stdin::Open, Stdout::ClosedAfter(10));
    run.write_stdin(HI);
    assert!(matches!(run.finish().code(), Some(0 | 1)));
}

#[test]
fn every_turn_that_was_begun_has_an_end() {
    let (world, _model) = with_model([anthropic::http_error(400, "invalid_request_error", "no")]);
    let output = world.run_with_stdin(&["start"], HI);
    let types: Vec<_> = lines(&output.stdout()).iter().map(|line| line["type"].to_string()).collect();
    assert_eq!(types[types.len() - 2..], ["\"result\"", "\"message_stop\""]);
}
