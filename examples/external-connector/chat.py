#!/usr/bin/env python3
"""A connector for a chat of one person: lines of standard input are messages, answers are printed.

    TOKEN=a-long-shared-token ./chat.py http://127.0.0.1:7878/api/v1/connectors/ID/requests 8090
"""

import base64, json, os, sys, threading, time, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOFTREE, PORT, BEARER = sys.argv[1], int(sys.argv[2]), "Bearer " + os.environ["TOKEN"]
delivered = {}  # Idempotency-Key -> id of the message; a real connector keeps this on disk
lock = threading.Lock()


def say(line):
    print(line, flush=True)


class Platform(BaseHTTPRequestHandler):
    """What the server asks of a connector."""

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.headers.get("authorization") != BEARER:
            return self.answer(401, {"error": "wrong token"})
        path = self.path.strip("/").split("/")
        if self.command == "GET" and path == ["health"]:
            return self.answer(200, {})
        if self.command == "GET" and path[0] == "deliveries":
            known = delivered.get(path[1])
            return self.answer(200, {"message": known}) if known else self.answer(404, {})
        if self.command == "POST" and path == ["messages"]:
            return self.answer(200, {"message": self.take(self.headers["idempotency-key"], json.loads(body))})
        if self.command == "PUT" and path[0] == "messages":
            say(f"edit {path[1]}: {json.loads(body)['text']}")
            return self.answer(200, {})
        self.answer(404, {"error": "no such path"})

    def take(self, key, message):
        with lock:  # the same key again is the same message
            if key not in delivered:
                file = message.get("file")
                say(f"file {file['name']}: {len(base64.b64decode(file['base64']))} bytes" if file else message["text"])
                delivered[key] = f"m{len(delivered) + 1}"
            return delivered[key]

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass

    do_GET = do_POST = do_PUT = handle_request


def post(message):
    """Until it is stored: only 202 says so. What is wrong in itself (4xx) is not sent again."""
    headers = {"content-type": "application/json", "authorization": BEARER}
    request = urllib.request.Request(ROOFTREE, json.dumps(message).encode(), headers)
    while True:
        try:
            return urllib.request.urlopen(request, timeout=30).status
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return say(f"refused with {error.code}")
        except OSError:
            pass
        time.sleep(1)


server = ThreadingHTTPServer(("127.0.0.1", PORT), Platform)
threading.Thread(target=server.serve_forever, daemon=True).start()
say(f"http://127.0.0.1:{server.server_port}")
for number, line in enumerate(sys.stdin):
    key = f"{os.getpid()}-{time.time_ns()}-{number}"
    post({"key": key, "chat": "console", "from": {"id": "me", "name": "Me"}, "text": line.rstrip("\n")})
