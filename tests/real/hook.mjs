// Loaded into Node before a program (node --import): gets at the large WebAssembly module that it brings along.
// With REAL_DUMP=FILE the module is written there, with REAL_REPLACE=FILE that one is used instead.
import { readFileSync, writeFileSync } from 'node:fs';

const { Module, compile, instantiate } = WebAssembly;
const { REAL_DUMP: dump, REAL_REPLACE: replacement } = process.env;

function exchange(bytes) {
    if (!(bytes instanceof ArrayBuffer || ArrayBuffer.isView(bytes)) || bytes.byteLength < 100_000)
        return bytes;
    if (dump)
        writeFileSync(dump, ArrayBuffer.isView(bytes) ? bytes : new Uint8Array(bytes));
    return replacement ? readFileSync(replacement) : bytes;
}

WebAssembly.Module = new Proxy(Module, { construct: (target, [bytes]) => new target(exchange(bytes)) });
WebAssembly.compile = bytes => compile(exchange(bytes));
WebAssembly.instantiate = (bytes, imports) => instantiate(exchange(bytes), imports);
WebAssembly.instantiateStreaming = undefined;
WebAssembly.compileStreaming = undefined;
