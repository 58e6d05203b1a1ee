"""Starts `rooftree serve` with an agent that can be asked, and a scripted model behind it."""

import os
import pathlib
import subprocess
import tempfile

PROGRAM = os.environ["ROOFTREE_PROGRAM"]
TOKEN = "sesame"

# The agent looks at a file, really, before it answers.
SCRIPT = """
[[reply]]
text = "Let me look."
chunk = 3
usage = { input = 90, output = 30 }

[[reply.call]]
tool = "Read"
input = { file_path = "door.txt" }

[[reply]]
text = "The door is {{ 'red' if 'red' in results[0].text else 'gone' }}."
chunk = 4
usage = { input = 110, output = 10 }
"""

AGENT = """---
description: Knows the door.
api_exposed: true
tools: [Read]
---
You know the door.
"""


class AgentServer:
    """One server for the length of a `with`, in a home of its own."""

    def __enter__(self):
        self.home = tempfile.TemporaryDirectory()
        home = pathlib.Path(self.home.name)
        (home / "agents").mkdir()
        (home / "agents" / "porter.md").write_text(AGENT)
        (home / "script.toml").write_text(SCRIPT)
        (home / "door.txt").write_text("red")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ROOFTREE_HOME": str(home),
            "ROOFTREE_MODEL": f"scripted/{home / 'script.toml'}",
            "ROOFTREE_SERVER_TOKEN": TOKEN,
        }
        command = [PROGRAM, "serve", "--port", "0"]
        self.process = subprocess.Popen(
            command, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline().split()
        if line[:2] != ["listening", "on"]:
            raise RuntimeError(f"{PROGRAM} serve did not start: {line}")
        self.url = line[2].rstrip(";")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=20)
        self.home.cleanup()
