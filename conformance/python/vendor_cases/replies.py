"""Replies of each API, in the words of its stream: a text, calls, and the parts that cases put together themselves."""

import json


class messages:
    """Anthropic's Messages."""

    @staticmethod
    def start():
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
        return {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}

    @staticmethod
    def block(index, block, *deltas):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}

    @staticmethod
    def end(reason, **details):
        delta = {"stop_reason": reason, "stop_sequence": None, **details}
        return [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]

    @classmethod
    def said(cls, index, text):
        return cls.block(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})

    @classmethod
    def call(cls, index, name, input):
        block = {"type": "tool_use", "id": f"toolu_{name}_{index}", "name": name, "input": {}}
        return cls.block(index, block, {"type": "input_json_delta", "partial_json": json.dumps(input)})

    @classmethod
    def text(cls, text):
        return [cls.start(), *cls.said(0, text), *cls.end("end_turn")]

    @classmethod
    def calls(cls, *calls):
        thinking = cls.block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Let me see."},
            {"type": "signature_delta", "signature": "c2lnbmVk"},
        )
        made = [event for n, call in enumerate(calls) for event in cls.call(n + 1, *call)]
        return [cls.start(), *thinking, *made, *cls.end("tool_use")]


class responses:
    """OpenAI's Responses."""

    @staticmethod
    def start():
        return {"type": "response.created", "sequence_number": 0, "response": {"model": "m", "status": "in_progress"}}

    @staticmethod
    def item(index, item):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}

    @staticmethod
    def end(status="completed", **more):
        usage = {"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3}}
        return {"type": f"response.{status}", "response": {"model": "m", "status": status, "usage": usage, **more}}

    @classmethod
    def said(cls, index, text, **part):
        content = [part or {"type": "output_text", "text": text, "annotations": []}]
        message = {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed"}
        return cls.item(index, message | {"content": content, "phase": "commentary"})

    @classmethod
    def call(cls, index, name, input):
        call = {"type": "function_call", "id": f"fc_{index}", "call_id": f"call_{name}_{index}", "name": name}
        return cls.item(index, call | {"arguments": json.dumps(input), "status": "completed"})

    @classmethod
    def text(cls, text):
        return [cls.start(), *cls.said(0, text), cls.end()]

    @classmethod
    def calls(cls, *calls):
        reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}
        made = [event for n, call in enumerate(calls) for event in cls.call(n + 2, *call)]
        return [cls.start(), *cls.item(0, reasoning), *cls.said(1, "I look."), *made, cls.end()]


class chat:
    """OpenAI's Chat Completions."""

    @staticmethod
    def chunk(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    @classmethod
    def call(cls, index, name, input):
        function = {"name": name, "arguments": json.dumps(input)}
        return cls.chunk({"tool_calls": [{"index": index, "id": f"call_{name}_{index}", "type": "function", "function": function}]})

    @classmethod
    def text(cls, text):
        return [cls.chunk({"role": "assistant", "content": text}), cls.chunk({}, "stop"), "[DONE]"]

    @classmethod
    def calls(cls, *calls):
        return [*(cls.call(n, *call) for n, call in enumerate(calls)), cls.chunk({}, "tool_calls"), "[DONE]"]


class generate:
    """Gemini's generateContent."""

    @staticmethod
    def event(*parts, reason=None, **more):
        candidate = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
        if reason:
            candidate |= {"finishReason": reason, **more}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return {"candidates": [candidate], "modelVersion": "m", "usageMetadata": usage}

    @staticmethod
    def call(name, input):
        return {"functionCall": {"name": name, "args": input}, "thoughtSignature": "c2lnbmVk"}

    @classmethod
    def text(cls, text):
        return [cls.event({"text": text}, reason="STOP")]

    @classmethod
    def calls(cls, *calls):
        return [cls.event({"text": "hm", "thought": True}), cls.event(*(cls.call(*call) for call in calls), reason="STOP")]
