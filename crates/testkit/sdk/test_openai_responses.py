"""OpenAI's own SDK reads our Responses server."""

import json
import unittest

import openai

from model_server import ANSWER, ARGUMENTS, QUESTION, SCHEMA, TEXT, THINKING, ModelServer, refusal


def ask(server):
    client = openai.OpenAI(api_key="key", base_url=f"{server.url}/v1", max_retries=0)
    tool = {"type": "function", "name": "Read", "description": "Reads.", "parameters": SCHEMA, "strict": False}
    return client.responses.stream(model="gpt-5.5", input=QUESTION, tools=[tool], store=False)


class Responses(unittest.TestCase):
    def test_thinking_text_a_call_and_usage_are_read(self):
        deltas = {}
        with ModelServer("openai-responses", ANSWER) as server:
            with ask(server) as stream:
                for event in stream:
                    if event.type.endswith(".delta"):
                        deltas.setdefault(event.type, []).append(event.delta)
                response = stream.get_final_response()
        self.assertEqual(deltas["response.output_text.delta"], ["Grü", "ße. ", "Looking."])
        self.assertEqual(deltas["response.reasoning_summary_text.delta"], ["Which ", "door?"])
        arguments = "".join(deltas["response.function_call_arguments.delta"])
        self.assertEqual(json.loads(arguments), ARGUMENTS)
        thinking, message, call = response.output
        self.assertEqual((thinking.type, thinking.summary[0].text), ("reasoning", THINKING))
        self.assertEqual(thinking.encrypted_content, "c2lnbmVk")
        self.assertEqual((message.type, response.output_text), ("message", TEXT))
        self.assertEqual((call.call_id, call.name), ("call_1", "Read"))
        self.assertEqual(json.loads(call.arguments), ARGUMENTS)
        usage = response.usage
        self.assertEqual((usage.input_tokens, usage.output_tokens, usage.total_tokens), (90, 30, 120))
        self.assertEqual(usage.input_tokens_details.cached_tokens, 64)
        self.assertEqual(usage.output_tokens_details.reasoning_tokens, 20)
        self.assertEqual(response.status, "completed")
        self.assertEqual(server.asked[0]["path"], "/v1/responses")

    def test_an_answer_that_is_cut_says_so(self):
        with ModelServer("openai-responses", {"say": [{"text": ["Half"]}], "cut": True}) as server:
            with ask(server) as stream:
                last = [event for event in stream][-1]
        self.assertEqual(last.type, "response.incomplete")
        self.assertEqual(last.response.incomplete_details.reason, "max_output_tokens")

    def test_a_rate_limit_is_an_error_of_its_own(self):
        with ModelServer("openai-responses", refusal(429, "rate_limit_exceeded")) as server:
            with self.assertRaises(openai.RateLimitError) as caught, ask(server):
                pass
        self.assertEqual((caught.exception.status_code, caught.exception.code), (429, "rate_limit_exceeded"))
        self.assertEqual(caught.exception.request_id, "req_1")
