"""Agents inside the agent: what they say carries the call that started them."""

from claude_agent_sdk import AgentDefinition

from conform import call, case, equal, holds, system_text, text

from . import ask, init, options, told

WORK = {"description": "look it up", "prompt": "INNER: what is in a.txt?", "subagent_type": "general-purpose"}


@case
async def an_agent_inside(world):
    (world.work / "a.txt").write_text("content\n")
    world.script(
        call("task", "Task", WORK),
        call("inner", "Read", {"file_path": "a.txt"}),
        text("It says content."),
        text("Found."),
    )
    messages = await ask("go", options(world, allowed_tools=["Task"]))
    lines = [line for line in told(messages) if not line.startswith("task_")]
    holds('[task] call inner Read {"file_path": "a.txt"}' in lines, f"the inner call is not told as such: {lines}")
    holds("[task] user done inner" in lines, f"its result is not told as such: {lines}")
    holds("user done task" in lines, f"the task's result is missing: {lines}")
    equal(lines[-2:], ["text Found.", "end success: Found."])
    holds("INNER" in str(world.requests()[1]["messages"][0]), "the agent was not given its prompt")
    holds("It says content." in str(world.requests()[3]["messages"][-1]), "its answer did not come back")


@case
async def started_and_ended(world):
    world.script(call("task", "Task", WORK), text("Nothing."), text("Done."))
    messages = await ask("go", options(world, allowed_tools=["Task"]))
    lines = told(messages)
    equal(lines.count("task_started"), lines.count("task_notification"), "tasks that started and ended")
    equal(lines[-1], "end success: Done.")


@case
async def agents_of_the_caller(world):
    """Its prompt is its system prompt, its tools and its model are all it has, and `init` lists it."""
    reviewer = AgentDefinition(
        description="Reviews code", prompt="You are a strict reviewer.", tools=["Read", "Grep"], model="sonnet"
    )
    work = {"description": "review", "prompt": "review it", "subagent_type": "code-reviewer"}
    world.script(call("task", "Task", work), call("c1", "Bash", {"command": "touch made"}), text("Good."), text("Done."))
    messages = await ask("go", options(world, agents={"code-reviewer": reviewer}, allowed_tools=["Task", "Bash"]))
    equal(init(messages)["agents"], ["code-reviewer", "general-purpose"])
    sent = world.requests()[1]
    equal(system_text(sent), "You are a strict reviewer.")
    equal([tool["name"] for tool in sent["tools"]], ["Read", "Grep"])
    holds(sent["model"].startswith("claude-sonnet-"), f"the model is {sent['model']}")
    lines = told(messages)
    holds(any(line.startswith("[task] user failed c1") for line in lines), f"a tool it has not was run: {lines}")
    holds(not (world.work / "made").exists(), "a tool it has not was run")
    equal(lines[-1], "end success: Done.")


@case
async def an_agent_in_a_file(world):
    folder = world.work / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "helper.md").write_text("---\nname: helper\ndescription: Helps\ntools: Read\n---\nYou help.\n")
    work = {"description": "help", "prompt": "help", "subagent_type": "helper"}
    world.script(call("task", "Task", work), text("Helped."), text("Done."))
    trusted = {"setting_sources": ["project"], "extra_args": {"trust-workspace": None}}
    messages = await ask("go", options(world, allowed_tools=["Task"], **trusted))
    equal(init(messages)["agents"], ["helper", "general-purpose"])
    equal(system_text(world.requests()[1]), "You help.")


@case
async def an_agent_nobody_knows(world):
    work = {"description": "x", "prompt": "y", "subagent_type": "no-such-agent"}
    world.script(call("task", "Task", work), text("Oh."))
    messages = await ask("go", options(world, allowed_tools=["Task"]))
    failed = [line for line in told(messages) if line.startswith("user failed task")]
    holds(failed and "no-such-agent" in failed[0], f"{told(messages)}")
