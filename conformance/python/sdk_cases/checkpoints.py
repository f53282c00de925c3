"""Files go back to before a prompt, as the SDK's documentation on file checkpointing does it."""

from claude_agent_sdk import ClaudeSDKClient, UserMessage

from conform import call, case, equal, holds, text

from . import options, result, turn

REPLAY = {"replay-user-messages": None}


def checkpointed(world, **more):
    more.setdefault("permission_mode", "bypassPermissions")
    return options(world, enable_file_checkpointing=True, extra_args=REPLAY, **more)


def checkpoint(messages):
    """The first user message with a name: the prompt."""
    return next(message.uuid for message in messages if isinstance(message, UserMessage) and message.uuid)


def write(name, words):
    return call("t1", "Write", {"file_path": name, "content": words})


async def refused(client, name):
    try:
        await client.rewind_files(name)
    except Exception as error:
        return str(error)
    raise AssertionError("files were said to be rewound")


@case
async def files_go_back_turn_by_turn(world):
    (world.work / "old.txt").write_text("old\n")
    world.script(
        write("old.txt", "one\n"),
        text("One."),
        call("t2", "Bash", {"command": "echo two > old.txt; echo new > new.txt"}),
        text("Two."),
    )
    old, new = world.work / "old.txt", world.work / "new.txt"
    async with ClaudeSDKClient(options=checkpointed(world)) as client:
        first = checkpoint(await turn(client, "One"))
        second = checkpoint(await turn(client, "Two"))
        equal((old.read_text(), new.read_text()), ("two\n", "new\n"))
        await client.rewind_files(second)
        equal((old.read_text(), new.exists()), ("one\n", False))
        await client.rewind_files(first)
        equal(old.read_text(), "old\n")


@case
async def files_go_back_in_a_later_run(world):
    world.script(write("new.txt", "new\n"), text("One."), text("Two."))
    async with ClaudeSDKClient(options=checkpointed(world)) as client:
        messages = await turn(client, "One")
    session, first = result(messages).session_id, checkpoint(messages)
    async with ClaudeSDKClient(options=checkpointed(world, resume=session)) as client:
        # The documentation opens the connection with an empty prompt.
        await client.query("")
        async for _ in client.receive_response():
            await client.rewind_files(first)
            break
    holds(not (world.work / "new.txt").exists(), "the file is still there")


@case
async def messages_that_are_no_prompts(world):
    world.script(write("new.txt", "new\n"), text("One."))
    async with ClaudeSDKClient(options=checkpointed(world)) as client:
        messages = await turn(client, "One")
        names = [message.uuid for message in messages if isinstance(message, UserMessage) and message.uuid]
        holds(len(names) == 2, f"a prompt and a result have names: {names}")
        for name in (names[1], "00000000-0000-4000-8000-000000000000"):
            holds("No file checkpoint found for this message." in await refused(client, name), "another reason")
    equal((world.work / "new.txt").read_text(), "new\n")


@case
async def checkpoints_are_switched_off(world):
    world.script(write("new.txt", "new\n"), text("One."))
    off = {"CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING": "1"}
    async with ClaudeSDKClient(options=checkpointed(world, env=off)) as client:
        first = checkpoint(await turn(client, "One"))
        await refused(client, first)
    equal((world.work / "new.txt").read_text(), "new\n")
