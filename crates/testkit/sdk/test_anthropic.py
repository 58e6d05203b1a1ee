"""Anthropic's own SDK reads our Messages server."""

import unittest

import anthropic

from model_server import ANSWER, ARGUMENTS, QUESTION, SCHEMA, TEXT, THINKING, ModelServer, refusal


def ask(server, **more):
    client = anthropic.Anthropic(api_key="key", base_url=server.url, max_retries=0)
    tool = {"name": "Read", "description": "Reads a file.", "input_schema": SCHEMA}
    messages = [{"role": "user", "content": QUESTION}]
    return client.messages.stream(
        model="claude-opus-5-5", max_tokens=4096, messages=messages, tools=[tool], **more
    )


class Anthropic(unittest.TestCase):
    def test_thinking_text_a_call_and_usage_are_read(self):
        deltas = {"text": [], "thinking": [], "input_json": []}
        with ModelServer("anthropic", ANSWER) as server:
            with ask(server) as stream:
                for event in stream:
                    match event.type:
                        case "text":
                            deltas["text"].append(event.text)
                        case "thinking":
                            deltas["thinking"].append(event.thinking)
                        case "input_json":
                            deltas["input_json"].append(event.partial_json)
                message = stream.get_final_message()
                self.assertEqual(stream.response.headers["request-id"], "req_1")
        thinking, text, call = message.content
        self.assertEqual(deltas["text"], ["Grü", "ße. ", "Looking."])
        self.assertEqual(deltas["thinking"], ["Which ", "door?"])
        self.assertEqual("".join(deltas["input_json"]), '{"file_path": "door.txt"}')
        self.assertEqual((thinking.thinking, thinking.signature), (THINKING, "c2lnbmVk"))
        self.assertEqual(text.text, TEXT)
        self.assertEqual((call.type, call.id, call.name, call.input), ("tool_use", "call_1", "Read", ARGUMENTS))
        self.assertEqual(message.stop_reason, "tool_use")
        usage = message.usage
        self.assertEqual((usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens), (26, 64, 30))
        self.assertEqual(server.asked[0]["path"], "/v1/messages")

    def test_an_answer_that_is_cut_says_so(self):
        with ModelServer("anthropic", {"say": [{"text": ["Half"]}], "cut": True}) as server:
            with ask(server) as stream:
                self.assertEqual(stream.get_final_message().stop_reason, "max_tokens")

    def test_a_rate_limit_is_an_error_of_its_own(self):
        with ModelServer("anthropic", refusal(429, "rate_limit_error")) as server:
            with self.assertRaises(anthropic.RateLimitError) as caught, ask(server):
                pass
        self.assertEqual(caught.exception.status_code, 429)
        self.assertEqual(caught.exception.body["error"]["type"], "rate_limit_error")
        self.assertEqual(caught.exception.request_id, "req_1")
        self.assertEqual(caught.exception.response.headers["retry-after"], "0")

    def test_an_overload_is_an_error_of_its_own(self):
        with ModelServer("anthropic", refusal(529, "overloaded_error")) as server:
            with self.assertRaises(anthropic.InternalServerError) as caught, ask(server):
                pass
        self.assertEqual(caught.exception.status_code, 529)
