"""How long processes take, and what they need."""

import contextlib
import os
import re
import select
import signal
import statistics
import subprocess
import tempfile
from typing import NamedTuple

TIMEOUT = 600  # seconds that a run may take; those in which all of this was stopped (SIGSTOP) do not count


class Failed(Exception):
    """A command that did not succeed; the text is one line."""


class Usage(NamedTuple):
    cpu_ms: float  # user and system time of the process and of its children
    peak_bytes: int
    output: str  # standard output


def _family(pid):
    """The process and all that it has started."""
    yield pid
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
    except OSError:
        children = []
    for child in children:
        yield from _family(int(child))


def _ended_in_time(pid):
    """Waits second by second, since this process is stopped together with the other one. The result of wait4() is still to be fetched."""
    descriptor = os.pidfd_open(pid)
    try:
        return any(select.select([descriptor], [], [], 1)[0] for _ in range(TIMEOUT))
    finally:
        os.close(descriptor)


def spend(command, must=True, cwd=None, stdin=None, **environment):
    """Runs a command in the process group of this one. Its standard input is the file `stdin`, or empty."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(stdin or os.devnull, "rb") as source:
        try:
            process = subprocess.Popen(command, stdin=source, stdout=out, stderr=err, cwd=cwd,
                                       env={**os.environ, "NODE_NO_WARNINGS": "1", **environment})
        except OSError as error:
            raise Failed(f"{command[0]}: {error.strerror}") from error
        in_time = _ended_in_time(process.pid)
        for pid in () if in_time else list(_family(process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if not in_time:
            raise Failed(f"{os.path.basename(command[0])}: took too long")
        out.seek(0)
        err.seek(0)
        if process.returncode and must:
            lines = (err.read() + out.read()).decode(errors="replace").strip().splitlines()
            why = next((line for line in lines if line.strip()), f"exit status {process.returncode}")
            why = re.sub(r"^\[\S+ (\w+) [^]]*\] ", r"\1: ", why)  # without the time of day of a log
            raise Failed(f"{os.path.basename(command[0])}: {why[:200]}")
        return Usage(1000 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss * 1024, out.read().decode(errors="replace"))


def collect(variants, rounds):
    """Measures in turns, so that a machine that becomes slower does so for all.

    variants: name -> function that returns numbers by name. Result: name -> what they have returned, or a text that says why they have not."""
    found = {name: [] for name in variants}
    for _ in range(rounds):
        for name, results in found.items():
            if isinstance(results, list):
                try:
                    results.append(variants[name]())
                except Failed as failure:
                    found[name] = str(failure)
    return found


def medians_of(collected):
    return {name: results if isinstance(results, str) else {what: statistics.median(r[what] for r in results) for what in results[0]}
            for name, results in collected.items()}


def medians(variants, rounds):
    """The medians of what collect() gives."""
    return medians_of(collect(variants, rounds))


def geometric_mean(values):
    values = [value for value in values if value]
    return statistics.geometric_mean(values) if values else None
