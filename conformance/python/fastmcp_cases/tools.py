"""Tools, questions, whole turns and errors, whichever way the client is connected."""

from conform import case, equal, failure, holds, text

from . import HttpServer, on_lines

NAMES = {"read", "write", "edit", "bash", "glob", "grep", "ls", "prompt"}


async def accepting(message, response_type, params, context):
    """An answer to a question: yes."""
    return {"approve": True}


async def reads_and_lists(world, client):
    (world.work / "a.txt").write_text("one\n")
    async with client:
        names = {tool.name for tool in await client.list_tools()}
        holds(NAMES <= names, f"there are {sorted(names)}")
        found = await client.call_tool("read", {"path": "a.txt"})
        holds('"content":"one\\n"' in found.content[0].text, f"the file was read as {found}")


@case
async def tools_on_lines(world):
    await reads_and_lists(world, on_lines(world))


@case
async def tools_over_http(world):
    async with HttpServer(world) as server:
        await reads_and_lists(world, server.client())
    equal(server.code, 143, "how the server ended")


async def writes(world, client):
    async with client:
        done = await client.call_tool("write", {"path": "b.txt", "content": "two\n"}, raise_on_error=False)
    return done.is_error, done.content[0].text


@case
async def a_question_that_is_answered(world):
    failed, said = await writes(world, on_lines(world, elicitation_handler=accepting))
    equal(failed, False, said)
    equal((world.work / "b.txt").read_text(), "two\n")


@case
async def a_question_that_is_answered_over_http(world):
    async with HttpServer(world) as server:
        failed, said = await writes(world, server.client(elicitation_handler=accepting))
    equal(failed, False, said)
    equal((world.work / "b.txt").read_text(), "two\n")


@case
async def a_call_that_nobody_can_be_asked_about(world):
    failed, said = await writes(world, on_lines(world))
    holds(failed and "approval_unavailable" in said and "rejected" not in said, said)
    holds(not (world.work / "b.txt").exists(), "it was written all the same")


@case
async def a_whole_turn_and_the_next_one(world):
    world.script(text("One."), text("Two."))
    async with HttpServer(world) as server, server.client() as client:
        first = await client.call_tool("prompt", {"prompt": "My name is Ada."})
        equal(first.content[0].text, "One.")
        session = first.structured_content["session_id"]
        await client.call_tool("prompt", {"prompt": "What is my name?", "session_id": session})
    holds("My name is Ada." in str(world.requests()[1]["messages"]), "the session does not know its past")


@case
async def a_provider_that_refuses_the_key(world):
    world.script(failure(401, "authentication_error", "invalid x-api-key"))
    async with on_lines(world) as client:
        answer = await client.call_tool("prompt", {"prompt": "hello"}, raise_on_error=False)
    holds(answer.is_error and "invalid x-api-key" in answer.content[0].text, f"it said {answer}")


@case
async def a_token_that_is_not_the_servers(world):
    async with HttpServer(world) as server:
        try:
            async with server.client(token="x" * 32) as client:
                await client.list_tools()
        except Exception:
            return
        raise AssertionError("the server let it in")
