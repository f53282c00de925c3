"""Prompts and answers: one string, a stream, several turns, pieces, thinking, images, system prompts."""

from claude_agent_sdk import ClaudeSDKClient, StreamEvent, SystemMessage, UserMessage

from conform import body, call, case, equal, holds, system_text, text

from . import MODEL, ask, init, options, prompts, result, told, turn

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@case
async def a_string_as_prompt(world):
    world.script(text("Hello there."))
    messages = await ask("What is 2 + 2?", options(world))
    equal(told(messages), ["init", "text Hello there.", "end success: Hello there."])
    equal(world.requests()[0]["messages"][-1]["role"], "user")
    holds("What is 2 + 2?" in body(world.requests()[0]), "the prompt did not arrive")


@case
async def the_result_has_figures(world):
    world.script(text("Four.", usage={"input_tokens": 1000, "output_tokens": 200}))
    end = result(await ask("What is 2 + 2?", options(world)))
    usage = {k: end.usage[k] for k in ("input_tokens", "output_tokens")}
    usage |= {k: end.usage[k] for k in ("cache_creation_input_tokens", "cache_read_input_tokens")}
    equal(
        usage,
        {"input_tokens": 1000, "output_tokens": 200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    )
    equal((end.num_turns, end.stop_reason, end.terminal_reason), (1, "end_turn", "completed"))
    equal((end.is_error, end.api_error_status, end.permission_denials), (False, None, []))
    # 1000 tokens at 1 dollar and 200 at 5 dollars a million.
    equal(round(end.total_cost_usd, 6), 0.002)
    equal(round(end.model_usage[MODEL]["costUSD"], 6), 0.002)
    equal((end.model_usage[MODEL]["inputTokens"], end.model_usage[MODEL]["outputTokens"]), (1000, 200))
    holds(end.duration_ms >= end.duration_api_ms >= 0, f"{end.duration_ms} ms, {end.duration_api_ms} ms in calls")


@case
async def what_init_says(world):
    world.script(text("Hi."))
    messages = await ask("Hi", options(world))
    said = init(messages)
    equal((said["cwd"], said["model"], said["permissionMode"]), (str(world.work), MODEL, "default"))
    equal(said["apiKeySource"], "ANTHROPIC_API_KEY")
    missing = {"Read", "Write", "Edit", "Bash", "Glob", "Grep"} - set(said["tools"])
    equal(missing, set(), "tools that are missing")
    lists = ("mcp_servers", "slash_commands", "agents", "skills", "plugins")
    equal([name for name in lists if not isinstance(said[name], list)], [], "fields that are no lists")
    equal(said["session_id"], result(messages).session_id)
    holds(said["claude_code_version"] >= "2.0.0", f"claude_code_version is {said['claude_code_version']}")


@case
async def a_stream_of_prompts(world):
    world.script(text("One."), text("Two."))
    messages = await ask(prompts("first", "second"), options(world))
    equal(told(messages), ["init", "text One.", "end success: One.", "init", "text Two.", "end success: Two."])
    holds("One." in body(world.requests()[1]), "the second prompt does not know of the first")
    equal(len({m.session_id for m in messages if hasattr(m, "session_id")} - {None}), 1, "number of sessions")


@case
async def several_turns_with_a_client(world):
    world.script(text("Paris."), text("Two million."))
    async with ClaudeSDKClient(options=options(world)) as client:
        equal(told(await turn(client, "Capital of France?")), ["init", "text Paris.", "end success: Paris."])
        second = await turn(client, "How many people?")
    equal(told(second), ["init", "text Two million.", "end success: Two million."])
    roles = [message["role"] for message in world.requests()[1]["messages"]]
    equal(roles, ["user", "assistant", "user"])


@case
async def a_client_that_starts_with_prompts(world):
    world.script(text("One."), text("Two."))
    client = ClaudeSDKClient(options=options(world))
    await client.connect(prompts("first", "second"))
    first = [message async for message in client.receive_response()]
    second = [message async for message in client.receive_response()]
    await client.disconnect()
    equal((told(first)[-1], told(second)[-1]), ("end success: One.", "end success: Two."))


@case
async def the_figures_of_two_turns(world):
    usage = {"input_tokens": 1000, "output_tokens": 0}
    world.script(text("One.", usage=usage), text("Two.", usage=usage))
    async with ClaudeSDKClient(options=options(world)) as client:
        first, second = result(await turn(client, "a")), result(await turn(client, "b"))
    equal([end.usage["input_tokens"] for end in (first, second)], [1000, 1000], "usage, which is the turn's")
    equal([round(end.total_cost_usd, 6) for end in (first, second)], [0.001, 0.002], "cost, which adds up")
    equal([end.model_usage[MODEL]["inputTokens"] for end in (first, second)], [1000, 2000], "modelUsage")


@case
async def pieces_of_an_answer(world):
    world.script(text("Hello you."))
    messages = await ask("Hi", options(world, include_partial_messages=True))
    equal(
        [line for line in told(messages) if line != "status"],
        [
            "init",
            "event message_start",
            "event content_block_start",
            "event content_block_delta text_delta",
            "event content_block_delta text_delta",
            "text Hello you.",
            "event content_block_stop",
            "event message_delta",
            "event message_stop",
            "end success: Hello you.",
        ],
    )
    pieces = [m.event["delta"] for m in messages if isinstance(m, StreamEvent) and "text" in m.event.get("delta", {})]
    equal([piece["text"] for piece in pieces], ["Hello ", "you."])


@case
async def pieces_of_a_call(world):
    (world.work / "a.txt").write_text("content\n")
    reading = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.txt"}}
    world.script({"content": [reading]}, text("Done."))
    messages = await ask("Read it", options(world, include_partial_messages=True))
    events = [m.event for m in messages if isinstance(m, StreamEvent)]
    starts = [e["content_block"] for e in events if e["type"] == "content_block_start"]
    equal(starts[0], {**reading, "input": {}})
    deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
    pieces = [d["partial_json"] for d in deltas if d["type"] == "input_json_delta"]
    equal("".join(pieces).replace(" ", ""), '{"file_path":"a.txt"}')
    holds(len(pieces) > 1, f"the input came whole: {pieces}")
    holds("requesting" in [m.data.get("status") for m in messages if isinstance(m, SystemMessage)], "no request is announced")
    equal([e["delta"]["stop_reason"] for e in events if e["type"] == "message_delta"], ["tool_use", "end_turn"])


@case
async def a_result_to_draw(world):
    (world.work / "a.txt").write_text("one\ntwo\n")
    edit = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
    world.script(call("t1", "Edit", edit), text("Done."))
    messages = await ask("Edit it", options(world, permission_mode="acceptEdits"))
    drawn = next(m.tool_use_result for m in messages if isinstance(m, UserMessage))
    patch = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" one", "-two", "+2"]}
    equal(drawn["structuredPatch"], [patch])
    equal((drawn["oldString"], drawn["newString"], drawn["originalFile"]), ("two", "2", "one\ntwo\n"))


@case
async def thinking_before_the_answer(world):
    thinking = {"type": "thinking", "thinking": "Hm, well.", "signature": "sig"}
    world.script({"content": [thinking, {"type": "text", "text": "Yes."}]})
    messages = await ask("Sure?", options(world))
    equal(told(messages), ["init", "thinking Hm, well.", "text Yes.", "end success: Yes."])
    equal(messages[1].content[0].signature, "sig")


@case
async def an_image_in_the_prompt(world):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    world.script(text("A dot."))
    messages = await ask(prompts([{"type": "text", "text": "What is it?"}, image]), options(world))
    equal(told(messages), ["init", "text A dot.", "end success: A dot."])
    sent = world.requests()[0]["messages"][-1]["content"]
    equal([block["source"]["data"] for block in sent if block["type"] == "image"], [PIXEL])


PRESET = {"type": "preset", "preset": "claude_code"}


async def system_prompt(world, chosen):
    """The system prompt the model gets; zori's own, which the preset stands for, is "Be the house agent."."""
    world.base.mkdir()
    (world.base / "config.toml").write_text('system_prompt = "Be the house agent."\n')
    world.script(text("Hi."))
    await ask("Hi", options(world, system_prompt=chosen))
    return system_text(world.requests()[0])


@case
async def a_system_prompt_of_ones_own(world):
    equal(await system_prompt(world, "You are a pirate."), "You are a pirate.")


@case
async def the_preset_as_system_prompt(world):
    equal(await system_prompt(world, PRESET), "Be the house agent.")


@case
async def a_system_prompt_added_to_the_preset(world):
    said = await system_prompt(world, {**PRESET, "append": "End with a fun fact."})
    equal(said.split("\n\n"), ["Be the house agent.", "End with a fun fact."])


@case
async def a_system_prompt_from_a_file(world):
    (world.home / "prompt.md").write_text("You are a poet.\n")
    said = await system_prompt(world, {"type": "file", "path": str(world.home / "prompt.md")})
    equal(said.strip(), "You are a poet.")


@case
async def no_system_prompt(world):
    equal(await system_prompt(world, None), "")


@case
async def the_model_that_was_chosen(world):
    world.script(text("Hi."))
    messages = await ask("Hi", options(world, model="claude-sonnet-4-5"))
    equal((world.requests()[0]["model"], init(messages)["model"]), ("claude-sonnet-4-5", "claude-sonnet-4-5"))


@case
async def a_model_of_another_maker(world):
    world.script(text("Hello from elsewhere."))
    env = {"OPENAI_BASE_URL": f"{world.url}/v1", "OPENAI_API_KEY": "other-key-0123456789"}
    messages = await ask("Hi", options(world, model="openai-chat:gpt-5.4-mini", env=env))
    equal(told(messages), ["init", "text Hello from elsewhere.", "end success: Hello from elsewhere."])
    equal(world.requests()[0]["model"], "gpt-5.4-mini")
    usage = result(messages).usage
    equal((usage["input_tokens"], usage["output_tokens"]), (12, 9))
