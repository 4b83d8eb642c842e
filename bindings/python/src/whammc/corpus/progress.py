"""Shows the progress of a corpus: a bar on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Optional, TextIO

EVERY = (0.2, 15.0)  # seconds between two looks: on a terminal, elsewhere
BAR = 24  # characters
FILLED, EMPTY = "━", "╌"
PLAIN = ("#", "-")


def duration(seconds: float) -> str:
    """3:07, 1:02:09."""
    whole = int(seconds + 0.5)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


class Progress:
    """Of one thing that is done many times.

    Args:
        title: what is done.
        total: how often.
        out: where it is shown; None: nowhere.
    """

    def __init__(self, title: str, total: int, out: Optional[TextIO] = sys.stderr) -> None:
        self.title, self.total, self.out = title, total, out
        self.done = self.failed = self.lost = 0
        self.start = self.shown = time.monotonic()
        self.terminal = out is not None and out.isatty()
        encoding = (getattr(out, "encoding", None) or "ascii").lower()
        self.filled, self.empty = (FILLED, EMPTY) if "utf" in encoding else PLAIN
        self.open = False

    def line(self, now: float) -> str:
        """What there is to see."""
        share = self.done / self.total if self.total else 1.0
        spent = now - self.start
        parts = [f"{self.title} {self.done:,}/{self.total:,}", f"{100 * share:.0f}%"]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.lost:
            parts.append(f"{self.lost:,} repeated")
        if self.done and spent > 0.5:
            parts.append(f"{self.done / spent:,.1f}/s")
            parts.append(f"{duration(spent * (1 - share) / share)} left" if share < 1 else duration(spent))
        filled = int(BAR * share)
        bar = f"{self.filled * filled}{self.empty * (BAR - filled)} " if self.terminal else ""
        return f"{bar}{parts[0]}  {' · '.join(parts[1:])}" if self.filled == FILLED else f"{bar}{parts[0]}  {', '.join(parts[1:])}"

    def update(self, done: int = 0, failed: int = 0, lost: int = 0) -> None:
        self.done, self.failed, self.lost = self.done + done, self.failed + failed, self.lost + lost
        now = time.monotonic()
        if self.out is not None and now - self.shown >= EVERY[not self.terminal]:
            self.show(now)

    def show(self, now: float) -> None:
        assert self.out is not None
        self.shown = now
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            self.out.write("\r\x1b[K" + self.line(now)[:width])
            self.open = True
        else:
            self.out.write(self.line(now) + "\n")
        self.out.flush()

    def close(self) -> None:
        """The last look, which stays."""
        if self.out is not None and self.total:
            self.show(time.monotonic())
            if self.open:
                self.out.write("\n")
                self.out.flush()
