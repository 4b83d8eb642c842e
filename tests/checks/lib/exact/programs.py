"""Programs for checks that count: those of golden tests, and random ones of Binaryen's generator and of flow.py, steps.py and modern.py."""

import glob
import os
import random
import re

from . import exact, flow, modern, objects, odd, steps
from ..commands import call, try_assemble
from ..world import FIXTURES, GOLDEN

COMMON = ["--enable-mutable-globals", "--enable-sign-ext", "--enable-nontrapping-float-to-int", "--enable-bulk-memory"]
FEATURES = [
    ["--mvp-features", "--denan"],
    ["--mvp-features", "--denan", *COMMON, "--enable-multivalue"],
    ["--mvp-features", "--denan", *COMMON, "--enable-tail-call"],
    ["--mvp-features", *COMMON, "--enable-simd", "--enable-multivalue"],
]


def make_flow(seed, directory, kind=flow.Flow, change=lambda made: made):
    """A module with random control flow."""
    module = os.path.join(directory, f"{seed}.wasm")
    with open(module, "wb") as file:
        file.write(change(kind(seed, (0, 4, 12, 40)[seed % 4]).module()))
    return module


def make_steps(seed, directory):
    """The same, with loops that are counted by what they do to a local."""
    return make_flow(seed, directory, steps.Steps)


def make_modern(seed, directory):
    """The same, with instructions of WebAssembly 2.0 and 3.0; every second one in an odd form."""
    return make_flow(seed, directory, modern.Modern, odd.Odd(seed).module if seed % 2 else lambda made: made)


def make_objects(seed, directory):
    """The same, with instructions that the interpreter cannot run."""
    return make_flow(seed, directory, objects.Objects)


def make_fuzz(seed, directory):
    """A module of wasm-opt's; None if its generator gives up."""
    source = random.Random(seed)
    data, module = os.path.join(directory, f"{seed}.data"), os.path.join(directory, f"{seed}.wasm")
    with open(data, "wb") as file:
        file.write(source.randbytes(source.choice([1500, 4000, 9000, 20000, 60000])))
    done = call(["wasm-opt", "-ttf", data, "-o", module, *FEATURES[seed % len(FEATURES)]])
    return module if done.returncode == 0 and os.path.exists(module) else None


def find_texts():
    """The programs in golden tests that are text: (name, text)."""
    found = {}
    for path in sorted(glob.glob(os.path.join(GOLDEN, "*", "*.test"))):
        if path.endswith(("budget.test", "ends-beside-main.test", "engine-limit.test", "no-wasi.test")):
            # its modules never end; it has two ways in, and what is bound reports after the first; it has no place for more;
            # it keeps the time in its memory
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            sections = re.split(r"^--- (.*)\n", file.read(), flags=re.MULTILINE)
        name = os.path.relpath(path, GOLDEN)[:-5].replace(os.sep, "-")
        for head, text in zip(sections[1::2], sections[2::2]):
            if head == "app" or re.match(r"file \S+\.wat$", head):
                found.setdefault(text, f"{name}-{len(found)}")
    for path in sorted(glob.glob(os.path.join(FIXTURES, "apps", "*.wat"))):
        with open(path, encoding="utf-8") as file:
            found.setdefault(file.read(), os.path.basename(path)[:-4])
    return [(name, text) for text, name in found.items()]


def assemble(name, text, directory):
    """A program, or None: not what the assembler knows."""
    module = try_assemble(text, os.path.join(directory, f"{name}.wasm"))
    return exact.Program(name, module) if module else None
