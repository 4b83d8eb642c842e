"""A client of the language server, `whammc lsp`."""

import json
import re
import subprocess

from .world import WHAMMC

LINE_END = re.compile(r"\r\n|\n|\r")



class Client:
    """Starts a server for a folder. `notes` are the messages that came without being asked for."""

    def __init__(self, root, encodings=(), profile=False):
        self.process = subprocess.Popen([WHAMMC, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.id, self.notes, self.texts = 0, [], {}
        general = {"positionEncodings": list(encodings)} if encodings else {}
        self.server = self.ask("initialize", rootUri=f"file://{root}", initializationOptions={"profile": profile},
                               capabilities={"general": general, "workspace": {"inlayHint": {"refreshSupport": True}}})
        self.tell("initialized")

    def send(self, message):
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def receive(self):
        """The next message, None at the end."""
        length = 0
        while line := self.process.stdout.readline():
            if line == b"\r\n":
                return json.loads(self.process.stdout.read(length))
            name, value = line.split(b":")
            assert name == b"Content-Length", line
            length = int(value)
        return None

    def tell(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer_to(self, identity):
        while (message := self.receive()) is not None:
            if message.get("id") == identity and "method" not in message:
                return message
            self.notes.append(message)
        raise EOFError(f"the server has ended: {self.process.wait()}")

    def ask(self, method, **params):
        """The result of a request; an error is returned as the whole message."""
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        answer = self.answer_to(self.id)
        return answer if "error" in answer else answer["result"]

    def open(self, uri, text, version=1):
        self.texts[uri] = text
        self.tell("textDocument/didOpen", textDocument={"uri": uri, "languageId": "whamm", "version": version, "text": text})

    def place(self, uri, offset):
        """A position in an open text by its offset, which is not between "\\r" and "\\n"."""
        lines = LINE_END.split(self.texts[uri][:offset])
        return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}

    def about(self, uri, kind, where=None, after=0, **params):
        """The result of a request about a document; at the text `where`, or so many characters after its beginning."""
        if where is not None:
            offset = where if isinstance(where, int) else self.texts[uri].index(where) + after
            params["position"] = self.place(uri, offset)
        return self.ask(f"textDocument/{kind}", textDocument={"uri": uri}, **params)

    def edit(self, uri, start, end, text, version):
        """Replaces a part of a text."""
        change = {"range": {"start": self.place(uri, start), "end": self.place(uri, end)}, "text": text}
        self.texts[uri] = self.texts[uri][:start] + text + self.texts[uri][end:]
        self.tell("textDocument/didChange", textDocument={"uri": uri, "version": version}, contentChanges=[change])

    def messages(self, uri, version):
        """What is wrong with a version of a text."""
        while True:
            for note in self.notes:
                if note.get("method") == "textDocument/publishDiagnostics" and note["params"]["uri"] == uri and note["params"].get("version") == version:
                    return note["params"]["diagnostics"]
            message = self.receive()
            if message is None:
                raise EOFError("the server has ended")
            self.notes.append(message)

    def until(self, method):
        """The next message with this method."""
        while (message := self.receive()) is not None:
            if message.get("method") == method:
                return message["params"]
            self.notes.append(message)
        raise EOFError("the server has ended")

    def end(self):
        """The exit status."""
        self.ask("shutdown")
        self.tell("exit")
        return self.process.wait(timeout=60)


def labels(completion):
    return [item["label"] for item in completion["items"]]
