"""An MCP server for tests: it does what it is told, and misbehaves when it is told to.

It speaks newline-framed JSON-RPC on its standard streams, or with --http on loopback. What it does
wrong is chosen by options (for its start) and by its tools (for one call).
"""

import argparse
import base64
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from urllib.parse import parse_qs

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)

parser = argparse.ArgumentParser()
parser.add_argument("--modern", action="store_true", help="speak 2026-07-28, without a handshake")
parser.add_argument("--die-on-discover", action="store_true", help="end when it hears of later revisions")
parser.add_argument("--mute", action="store_true", help="never answer anything")
parser.add_argument("--wrong-hello", action="store_true", help="answer the hello under another id")
parser.add_argument("--exit", type=int, help="end at once with this code, complaining")
parser.add_argument("--tools", type=int, default=0, help="this many more tools")
parser.add_argument("--page", type=int, default=1000, help="tools per page")
parser.add_argument("--endless", action="store_true", help="there is always another page")
parser.add_argument("--twins", action="store_true", help="two tools whose names differ in case")
parser.add_argument("--description", default="Says it again.", help="what `echo` says it does")
parser.add_argument("--rename", default="echo", help="what `echo` is called")
parser.add_argument("--form", type=json.loads, help="the schema of what `ask` wants to know")
parser.add_argument("--visit", help="the page that `ask` wants people to visit, instead of a form")
parser.add_argument("--reading", action="store_true", help="have resources and prompts")
parser.add_argument("--online", action="store_true", help="have a tool that reaches out")
parser.add_argument("--marks", help="a directory for a file that is locked while this process lives")
parser.add_argument("--record", help="a file for the methods that were heard")
parser.add_argument("--stubborn", action="store_true", help="do not end when asked to")
parser.add_argument("--family", action="store_true", help="have a child in a session of its own")
parser.add_argument("--http", action="store_true", help="serve HTTP on loopback; the address is printed")
parser.add_argument("--oauth", action="store_true", help="with --http: people must log in")
parser.add_argument("--require", help="with --http: the token that must be sent")
options = parser.parse_args()

lock = threading.Lock()
state = {"description": options.description, "resources": ["note:///first", "note:///secret"]}
answers = {}
local = threading.local()


def send(message):
    if hasattr(local, "stream"):
        return local.stream(message)
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def schema(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


def tools():
    text = {"type": "string"}
    found = [
        {"name": options.rename, "description": state["description"], "inputSchema": schema(text=text)},
        {"name": "look", "description": "Looks.", "inputSchema": schema(), "annotations": {"readOnlyHint": True}},
        {"name": "image", "description": "Gives an image.", "inputSchema": schema()},
        {"name": "fail", "description": "Fails.", "inputSchema": schema()},
        {"name": "refuse", "description": "Refuses.", "inputSchema": schema()},
        {"name": "environment", "description": "Tells its environment.", "inputSchema": schema()},
        {"name": "pid", "description": "Tells its process.", "inputSchema": schema()},
        {"name": "huge", "description": "Sends a long line.", "inputSchema": schema(bytes={"type": "integer"})},
        {"name": "wrong_id", "description": "Answers somebody else.", "inputSchema": schema()},
        {"name": "garbage", "description": "Writes what is no message.", "inputSchema": schema()},
        {"name": "noise", "description": "Complains at length.", "inputSchema": schema()},
        {"name": "never", "description": "Never answers.", "inputSchema": schema()},
        {"name": "crash", "description": "Ends.", "inputSchema": schema()},
        {"name": "change", "description": "Changes `echo`.", "inputSchema": schema(description=text)},
        {"name": "ask", "description": "Asks the person.", "inputSchema": schema()},
        {"name": "write", "description": "Writes a file.", "inputSchema": schema(path=text)},
        {"name": "read", "description": "Reads a file.", "inputSchema": schema(path=text)},
    ]
    if options.online:
        found += [{"name": "fetch", "description": "Fetches.", "inputSchema": schema(url=text)}]
    if options.reading:
        found += [{"name": "add_resource", "description": "Adds a resource.", "inputSchema": schema(uri=text)}]
    if options.twins:
        found += [{"name": name, "description": name, "inputSchema": schema()} for name in ("Twin", "twin")]
    found += [
        {"name": f"tool_{number}", "description": f"Number {number}.", "inputSchema": schema()}
        for number in range(options.tools)
    ]
    return found


def listing(params):
    found = tools()
    start = int(params.get("cursor") or 0)
    result = {"resultType": "complete", "tools": found[start % max(len(found), 1) :][: options.page] if options.endless else found[start : start + options.page]}
    if options.endless or start + options.page < len(found):
        result["nextCursor"] = str(start + options.page)
    return result


def text_result(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


def call(name, arguments, identifier):
    if name == options.rename:
        return text_result(arguments["text"])
    if name == "look":
        return text_result("seen")
    if name == "image":
        return {"content": [{"type": "image", "mimeType": "image/png", "data": PNG}]}
    if name == "fail":
        return text_result("it did not work", isError=True)
    if name == "environment":
        return text_result("\n".join(f"{key}={value}" for key, value in sorted(os.environ.items())))
    if name in ("write", "read"):
        try:
            with open(os.path.expanduser(arguments["path"]), name[0], encoding="utf-8") as file:
                return text_result(file.read() if name == "read" else f"wrote {file.write('x')}")
        except OSError as error:
            return text_result(str(error), isError=True)
    if name == "fetch":
        import urllib.error
        import urllib.request

        try:
            # The proxy, if there is one, is asked for hosts of this machine too.
            for exception in ("no_proxy", "NO_PROXY"):
                os.environ.pop(exception, None)
            with urllib.request.urlopen(arguments["url"], timeout=20) as page:
                return text_result(page.read().decode())
        except (urllib.error.URLError, OSError) as error:
            return text_result(str(error), isError=True)
    if name == "add_resource":
        state["resources"].append(arguments["uri"])
        send({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"})
        return text_result("added")
    if name == "pid":
        return text_result(str(os.getpid()))
    if name == "huge":
        return text_result("x" * arguments["bytes"])
    if name == "wrong_id":
        send({"jsonrpc": "2.0", "id": 987654, "result": text_result("for somebody else")})
        send({"jsonrpc": "2.0", "id": "nobody", "result": text_result("for nobody")})
        return text_result("for you")
    if name == "garbage":
        with lock:
            sys.stdout.write("this is no message\n{\"jsonrpc\": \n\x00\xff\n[]\n{}\n")
            sys.stdout.flush()
        return text_result("after garbage")
    if name == "noise":
        for _ in range(2000):
            sys.stderr.write("y" * 1000 + "\n")
        sys.stderr.flush()
        return text_result("after noise")
    if name == "crash":
        sys.stderr.write(f"I give up, my key is {os.environ.get('SERVER_API_KEY', 'none')}\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "change":
        state["description"] = arguments["description"]
        news = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        send({**news, "params": {"_meta": state["subscription"]}} if "subscription" in state else news)
        return text_result("changed")
    if name == "ask":
        question = {"message": "Who are you?", "requestedSchema": options.form or schema(name={"type": "string"})}
        if options.visit:
            question = {"mode": "url", "message": "Please log in.", "url": options.visit, "elicitationId": "e-1"}
        if options.modern:
            asked = {"who": {"method": "elicitation/create", "params": question}}
            return {"resultType": "input_required", "inputRequests": asked, "requestState": "asked"}
        send({"jsonrpc": "2.0", "id": f"ask-{identifier}", "method": "elicitation/create", "params": question})
        while f"ask-{identifier}" not in answers:
            time.sleep(0.01)
        return text_result(json.dumps(answers[f"ask-{identifier}"]))
    return None


def read_resource(params):
    if params["uri"] not in state["resources"]:
        return None
    text = "x" * 200_000 if "long" in params["uri"] else f"what {params['uri']} says"
    return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": text}]}


def fill_prompt(params):
    asked = f"Say hello to {params.get('arguments', {}).get('name', 'nobody')}.\u202e"
    return {"messages": [{"role": "user", "content": {"type": "text", "text": asked}}]}


READING = {
    "resources/list": lambda _: {"resources": [{"uri": uri, "name": "a note"} for uri in state["resources"]]},
    "resources/templates/list": lambda _: {"resourceTemplates": [{"uriTemplate": "note:///{id}", "name": "any note"}]},
    "resources/read": read_resource,
    "prompts/list": lambda _: {"prompts": [{"name": "greet", "description": "Greets.", "arguments": [{"name": "name", "required": True}]}]},
    "prompts/get": fill_prompt,
}


def answer(message):
    """The reply to a request; None if it gets none."""
    method, params = message["method"], message.get("params") or {}
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    info = {"name": "test-server", "version": "1.2.3"}
    abilities = {"tools": {"listChanged": True}}
    if options.reading:
        abilities = {**abilities, "resources": {"listChanged": True}, "prompts": {}}
    if method == "server/discover":
        if options.die_on_discover:
            os._exit(1)
        if options.modern:
            meta = {"io.modelcontextprotocol/serverInfo": info}
            versions = {"resultType": "complete", "supportedVersions": ["2026-07-28"]}
            return {**reply, "result": {**versions, "capabilities": abilities, "ttlMs": 0, "cacheScope": "private", "_meta": meta}}
    if method == "subscriptions/listen" and options.modern:
        state["subscription"] = {"io.modelcontextprotocol/subscriptionId": message["id"]}
        accepted = {"_meta": state["subscription"], "notifications": {"toolsListChanged": True}}
        send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": accepted})
        return None
    if method == "initialize" and not options.modern:
        hello = {"protocolVersion": params["protocolVersion"], "capabilities": abilities, "serverInfo": info}
        return {**reply, **({"id": 4711} if options.wrong_hello else {}), "result": hello}
    if method == "ping":
        return {**reply, "result": {}}
    if options.reading and method in READING:
        result = READING[method](params)
        if result is None:
            return {**reply, "error": {"code": -32002, "message": "Resource not found"}}
        return {**reply, "result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}}
    if method == "tools/list":
        return {**reply, "result": listing(params)}
    if method == "tools/call":
        if params["name"] == "never":
            return None
        if params["name"] == "refuse":
            return {**reply, "error": {"code": -32602, "message": "not with me"}}
        if "inputResponses" in params:
            return {**reply, "result": text_result(json.dumps(params["inputResponses"]["who"]))}
        result = call(params["name"], params.get("arguments") or {}, message["id"])
        if result is not None:
            return {**reply, "result": result}
        return {**reply, "error": {"code": -32602, "message": f"unknown tool {params['name']}"}}
    return {**reply, "error": {"code": -32601, "message": "Method not found"}}


def handle(message):
    if "method" not in message:
        answers[message.get("id")] = message.get("result", message.get("error"))
        return None
    if options.record:
        with open(options.record, "a", encoding="utf-8") as record:
            record.write(message["method"] + "\n")
    return answer(message) if "id" in message else None


def serve_streams():
    def respond(message):
        reply = handle(message)
        if reply is not None:
            send(reply)

    for line in sys.stdin:
        if options.mute:
            continue
        threading.Thread(target=respond, args=(json.loads(line),), daemon=True).start()
    while options.stubborn:
        time.sleep(60)


class Authority:
    """Lets people log in, as strictly as the rules are. Tokens last a second."""

    def __init__(self):
        self.clients, self.codes, self.tokens, self.refreshers = {}, {}, set(), {}
        self.issued = 0

    def about(self, base):
        return {
            "issuer": base,
            "authorization_endpoint": base + "/authorize",
            "token_endpoint": base + "/token",
            "registration_endpoint": base + "/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }

    def register(self, wish):
        name = f"client-{len(self.clients)}"
        self.clients[name] = wish["redirect_uris"]
        return {**wish, "client_id": name}

    def authorize(self, query):
        back = query["redirect_uri"][0]
        assert back in self.clients[query["client_id"][0]] and query["code_challenge_method"] == ["S256"]
        code = f"code-{len(self.codes)}"
        self.codes[code] = (query["client_id"][0], back, query["code_challenge"][0])
        return f"{back}?code={code}&state={query['state'][0]}"

    def token(self, form):
        if form["grant_type"] == ["refresh_token"]:
            if self.refreshers.pop(form["refresh_token"][0], None) is None:
                return 400, {"error": "invalid_grant"}
        else:
            client, back, challenge = self.codes.pop(form["code"][0])
            digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
            proven = base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge
            if not proven or form["redirect_uri"] != [back] or form["client_id"] != [client]:
                return 400, {"error": "invalid_grant"}
        self.issued += 1
        access, refresh = f"access-{self.issued}-secret", f"refresh-{self.issued}-secret"
        # What was given before is void.
        self.tokens = {access}
        self.refreshers[refresh] = True
        return 200, {"access_token": access, "token_type": "Bearer", "expires_in": 1, "refresh_token": refresh}


authority = Authority()


def serve_http():
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def give(self, status, body=b"", **headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def tell(self, status, value):
            self.give(status, json.dumps(value).encode(), Content_Type="application/json")

        def base(self):
            return f"http://127.0.0.1:{self.server.server_address[1]}"

        def do_GET(self):
            path, _, query = self.path.partition("?")
            if not options.oauth:
                return self.give(405)
            if path.startswith("/.well-known/oauth-protected-resource"):
                return self.tell(200, {"resource": self.base() + "/mcp", "authorization_servers": [self.base()]})
            if path == "/.well-known/oauth-authorization-server":
                return self.tell(200, authority.about(self.base()))
            if path == "/authorize":
                return self.give(302, Location=authority.authorize(parse_qs(query)))
            return self.give(405 if path == "/mcp" else 404)

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if options.oauth and self.path == "/register":
                return self.tell(201, authority.register(json.loads(body)))
            if options.oauth and self.path == "/token":
                return self.tell(*authority.token(parse_qs(body.decode())))
            if options.oauth and self.headers.get("Authorization", "")[7:] not in authority.tokens:
                place = self.base() + "/.well-known/oauth-protected-resource"
                return self.give(401, WWW_Authenticate=f'Bearer resource_metadata="{place}"')
            message = json.loads(body)
            if options.require and self.headers.get("Authorization") != f"Bearer {options.require}":
                return self.give(401, WWW_Authenticate="Bearer")
            if message.get("method") == "tools/call" and message["params"]["name"] == "ask":
                return self.stream(message)
            reply = handle(message)
            if reply is None:
                return self.give(202)
            return self.give(200, json.dumps(reply).encode(), Content_Type="application/json")

        def stream(self, message):
            def write(event):
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            local.stream = write
            write(handle(message))
            self.close_connection = True

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
    server.serve_forever()


def mark():
    """A file that is locked for as long as whoever has it open lives. Numbers of processes mean nothing
    outside a sandbox."""
    file = open(os.path.join(options.marks, f"{uuid.uuid4()}.mark"), "w", encoding="utf-8")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


if options.marks:
    own_mark = mark()
if options.stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if options.family:
    marks = [mark()] if options.marks else []
    command = ["setsid", "sleep", "1000"]
    kept = [file.fileno() for file in marks]
    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=kept)
    for file in marks:
        file.close()
if options.exit is not None:
    sys.stderr.write("no such thing as a license\n")
    sys.exit(options.exit)
if options.http:
    serve_http()
else:
    serve_streams()
