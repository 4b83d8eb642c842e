"""Describes the extension module whammc._native to cffi: the library's public headers, and bridge.c.

The headers are the only declarations: what C says about a structure holds in Python, too.
"""

import os
import re

import cffi

import library

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = ("whammc.h", "report.h")
# Functions in Python that C calls; see _library.py.
CALLBACKS = """
extern "Python" void on_site(void *ctx, const whammc_site *site);
extern "Python" int on_find(void *ctx, const char *from, const char *path, whammc_file *file);
extern "Python" void on_event(void *ctx, const whammc_event *event);
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def declarations(text):
    """What cffi can read of a header: no comments, nothing for C++, no preprocessor."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.S | re.M)
    return re.sub(r"^(#.*\n|static )", "", text, flags=re.M)


def bridge_declarations(text):
    """The lines of bridge.c between BEGIN and END."""
    return re.search(r"/\* BEGIN[^\n]*\n(.*?)/\* END \*/", text, re.S)[1]


found = library.find()
bridge = read(os.path.join(HERE, "bridge.c"))
ffi = cffi.FFI()
for header in HEADERS:
    ffi.cdef(declarations(read(os.path.join(found.include, "whammc", header))))
ffi.cdef(declarations(bridge_declarations(bridge)))
ffi.cdef(CALLBACKS)
ffi.set_source(
    "whammc._native",
    bridge,
    include_dirs=[found.include],
    extra_objects=found.objects,
    libraries=found.libraries,
    library_dirs=found.directories,
    extra_compile_args=["-std=gnu11"],
    # The library's own names are nobody else's business; what a wheel brings along is found beside the module.
    extra_link_args=["-Wl,--exclude-libs,ALL", "-Wl,--strip-debug", "-Wl,-rpath,$ORIGIN/lib"],
)
