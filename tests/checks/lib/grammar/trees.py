"""What the tree-sitter grammar in editors/ makes of scripts. Run as a program by the Python that has tree-sitter: see ask().

A request on standard input, {"texts": […], "queries": {name: text}}, gives for each text whether it has errors and its tree as an
S-expression. With "edits", for each text a list of [from, to, new bytes], it tells whether following them leads to the tree of the result.
A query that does not fit the grammar ends the program."""

import ctypes
import json
import os
import sys
import warnings

GRAMMAR = "editors/tree-sitter-whamm"
NEEDED = "import tree_sitter"


def ask(texts, library, **more):
    from ..commands import must
    from ..world import PYTHON

    return json.loads(must([PYTHON, os.path.abspath(__file__)], text=json.dumps({"texts": texts, "library": library, **more})).stdout)


def build(directory):
    """Compiles the parser. Returns its library; an exception says what the compiler says."""
    from ..commands import must
    from ..world import SOURCE

    source, library = os.path.join(SOURCE, GRAMMAR, "src"), os.path.join(directory, "whamm.so")
    must([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-I{source}", "-o", library,
          os.path.join(source, "parser.c"), os.path.join(source, "scanner.c")])
    return library


def _point(text, at):
    return text.count(b"\n", 0, at), at - text.rfind(b"\n", 0, at) - 1


def _follows(parser, text, edits):
    """Whether the tree that is kept up to date is the one of the whole text. Mistakes may be overcome in another way."""
    tree = parser.parse(text)
    for start, end, piece in edits:
        new = text[:start] + piece.encode() + text[end:]
        stop = start + len(piece.encode())
        tree.edit(start, end, stop, _point(text, start), _point(text, end), _point(new, stop))
        text, tree = new, parser.parse(new, tree)
    fresh = parser.parse(text)
    return str(fresh.root_node) == str(tree.root_node) or fresh.root_node.has_error and tree.root_node.has_error


def _main():
    import tree_sitter

    warnings.simplefilter("ignore")
    request = json.load(sys.stdin)
    whamm = ctypes.CDLL(request["library"]).tree_sitter_whamm
    whamm.restype = ctypes.c_void_p
    language = tree_sitter.Language(whamm())
    parser = tree_sitter.Parser(language)
    for name, query in request.get("queries", {}).items():
        try:
            language.query(query)
        except Exception as error:  # of several kinds
            sys.exit(f"{name}: {error}")
    answers = []
    for i, text in enumerate(request["texts"]):
        root = parser.parse(text.encode()).root_node
        answers.append({"errors": root.has_error, "tree": str(root)})
        if "edits" in request:
            answers[i]["follows"] = _follows(parser, text.encode(), request["edits"][i])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    _main()
