"""Every event, item and reason to stop that the vendors' types list, played to zori. A new one of a later version fails here until
somebody has decided what it means."""

import sys
import typing
from concurrent.futures import ThreadPoolExecutor

from anthropic.types import raw_content_block_delta, raw_content_block_start_event, raw_message_stream_event, stop_reason
from google.genai import types as gemini
from openai.types.chat import chat_completion_chunk
from openai.types.responses import response, response_error, response_output_item, response_stream_event

from conform import case, equal

from . import COMMAND, Vendor, example, members
from .replies import chat, generate, messages, responses

# What each reason means (DECISIONS 45): the exit code, and whether the call beside it is run.
MESSAGES = {
    "end_turn": (0, True),
    "tool_use": (0, True),
    "stop_sequence": (0, True),
    "max_tokens": (0, False),
    "model_context_window_exceeded": (0, False),
    "pause_turn": (0, True),
    "refusal": (7, False),
}
CHAT = {
    "stop": (0, True),
    "tool_calls": (0, True),
    "function_call": (0, True),
    "length": (0, False),
    "content_filter": (7, False),
}
REFUSED = {name: (7, False) for name in (
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION", "PUP_LIMITED_DISABLED",
)}
MALFORMED = {name: (0, False) for name in (
    "OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "NO_IMAGE", "IMAGE_OTHER",
    "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE",
)}
GEMINI = REFUSED | MALFORMED | {
    "STOP": (0, True),
    "MAX_TOKENS": (0, False),
    "CONTINUATION": (0, False),
    # No reason at all: the stream broke off, and is asked for once more.
    "FINISH_REASON_UNSPECIFIED": (0, False),
}
INCOMPLETE = {
    "max_output_tokens": (0, False),
    "content_filter": (7, False),
    "max_messages": (0, False),
    "steered": (0, False),
}
# Of a response that failed: blocked, worth another try, which then works, or a mistake of the request.
BLOCKED = {"invalid_prompt", "bio_policy", "misalignment_policy_violation", "image_content_policy_violation"}
PASSING = {"server_error", "rate_limit_exceeded", "vector_store_timeout"}
# These are played in order by the other cases; out of order they are mistakes.
ORDERED = {
    "response.created", "response.completed", "response.failed", "response.incomplete", "response.output_item.added",
    "response.output_item.done", "response.output_text.delta", "response.refusal.delta",
    "response.function_call_arguments.delta", "response.function_call_arguments.done",
    "response.reasoning_summary_text.delta", "response.reasoning_text.delta", "error",
}


async def reasons(world, provider, listed, meanings, reply, text):
    """Plays a call with each reason to stop, then a text, and compares how it ended."""
    found = {}
    for reason in listed:
        vendor = Vendor(world, provider)
        vendor.streams(*reply(reason))
        for _ in range(5):
            vendor.streams(*text("Done."))
        code, _, said = vendor.run()
        found[reason] = (code, vendor.ran())
        if found[reason] != meanings.get(reason):
            print(reason, code, said, file=sys.stderr)
        vendor.close()
        (vendor.world.work / "nothing-ran").unlink(missing_ok=True)
    equal(found, {reason: meanings.get(reason, "nobody decided") for reason in listed}, "how it ended")


@case
async def stop_reasons_of_messages(world):
    def reply(reason):
        return [messages.start(), *messages.call(0, "bash", COMMAND), *messages.end(reason)]

    await reasons(world, "anthropic", typing.get_args(stop_reason.StopReason), MESSAGES, reply, messages.text)


@case
async def finish_reasons_of_chat_completions(world):
    hint = chat_completion_chunk.Choice.model_fields["finish_reason"].annotation
    listed = [value for literal in members(hint) for value in typing.get_args(literal)]

    def reply(reason):
        return [chat.call(0, "bash", COMMAND), chat.chunk({}, reason), "[DONE]"]

    await reasons(world, "openai-chat", listed, CHAT, reply, chat.text)


@case
async def finish_reasons_of_gemini(world):
    def reply(reason):
        return [generate.event(generate.call("bash", COMMAND), reason=reason, finishMessage="So it is.")]

    await reasons(world, "gemini", [reason.value for reason in gemini.FinishReason], GEMINI, reply, generate.text)


@case
async def blocked_prompts_of_gemini(world):
    listed = [reason.value for reason in gemini.BlockedReason if not reason.value.endswith("UNSPECIFIED")]

    def reply(reason):
        return [{"promptFeedback": {"blockReason": reason}, "modelVersion": "m"}]

    await reasons(world, "gemini", listed, {reason: (7, False) for reason in listed}, reply, generate.text)


@case
async def incomplete_responses(world):
    hint = response.IncompleteDetails.model_fields["reason"].annotation
    listed = [value for literal in members(hint) for value in typing.get_args(literal)]

    def reply(reason):
        end = responses.end("incomplete", incomplete_details={"reason": reason})
        return [responses.start(), *responses.call(0, "bash", COMMAND), end]

    await reasons(world, "openai", listed, INCOMPLETE, reply, responses.text)


@case
async def failed_responses(world):
    listed = typing.get_args(response_error.ResponseError.model_fields["code"].annotation)
    meanings = {}
    for code in listed:
        meanings[code] = (7 if code in BLOCKED else 0 if code in PASSING else 1, False)

    def reply(code):
        end = responses.end("failed", error={"code": code, "message": "So it is."})
        return [responses.start(), *responses.call(0, "bash", COMMAND), end]

    await reasons(world, "openai", listed, meanings, reply, responses.text)


async def unmoved(world, provider, streams):
    """Plays streams that hold something zori has no use for: the text must come, and nothing else."""
    def play(name):
        vendor = Vendor(world, provider)
        vendor.streams(*streams[name])
        code, out, said = vendor.run()
        vendor.close()
        if (code, out) != (0, "Done.\n"):
            print(name, code, out, said, file=sys.stderr)
        return name, (code, out)

    # They have nothing in common but the folder, which nothing changes.
    with ThreadPoolExecutor(4) as pool:
        found = dict(pool.map(play, streams))
    equal(found, {name: (0, "Done.\n") for name in streams}, "what came of it")


@case
async def events_of_messages(world):
    known = {event["type"] for event in messages.calls(("read", {}))}
    listed = {typing.get_args(m.model_fields["type"].annotation)[0] for m in members(raw_message_stream_event.RawMessageStreamEvent)}
    equal(listed - known, set(), "events that nobody plays")
    streams = {}
    for block in members(raw_content_block_start_event.ContentBlock):
        value = example(block)
        if value["type"] not in ("text", "thinking", "redacted_thinking", "tool_use"):
            streams[value["type"]] = [
                messages.start(), *messages.block(0, value), *messages.said(1, "Done."), *messages.end("end_turn")
            ]
    for delta in members(raw_content_block_delta.RawContentBlockDelta):
        value = example(delta)
        if value["type"] == "citations_delta":
            block = messages.block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}, value)
            streams[value["type"]] = [messages.start(), *block, *messages.end("end_turn")]
    streams["ping"] = [{"type": "ping"}, *messages.text("Done.")]
    await unmoved(world, "anthropic", streams)


@case
async def events_of_responses(world):
    streams = {}
    for event in members(response_stream_event.ResponseStreamEvent):
        value = example(event)
        if value["type"] not in ORDERED:
            streams[value["type"]] = [responses.start(), value, *responses.said(0, "Done."), value, responses.end()]
    for item in members(response_output_item.ResponseOutputItem):
        value = example(item)
        if value["type"] not in ("message", "reasoning", "function_call"):
            value["id"] = "item_1"
            streams[f"item {value['type']}"] = [
                responses.start(), *responses.item(0, value), *responses.said(1, "Done."), responses.end()
            ]
    await unmoved(world, "openai", streams)
