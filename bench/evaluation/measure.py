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

ENDING = {signal.SIGINT, signal.SIGTERM}
TIMEOUT = 600  # seconds that a run may take; those in which all of this was stopped (SIGSTOP) do not count


class Failed(Exception):
    """A command that did not succeed; the text is one line."""


class Usage(NamedTuple):
    cpu_ms: float  # user and system time of the process and of its children
    peak_bytes: int
    output: str  # standard output
    errors: str  # standard error


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


def kill(pid):
    """Ends a process and all that it has started."""
    for member in list(_family(pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)


def _ending(status):
    """The exit status as subprocess gives it, in words."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def _ended_in_time(pid):
    """Waits second by second, since this process is stopped together with the other one. The result of wait4() is still to be fetched."""
    descriptor = os.pidfd_open(pid)
    try:
        return any(select.select([descriptor], [], [], 1)[0] for _ in range(TIMEOUT))
    finally:
        os.close(descriptor)


def _take_signals():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def spend(command, must=True, cwd=None):
    """Runs a command in the process group of this one. Its standard input is empty."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process, in_time = None, False
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # none comes between the start of the process, which keeps it so, and what kills it
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                       env={**os.environ, "NODE_NO_WARNINGS": "1"})
            _take_signals()
            in_time = _ended_in_time(process.pid)
        except OSError as error:
            if process is None:
                raise Failed(f"{command[0]}: {error.strerror}") from error
            raise
        finally:  # also if this process is to end
            _take_signals()
            if process is not None:
                if not in_time:
                    kill(process.pid)
                _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if not in_time:
            raise Failed(f"{os.path.basename(command[0])}: took too long")
        out.seek(0)
        err.seek(0)
        output, errors = (file.read().decode(errors="replace") for file in (out, err))
        if process.returncode and must:
            why = next((line for line in (errors + output).splitlines() if line.strip()), "")
            why = re.sub(r"^\[\S+ (\w+) [^]]*\] ", r"\1: ", why.strip())  # without the time of day of a log
            raise Failed(f"{os.path.basename(command[0])}: {why[:200] or _ending(process.returncode)}")
        return Usage(1000 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss * 1024, output, errors)


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


def mean_ratio(pairs):
    """The geometric mean of a / b over the pairs that have both numbers; None if there is no such pair."""
    return geometric_mean([a / b for a, b in pairs if a and b])
