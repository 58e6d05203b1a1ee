"""Starts the testkit's model server with a script, and says afterwards what it was asked."""

import json
import os
import subprocess
import tempfile

PROGRAM = os.environ["ROOFTREE_MODEL_SERVER"]

# What all wires are made to say: thinking, text and a call, each in pieces, and what it cost.
QUESTION = "Which colour is the door?"
ARGUMENTS = {"file_path": "door.txt"}
USAGE = {"input": 90, "output": 30, "cache_read": 64, "cache_write": 0, "reasoning": 20}
ANSWER = {
    "say": [
        {"thinking": ["Which ", "door?"], "signature": "c2lnbmVk"},
        {"text": ["Grü", "ße. ", "Looking."]},
        {"call": "Read", "id": "call_1", "json": ['{"file_path":', ' "door.txt"}']},
    ],
    "usage": USAGE,
}
TEXT = "Grüße. Looking."
THINKING = "Which door?"
SCHEMA = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}},
    "required": ["file_path"],
}


def refusal(status, code):
    """A refusal that does not make anybody wait."""
    return {"status": status, "code": code, "message": "Slow down.", "retry_after": "0"}


class ModelServer:
    """One server for the length of a `with`; `asked` is filled at its end."""

    def __init__(self, wire, *answers):
        self.wire, self.answers, self.asked = wire, answers, []

    def __enter__(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as script:
            json.dump(self.answers, script)
        self.script = script.name
        command = [PROGRAM, self.wire, self.script]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"{PROGRAM} {self.wire} did not start")
        return self

    def __exit__(self, *_):
        said, _ = self.process.communicate(timeout=20)
        self.asked = [json.loads(line) for line in said.splitlines()]
        os.unlink(self.script)
