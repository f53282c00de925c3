"""Runs the cases of one folder: `drive.py FOLDER [PART OF A NAME ...]`.

Writes JSON lines for `cargo xtask conformance`: the names of all cases, then a verdict for each.
"""

import asyncio
import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path

import conform

LIMIT = 30


def say(**fields):
    print(json.dumps(fields), flush=True)


async def judge(function):
    """Runs a case and returns why it failed, or nothing."""
    name = f"{os.environ['CONFORMANCE_CLIENT']}.{function.__name__}"
    try:
        await asyncio.wait_for(function(conform.World(name)), LIMIT)
    except asyncio.TimeoutError:
        return f"did not end within {LIMIT} s"
    except BaseException as error:  # A client may raise what is no Exception; the verdict must come all the same.
        traceback.print_exc()
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "_cases" in f.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
        return f"{place}{type(error).__name__}: {error}"
    return None


def main():
    folder, wanted = sys.argv[1], sys.argv[2:]
    for module in sorted((Path(__file__).parent / folder).glob("*.py")):
        importlib.import_module(f"{folder}.{module.stem}")
    cases = [c for c in conform.CASES if not wanted or any(part in c.__name__ for part in wanted)]
    say(cases=[c.__name__ for c in cases])
    for function in cases:
        print(f"--- {function.__name__}", file=sys.stderr, flush=True)
        began = time.monotonic()
        conform.SHOWN.clear()
        why = asyncio.run(judge(function))
        ms = round((time.monotonic() - began) * 1000)
        more = {"why": why} if why else {}
        if conform.SHOWN:
            more["shows"] = conform.SHOWN
        say(case=function.__name__, ms=ms, **more)


main()
