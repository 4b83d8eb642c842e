"""The wheel of the Python package, for checks that use it."""

import glob
import json
import os
import re
import shutil

from .commands import call, must, succeeds
from .tap import expect, result, skip
from .world import BUILD, LIB, PROGRAMS, PYTHON, SOURCE, read

PACKAGE = "bindings/python"


def why_not():
    """Why it cannot be built here; "" if it can."""
    if not succeeds([PYTHON, "-c", "import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path('include') + '/Python.h'))"]):
        return "there is no Python.h: scripts/setup --test"
    if not os.path.isdir(PROGRAMS):
        return "built without examples"
    if not os.path.exists(os.path.join(BUILD, ".libs", "libcore.a")) or not glob.glob(os.path.join(BUILD, ".libs", "libwhammc.so*")):
        return "built without the shared library, whose objects it takes"
    if re.search(r"-fsanitize", read(os.path.join(BUILD, "Makefile"))):
        return "sanitizers want to be loaded before Python"
    return ""


def copy_package(directory):
    """A copy of what the package is made of, to be built in: the sources may not be written to."""
    files = [f"{PACKAGE}/{os.path.relpath(path, os.path.join(SOURCE, PACKAGE))}" for path in
             glob.glob(os.path.join(SOURCE, PACKAGE, "*.*")) + glob.glob(os.path.join(SOURCE, PACKAGE, "src/whammc/**/*.*"), recursive=True)]
    for path in [*files, "LICENSE", "configure.ac", "stdlib/host/run-wasmtime.py"]:
        if os.path.isfile(os.path.join(SOURCE, path)) and not path.endswith((".so", "/_host.py")):
            os.makedirs(os.path.join(directory, os.path.dirname(path)), exist_ok=True)
            shutil.copyfile(os.path.join(SOURCE, path), os.path.join(directory, path))
    return os.path.join(directory, PACKAGE)


def build_wheel(package, directory):
    must([PYTHON, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation", "-w", directory, package],
         environment={"WHAMMC_BUILD": BUILD}, timeout=600)
    wheel, = glob.glob(os.path.join(directory, "*.whl"))
    return wheel


def install_wheel(wheel, target):
    """Installs it into a folder, for PYTHONPATH."""
    must([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", "--target", target, wheel])
    return target


def run_titled(script, words, place, target, least, environment=None):
    """Runs the tests of a file in lib/python, which are at least so many, with the package that is installed in `target`."""
    more = {"PYTHONPATH": target, "WHAMMC_SRCDIR": SOURCE, **(environment or {})}
    done = call([PYTHON, os.path.join(LIB, "python", script), *words], place, timeout=1800, environment=more)
    tests = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[\"")]
    for title, problem, *why in tests:
        if why:
            skip(title, why[0])
        else:
            result(problem, title)
    expect(len(tests) >= least and done.returncode == 0, f"all of {script}", done.stdout[-1000:] + done.stderr[-3000:])
