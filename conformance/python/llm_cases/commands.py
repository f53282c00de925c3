"""What people get who type `llm -m claude-code`; the plugin allows one turn and names the tools itself."""

import asyncio
import os
from contextlib import chdir

import llm

from conform import ZORI, call, case, equal, failure, holds, text


def run(world, prompt, stream):
    """Runs the plugin with zori in the place of `claude`; returns the answer."""
    folder = world.home / "bin"
    folder.mkdir()
    (folder / "claude").symlink_to(ZORI)
    os.environ.update(world.env, PATH=f"{folder}:{os.environ['PATH']}", LLM_USER_PATH=str(world.home / "llm"))
    with chdir(world.work):
        return llm.get_model("claude-code").prompt(prompt, stream=stream).text().strip()


async def ask(world, prompt, stream=False):
    """The plugin has a loop of its own, so it gets a thread of its own."""
    return await asyncio.to_thread(run, world, prompt, stream)


@case
async def a_prompt_and_its_answer(world):
    world.script(text("Four."))
    equal(await ask(world, "What is 2 + 2?"), "Four.")
    holds("What is 2 + 2?" in str(world.requests()[0]["messages"]), "the model was asked something else")


@case
async def an_answer_in_pieces(world):
    world.script(text("Four."))
    equal(await ask(world, "What is 2 + 2?", stream=True), "Four.")


@case
async def a_call_is_more_than_one_turn(world):
    (world.work / "a.txt").write_text("secret word\n")
    world.script(call("t1", "Read", {"file_path": str(world.work / "a.txt")}), text("It says so."))
    await fails(world, "Read a.txt")
    equal(len(world.requests()), 1, "requests")


@case
async def a_provider_that_refuses_the_key(world):
    world.script(failure(401, "authentication_error", "invalid x-api-key"))
    await fails(world, "hello")


async def fails(world, prompt):
    try:
        answer = await ask(world, prompt)
    except Exception as error:
        holds("exit code" in str(error), f"the error is {error!r}")
    else:
        raise AssertionError(f"nobody learns of it: {answer!r}")
