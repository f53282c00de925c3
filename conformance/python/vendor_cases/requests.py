"""What zori sends, held against the parameter types of the vendors' libraries."""

import base64

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai import types as gemini
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

from conform import case, equal

from . import Vendor, mistakes
from .replies import chat, generate, messages, responses

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
EFFORTS = [(), ("--thinking", "off"), ("--thinking", "low"), ("--thinking", "high"), ("--thinking", "max")]


def of_gemini(request):
    """What of a Gemini request its types do not take."""
    found = []
    parts = {
        "contents": lambda value: [gemini.Content.model_validate(entry) for entry in value],
        "tools": lambda value: [gemini.Tool.model_validate(entry) for entry in value],
        "systemInstruction": gemini.Content.model_validate,
        "generationConfig": gemini.GenerationConfig.model_validate,
    }
    for key, value in request.items():
        try:
            parts[key](value)
        except Exception as error:
            found.append(f"{key}: {error}")
    return found


def of(hint):
    return lambda request: mistakes(request, hint)


async def whole_conversation(world, provider, api, check, models):
    """Calls that work and fail, an image, reasoning and its replay, text: every request of it, for every model and effort."""
    (world.work / "a.txt").write_text("content\n")
    (world.work / "a.png").write_bytes(PIXEL)
    found, count = [], 0
    for model in models:
        for effort in EFFORTS:
            vendor = Vendor(world, provider)
            vendor.streams(*api.calls(("read", {"path": "a.txt"}), ("read", {"path": "missing"})))
            vendor.streams(*api.calls(("read", {"path": "a.png"}), ("bash", {"command": "echo hi"})))
            vendor.streams(*api.text("Done."))
            code, _, said = vendor.run("--model", model, *effort)
            vendor.close()
            equal((code, len(vendor.asked)), (0, 3), f"{model} {effort}: {said}")
            for n, request in enumerate(vendor.asked):
                found.extend(f"{model} {effort} {n}: {mistake}" for mistake in check(request))
                count += 1
    equal(found[:10], [], f"{count} requests")


@case
async def requests_of_messages(world):
    models = ["claude-sonnet-5-5", "claude-opus-4-5", "claude-haiku-4-5"]
    await whole_conversation(world, "anthropic", messages, of(MessageCreateParamsStreaming), models)


@case
async def requests_of_responses(world):
    models = ["gpt-6.1-terra", "gpt-5.4", "gpt-4.1"]
    await whole_conversation(world, "openai", responses, of(ResponseCreateParamsStreaming), models)


@case
async def requests_of_chat_completions(world):
    models = ["gpt-6.1-terra", "gpt-5.1", "gpt-4.1"]
    await whole_conversation(world, "openai-chat", chat, of(CompletionCreateParamsStreaming), models)


@case
async def requests_of_gemini(world):
    models = ["gemini-3.8-flash", "gemini-2.5-flash", "gemini-2.5-pro"]
    await whole_conversation(world, "gemini", generate, of_gemini, models)
