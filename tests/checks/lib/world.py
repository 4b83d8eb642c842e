"""Where things are. tests/run says it by the environment; a check that is run by hand takes the build directory it is started in."""

import os
import sys

SOURCE = os.path.abspath(os.environ.get("WHAMMC_SRCDIR") or os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.append(os.path.join(SOURCE, "scripts"))  # formats
TESTS = os.path.join(SOURCE, "tests")
GOLDEN, FIXTURES = os.path.join(TESTS, "golden"), os.path.join(TESTS, "fixtures")
SCRIPTS = os.path.join(FIXTURES, "scripts")
BUILD = os.path.abspath(os.environ.get("WHAMMC_BUILDDIR") or ".")
JS_PACKAGE = os.path.abspath(os.environ.get("WHAMMC_JS_PACKAGE") or os.path.join(BUILD, "js", "package"))  # of `make js`
WHAMMC = os.path.abspath(os.environ.get("WHAMMC") or os.path.join(BUILD, "whammc"))
ENGINES = os.path.abspath(os.environ.get("WHAMMC_ENGINES") or os.path.join(TESTS, "engines"))
MODULES = os.path.join(ENGINES, "node_modules")
RUNTIMES = os.environ.get("WHAMMC_RUNTIMES") or os.path.join(ENGINES, "runtimes", "node_modules")  # Deno, Bun, Node 22
RUNNERS = os.environ.get("WHAMMC_RUNNERS") or os.path.join(ENGINES, "runners", "node_modules")  # Jest, Mocha, Vitest
PYTHON = os.path.join(ENGINES, "venv", "bin", "python")  # one that has wasmtime
PROGRAMS = os.path.join(BUILD, "examples", "programs")
WAT2WASM = os.path.join(MODULES, "wabt", "bin", "wat2wasm")  # for Node; knows more than an installed one
LIB = os.path.dirname(os.path.abspath(__file__))
RUNNER = os.path.join(LIB, "host", "run.mjs")  # runs a module in Node
WIZENG = os.environ.get("WIZENG", "")
ALL_FORMS = os.environ.get("WHAMMC_FORMS") == "all"
EXAMPLE_SCRIPTS = os.path.join(SOURCE, "examples", "scripts")
# Functions of the public library that the program whammc needs, but not who uses a package.
FOR_THE_PROGRAM = {"whammc_acts", "whammc_core_modules", "whammc_entries", "whammc_explain_package", "whammc_manual", "whammc_topic", "whammc_format_script", "whammc_measures_times", "whammc_set_sink", "whammc_program_hash", "whammc_report_annotate",
                   "whammc_report_format_of_file", "whammc_report_format_traits", "whammc_report_threads",
                   "whammc_server_report", "whammc_server_output", "whammc_server_ran"}


def by_turns(forms, turn, of=2):
    """Some of the forms of a case, one of so many, and others each turn, so that all cases together have all of them; all with WHAMMC_FORMS=all."""
    return list(forms) if ALL_FORMS else list(forms)[turn % of::of]


def chosen_seeds(variable, default):
    """The seeds that an environment variable names, FIRST-LAST or COUNT."""
    first, _, last = os.environ.get(variable, str(default)).partition("-")
    return range(int(first), int(last) + 1) if last else range(1, int(first) + 1)


def read(path):
    """The text of a file of the project."""
    with open(os.path.join(SOURCE, path), encoding="utf-8", newline="") as file:
        return file.read()
