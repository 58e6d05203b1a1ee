"""OpenAI's own SDK reads our Chat Completions server."""

import json
import unittest

import openai

from model_server import ANSWER, ARGUMENTS, QUESTION, SCHEMA, TEXT, USAGE, ModelServer, refusal

# This vendor's SDK knows no thinking on this wire, so the answer has none.
SPOKEN = {"say": ANSWER["say"][1:], "usage": USAGE}


def ask(server):
    client = openai.OpenAI(api_key="key", base_url=f"{server.url}/v1", max_retries=0)
    function = {"name": "Read", "description": "Reads a file.", "parameters": SCHEMA}
    return client.chat.completions.stream(
        model="gpt-5.5",
        messages=[{"role": "user", "content": QUESTION}],
        tools=[{"type": "function", "function": function}],
        stream_options={"include_usage": True},
    )


class Chat(unittest.TestCase):
    def test_text_a_call_and_usage_are_read(self):
        texts = []
        with ModelServer("openai-chat", SPOKEN) as server:
            with ask(server) as stream:
                for event in stream:
                    if event.type == "content.delta":
                        texts.append(event.delta)
                completion = stream.get_final_completion()
        choice, usage = completion.choices[0], completion.usage
        self.assertEqual([text for text in texts if text], ["Grü", "ße. ", "Looking."])
        self.assertEqual((choice.message.content, choice.finish_reason), (TEXT, "tool_calls"))
        call = choice.message.tool_calls[0]
        self.assertEqual((call.id, call.function.name), ("call_1", "Read"))
        self.assertEqual(json.loads(call.function.arguments), ARGUMENTS)
        self.assertEqual((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (90, 30, 120))
        self.assertEqual(usage.prompt_tokens_details.cached_tokens, 64)
        self.assertEqual(usage.completion_tokens_details.reasoning_tokens, 20)
        self.assertEqual(server.asked[0]["path"], "/v1/chat/completions")

    def test_thinking_does_not_disturb_a_reader_that_knows_none(self):
        with ModelServer("openai-chat", ANSWER) as server:
            with ask(server) as stream:
                completion = stream.get_final_completion()
        self.assertEqual(completion.choices[0].message.content, TEXT)

    def test_an_answer_that_is_cut_says_so(self):
        with ModelServer("openai-chat", {"say": [{"text": ["Half"]}], "cut": True}) as server:
            with self.assertRaises(openai.LengthFinishReasonError), ask(server) as stream:
                stream.get_final_completion()

    def test_a_rate_limit_is_an_error_of_its_own(self):
        with ModelServer("openai-chat", refusal(429, "rate_limit_exceeded")) as server:
            with self.assertRaises(openai.RateLimitError) as caught, ask(server):
                pass
        self.assertEqual((caught.exception.status_code, caught.exception.code), (429, "rate_limit_exceeded"))
