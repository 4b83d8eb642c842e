"""Engines that stay: what most tests run takes less time than starting an engine for it."""

import collections
import json
import os
import select
import signal
import subprocess
import tempfile
import threading

MOST = 200  # runs of one process: what WASI opens in Node stays open


class Server:
    """A process that runs modules one after the other; `command` with two files for what they print is an engine's --serve."""

    def __init__(self, command, environment):
        self.command, self.runs = command, 0
        self.directory = tempfile.TemporaryDirectory(prefix="whammc-server-")
        self.input, self.output, self.errors = (os.path.join(self.directory.name, name) for name in ("input", "output", "errors"))
        for path in self.input, self.output, self.errors:
            open(path, "wb").close()
        self.process = subprocess.Popen(
            [*command, self.output, self.errors], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True)

    def run(self, words, directory, text, timeout):
        """As subprocess.run does it. If the process ends, so has the run, with its exit status."""
        self.runs += 1
        for path in self.output, self.errors:
            os.truncate(path, 0)
        with open(self.input, "w", encoding="utf-8") as file:
            file.write(text)
        order = {"words": words, "directory": os.path.abspath(directory or "."), "input": self.input if text else os.devnull}
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.answer(words, timeout)
        status = int(answer) if answer else self.process.wait()
        return subprocess.CompletedProcess(words, status, self.read(self.output), self.read(self.errors))

    def answer(self, words, timeout):
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired([*self.command, *words], timeout)
        return self.process.stdout.readline()

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            return file.read()

    def can_go_on(self):
        return self.runs < MOST and self.process.poll() is None

    def end(self):
        """Ends the process, and what it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.directory.cleanup()


class Servers:
    """As many of each engine as threads ask at a time."""

    def __init__(self, environment):
        self.environment, self.lock = environment, threading.Lock()
        self.idle = collections.defaultdict(list)  # command -> servers

    def run(self, command, words, directory=None, text="", timeout=300):
        """Runs an engine, which is `command`, with these words."""
        with self.lock:
            servers = self.idle[tuple(command)]
            server = servers.pop() if servers else None
        server = server or Server(command, self.environment)
        try:
            done = server.run(words, directory, text, timeout)
        except BaseException:
            server.end()
            raise
        if not server.can_go_on():
            server.end()
            return done
        with self.lock:
            self.idle[tuple(command)].append(server)
        return done

    def end(self):
        for servers in self.idle.values():
            for server in servers:
                server.end()
        self.idle.clear()
