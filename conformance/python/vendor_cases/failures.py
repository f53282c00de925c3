"""Failures that do not pass: the same reply however often zori asks, until it gives up. Every error type, reason and status ends with
the exit code that stands for it (DECISIONS 24 and 45), after no more requests than it is worth, and without the call beside it."""

import json
import typing
from concurrent.futures import ThreadPoolExecutor

from anthropic.types.shared import error_object
from google.genai import types as gemini
from openai.types.responses import response, response_error

from conform import case, equal

from . import COMMAND, NOTHING_RAN, Vendor, members
from .replies import chat, generate, messages, responses
from .streams import BLOCKED, MALFORMED, PASSING, REFUSED

# How often a run asks again in these cases; `--retries` says so.
RETRIES = 2
ONCE, AGAIN = 1, 1 + RETRIES

# Of each error type of Messages: the exit code, and how many requests are made.
ERRORS = {
    "invalid_request_error": (1, ONCE),
    "authentication_error": (8, ONCE),
    "billing_error": (9, ONCE),
    "permission_error": (7, ONCE),
    "not_found_error": (1, ONCE),
    "rate_limit_error": (11, AGAIN),
    "timeout_error": (12, AGAIN),
    "api_error": (12, AGAIN),
    "overloaded_error": (12, AGAIN),
}
STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "rate_limit_error": 429, "timeout_error": 504, "api_error": 500, "overloaded_error": 529,
}


def each(names, play):
    """Plays every case, some at a time: they have nothing in common but a folder in which nothing may happen."""
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(names, pool.map(play, names)))


def ended(world, provider, stream, times=30):
    """Plays a reply for ever; returns the exit code, and whether the run ended by itself without running the call."""
    vendor = Vendor(world, provider)
    for _ in range(times):
        vendor.streams(*stream())
    code, _, _ = vendor.run("--retries", str(RETRIES))
    vendor.close()
    return code, len(vendor.asked) < times and not vendor.ran()


def played(world, provider, wanted, add):
    """Plays each case for ever and compares exit code and number of requests; the call beside it must not have been run."""
    def play(name):
        vendor = Vendor(world, provider)
        for _ in range(12):
            add(vendor, name)
        code, _, _ = vendor.run("--retries", str(RETRIES))
        vendor.close()
        return code, len(vendor.asked)

    equal(each(wanted, play), wanted, "exit code and requests")
    equal((world.work / NOTHING_RAN).exists(), False, "a call was run")


@case
async def errors_in_a_stream_of_messages(world):
    listed = [typing.get_args(m.model_fields["type"].annotation)[0] for m in members(error_object.ErrorObject)]
    wanted = {name: ERRORS.get(name, "nobody decided") for name in listed}

    def add(vendor, name):
        call = messages.call(0, "bash", COMMAND)
        vendor.streams(messages.start(), *call, {"type": "error", "error": {"type": name, "message": "So it is."}})

    played(world, "anthropic", wanted, add)


@case
async def errors_instead_of_messages(world):
    def add(vendor, name):
        body = {"type": "error", "error": {"type": name, "message": "So it is."}}
        vendor.replies.append((STATUS[name], "application/json", json.dumps(body).encode()))

    played(world, "anthropic", ERRORS, add)


@case
async def a_quota_that_is_used_up_is_not_asked_again(world):
    body = {"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your quota."}}

    def add(vendor, _):
        vendor.replies.append((429, "application/json", json.dumps(body).encode()))

    played(world, "openai", {"insufficient_quota": (9, ONCE)}, add)


@case
async def responses_that_fail_for_ever(world):
    listed = typing.get_args(response_error.ResponseError.model_fields["code"].annotation)

    def meaning(code):
        if code in BLOCKED:
            return 7, ONCE
        if code in PASSING:
            return 11 if code == "rate_limit_exceeded" else 12, AGAIN
        return 1, ONCE

    def add(vendor, code):
        end = responses.end("failed", error={"code": code, "message": "So it is."})
        vendor.streams(responses.start(), *responses.call(0, "bash", COMMAND), end)

    played(world, "openai", {code: meaning(code) for code in listed}, add)


@case
async def replies_that_are_cut_for_ever(world):
    """Text that goes on and on ends with 3; a call that does not fit into the limit as well."""
    apis = {
        "anthropic": (
            lambda: [messages.start(), *messages.said(0, "On and on"), *messages.end("max_tokens")],
            lambda: [messages.start(), *messages.call(0, "bash", COMMAND), *messages.end("max_tokens")],
        ),
        "openai-chat": (
            lambda: [chat.chunk({"content": "On and on"}), chat.chunk({}, "length"), "[DONE]"],
            lambda: [chat.call(0, "bash", COMMAND), chat.chunk({}, "length"), "[DONE]"],
        ),
        "openai": (
            lambda: [responses.start(), *responses.said(0, "On"), incomplete("max_output_tokens")],
            lambda: [responses.start(), *responses.call(0, "bash", COMMAND), incomplete("max_output_tokens")],
        ),
        "gemini": (
            lambda: [generate.event({"text": "On and on"}, reason="MAX_TOKENS")],
            lambda: [generate.event(generate.call("bash", COMMAND), reason="MAX_TOKENS")],
        ),
    }
    names = [(provider, kind) for provider in apis for kind in (0, 1)]
    found = each(names, lambda name: ended(world, name[0], apis[name[0]][name[1]]))
    equal(found, {name: (3, True) for name in names}, "exit code, and whether it ended by itself")


def incomplete(reason):
    return responses.end("incomplete", incomplete_details={"reason": reason})


@case
async def incomplete_responses_for_ever(world):
    hint = response.IncompleteDetails.model_fields["reason"].annotation
    listed = [value for literal in members(hint) for value in typing.get_args(literal)]
    # Nobody sets a number of messages or steers: where a server does so all the same, what was said counts.
    meanings = {"max_output_tokens": 3, "content_filter": 7, "max_messages": 0, "steered": 0}
    wanted = {reason: (meanings.get(reason, "nobody decided"), True) for reason in listed}
    streams = {reason: [responses.start(), *responses.said(0, "On"), incomplete(reason)] for reason in listed}
    equal(each(listed, lambda reason: ended(world, "openai", lambda: streams[reason])), wanted, "how it ended")


@case
async def pauses_for_ever(world):
    stream = [messages.start(), *messages.said(0, "Wait."), *messages.end("pause_turn")]
    equal(ended(world, "anthropic", lambda: stream, 40), (3, True), "exit code, and whether it ended by itself")


@case
async def reasons_of_gemini_for_ever(world):
    wanted = {reason.value: 1 for reason in gemini.FinishReason if reason.value in MALFORMED}
    wanted |= {name: 7 for name in REFUSED}
    # A stream that broke off, every time.
    wanted["FINISH_REASON_UNSPECIFIED"] = 12
    def play(reason):
        return ended(world, "gemini", lambda: [generate.event(generate.call("bash", COMMAND), reason=reason)])

    equal(each(wanted, play), {reason: (code, True) for reason, code in wanted.items()}, "how it ended")


@case
async def after_an_effect_a_failure_is_partial(world):
    """A tool with effects has run: whatever comes then, the exit code is 3."""
    ends = {
        "anthropic refusal": ("anthropic", messages.calls(("write", {"path": "made", "content": "x"})),
                              [messages.start(), *messages.end("refusal")]),
        "openai failed": ("openai", responses.calls(("bash", {"command": "touch made"})),
                          [responses.start(), responses.end("failed", error={"code": "server_error", "message": "x"})]),
        "gemini blocked": ("gemini", generate.calls(("write", {"path": "made", "content": "x"})),
                           [{"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "m"}]),
        "chat filter": ("openai-chat", chat.calls(("bash", {"command": "touch made"})),
                        [chat.chunk({}, "content_filter"), "[DONE]"]),
    }
    found = {}
    for name, (provider, first, then) in ends.items():
        vendor = Vendor(world, provider)
        vendor.streams(*first)
        for _ in range(8):
            vendor.streams(*then)
        found[name] = (vendor.run("--retries", str(RETRIES))[0], (world.work / "made").exists())
        (world.work / "made").unlink(missing_ok=True)
        vendor.close()
    equal(found, {name: (3, True) for name in ends}, "exit code, and whether the tool has run")
