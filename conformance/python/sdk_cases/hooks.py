"""Hooks as functions of the caller: before and after calls, on prompts, at the end."""

from claude_agent_sdk import ClaudeSDKClient, HookMatcher

from conform import body, call, case, equal, holds, text, tool_results

from . import ask, options, prompts, result, told, turn

RUN = {"command": "./foo.sh --help"}
ECHO = {"command": "echo hi"}


def hook(answer):
    """A hook with one answer, and the inputs it was called with."""
    seen = []

    async def function(input, tool_use_id, context):
        seen.append(input)
        return answer(input) if callable(answer) else answer

    return function, seen


def before(decision, **more):
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}}


def hooked(world, event, function, matcher=None, **more):
    return options(world, hooks={event: [HookMatcher(matcher=matcher, hooks=[function])]}, **more)


@case
async def a_hook_denies_some_commands(world):
    def check(input):
        bad = "foo.sh" in input["tool_input"]["command"]
        return before("deny", permissionDecisionReason="foo.sh is not allowed") if bad else {}

    function, seen = hook(check)
    world.script(call("t1", "Bash", RUN), text("No."), call("t2", "Bash", ECHO), text("Yes."))
    chosen = hooked(world, "PreToolUse", function, "Bash", allowed_tools=["Bash"])
    async with ClaudeSDKClient(options=chosen) as client:
        first = await turn(client, "Run foo")
        second = await turn(client, "Say hi")
    failed = [line for line in told(first) if line.startswith("user")]
    holds(failed[0].startswith("user failed t1:") and "foo.sh is not allowed" in failed[0], f"{failed}")
    equal([line for line in told(second) if line.startswith("user")], ["user done t2: hi"])
    equal([input["tool_input"] for input in seen], [RUN, ECHO])


@case
async def what_a_hook_is_told(world):
    function, seen = hook({})
    world.script(call("t1", "Bash", ECHO), text("Done."))
    messages = await ask(prompts("go"), hooked(world, "PreToolUse", function, allowed_tools=["Bash"]))
    told_it = seen[0]
    names = ("hook_event_name", "tool_name", "tool_input", "tool_use_id", "cwd", "permission_mode", "session_id")
    equal(
        {name: told_it.get(name) for name in names},
        {
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": ECHO,
            "tool_use_id": "t1",
            "cwd": str(world.work),
            "permission_mode": "default",
            "session_id": result(messages).session_id,
        },
    )
    holds("transcript_path" in told_it, f"no transcript_path in {sorted(told_it)}")


@case
async def a_hook_allows_what_nobody_could(world):
    function, _ = hook(before("allow"))
    world.script(call("t1", "Bash", {"command": "touch ran; echo hi"}), text("Done."))
    messages = await ask(prompts("go"), hooked(world, "PreToolUse", function))
    equal(told(messages)[2], "user done t1: hi")
    holds((world.work / "ran").exists(), "the command did not run")


@case
async def a_hook_changes_the_input(world):
    function, _ = hook(before("allow", updatedInput={"command": "echo changed"}))
    world.script(call("t1", "Bash", ECHO), text("Done."))
    messages = await ask(prompts("go"), hooked(world, "PreToolUse", function))
    equal(told(messages)[1:3], ['call t1 Bash {"command": "echo hi"}', "user done t1: changed"])


@case
async def a_hook_wants_a_question(world):
    async def decide(name, input, context):
        asked.append(input)
        from claude_agent_sdk import PermissionResultDeny

        return PermissionResultDeny(message="no, says the user")

    asked = []
    function, _ = hook(before("ask", permissionDecisionReason="have a look"))
    world.script(call("t1", "Bash", ECHO), text("Done."))
    chosen = hooked(world, "PreToolUse", function, allowed_tools=["Bash"], can_use_tool=decide)
    messages = await ask(prompts("go"), chosen)
    equal((asked, told(messages)[2]), ([ECHO], "user failed t1: no, says the user"))


@case
async def a_matcher_chooses(world):
    (world.work / "a.txt").write_text("a\n")
    function, seen = hook(before("deny", permissionDecisionReason="no"))
    world.script(call("t1", "Read", {"file_path": "a.txt"}), call("t2", "Edit", {}), text("Done."))
    await ask(prompts("go"), hooked(world, "PreToolUse", function, "Write|MultiEdit|Bash"))
    equal([input["tool_name"] for input in seen], [], "tools the hook was called for")


@case
async def a_hook_that_fails_decides_nothing(world):
    async def function(input, tool_use_id, context):
        raise RuntimeError("the hook blew up")

    world.script(call("t1", "Bash", ECHO), text("Done."))
    messages = await ask(prompts("go"), hooked(world, "PreToolUse", function, allowed_tools=["Bash"]))
    equal(told(messages)[2:], ["user done t1: hi", "text Done.", "end success: Done."])


@case
async def a_hook_that_fails_and_blocks(world):
    async def function(input, tool_use_id, context):
        raise RuntimeError("the hook blew up")

    matcher = HookMatcher(hooks=[function], on_failure="block")
    world.script(call("t1", "Bash", {"command": "touch ran"}), text("Done."))
    await ask(prompts("go"), options(world, hooks={"PreToolUse": [matcher]}, allowed_tools=["Bash"]))
    holds(not (world.work / "ran").exists(), "the command ran although its hook failed")


@case
async def a_hook_sees_the_result(world):
    added = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "That was an error, mind."}}
    function, seen = hook(added)
    world.script(call("t1", "Bash", {"command": "echo oh; exit 3"}), text("Done."))
    await ask(prompts("go"), hooked(world, "PostToolUse", function, "Bash", allowed_tools=["Bash"]))
    holds("oh" in str(seen[0]["tool_response"]), f"the hook was told {seen[0].get('tool_response')!r}")
    holds("That was an error, mind." in body(world.requests()[1]), "the model was not told what the hook adds")


@case
async def a_hook_stops_after_a_result(world):
    function, _ = hook({"continue_": False, "stopReason": "critical error"})
    world.script(call("t1", "Bash", {"command": "echo critical"}), text("Never said."))
    chosen = hooked(world, "PostToolUse", function, "Bash", allowed_tools=["Bash"])
    messages = await ask(prompts("go"), chosen)
    equal(len(world.requests()), 1, "number of requests")
    holds("text Never said." not in told(messages), f"{told(messages)}")
    result(messages)


@case
async def a_hook_adds_to_the_prompt(world):
    added = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "My colour is hot pink."}}
    function, seen = hook(added)
    world.script(text("Pink."))
    await ask(prompts("What is my colour?"), hooked(world, "UserPromptSubmit", function))
    equal([input["prompt"] for input in seen], ["What is my colour?"])
    sent = body(world.requests()[0])
    holds("My colour is hot pink." in sent and "What is my colour?" in sent, f"the model was sent {sent}")


@case
async def a_hook_blocks_the_prompt(world):
    function, _ = hook({"decision": "block", "reason": "not that"})
    world.script(text("Never said."))
    messages = await ask(prompts("secret"), hooked(world, "UserPromptSubmit", function))
    equal(world.requests(), [], "requests")
    result(messages)


@case
async def a_hook_at_the_end_goes_on(world):
    def once(input):
        return {} if input["stop_hook_active"] else {"decision": "block", "reason": "Also run the tests."}

    function, seen = hook(once)
    world.script(text("Done."), text("Tests pass."))
    messages = await ask(prompts("go"), hooked(world, "Stop", function))
    equal([input["stop_hook_active"] for input in seen], [False, True])
    holds("Also run the tests." in body(world.requests()[1]), "the model was not told why it goes on")
    equal(result(messages).result, "Tests pass.")


@case
async def hook_then_callback_then_result(world):
    order = []

    async def pre(input, tool_use_id, context):
        order.append("PreToolUse")
        return {}

    async def post(input, tool_use_id, context):
        order.append("PostToolUse")
        return {}

    async def decide(name, input, context):
        from claude_agent_sdk import PermissionResultAllow

        order.append("can_use_tool")
        return PermissionResultAllow()

    world.script(call("t1", "Bash", {"command": "touch x"}), text("Done."))
    hooks = {"PreToolUse": [HookMatcher(hooks=[pre])], "PostToolUse": [HookMatcher(hooks=[post])]}
    await ask(prompts("go"), options(world, hooks=hooks, can_use_tool=decide))
    equal(order, ["PreToolUse", "can_use_tool", "PostToolUse"])
    equal([(id, failed) for id, failed, _ in tool_results(world.requests()[1])], [("t1", False)])
