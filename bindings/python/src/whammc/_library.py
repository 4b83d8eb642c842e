"""The interface to C for the other modules: strings, buffers, messages, callbacks."""

from __future__ import annotations

import os
from typing import Any, Callable, Optional, Union

from . import diagnostics
from ._native import ffi, lib

Path = Union[str, "os.PathLike[str]"]
Bytes = Union[bytes, bytearray, memoryview]
Input = Union[Bytes, Path]

OK, INTERNAL = 0, 2
JSON = 2  # WHAMMC_JSON


def text(pointer: Any) -> str:
    """A text of C, "" for NULL. Names in programs can be any bytes: those that are not UTF-8 become U+FFFD."""
    return bytes(ffi.string(pointer)).decode("utf-8", "replace") if pointer else ""


def maybe_text(pointer: Any) -> Optional[str]:
    return text(pointer) if pointer else None


def encoded(value: str) -> bytes:
    """A text for C, which ends it at a NUL."""
    data = value.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError("a name or a text has a NUL in it")
    return data


def load(source: Input, name: Optional[str], kind: str) -> tuple[str, bytes]:
    """The name and the bytes of a file, or of bytes, which are called `kind` unless there is a name."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return name or kind, bytes(source)
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        with open(path, "rb") as file:
            return name or os.path.basename(path), file.read()
    raise TypeError(f"{kind}: expected a path or bytes, found {type(source).__name__}")


def take(out: Any, size: Any) -> bytes:
    """The bytes of a buffer that the library has made, which is released."""
    try:
        return bytes(ffi.buffer(out[0], size[0]))
    finally:
        lib.whammc_release(out[0])


def finish(status: int, messages: Callable[[int], Any]) -> tuple[diagnostics.Diagnostic, ...]:
    """The diagnostics of a call, `messages(flags)` being its messages; raises if it failed."""
    found = diagnostics.parse(text(messages(JSON)))
    if status == OK:
        return found
    said = text(messages(0)) or "whammc: internal error"
    raise (diagnostics.InternalError if status == INTERNAL else diagnostics.WhammError)(said, found)


class Texts:
    """Texts and arrays that C borrows, for as long as this object lives."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def keep(self, thing: Any) -> Any:
        self.kept.append(thing)
        return thing

    def text(self, value: Optional[str]) -> Any:
        return ffi.NULL if value is None else self.keep(ffi.new("char[]", encoded(value)))

    def texts(self, values: Any) -> Any:
        """An array that ends with NULL."""
        return self.keep(ffi.new("const char *[]", [self.text(value) for value in values] + [ffi.NULL]))


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def on_site(context: Any, site: Any) -> None:
    ffi.from_handle(context)(site)


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def on_event(context: Any, event: Any) -> None:
    ffi.from_handle(context)(event)


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def on_find(context: Any, including: Any, path: Any, file: Any) -> int:
    return int(ffi.from_handle(context)(text(including), text(path), file))
