#!/usr/bin/env python3
"""Writes X.wasm for each X.wat in a directory that the package wasmtime can assemble; it does not validate.

usage: parse.py DIRECTORY
"""

import glob
import sys

import wasmtime

for path in glob.glob(sys.argv[1] + "/*.wat"):
    with open(path, "rb") as file:
        text = file.read()
    try:
        binary = wasmtime.wat2wasm(text)
    except (wasmtime.WasmtimeError, ValueError):
        continue
    with open(path[:-len(".wat")] + ".wasm", "wb") as file:
        file.write(binary)
