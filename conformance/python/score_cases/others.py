"""Modes that one command each can show, and what is settled otherwise."""

import json
import os
import re
import subprocess
from pathlib import Path

from conform import ZORI, call, case, equal, failure, holds, shows, text

from . import ONCE, TERM, manifest, zori

ROOT = Path(__file__).resolve().parents[3]


@case
async def mode_03_streams(world):
    ran = zori(world, "sessions", "list", "--quiet").ends(0)
    equal((json.loads(ran.out)["ok"], ran.err), (True, ""))
    world.script(text("Hello."))
    zori(world, "exec", "hi", "--session", "s").ends(0)
    unmarked = ["sessions", "show", "s", "--no-injection-protection"]
    holds(zori(world, *unmarked).ends(0).answer["warnings"], "what is off is not warned about")
    zori(world, *unmarked, "--warnings-as-errors").ends(1)


@case
async def mode_05_pages(world):
    first = zori(world, "models", "list", "--limit", "2").ends(0).answer
    pages = first["meta"]["pagination"]
    equal((len(first["data"]), pages["returned"], pages["has_more"]), (2, 2, True))
    again = zori(world, "models", "list", "--limit", "2", "--cursor", pages["next_cursor"]).ends(0).answer
    holds(again["data"] != first["data"], "the second page is the first")


@case
async def mode_07_stable(world):
    one, two = (zori(world, "errors", "list").answer["data"] for _ in range(2))
    equal(one, two)


@case
async def mode_08_no_escapes(world):
    ran = zori(world, "models", "list")
    holds("\x1b" not in ran.out + ran.err, "an escape sequence")


@case
async def mode_14_all_problems(world):
    error = zori(world, "sessions", "list", "--limit", "x", "--nosuch").ends(2).error
    holds(len(error["errors"]) >= 2, f"{error['errors']}")


@case
async def mode_16_signals(world):
    world.script(text("never ends", hold=True))
    ran = zori(world, "exec", "hi", "-o", "json", send=(1.0, TERM)).ends(143)
    equal(ran.error["signal"], "SIGTERM")
    world.open()


@case
async def mode_18_errors(world):
    for entry in zori(world, "errors", "list", "--limit", "0").ends(0).answer["data"]:
        holds({"code", "exit_code", "retryable", "description"} <= set(entry), f"{entry}")


@case
async def mode_19_rate_limits(world):
    world.script(failure(429, "rate_limit_error", "slow down", retry_after="7"))
    error = zori(world, "exec", "hi", "-o", "json", *ONCE).ends(11).error
    equal((error["retryable"], error["retry_after_ms"]), (True, 7000))


@case
async def mode_28_settings(world):
    shown = zori(world, "exec", "--show-config").ends(0).answer["data"]
    holds(shown, "nothing is shown")


@case
async def mode_33_trace_ids(world):
    meta = zori(world, "status", env={"ZORI_TRACE_ID": "trace-1"}).ends(0).answer["meta"]
    equal(meta["trace_id"], "trace-1")


@case
async def mode_52_manifest(world):
    ran = zori(world, "manifest").ends(0)
    holds(ran.seconds < 2, f"{ran.seconds} s")
    shows(f"  {ran.answer['meta']['duration_ms']} ms of its own")


@case
async def mode_63_width(world):
    narrow, wide = (zori(world, "errors", "list", env={"COLUMNS": str(n)}).out for n in (40, 200))
    equal(json.loads(narrow)["data"], json.loads(wide)["data"])


@case
async def mode_66_links(world):
    (world.work / "loop").mkdir()
    os.symlink(".", world.work / "loop" / "self")
    world.script(call("c1", "glob", {"pattern": "**/*"}), text("ok"))
    zori(world, "exec", "look").ends(0, 15)


@case
async def mode_67_json(world):
    error = zori(world, "sessions", "list", "--raw-payload", '{"limit": 1,}').ends(2).error
    equal(error["code"], "INVALID_JSON")


@case
async def mode_69_flag_order(world):
    before = zori(world, "--fields", "code", "errors", "list").ends(0).answer["data"]
    equal(before, zori(world, "errors", "list", "--fields", "code").ends(0).answer["data"])


@case
async def mode_76_whole_answers(world):
    world.script(text("Hello."))
    zori(world, "exec", "hi", "--no-stream", "-o", "json").ends(0)


@case
async def mode_77_batch(world):
    lines = '{"_cmd":"errors list"}\n{"_cmd":"config path"}\n'
    ran = zori(world, "batch", "-o", "json", stdin=lines).ends(0)
    equal(len(ran.out.splitlines()) >= 2, True)


@case
async def readiness_1_documents(world):
    page = (ROOT / "AGENTS.md").read_text()
    for section in ("## Canonical Invocation", "## Non-Interactive Flags", "## Environment Variables", "## Workflow", "## Installation"):
        holds(section in page, f"AGENTS.md has no {section}")
    version = zori(world, "--version").ends(0).out.split()[1]
    holds(f"cli-version: {version}" in page, "AGENTS.md is of another version")
    flags = {flag for entry in manifest(world).values() for flag in entry["flags"]}
    for flag in re.findall(r"^\| `--([a-z-]+)`", page, re.M):
        holds(flag in flags, f"AGENTS.md names --{flag}")


@case
async def readiness_2_self_description(world):
    described = zori(world, "--schema").ends(0).answer["data"]
    holds({"commands", "etag", "schema_version"} <= set(described), f"{sorted(described)}")
    for name, entry in described["commands"].items():
        holds({"description", "flags", "exit_codes", "danger_level"} <= set(entry), name)


@case
async def readiness_3_integrations(world):
    version = zori(world, "--version").out.split()[1]
    shipped = {path.name: path.read_text() for path in (ROOT / "skills" / "zori").glob("*.md")}
    for name in manifest(world):
        skill = shipped.get(f"SKILL-{name.replace('.', '-')}.md")
        holds(skill, f"no skill for `{name}` is shipped")
        holds(f"version: {version}" in skill, f"the skill of `{name}` is of another version")
    holds("mcp.serve" in manifest(world), "there is no MCP server")
    shows(f"  {len(shipped)} files in skills/zori, all of version {version}")


@case
async def readiness_4_setup(world):
    page = (ROOT / "AGENTS.md").read_text()
    holds("cargo install" in page and "zori doctor" in page, "AGENTS.md does not say how to install and check")
    zori(world, "--version").ends(0)
    holds(zori(world, "doctor").code in (0, 1), "doctor answers")


@case
async def readiness_5_workflow(world):
    """Runs the flow of AGENTS.md as it stands there."""
    page = (ROOT / "AGENTS.md").read_text()
    flow = page.partition("## Workflow")[2].partition("```sh\n")[2].partition("```")[0]
    world.script(*[text("Hello.")] * 2)
    lines = [line for line in flow.splitlines() if line.startswith("zori ")]
    holds(len(lines) >= 5, f"{lines}")
    for line in lines:
        ran = subprocess.run(
            ["sh", "-c", line.replace("zori ", f"{ZORI} ", 1)],
            cwd=world.work, env={"PATH": os.environ["PATH"], **world.env}, stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
        )
        shows(f"$ {line}  # {ran.returncode}")
        equal(ran.returncode, 0, line)


@case
async def what_is_settled_otherwise(world):
    """Modes that are not scored, each with its reason."""
    for line in (
        "§45 `--token`: a flag that takes a secret is what §24 punishes; `--token-env-var` and `--token-from-file` do it",
        "§56: the shell's own pipelines cannot be seen from inside; `meta.ok` is there",
        "§60 heartbeats as text: `--heartbeat-interval` says them on standard error (§11 shows one)",
        "§71: installing from the sources is checked by `cargo xtask dist` in CI, which installs each package",
        "§75: nothing previews by default (DECISIONS 26)",
    ):
        shows(line)
