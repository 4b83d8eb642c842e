"""Modules byte by byte, for what no assembler writes."""

HEADER = b"\0asm\1\0\0\0"


def leb(n):
    """The LEB128 of an unsigned number."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def sized(content):
    """Bytes after their number."""
    return leb(len(content)) + content


def section(number, content):
    """A section."""
    return bytes([number]) + sized(content)
