"""What a check prints: lines of the Test Anything Protocol, which tests/run reads."""

import sys

MAX_LINES = 60  # of what is wrong, for one test
MAX_WIDTH = 1500

_number = 0


def result(problems, title):
    """One test: it has passed if there are no problems. They are shown; one alone need not be in a list. Returns whether it has passed."""
    if not isinstance(problems, (list, tuple)):
        problems = [problems] if problems else []
    lines = [line for problem in problems for line in str(problem).splitlines()]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"... and {len(lines) - MAX_LINES} more lines"]
    _print_test("not ok" if problems else "ok", title)
    for line in lines:
        comment(line)
    return not problems


def expect(good, title, detail=""):
    """One test: it has passed if `good`; if not, `detail` says more. Returns whether it has passed."""
    return result([] if good else [detail], title)


def skip(title, why):
    """One test that cannot be made here."""
    _print_test("ok", f"{title} # SKIP {why}")


def skip_all(title, why):
    """Ends a check whose only test cannot be made here."""
    skip(title, why)
    plan()
    sys.exit(0)


def comment(text):
    """A line for the reader."""
    print("#", str(text)[:MAX_WIDTH], flush=True)


def plan():
    """The last line: how many tests there were. A check that ends early does not get here, which tests/run notices."""
    print(f"1..{_number}", flush=True)


def _print_test(status, title):
    global _number
    _number += 1
    print(f"{status} {_number} - {title}", flush=True)
