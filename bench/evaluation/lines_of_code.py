"""Whamm paper, Table 2: how long monitors are in each framework."""

import glob
import os
import re

from .experiment import Experiment, Job
from .measure import Failed
from .world import TOP

# Monitor -> our script; what else it consists of.
MONITORS = {"branches": ("branches", []), "imix": ("imix", []), "imix, with a map": ("imix-map", []), "hotness": ("hotness", []),
            "cache_sim": ("cache", ["examples/libs/cache.c"])}
HAND = {"branches": "branches-hw", "imix": "imix-hw", "hotness": "hotness-hw", "cache_sim": "cache-sim-hw"}
# The paper's table: Whamm, Wasabi, Walrus or Seal, Virgil (Wizard's own).
PUBLISHED = {"branches": (25, 29, 291, 221), "imix": (299, 84, 441, 705), "imix, with a map": (4, None, None, None),
             "hotness": (4, 96, 242, 189), "cache_sim": ("13 + 228", 168, 234, 295)}


def count(path, comment):
    """Lines with code: without empty ones and those that are a comment."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = re.sub(r"/\*.*?\*/|\(;.*?;\)", lambda match: "\n" * match[0].count("\n"), file.read(), flags=re.S)
    return sum(bool(line.strip()) and not line.strip().startswith(comment) for line in text.splitlines())


class LinesOfCode(Experiment):
    repeated = False
    name = "lines-of-code"
    title = "Whamm paper, Table 2: lines of code of each monitor"
    key = ("monitor", "framework")
    values = ("lines",)

    def jobs(self, world):
        for monitor, (script, more) in MONITORS.items():
            yield Job([(monitor, "whammc")], lambda s=script: [{"lines": count(world.script(s), "//")}])
            for path in more:
                yield Job([(monitor, "library in C")], lambda p=path: [{"lines": count(os.path.join(TOP, p), "//")}])
            if monitor in HAND and world.peers["WIZARD_HW"]:
                yield Job([(monitor, "by hand")], lambda m=monitor: [{"lines": self.by_hand(world.peers["WIZARD_HW"], HAND[m])}])

    @staticmethod
    def by_hand(folder, name):
        paths = glob.glob(os.path.join(glob.escape(folder), name + ".wat"))
        if not paths:
            raise Failed(f"{name}.wat is not there")
        return count(paths[0], ";;")

    def show(self, store, page):
        page.heading(self.title)
        page.text("Lines with code. The columns of the paper are what it prints; *by hand* is a monitor module in the text format, as "
                  "the authors of the paper wrote them for Wizard.")
        rows = []
        for monitor in store.column("monitor"):
            library = store.number("lines", monitor, "library in C")
            ours = f"{store.number('lines', monitor, 'whammc'):.0f}" + (f" + {library:.0f} in C" if library else "")
            hand = store.number("lines", monitor, "by hand")
            rows.append([monitor, ours, *("" if n is None else n for n in PUBLISHED[monitor]), "" if hand is None else f"{hand:.0f}"])
        page.table(["monitor", "whammc", "paper: Whamm", "Wasabi", "Walrus or Seal", "Virgil", "by hand (.wat)"], rows)
        page.remark("Our scripts are the examples that are installed. `branches` is shorter than the paper's, since `taken` is a "
                    "bound name. `imix` needs a variable and a probe for each category only if it is to do without a map.")
