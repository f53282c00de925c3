"""What goes wrong: refused keys, limits, servers that fail, streams that break off, wrong usage."""

from claude_agent_sdk import AssistantMessage, CLINotFoundError, ClaudeAgentOptions, ClaudeSDKClient

from conform import case, equal, failure, holds, text

from . import ask, ask_in_vain, options, result, told, turn

ONCE = {"CLAUDE_CODE_MAX_RETRIES": "1"}


async def failing(world, status, kind, word):
    """A query whose provider fails for good: the error's word, the status, and how the program ended."""
    messages, error = await ask_in_vain("Hi", options(world, env=ONCE))
    spoken = [m for m in messages if isinstance(m, AssistantMessage)][-1]
    equal((spoken.error, spoken.model), (word, "<synthetic>"))
    end = result(messages)
    equal((end.subtype, end.is_error, end.terminal_reason), ("success", True, "api_error"))
    equal(end.api_error_status, status)
    equal((type(error).__name__, error.api_error_status, error.exit_code), ("ResultError", status, 1))
    holds(end.result and end.result in str(error), f"the error {str(error)!r} does not say {end.result!r}")
    return messages


@case
async def a_key_that_is_refused(world):
    world.script(*[failure(401, "authentication_error", "invalid x-api-key")] * 2)
    messages = await failing(world, 401, "authentication_error", "authentication_failed")
    holds("invalid x-api-key" in result(messages).result, f"the result is {result(messages).result!r}")
    equal(len(world.requests()), 1, "number of requests")


@case
async def no_key_at_all(world):
    messages, error = await ask_in_vain("Hi", options(world, env={"ANTHROPIC_API_KEY": ""}))
    end = result(messages)
    holds(end.is_error and "ANTHROPIC_API_KEY" in (end.result or ""), f"the result is {end.result!r}")
    equal((type(error).__name__, error.exit_code), ("ResultError", 1))


@case
async def too_many_requests_then_well(world):
    world.script(failure(429, "rate_limit_error", "slow down", retry_after="0"), text("Here."))
    messages = await ask("Hi", options(world))
    equal(told(messages), ["init", "api_retry", "text Here.", "end success: Here."])
    retry = messages[1].data
    equal((retry["attempt"], retry["error_status"], retry["error"]), (1, 429, "rate_limit"))


@case
async def overloaded_for_good(world):
    world.script(*[failure(529, "overloaded_error", "Overloaded", retry_after="0")] * 2)
    await failing(world, 529, "overloaded_error", "overloaded")


@case
async def a_server_that_fails(world):
    world.script(*[failure(500, "api_error", "boom", retry_after="0")] * 2)
    messages = await failing(world, 500, "api_error", "server_error")
    equal([line for line in told(messages) if line == "api_retry"], ["api_retry"])


@case
async def a_request_that_is_refused(world):
    world.script(failure(400, "invalid_request_error", "prompt is too long"))
    await failing(world, 400, "invalid_request_error", "invalid_request")


@case
async def a_stream_cut_before_a_word(world):
    world.script(text("Never.", cut=1), text("Here."))
    messages = await ask("Hi", options(world))
    equal([line for line in told(messages) if line != "api_retry"], ["init", "text Here.", "end success: Here."])


@case
async def a_stream_cut_after_words(world):
    # Start, block, two words.
    world.script(text("This is cut.", cut=4))
    messages, error = await ask_in_vain("Hi", options(world, env=ONCE))
    lines = told(messages)
    holds(lines[1].startswith("text This is"), f"what was said before is lost: {lines}")
    end = result(messages)
    equal((end.subtype, end.is_error, end.terminal_reason), ("success", True, "api_error"))
    equal(type(error).__name__, "ResultError")


@case
async def the_next_prompt_works(world):
    world.script(failure(400, "invalid_request_error", "no"), text("Here."))
    async with ClaudeSDKClient(options=options(world)) as client:
        first = await turn(client, "a")
        holds(result(first).is_error, f"{told(first)}")
        equal(told(await turn(client, "b")), ["init", "text Here.", "end success: Here."])


@case
async def a_flag_nobody_knows(world):
    said = []
    chosen = options(world, extra_args={"no-such-flag": None}, stderr=said.append)
    try:
        await ask("Hi", chosen)
    except Exception as error:
        equal(getattr(error, "exit_code", None), 2, f"exit code of {error!r}")
    else:
        raise AssertionError("the flag was taken")
    holds(any("no-such-flag" in line for line in said), f"stderr says {said}")


@case
async def flags_without_effect_are_said(world):
    said = []
    world.script(text("Hi."))
    chosen = options(world, betas=["context-1m-2025-08-07"], stderr=said.append)
    equal(told(await ask("Hi", chosen))[-1], "end success: Hi.")
    holds(any("betas" in line for line in said), f"stderr says {said}")


@case
async def everything_an_sdk_can_pass(world):
    world.script(text("Hi."))
    chosen = options(
        world,
        add_dirs=[world.home],
        fallback_model="claude-sonnet-4-5",
        settings='{"permissions": {"allow": []}}',
        setting_sources=[],
        max_thinking_tokens=2000,
        include_hook_events=True,
        strict_mcp_config=True,
        plugins=[{"type": "local", "path": str(world.home)}],
        extra_args={"replay-user-messages": None, "debug-to-stderr": None},
    )
    equal([line for line in told(await ask("Hi", chosen)) if "text" in line or "end" in line][-1], "end success: Hi.")


@case
async def a_program_that_is_not_there(world):
    try:
        await ask("Hi", ClaudeAgentOptions(cli_path=world.work / "missing", cwd=world.work))
    except CLINotFoundError:
        return
    raise AssertionError("no CLINotFoundError")
