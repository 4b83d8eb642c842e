// Runs modules and their instrumented forms and compares what they do.
//
// usage: node --experimental-wasm-type-reflection compare.mjs < PAIRS
// each line: ORIGINAL.wasm INSTRUMENTED.wasm REPORT-FILE
//
// Every exported function is called with fixed arguments, in order; results, traps and what is logged through imports
// must agree; with COMPARE_UNTIL_TRAP, up to the first trap. Prints "ok CALLS LOST TRAPS", "skip REASON" or "differs WHERE" for
// each line, LOST being the traps for which counts could not be put right, TRAPS all but those of unreachable; writes the report to
// REPORT-FILE.
import { readFileSync, writeFileSync } from 'node:fs';
import { createTraps } from '../../../../stdlib/host/traps.js';

class Stop extends Error {}
const MAX_EVENTS = 20000;
const samples = { i32: [0, 1, -3, 65536, 0x7fffffff], i64: [0n, 7n, -1n, 1n << 40n] };

const GLOBALS = { i32: 3, i64: 4n, f32: 5.5, f64: 6.5, externref: 'outside' };

// node 24 has no type reflection: the types of an export are tried out.
function callWith(f, round) {
    for (let mask = 0; mask < 1 << Math.min(f.length, 6); mask++) {
        const values = Array.from({ length: f.length }, (_, k) => {
            const list = mask >> k & 1 ? samples.i64 : samples.i32;
            return list[(round + k) % list.length];
        });
        try {
            return [f(...values)].flat();
        } catch (error) {
            if (!(error instanceof TypeError))
                throw error;
        }
    }
    return ['uncallable'];
}

const show = value => typeof value === 'number' ? (Object.is(value, -0) ? '-0' : String(value))
    : typeof value === 'object' || typeof value === 'function' ? value === null ? 'null' : 'reference' : String(value);

function run(path) {
    const events = [];
    const note = text => {
        if (events.length >= MAX_EVENTS)
            throw new Stop();
        events.push(text);
    };
    const module = new WebAssembly.Module(readFileSync(path));
    const imports = {}, written = [];
    let instance = null;
    // A report that a start function writes cannot be read yet; the one at the end has the same rows.
    const write = (at, length) => instance &&
        written.push(Buffer.from(new Uint8Array(instance.exports['whammc:memory'].buffer, at >>> 0, length >>> 0)));
    const fdWrite = (_, vectors, count, result) => { // for reports
        const { buffer } = instance.exports.memory, view = new DataView(buffer);
        let total = 0;
        for (let at = vectors >>> 0; count--; at += 8) {
            const length = view.getUint32(at + 4, true);
            written.push(Buffer.from(buffer.slice(view.getUint32(at, true), view.getUint32(at, true) + length)));
            total += length;
        }
        view.setUint32(result >>> 0, total, true);
        return 0;
    };
    for (const { module: from, name, kind, type } of WebAssembly.Module.imports(module)) {
        imports[from] ??= {};
        if (from === 'whammc')
            imports[from][name] = name === 'now' ? () => performance.now() : write;
        else if (from === 'wasi_snapshot_preview1')
            imports[from][name] = fdWrite;
        else if (kind === 'function')
            imports[from][name] = (...values) => { note(`${name} ${values.map(show).join(' ')}`); return 0; };
        else if (kind === 'tag')
            imports[from][name] = name === 'jstag' ? WebAssembly.JSTag : new WebAssembly.Tag({ parameters: ['i32'] });
        else if (kind === 'table')
            imports[from][name] = new WebAssembly.Table({ initial: 100, element: 'anyfunc' });
        else if (kind === 'global' && type)
            imports[from][name] = new WebAssembly.Global(type, GLOBALS[type.value]);
        else
            throw new Error(`import of kind ${kind}`);
    }
    instance = new WebAssembly.Instance(module, imports);
    let calls = 0, lost = 0, trapped = 0, overflow = false;
    const traps = createTraps(instance, module, () => { lost = 1; });
    try {
        for (let round = 0; round < 2; round++) {
            for (const [name, f] of Object.entries(instance.exports)) {
                if (typeof f !== 'function' || name.startsWith('whammc:') || name.startsWith('get_'))
                    continue;
                let outcome;
                try {
                    outcome = callWith(f, round).map(show).join(' ');
                } catch (error) {
                    if (error instanceof Stop)
                        throw error;
                    // How deep recursion may go is no part of the program's meaning.
                    if (error instanceof RangeError) {
                        overflow = true;
                        throw new Stop();
                    }
                    outcome = error instanceof WebAssembly.RuntimeError ? 'trap' : 'exception';
                    trapped += outcome === 'trap' && error.message !== 'unreachable';
                    traps.correct(error);
                }
                calls++;
                note(`${name} -> ${outcome}`);
                if (outcome === 'trap' && process.env.COMPARE_UNTIL_TRAP)
                    throw new Stop();
            }
        }
    } catch (error) {
        if (!(error instanceof Stop))
            throw error;
    }
    return { instance, events, calls, lost, trapped, overflow, written };
}

function report({ instance: { exports }, written }) {
    if (!exports['whammc:flush'])
        return '';
    exports['whammc:flush']();
    if (!exports['whammc:report_ptr'])
        return Buffer.concat(written);
    const memory = exports['whammc:memory'] ?? exports.memory;
    return Buffer.from(memory.buffer, exports['whammc:report_ptr']() >>> 0, exports['whammc:report_len']() >>> 0);
}

function compare(original, instrumented, file) {
    let before;
    try {
        before = run(original);
    } catch (error) {
        return `skip ${String(error.message ?? error).split('\n')[0]}`;
    }
    const after = run(instrumented);
    if (!before.overflow && !after.overflow) {
        const length = Math.max(before.events.length, after.events.length);
        for (let i = 0; i < length; i++)
            if (before.events[i] !== after.events[i])
                return `differs event ${i}: ${before.events[i]} became ${after.events[i]}`;
    }
    writeFileSync(file, report(after));
    return before.overflow || after.overflow ? 'skip stack overflow' : `ok ${after.calls} ${after.lost} ${after.trapped}`;
}

for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
    let outcome;
    try {
        outcome = compare(...line.split(' '));
    } catch (error) {
        outcome = `differs ${error.message ?? error}`;
    }
    console.log(outcome);
}
