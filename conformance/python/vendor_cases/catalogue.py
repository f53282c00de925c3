"""The catalogue, held against the vendors' own lists of models: every model that their libraries name is in it or left out for a reason,
and those that end or have ended are marked. A later version of a library that names another one fails here."""

import json
import os
import re
import subprocess
import typing
from datetime import date, datetime

from anthropic.resources.messages import messages as resources
from anthropic.types import model as anthropic_model
from google.genai._gaos.types.interactions import model as gemini_model
from openai.types.shared import all_models, chat_model

from conform import ZORI, case, equal

from . import members

# What is no model to talk to in a terminal, or cannot be had: audio, images, music, robots, research, closed programmes.
OTHER_KINDS = re.compile(
    r"audio|image|banana|tts|transcribe|lyria|robotics|omni|search|research|computer-use|vision|32k|16k|"
    r"cyber|daybreak|rosalind|gemma|gpt-5\.1-mini$|gpt-4-\d{4}-preview|gpt-4-turbo-preview|-03\d\d$|-06\d\d$|-11\d\d$|-0125$|"
    r"claude-instant-1\.1|claude-1\.3|-100k"
)
# When this catalogue was made.
AS_OF = date(2026, 11, 17)


def catalogue(world, provider):
    env = {"PATH": os.environ["PATH"], "HOME": str(world.home), "ZORI_HOME": str(world.base), "CI": "1"}
    argv = [ZORI, "models", "list", "--provider", provider, "--limit", "1000", "--output", "json"]
    done = subprocess.run(argv, env=env, cwd=world.work, capture_output=True, text=True, timeout=25)
    equal(done.returncode, 0, done.stderr)
    return {row["model"]: row for row in json.loads(done.stdout)["data"]}


def bare(name):
    """Returns a model's name without a date."""
    return re.sub(r"(-latest|[-@]\d{8}|-\d{4}-\d{2}-\d{2})$", "", name)


def literals(union):
    return [value for member in members(union) for value in typing.get_args(member) if isinstance(value, str)]


def known(world, provider, name):
    """Returns the row of a model, whatever it is called there."""
    env = {"PATH": os.environ["PATH"], "HOME": str(world.home), "ZORI_HOME": str(world.base), "CI": "1"}
    argv = [ZORI, "models", "show", f"{provider}:{name}", "--output", "json"]
    done = subprocess.run(argv, env=env, cwd=world.work, capture_output=True, text=True, timeout=25)
    return json.loads(done.stdout)["data"] if done.returncode == 0 else None


def missing(world, provider, names):
    rows = catalogue(world, provider)
    wanted = [name for name in names if not OTHER_KINDS.search(name)]
    return [name for name in wanted if bare(name) not in rows and known(world, provider, name) is None]


@case
async def the_models_of_each_vendor_are_known(world):
    equal(missing(world, "anthropic", literals(anthropic_model.Model)), [], "missing of Anthropic's")
    equal(missing(world, "openai", literals(all_models.AllModels) + literals(chat_model.ChatModel)), [], "missing of OpenAI's")
    equal(missing(world, "gemini", literals(gemini_model.Model)), [], "missing of Gemini's")


def in_words(text):
    """Reads `November 30th, 2026`."""
    return datetime.strptime(re.sub(r"(\d)(st|nd|rd|th)", r"\1", text), "%B %d, %Y").date()


def states(rows, ends):
    """Returns how models that end are marked, and how they should be."""
    found, wanted = {}, {}
    for name, end in ends.items():
        row = rows.get(bare(name))
        if row is None or OTHER_KINDS.search(name):
            continue
        found[name] = (row["lifecycle"], row["ends_on"], bool(row["successor"]))
        over = end <= AS_OF
        wanted[name] = ("retired" if over else "ending", None if over else end.isoformat(), True)
    return found, wanted


@case
async def anthropics_models_that_end_are_marked(world):
    ends = {name: in_words(text) for name, text in resources.DEPRECATED_MODELS.items()}
    found, wanted = states(catalogue(world, "anthropic"), ends)
    equal(found, wanted, "how they are marked")
    equal(len(found) > 10, True, "models that end")


@case
async def openais_models_that_end_are_marked(world):
    with open(chat_model.__file__, encoding="utf-8") as source:
        text = re.sub(r"\s+", " ", source.read())
    ends = {}
    for names, day in re.findall(r'- ((?:"[^"]+",? ?)+): Announced shutdown date: (\d{4}-\d{2}-\d{2})', text):
        for name in re.findall(r'"([^"]+)"', names):
            # A dated model may end before the others of its name.
            if bare(name) == name or name.endswith("-latest"):
                ends[name] = date.fromisoformat(day)
    found, wanted = states(catalogue(world, "openai"), ends)
    equal(found, wanted, "how they are marked")
    equal(len(found) > 15, True, "models that end")
