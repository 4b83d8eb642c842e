"""What the tree-sitter grammar in editors/ makes of scripts. Run as a program by the Python that has tree-sitter: see ask().

A request on standard input, {"texts": […], "queries": {name: text}}, gives for each text whether it has errors, its tree as an
S-expression, and for each query the captures: names, places from 0, and the number of the pattern."""

import ctypes
import json
import os
import sys
import warnings

GRAMMAR = "editors/tree-sitter-whamm"
NEEDED = "import tree_sitter"


def ask(texts, library, queries=None):
    from ..commands import must
    from ..world import PYTHON

    request = json.dumps({"texts": texts, "library": library, "queries": queries or {}})
    return json.loads(must([PYTHON, os.path.abspath(__file__)], text=request).stdout)


def build(directory):
    """Compiles the parser. Returns its library; an exception says what the compiler says."""
    from ..commands import must
    from ..world import SOURCE

    source, library = os.path.join(SOURCE, GRAMMAR, "src"), os.path.join(directory, "whamm.so")
    must([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-I{source}", "-o", library,
          os.path.join(source, "parser.c"), os.path.join(source, "scanner.c")])
    return library


def _captures(language, query, tree):
    return [{"name": name, "start": node.start_point, "end": node.end_point, "length": node.end_byte - node.start_byte, "pattern": pattern}
            for pattern, captures in language.query(query).matches(tree.root_node) for name, nodes in captures.items() for node in nodes]


def _main():
    import tree_sitter

    warnings.simplefilter("ignore")
    request = json.load(sys.stdin)
    whamm = ctypes.CDLL(request["library"]).tree_sitter_whamm
    whamm.restype = ctypes.c_void_p
    language = tree_sitter.Language(whamm())
    parser = tree_sitter.Parser(language)
    for name, query in request["queries"].items():
        try:
            language.query(query)
        except Exception as error:  # of several kinds
            sys.exit(f"{name}: {error}")
    answers = []
    for text in request["texts"]:
        tree = parser.parse(text.encode())
        answers.append({"errors": tree.root_node.has_error, "tree": str(tree.root_node),
                        "captures": {name: _captures(language, query, tree) for name, query in request["queries"].items()}})
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    _main()
