"""The project's scripts, cut into tokens and changed, and what whammc says about many scripts at once."""

import glob
import json
import os
import re
import tempfile

from ..commands import call
from ..world import GOLDEN, SOURCE, WHAMMC, read

TOKEN = re.compile(r'\s+|//[^\n]*|/\*(?s:.*?)\*/|"(?s:\\.|[^"\\])*"|\d(?:\w|\.(?!\.))*|\w+|\.\.|\+\+|--|&&|\|\||<<=|>>=|[-+*/%&|^=!<>]=|<<|>>|->|(?s:.)')
# Messages that say that a text does not follow the grammar.
SYNTAX = {"syntax", "bad-number", "bad-character", "bad-escape", "open-string", "open-comment", "rule-shape", "no-probe", "use-place"}
INSERTED = ["{", "}", "(", ")", ";", ":", ",", "/", "=", "x", "if", "var", "return", "1", "-", "'", "map", ".", "true", "use", "fn", "const", "delete", "in"]


def tokens(text):
    """The tokens of a script with the blanks and comments between them, which can be joined again."""
    return TOKEN.findall(text)


def is_blank(token):
    return token.isspace() or token.startswith(("//", "/*"))


def without_packages(text):
    """The script with one word in place of what follows the name of a package, "alloc.size": what such a name is depends on the script."""
    found, packages, use = [], set(), None
    for token in tokens(text):
        if is_blank(token):
            found.append(token)
            continue
        words = [t for t in found if not is_blank(t)][-3:]
        if token == "use":
            use = []
        elif use is not None and token != ";":
            use.append(token)
        elif use is not None:
            if len(use) > 2 and re.fullmatch(r"\w+(\.\w+)+(as\w+)?", "".join(use)):
                packages.add(use[-1])
            use = None
        joins = len(found) > 1 and found[-1] == "." and found[-2] in packages and re.match(r"[A-Za-z_]", token)
        if joins and use is None and not (len(words) == 3 and words[0] in (".", "var", "const", "fn")):
            found[-2:] = [f"{found[-2]}_{token}"]
        else:
            found.append(token)
    return "".join(found)


def files():
    """The paths of all scripts that are files."""
    return sorted(path for folder in ("stdlib", "examples", "tests/fixtures") for path in glob.glob(os.path.join(SOURCE, folder, "**/*.whamm"), recursive=True))


def scripts():
    """The texts of all scripts: those that are files, of the golden tests, of the manual."""
    found = [read(path) for path in files()]
    for path in glob.glob(os.path.join(GOLDEN, "*", "*.test")):
        for head, text in re.findall(r"^--- ((?:script|file \S+\.(?:whamm|mm)))\n(.*?)(?=^--- |\Z)", read(path), re.M | re.S):
            found.append(text.replace("\n\\---", "\n---").rstrip("\n") + "\n")
    for path in glob.glob(os.path.join(SOURCE, "docs/*.md")):
        found += re.findall(r"^```whamm\n(.*?)^```", read(path), re.M | re.S)
    return sorted(set(found))


def check(texts):
    """For each script the list of messages of `whammc check`, as dictionaries; None after a crash."""
    with tempfile.TemporaryDirectory() as directory:
        names = [os.path.join(directory, f"{i}.whamm") for i in range(len(texts))]
        for name, text in zip(names, texts):
            with open(name, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        messages = [[] for _ in texts]
        for first in range(0, len(names), 500):
            some = names[first : first + 500]
            done = call([WHAMMC, "check", "--message-format=json", *some])
            if done.returncode not in (0, 1) and len(some) > 1:
                for i, text in enumerate(texts[first : first + 500]):
                    messages[first + i] = check([text])[0]
                continue
            if done.returncode not in (0, 1):
                return [None]
            for line in done.stderr.splitlines():
                message = json.loads(line)
                if "file" not in message: # how many errors are not shown
                    continue
                messages[int(os.path.basename(message["file"]).split(".")[0])].append(message)
    return messages


def errors(messages):
    return [m for m in messages if m["severity"] == "error"]


def parses(texts, but=()):
    """Whether whammc finds that each text follows the grammar, but for some messages."""
    return [messages is not None and not any(m["tag"] in SYNTAX - set(but) for m in messages) for messages in check(texts)]


def mutants(texts, generator, count):
    """Scripts with a token left out, put in, replaced or exchanged."""
    for _ in range(count):
        parts = tokens(generator.choice(texts))
        places = [i for i, token in enumerate(parts) if not is_blank(token)]
        at, other = generator.choice(places), generator.choice(places)
        kind = generator.randrange(4)
        if kind == 0:
            parts[at] = ""
        elif kind == 1:
            parts[at] = f"{generator.choice(INSERTED)} {parts[at]}"
        elif kind == 2:
            parts[at] = parts[other]
        else:
            parts[at], parts[other] = parts[other], parts[at]
        yield "".join(parts)
