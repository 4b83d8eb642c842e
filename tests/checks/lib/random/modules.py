"""Random modules of Binaryen's generator (wasm-opt -ttf). Debian's knows the features of 2019 well; if npm's package is there,
its wasm-opt makes some modules with exceptions, GC, tail calls, several memories and memory64."""

import os
import random

from ..commands import call
from ..world import ENGINES

COMMON = ["--enable-mutable-globals", "--enable-sign-ext", "--enable-nontrapping-float-to-int", "--enable-bulk-memory"]
OLD = [
    ["--mvp-features"],
    ["--mvp-features", *COMMON, "--enable-simd"],
    ["--mvp-features", *COMMON, "--enable-threads"],
]
NEW_BASE = ["--mvp-features", *COMMON, "--enable-multivalue", "--enable-reference-types"]
NEW = [
    NEW_BASE,
    [*NEW_BASE, "--enable-tail-call", "--enable-exception-handling", "--enable-extended-const"],
    [*NEW_BASE, "--enable-tail-call", "--enable-multimemory", "--enable-memory64"],
    [*NEW_BASE, "--enable-gc", "--enable-exception-handling"],
]


def make_tools(node):
    """What makes modules, by seed."""
    tools = [(["wasm-opt"], f) for f in OLD]
    newer = os.path.join(ENGINES, "node_modules", "binaryen", "bin", "wasm-opt")
    if os.path.exists(newer):
        # Slow to start: every second module only.
        tools = [t for f in NEW for t in (*tools, ([node, newer], f))]
    return tools


def make(seed, tools, directory):
    """A module; None if the generator gives up."""
    source = random.Random(seed)
    data = os.path.join(directory, "data")
    with open(data, "wb") as file:
        file.write(source.randbytes(source.choice([300, 1500, 4000, 9000])))
    tool, features = tools[seed % len(tools)]
    module = os.path.join(directory, f"{seed}.wasm")
    done = call([*tool, "-ttf", data, "-o", module, *features])
    return module if done.returncode == 0 and os.path.exists(module) else None
