"""Google's own SDK reads our Gemini server."""

import base64
import unittest

from google import genai
from google.genai import errors, types

from model_server import ANSWER, ARGUMENTS, QUESTION, SCHEMA, TEXT, THINKING, ModelServer, refusal


def ask(server, **more):
    retries = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(base_url=server.url, retry_options=retries, **more)
    declaration = types.FunctionDeclaration(name="Read", description="Reads.", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declaration])],
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )
    with genai.Client(api_key="key", http_options=options) as client:
        return list(client.models.generate_content_stream(model="gemini-3-pro", contents=QUESTION, config=config))


def parts(chunks):
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]


class Gemini(unittest.TestCase):
    def test_thinking_text_a_call_and_usage_are_read(self):
        with ModelServer("gemini", ANSWER) as server:
            chunks = ask(server)
        found = parts(chunks)
        thoughts = [part for part in found if part.thought]
        texts = [part.text for part in found if part.text and not part.thought]
        calls = [part.function_call for part in found if part.function_call]
        self.assertEqual("".join(part.text for part in thoughts), THINKING)
        self.assertEqual(thoughts[-1].thought_signature, base64.b64decode("c2lnbmVk"))
        self.assertEqual((texts, "".join(texts)), (["Grü", "ße. ", "Looking."], TEXT))
        self.assertEqual([(call.name, call.args) for call in calls], [("Read", ARGUMENTS)])
        self.assertEqual(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)
        usage = chunks[-1].usage_metadata
        self.assertEqual((usage.prompt_token_count, usage.cached_content_token_count), (90, 64))
        self.assertEqual((usage.candidates_token_count, usage.thoughts_token_count), (10, 20))
        self.assertEqual(usage.total_token_count, 120)

    def test_the_path_is_the_one_our_provider_asks_but_for_the_version(self):
        # The SDK asks the stable version unless it is told otherwise; our provider asks the beta.
        with ModelServer("gemini", ANSWER, ANSWER) as server:
            ask(server)
            ask(server, api_version="v1beta")
        paths = [asked["path"] for asked in server.asked]
        path = "/models/gemini-3-pro:streamGenerateContent?alt=sse"
        self.assertEqual(paths, [f"/v1{path}", f"/v1beta{path}"])

    def test_an_answer_that_is_cut_says_so(self):
        with ModelServer("gemini", {"say": [{"text": ["Half"]}], "cut": True}) as server:
            chunks = ask(server)
        self.assertEqual(chunks[-1].candidates[0].finish_reason, types.FinishReason.MAX_TOKENS)

    def test_a_rate_limit_is_an_error_of_its_own(self):
        with ModelServer("gemini", refusal(429, "RESOURCE_EXHAUSTED")) as server:
            with self.assertRaises(errors.ClientError) as caught:
                ask(server)
        self.assertEqual((caught.exception.code, caught.exception.status), (429, "RESOURCE_EXHAUSTED"))
        self.assertEqual(caught.exception.message, "Slow down.")
