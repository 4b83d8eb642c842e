# The extension module, as cffi makes it: everything in it is known at run time only.
from typing import Any

ffi: Any
lib: Any
