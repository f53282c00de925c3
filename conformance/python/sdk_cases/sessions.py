"""Sessions: their ids, going on with one, in another one, and those that are not there."""

import os
import uuid

from claude_agent_sdk import InMemorySessionStore, get_session_messages, list_sessions

from conform import body, case, equal, holds, text

from . import ask, ask_in_vain, init, options, result, told


@case
async def a_session_goes_on(world):
    world.script(text("One."), text("Two."))
    first = result(await ask("My name is Ada.", options(world))).session_id
    messages = await ask("What is my name?", options(world, resume=first))
    equal((result(messages).session_id, init(messages)["session_id"]), (first, first))
    sent = body(world.requests()[1])
    holds("My name is Ada." in sent and "One." in sent, f"the model was sent {sent}")


@case
async def the_newest_session_goes_on(world):
    world.script(text("One."), text("Two."), text("Three."))
    await ask("first", options(world))
    second = result(await ask("second", options(world))).session_id
    messages = await ask("third", options(world, continue_conversation=True))
    equal(result(messages).session_id, second)
    sent = body(world.requests()[2])
    holds("second" in sent and "first" not in sent, f"the model was sent {sent}")


@case
async def a_session_is_forked(world):
    world.script(text("One."), text("Two."), text("Three."))
    first = result(await ask("start", options(world))).session_id
    fork = await ask("branch", options(world, resume=first, fork_session=True))
    holds(result(fork).session_id != first, "the fork has the id of the session it came from")
    equal(init(fork)["session_id"], result(fork).session_id)
    await ask("again", options(world, resume=first))
    branch, again = (body(request) for request in world.requests()[1:])
    holds("start" in branch, f"the fork does not know its past: {branch}")
    holds("branch" not in again, f"the first session was changed by its fork: {again}")


@case
async def an_id_of_ones_own(world):
    world.script(text("Hi."))
    wanted = str(uuid.uuid4())
    messages = await ask("Hi", options(world, session_id=wanted))
    equal((init(messages)["session_id"], result(messages).session_id), (wanted, wanted))


@case
async def ids_are_uuids(world):
    world.script(text("Hi."))
    given = result(await ask("Hi", options(world))).session_id
    equal(str(uuid.UUID(given, version=4)), given)


@case
async def a_session_that_is_not_there(world):
    missing = "00000000-0000-4000-8000-000000000000"
    messages, error = await ask_in_vain("Hi", options(world, resume=missing))
    equal(told(messages), [f"end error_during_execution (error): ['No conversation found with session ID: {missing}']"])
    equal((type(error).__name__, error.exit_code), ("ResultError", 1))
    equal(world.requests(), [], "requests")


@case
async def an_id_that_is_taken(world):
    world.script(text("Hi."))
    said = []
    taken = result(await ask("Hi", options(world))).session_id
    messages, error = await ask_in_vain("Hi", options(world, session_id=taken, stderr=said.append))
    equal((told(messages), type(error).__name__, error.exit_code), ([], "ProcessError", 1))
    holds(any("already in use" in line for line in said), f"stderr says {said}")


@case
async def the_session_is_on_disk_before_the_result(world):
    world.script(text("One."))
    found = []
    from claude_agent_sdk import query

    async for message in query(prompt="Hi", options=options(world)):
        if type(message).__name__ == "ResultMessage":
            files = list((world.base / "sessions").glob("*.jsonl"))
            found = [path.read_text() for path in files]
    holds(len(found) == 1 and "One." in found[0], f"the session files hold {found}")


@case
async def the_sdk_lists_the_files_of_another_program(world):
    world.script(text("One."))
    os.environ["CLAUDE_CONFIG_DIR"] = str(world.home / ".claude")
    try:
        session = result(await ask("Hi", options(world))).session_id
        equal(list_sessions(directory=str(world.work)), [], "zori's sessions are not among Claude Code's")
        equal(get_session_messages(session, directory=str(world.work)), [])
    finally:
        del os.environ["CLAUDE_CONFIG_DIR"]


@case
async def a_store_of_the_caller_stays_empty_and_that_is_said(world):
    world.script(text("One."))
    store, said = InMemorySessionStore(), []
    messages = await ask("Hi", options(world, session_store=store, stderr=said.append))
    equal(told(messages)[-1], "end success: One.")
    equal(store.size, 0, "sessions in the store")
    holds(any("session-mirror" in line for line in said), f"stderr says {said}")
