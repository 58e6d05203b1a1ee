"""OpenAI's own SDK asks our agents as if they were models."""

import unittest

import openai

from agent_server import TOKEN, AgentServer

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which colour is the door?"},
]
ANSWER = "Let me look.\n\nThe door is red."


def client(server, key=TOKEN, **more):
    return openai.OpenAI(api_key=key, base_url=f"{server.url}/v1", max_retries=0, **more)


class Agents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(AgentServer())

    def ask(self, **more):
        return client(self.server).chat.completions.create(model="agent:porter", messages=MESSAGES, **more)

    def test_agents_are_listed(self):
        models = list(client(self.server).models.list())
        self.assertEqual([(model.id, model.owned_by) for model in models], [("agent:porter", "rooftree")])
        self.assertEqual(client(self.server).models.retrieve("agent:porter").id, "agent:porter")

    def test_a_whole_answer_is_read(self):
        completion = self.ask(temperature=0.2)
        choice, usage = completion.choices[0], completion.usage
        self.assertEqual((choice.message.content, choice.finish_reason), (ANSWER, "stop"))
        self.assertEqual((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (200, 40, 240))
        self.assertEqual(completion.rooftree["status"], "completed")
        self.assertEqual(completion.rooftree["ignored"], ["temperature"])

    def test_pieces_are_read_and_are_the_whole_answer(self):
        pieces = list(self.ask(stream=True, stream_options={"include_usage": True}))
        deltas = [piece.choices[0].delta.content or "" for piece in pieces if piece.choices]
        self.assertGreater(len([delta for delta in deltas if delta]), 3)
        self.assertEqual("".join(deltas), ANSWER)
        self.assertEqual(pieces[-1].usage.total_tokens, 240)
        self.assertEqual(pieces[-2].choices[0].finish_reason, "stop")

    def test_the_reader_of_streams_puts_them_together(self):
        stream = client(self.server).chat.completions.stream(model="agent:porter", messages=MESSAGES)
        with stream as events:
            for _ in events:
                pass
            completion = events.get_final_completion()
        self.assertEqual(completion.choices[0].message.content, ANSWER)

    def test_what_the_agent_does_is_reasoning(self):
        completion = self.ask(extra_headers={"x-rooftree-verbose": "1"})
        self.assertIn("Read door.txt", completion.choices[0].message.reasoning_content)

    def test_refusals_are_errors_of_their_own(self):
        with self.assertRaises(openai.AuthenticationError):
            client(self.server, key="wrong").models.list()
        with self.assertRaises(openai.NotFoundError) as caught:
            client(self.server).chat.completions.create(model="agent:lead", messages=MESSAGES)
        self.assertEqual((caught.exception.code, caught.exception.param), ("model_not_found", "model"))
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask(n=2)
        self.assertEqual(caught.exception.param, "n")

    def test_responses_are_read_whole_and_in_pieces(self):
        asked = {"model": "agent:porter", "instructions": "Be brief.", "input": "Which colour is the door?"}
        response = client(self.server).responses.create(**asked)
        self.assertEqual((response.output_text, response.status), (ANSWER, "completed"))
        self.assertEqual((response.usage.input_tokens, response.usage.total_tokens), (200, 240))
        headers = {"x-rooftree-verbose": "1"}
        with client(self.server).responses.stream(**asked, extra_headers=headers) as stream:
            deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
            final = stream.get_final_response()
        self.assertEqual(("".join(deltas), final.output_text), (ANSWER, ANSWER))
        self.assertIn("Read door.txt", final.output[1].summary[0].text)
