"""Each server at its fixed version: its tools are counted, and one is called."""

import json
import subprocess

from conform import call, case, equal, holds, text, tool_results

from . import Listening, Page, called, configure, counts, node, old, python, zori


def all_seven(world):
    subprocess.run(["git", "init", "-q", str(world.work)], check=True)
    return {
        "everything": node("server-everything"),
        "filesystem": node("server-filesystem", str(world.work)),
        "memory": node("server-memory"),
        "sequential-thinking": node("server-sequential-thinking"),
        "git": python("mcp-server-git", "--repository", str(world.work)),
        "time": python("mcp-server-time"),
        "fetch": python("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"),
    }


@case
async def seven_servers_at_once(world):
    configure(world, all_seven(world))
    # `everything` has two more for clients that fill forms in, which `mcp list` does not.
    wanted = {"everything": 13, "filesystem": 14, "memory": 9, "sequential-thinking": 1, "git": 12, "time": 2, "fetch": 1}
    equal(await counts(world), wanted, "tools")


@case
async def seven_servers_cost_little(world):
    """MCP-43: above the budget two tools stand for them all."""
    world.script(text("None."), text("All."))
    bare = await zori(world, "exec", "-p", "hello", "--no-save")
    configure(world, all_seven(world))
    full = await zori(world, "exec", "-p", "hello", "--no-save")
    equal([bare[0], full[0]], [0, 0], f"{bare} {full}")
    without, with_all = (len(json.dumps(r, separators=(",", ":"))) for r in world.requests())
    holds(with_all - without <= 2600, f"seven servers add {with_all - without} bytes to {without}")


@case
async def a_deferred_tool_is_found_and_called(world):
    configure(world, all_seven(world))
    world.script(
        call("1", "mcp_find", {"query": "current time in a timezone"}),
        call("2", "mcp_call", {"tool": "mcp__time__get_current_time", "arguments": {"timezone": "UTC"}}),
        text("Done."),
    )
    code, out, err = await zori(world, "exec", "-p", "what time is it?", "--no-save")
    equal((code, out), (0, "Done.\n"), err)
    (_, failed, found), (_, failed_too, said) = (tool_results(request)[0] for request in world.requests()[1:])
    holds(not failed and "mcp__time__get_current_time" in found, found)
    holds(not failed_too and '"timezone": "UTC"' in said, said)


@case
async def everything(world):
    configure(world, {"s": node("server-everything")})
    equal((await called(world, "s", "echo", {"message": "hi"}))["content"], "Echo: hi")


@case
async def filesystem(world):
    (world.work / "a.txt").write_text("one\n")
    configure(world, {"s": node("server-filesystem", str(world.work))})
    result = await called(world, "s", "list_directory", {"path": str(world.work)})
    holds("[FILE] a.txt" in result["content"], result)


@case
async def memory(world):
    program, *args = node("server-memory")
    configure(world, {"s": {"command": program, "args": args, "env.MEMORY_FILE_PATH": str(world.work / "m.json")}})
    entity = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    await called(world, "s", "create_entities", {"entities": [entity]})
    result = await called(world, "s", "read_graph", {})
    holds("Ada" in result["content"], result)


@case
async def sequential_thinking(world):
    configure(world, {"s": node("server-sequential-thinking")})
    thought = {"thought": "One.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    result = await called(world, "s", "sequentialthinking", thought)
    holds('"thoughtNumber": 1' in result["content"], result)


@case
async def git(world):
    subprocess.run(["git", "init", "-q", str(world.work)], check=True)
    (world.work / "a.txt").write_text("one\n")
    configure(world, {"s": python("mcp-server-git", "--repository", str(world.work))})
    result = await called(world, "s", "git_status", {"repo_path": str(world.work)})
    holds("a.txt" in result["content"], result)


@case
async def the_time(world):
    configure(world, {"s": python("mcp-server-time")})
    result = await called(world, "s", "get_current_time", {"timezone": "UTC"})
    equal(result["structured"]["timezone"], "UTC")


@case
async def fetch(world):
    configure(world, {"s": python("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips")})
    with Page() as url:
        result = await called(world, "s", "fetch", {"url": url})
    holds("A page of this machine." in result["content"], result)


@case
async def an_old_sdk(world):
    """It is greeted with `initialize`: what is newer would be its end."""
    configure(world, {"s": old(world)})
    equal((await called(world, "s", "add", {"a": 1, "b": 2}))["content"], "3")


@case
async def everything_over_http(world):
    async with Listening("streamableHttp") as address:
        configure(world, {"s": {"url": f"{address}/mcp"}})
        equal((await called(world, "s", "echo", {"message": "hi"}))["content"], "Echo: hi")


@case
async def everything_by_events(world):
    async with Listening("sse") as address:
        configure(world, {"s": {"url": f"{address}/sse", "transport": "sse"}})
        equal((await called(world, "s", "echo", {"message": "hi"}))["content"], "Echo: hi")


@case
async def a_form_with_yes(world):
    """A form of thirteen fields: what has no default and no answer declines, and the session goes on."""
    configure(world, {"s": node("server-everything")})
    world.script(call("1", "mcp__s__trigger-elicitation-request", {}), text("Done."))
    code, out, err = await zori(world, "exec", "-y", "-p", "go", "--no-save")
    equal((code, out), (0, "Done.\n"), err)
    (_, failed, said) = tool_results(world.requests()[1])[0]
    holds(not failed and "declined" in said and "is declined: `name`" in err, f"{said} {err}")


@case
async def images_links_and_resources(world):
    configure(world, {"s": node("server-everything")})
    world.script(
        call("1", "mcp__s__get-tiny-image", {}),
        call("2", "mcp__s__get-resource-links", {"count": 2}),
        call("3", "mcp__s__get-structured-content", {"location": "Chicago"}),
        text("Done."),
    )
    code, out, err = await zori(world, "exec", "-p", "go", "--no-save")
    equal((code, out), (0, "Done.\n"), err)
    asked = world.requests()
    holds('"type": "image"' in json.dumps(asked[1]["messages"][-1]), "the image goes along")
    holds("demo://" in tool_results(asked[2])[0][2], tool_results(asked[2]))
    holds("temperature" in tool_results(asked[3])[0][2], tool_results(asked[3]))
