"""What the checks of monitors share: scripts as monitors, programs run with them in several ways, reports compared."""

import collections
import os
import re
import tempfile

from .commands import call
from .world import BUILD, WHAMMC, WIZENG

BANNER = re.compile(r"\n?^=+ REPORT CSV FLUSH =+\n.*\n", re.M)
ID = re.compile(r"^.*?(?=, \(?(?:memaddr|global_id|map_id)\b)", re.M)

# How a program ran: its standard output and exit status; what scripts and messages put on standard error, ids left out.
Run = collections.namedtuple("Run", "output status report")

def wizard_modes():
    """Ways to run Wizard, by name; none without WIZENG."""
    if not os.access(WIZENG, os.X_OK):
        return {}
    return {f"Wizard, {mode}": ["--engine=wizard", f"--engine-option=--mode={mode}"] for mode in ("int", "jit")}


def libraries(script):
    """Name -> file, but for those that whammc has itself."""
    with open(script, encoding="utf-8") as file:
        names = set(re.findall(r"^use (\w+);", file.read(), re.M)) - {"whamm_core", "time", "dyninstr"}
    return {name: f"{BUILD}/examples/libs/{name}.wasm" for name in sorted(names)}


def compile_monitor(script, path, *options):
    """None, or what whammc says why it cannot be done."""
    flags = [f"--lib={name}={file}" for name, file in libraries(script).items()]
    done = call([WHAMMC, "monitor", "-s", script, *flags, *options, "-o", path])
    return None if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"


def comparable(report):
    """A report without what differs from run to run: ids, and the times of a call tree."""
    return re.sub(r"(\d+->\(\d+,\d+,\d+),\d+\)", r"\1,_)", ID.sub("_", report))


def rows(run):
    """How many rows the report has."""
    return len(re.findall(r"^_, ", run.report, re.M))


def without_warnings(text):
    """About probes without sites."""
    return "".join(line for line in text.splitlines(True) if not line.startswith('{"severity":"warning"'))


def text_of(path):
    """Nothing if there is no such file."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="backslashreplace", newline="") as file:
        return file.read()


def rewritten(script, engine, program, report):
    """Runs a program (its path and arguments) that the rewriter has instrumented; the report goes to a file."""
    flags = [f"--lib={name}={file}" for name, file in libraries(script).items()]
    if os.path.exists(report):
        os.remove(report)
    done = call([WHAMMC, "run", "--message-format=json", f"--engine={engine}", "--link=merge", *flags, "-s", script, "-o", report, *program])
    return Run(done.stdout, done.returncode, without_warnings(done.stderr) + comparable(text_of(report)))


def attached(monitor, flags, program):
    """Runs it with a monitor, bound or by the engine; the report goes to a file."""
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, "report.csv")
        done = call([WHAMMC, "run", "--message-format=json", f"--monitor={monitor}", *flags, "-o", report, *program])
        return Run(done.stdout, done.returncode, without_warnings(done.stderr) + comparable(text_of(report)))


def differences(name, expected, run):
    """What is wrong with a run."""
    problems = []
    if run[:2] != expected[:2]:
        problems.append(f"{name}: exit status {run.status}, not {expected.status}, or another output:\n{run.output[-300:]}{run.report[-300:]}")
    elif run.report != expected.report:
        pairs = list(zip(expected.report.splitlines(), run.report.splitlines()))
        wrong = [f"-{a}\n+{b}" for a, b in pairs if a != b]
        problems.append(f"{name}: {rows(run)} rows instead of {rows(expected)}, {len(wrong)} differ:\n" + "\n".join(wrong[:3]))
    return problems
