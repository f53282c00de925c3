"""Prompts, calls, hooks, errors and sessions, as the older SDK has them.

Its servers in the process need a `mcp` of before 2.0, which the other clients do without: they have no case.
"""

from claude_code_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny, query

from conform import body, call, case, equal, failure, holds, text, tool_results

from . import ClaudeSDKClient, ask, options, result, told, turn

WRITE = {"file_path": "new.txt", "content": "hello\n"}


def deciding(answer):
    """A callback that gives one answer."""

    async def decide(name, input, context):
        return answer

    return decide


@case
async def a_string_as_prompt(world):
    world.script(text("Four."))
    messages = await ask("What is 2 + 2?", options(world))
    equal(told(messages), ["init", "text Four.", "end success: Four."])
    equal((result(messages).num_turns, result(messages).is_error), (1, False))


@case
async def a_call_that_is_allowed(world):
    world.script(call("t1", "Write", WRITE), text("Done."))
    decide = deciding(PermissionResultAllow())
    async with ClaudeSDKClient(options(world, can_use_tool=decide)) as client:
        messages = await turn(client, "go")
    equal(told(messages), ["init", "call t1 Write", "user done t1", "text Done.", "end success: Done."])
    equal((world.work / "new.txt").read_text(), "hello\n")


@case
async def a_call_that_is_denied(world):
    world.script(call("t1", "Write", WRITE), text("Too bad."))
    decide = deciding(PermissionResultDeny(message="not on my machine"))
    async with ClaudeSDKClient(options(world, can_use_tool=decide)) as client:
        messages = await turn(client, "go")
    equal(told(messages)[2:], ["user failed t1", "text Too bad.", "end success: Too bad."])
    equal(tool_results(world.requests()[1]), [("t1", True, "not on my machine")])
    holds(not (world.work / "new.txt").exists(), "the file was written all the same")


@case
async def several_turns(world):
    world.script(text("One."), text("Two."))
    async with ClaudeSDKClient(options(world)) as client:
        equal(told(await turn(client, "first")), ["init", "text One.", "end success: One."])
        equal(told(await turn(client, "second"))[-2:], ["text Two.", "end success: Two."])
    holds("first" in body(world.requests()[1]), "the second turn knows nothing of the first")


@case
async def a_session_goes_on(world):
    world.script(text("One."), text("Two."))
    first = result(await ask("My name is Ada.", options(world))).session_id
    equal(result(await ask("What is my name?", options(world, resume=first))).session_id, first)
    holds("My name is Ada." in body(world.requests()[1]), "the session does not know its past")


@case
async def a_hook_that_blocks(world):
    async def block(input, tool_use_id, context):
        return {"decision": "block", "systemMessage": "no", "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not today"}}

    world.script(call("t1", "Bash", {"command": "echo hi"}), text("Too bad."))
    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[block])]}
    async with ClaudeSDKClient(options(world, hooks=hooks, allowed_tools=["Bash"])) as client:
        messages = await turn(client, "go")
    equal(told(messages)[2:], ["permission_denied", "user failed t1", "text Too bad.", "end success: Too bad."])
    holds("not today" in tool_results(world.requests()[1])[0][2], "the model does not know why")


@case
async def a_provider_that_refuses_the_key(world):
    world.script(failure(401, "authentication_error", "invalid x-api-key"))
    messages = []
    try:
        async for message in query(prompt="hello", options=options(world)):
            messages.append(message)
    except Exception as error:
        holds("exit code" in str(error), f"the error is {error!r}")
    ends = [line for line in told(messages) if line.startswith("end ")]
    holds(len(ends) == 1 and "(error)" in ends[0] and "invalid x-api-key" in ends[0], f"the run said {told(messages)}")
