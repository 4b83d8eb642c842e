"""Tests in Python with titles, for what checks run in an interpreter of its own. Each prints a line of JSON: its title, what is wrong, or
null, and perhaps why it was skipped. ONLY=TEXT runs those with that in their titles, TIMES=1 says how much CPU time each took."""

import json
import os
import sys
import traceback
import unittest

import wasmtime

TESTS = []
ONLY = os.environ.get("ONLY", "")


def test(title):
    def add(function):
        TESTS.append((title, function))
        return function

    return add


def same(found, wanted, what=""):
    if found != wanted:
        raise AssertionError(f"{what}: {str(found)[:600]}, not {str(wanted)[:600]}")


def raises(kind, function, *texts):
    try:
        function()
    except kind as error:
        for text in texts:
            assert text in str(error), f"{text!r} is not in {error}"
        return error
    raise AssertionError(f"no {kind.__name__}")


def assembled(text):
    return bytes(wasmtime.wat2wasm(text))


def cpu_time():
    """That of this process and the children for which it has waited."""
    return sum(os.times()[:4])


def run_tests():
    for title, function in [each for each in TESTS if ONLY in each[0]]:
        before = cpu_time()
        try:
            function()
            print(json.dumps([title, None]), flush=True)
        except unittest.SkipTest as reason:
            print(json.dumps([title, None, str(reason)]), flush=True)
        except Exception:  # noqa: BLE001 - the next test does not depend on it
            print(json.dumps([title, traceback.format_exc()]), flush=True)
        if "TIMES" in os.environ:
            print(f"{cpu_time() - before:8.1f} s  {title}", file=sys.stderr)
