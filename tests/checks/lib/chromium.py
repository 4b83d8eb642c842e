"""Runs modules of proposals in headless Chromium."""

import json
import os
import shutil

from .commands import is_there, must
from .world import LIB

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
NODE = os.environ.get("WHAMMC_NODE24", "node24")


class Browser:
    """Runs modules. `flag` is V8's for the proposal, `probe` a module of it, in hexadecimal, behind the header."""

    def __init__(self, directory, flag, probe):
        self.profile, self.orders = os.path.join(directory, "browser"), []
        self.flag, self.probe = flag, probe

    def add(self, module, calls):
        """The number of its answer. `calls`: names of exports that are called."""
        self.orders.append({"module": module, "calls": calls})
        return len(self.orders) - 1

    def run(self):
        """The answers: {"printed": ..., "report": ...}, or {"error": ...}. None: there is no Chromium that knows the proposal."""
        if not CHROMIUM or not is_there(NODE):
            return None
        text = "".join(json.dumps(order) + "\n" for order in self.orders)
        done = must([NODE, os.path.join(LIB, "browser", "run.mjs"), CHROMIUM, self.profile, self.flag, self.probe], text=text, timeout=600)
        return None if done.stdout == "unknown\n" else [json.loads(line) for line in done.stdout.splitlines()]
