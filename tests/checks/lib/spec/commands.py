"""The scripts of WebAssembly's official test suite as commands for tests/unit/evaluate, and what is said about each answer.

They are translated by wasm-tools json-from-wast (WASM_TOOLS, or in PATH), which knows all of them, or else by wast2json.
"""

import json
import os
import shutil
import subprocess

from .suite import Untranslated

# Proposals with instructions that the interpreter does not know, and scripts about the text format.
LEFT_OUT = ("simd_", "relaxed_", "proposals/threads/", "legacy/", "annotations.wast", "comments.wast")
UNSUPPORTED = "3"  # of EvalStatus
ASSERTS = ("assert_return", "assert_trap", "assert_exhaustion", "assert_uninstantiable", "assert_unlinkable")
# What wast2json calls a trap, where the interpreter says it in other words.
SYNONYMS = {"undefined": "undefined element", "uninitialized": "uninitialized element"}


class Wrong(Exception):
    """An answer that is not as the script says."""


def wasm_tools():
    """The program, or None."""
    return shutil.which(os.environ.get("WASM_TOOLS", "wasm-tools"))


def translate(script, directory):
    """The commands of a script."""
    output = os.path.join(directory, "script.json")
    if wasm_tools():
        tool = [wasm_tools(), "json-from-wast", script, "-o", output, "--wasm-dir", directory]
    else:
        tool = ["wast2json", "--enable-all", script, "-o", output]
    done = subprocess.run(tool, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace")
    if done.returncode:
        raise Untranslated(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"{tool[0]} failed")
    with open(output, encoding="utf-8") as file:
        return json.load(file)["commands"]


# --- Commands -------------------------------------------------------------------------------------------


def name(text):
    """A name as `evaluate` reads it."""
    return "-" if text is None else text.encode("utf-8", "surrogatepass").hex() or '""'


def binary(command, directory):
    """The file of a command's module, translated if it is text."""
    path = os.path.join(directory, command["filename"])
    if path.endswith(".wasm"):
        return path
    done = subprocess.run(["wat2wasm", "--enable-all", path, "-o", path + ".wasm"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    if done.returncode:
        raise Untranslated(done.stderr.strip().splitlines()[0])
    return path + ".wasm"


def line_of(command, directory, definitions):
    """The line for `evaluate`, or None for what it has nothing to do with."""
    kind = command["type"]
    if kind in ("assert_uninstantiable", "assert_unlinkable", "module"):
        return f"module {name(command.get('name'))} {binary(command, directory)}"
    if kind == "module_definition":
        definitions[command.get("name")] = definitions[None] = binary(command, directory)
    if kind == "module_instance":
        return f"module {name(command.get('instance'))} {definitions[command.get('module')]}"
    if kind == "register":
        return f"register {name(command['as'])} {name(command.get('name'))}"
    action = command.get("action")
    if not action or kind not in ("action", "assert_return", "assert_trap", "assert_exhaustion"):
        return None
    words = ["call" if action["type"] == "invoke" else "get", name(action.get("module")), name(action["field"])]
    words += [f"{arg['type']}:{arg['value']}" for arg in action.get("args", ())]
    return " ".join(words)


def is_nan(bits, width, quiet_only):
    """A canonical NaN (any sign), or an arithmetic one."""
    mantissa = 23 if width == 32 else 52
    payload = bits & ((1 << mantissa) - 1)
    exponent = bits >> mantissa & ((1 << (width - mantissa - 1)) - 1)
    if exponent != (1 << (width - mantissa - 1)) - 1:
        return False
    return payload == 1 << (mantissa - 1) if quiet_only else payload >> (mantissa - 1) == 1


def check_value(want, have):
    """One result."""
    kind, _, bits = have.partition(":")
    value = want.get("value")
    if want["type"] in ("f32", "f64") and value in ("nan:canonical", "nan:arithmetic"):
        good = kind == want["type"] and is_nan(int(bits), int(kind[1:]), value == "nan:canonical")
    elif want["type"] in ("i32", "i64", "f32", "f64"):
        good = kind == want["type"] and int(bits) == int(value) % (1 << int(kind[1:]))
    elif value in (None, "null"):  # any reference of the type, or null
        good = kind not in ("i32", "i64", "f32", "f64") and (value is None or bits == "null")
    else:
        good = bits == value
    if not good:
        raise Wrong(f"expected {want['type']}:{value}, got {have}")


def check(command, answer):
    """Compares an answer with what the script says."""
    kind, words = command["type"], answer.split(" ")
    if kind not in ASSERTS:
        if words[0] != "ok":
            raise Wrong(f"{kind}: {answer}")
    elif kind == "assert_return":
        if words[0] != "ok":
            raise Wrong(f"expected to return, got {answer}")
        expected = command.get("expected", [])
        if len(expected) != len(words) - 1:
            raise Wrong(f"expected {len(expected)} results, got {answer}")
        for want, have in zip(expected, words[1:]):
            check_value(want, have)
    else:
        text = SYNONYMS.get(command["text"], command["text"])
        got = answer.split(" ", 2)[2] if words[0] == "error" else answer
        if words[0] != "error" or not (got.startswith(text) or text.startswith(got.split(" (")[0])):
            raise Wrong(f"expected {text}, got {answer}")

