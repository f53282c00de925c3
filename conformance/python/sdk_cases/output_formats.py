"""Answers that have to fit a schema."""

from conform import case, equal, holds, text

from . import ask, ask_in_vain, options, result, told

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "schema": SCHEMA}
PARIS = {"city": "Paris", "people": 2000000}


def answering(world, *answers):
    """Scripts answers in whichever way zori asks for them: as calls of its tool, or as text."""
    import json

    for n, answer in enumerate(answers):
        call = {"type": "tool_use", "id": f"t{n}", "name": "StructuredOutput", "input": answer}
        world.script({"when": '"StructuredOutput"', "content": [call]}, text(json.dumps(answer)))


@case
async def an_answer_that_fits(world):
    answering(world, PARIS)
    world.script(text("There you are."))
    messages = await ask("Tell me about Paris", options(world, output_format=FORMAT))
    end = result(messages)
    equal((end.subtype, end.is_error, end.structured_output), ("success", False, PARIS), f"the end of {told(messages)}")


@case
async def an_answer_that_fits_at_last(world):
    answering(world, {"city": "Paris"}, PARIS)
    world.script(text("There you are."))
    end = result(await ask("Tell me about Paris", options(world, output_format=FORMAT)))
    equal((end.subtype, end.structured_output), ("success", PARIS))
    holds("people" in str(world.requests()[1]["messages"][-1]), "the model was not told what is missing")


@case
async def an_answer_that_never_fits(world):
    answering(world, *[{"city": "Paris"}] * 12)
    messages, error = await ask_in_vain("Tell me about Paris", options(world, output_format=FORMAT))
    end = result(messages)
    equal((end.subtype, end.is_error), ("error_max_structured_output_retries", True), f"the end of {told(messages)}")
    equal((end.structured_output, type(error).__name__), (None, "ResultError"))
