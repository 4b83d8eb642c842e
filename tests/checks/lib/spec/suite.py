"""WebAssembly's official test suite: its scripts, and the modules in them with what is said about each.

Scripts are translated by wast2json (in PATH). What it cannot translate goes, module by module, to the command in WASM_PARSER
(default: parse.py, by WHAMMC_WASMTIME_PYTHON, a Python with the package wasmtime): it is called with a directory and writes X.wasm
for each X.wat there, without validating; a text it refuses counts as malformed text.
"""

import collections
import fnmatch
import json
import os
import subprocess

# Scripts about text annotations, and those that custom descriptors have anew: there br_on_cast need not be to a subtype.
LEFT_OUT = ("custom/*", "br_on_cast.wast", "br_on_cast_fail.wast")
# What these scripts call wrong was so before multiple memories and tables, or is so without stack switching.
OUTDATED = ("proposals/threads/imports.wast", "proposals/threads/memory.wast", "tag.wast")
OUTDATED_MESSAGES = ("multiple memories", "multiple tables", "non-empty tag result type")

Case = collections.namedtuple("Case", "path valid line what")


class Untranslated(Exception):
    """A script that the tools at hand cannot translate."""


# --- With wast2json -------------------------------------------------------------------------------------


def by_wast2json(script, directory):
    """The cases of a script."""
    outdated = OUTDATED_MESSAGES if script.endswith(OUTDATED) else ()
    output = os.path.join(directory, "script.json")
    done = subprocess.run(["wast2json", "--enable-all", script, "-o", output], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    if done.returncode:
        raise Untranslated(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "wast2json failed")
    with open(output, encoding="utf-8") as file:
        commands = json.load(file)["commands"]
    cases = []
    for command in commands:
        name = command.get("filename", "")
        if not name.endswith(".wasm"):
            continue
        what = command.get("text", "")
        valid = command["type"] not in ("assert_invalid", "assert_malformed") or what in outdated
        cases.append(Case(os.path.join(directory, name), valid, command["line"], what))
    return cases


# --- Module by module -----------------------------------------------------------------------------------


def skip_blank(text, at):
    """Steps over blanks and comments."""
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith(";;", at):
            at = (text.find("\n", at) + len(text) + 1) % (len(text) + 1)
        elif text.startswith("(;", at):
            depth, at = 1, at + 2
            while depth and at < len(text):
                pair = text[at:at + 2]
                depth += (pair == "(;") - (pair == ";)")
                at += 2 if pair in ("(;", ";)") else 1
        else:
            break
    return at


def skip_atom(text, at):
    """Steps over a string or a word."""
    if text[at] != '"':
        while at < len(text) and text[at] not in ' \t\r\n()";':
            at += 1
        return max(at, at + (at < len(text) and text[at] == ";"))
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def items(text, at):
    """What is inside the parenthesis at `at`: (start, end) of each item, and the end of the whole."""
    found, at = [], skip_blank(text, at + 1)
    while text[at] != ")":
        start = at
        if text[at] == "(":
            at = items(text, at)[1]
        else:
            at = skip_atom(text, at)
        found.append((start, at))
        at = skip_blank(text, at)
    return found, at + 1


def unquote(string):
    """The text of a string literal of the script."""
    out, at = bytearray(), 1
    while at < len(string) - 1:
        char = string[at]
        at += 1
        if char != "\\":
            out += char.encode()
            continue
        simple = {"n": 10, "t": 9, "r": 13, '"': 34, "'": 39, "\\": 92}
        if string[at] in simple:
            out.append(simple[string[at]])
            at += 1
        elif string[at] == "u":
            end = string.index("}", at)
            out += chr(int(string[at + 2:end].replace("_", ""), 16)).encode()
            at = end + 1
        else:
            out.append(int(string[at:at + 2], 16))
            at += 2
    return bytes(out)


def module_text(text, start, end):
    """The bytes of a text module for the parser, or None for what is no module (an instance)."""
    parts = [text[a:b] for a, b in items(text, start)[0]][1:]
    words = 0
    while words < len(parts) and (parts[words] == "definition" or parts[words].startswith("$")):
        words += 1
    rest = parts[words:]
    if rest[:1] == ["instance"]:
        return None
    if rest[:1] == ["quote"]:
        body = b" ".join(unquote(part) for part in rest[1:])
        return body if body.lstrip().startswith(b"(module") else b"(module " + body + b")"
    if "definition" in parts[:words]:
        return ("(module " + " ".join(rest) + ")").encode()
    return text[start:end].encode()


def by_parser(script, directory, parser):
    """The cases of a script; its modules are cut out and handed to the parser."""
    outdated = OUTDATED_MESSAGES if script.endswith(OUTDATED) else ()
    with open(script, encoding="utf-8") as file:
        text = file.read()
    cases, at = [], skip_blank(text, 0)
    while at < len(text):
        start = at
        inner, at = items(text, at)
        word = text[inner[0][0]:inner[0][1]]
        line = text.count("\n", 0, start) + 1
        place = (start, at) if word == "module" else inner[1] if word.startswith("assert_") else None
        if not place or not text.startswith("(module", place[0]):
            at = skip_blank(text, at)
            continue
        module = module_text(text, *place)
        at = skip_blank(text, at)
        if module is None:
            continue
        path = os.path.join(directory, f"module{len(cases)}")
        with open(path + ".wat", "wb") as file:
            file.write(module)
        what = text[slice(*inner[-1])].strip('"') if word.startswith("assert_") else ""
        valid = word not in ("assert_invalid", "assert_malformed") or what in outdated
        cases.append(Case(path + ".wasm", valid, line, what))
    subprocess.run([*parser.split(), directory], check=True, stdin=subprocess.DEVNULL)
    for case in cases:
        if not os.path.exists(case.path) and case.valid:
            raise Untranslated(f"line {case.line} is not understood by {parser}")
    return [case for case in cases if os.path.exists(case.path)]


# --- Running --------------------------------------------------------------------------------------------


def accepted(program, paths):
    """Which of the files the program says are valid."""
    valid = set()
    for at in range(0, len(paths), 400):
        done = subprocess.run([program, *paths[at:at + 400]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              encoding="utf-8", errors="replace")
        if done.returncode not in (0, 1):
            raise SystemExit(f"Bail out! {program} ended with status {done.returncode}")
        valid.update(line[:-len(": valid")] for line in done.stdout.splitlines() if line.endswith(": valid"))
    return valid


def find_parser():
    """The command that assembles what wast2json cannot, or None."""
    python = os.environ.get("WHAMMC_WASMTIME_PYTHON", "")
    if os.environ.get("WASM_PARSER") or not os.path.exists(python):
        return os.environ.get("WASM_PARSER")
    return f"{python} {os.path.join(os.path.dirname(os.path.abspath(__file__)), 'parse.py')}"


def translate(script, directory, parser):
    """The cases of a script, with whatever tool can."""
    try:
        return by_wast2json(script, directory)
    except Untranslated:
        if not parser:
            raise
    return by_parser(script, directory, parser)


def find_scripts(suite, globs):
    """The names of the scripts to run."""
    names = []
    for top, directories, files in os.walk(suite):
        directories[:] = sorted(d for d in directories if not d.startswith("."))
        names += [os.path.relpath(os.path.join(top, file), suite) for file in sorted(files) if file.endswith(".wast")]
    return [name for name in names if not any(fnmatch.fnmatch(name, glob) for glob in LEFT_OUT)
            and (not globs or any(fnmatch.fnmatch(name, glob) for glob in globs))]
