// Runs modules in Node as commands on standard input say, those of tests/unit/evaluate.c, so that both can be asked the same.
//
// usage: node evaluate.mjs HOST.js RUNTIME.wasm < COMMANDS     HOST.js: stdlib/host/whammc.js
//
// What is different from there:
//
//   state NAME KEY            a digest of exported memories, tables and globals, of calls of imported functions and of output;
//                             no more than there was when KEY was first asked for
//   warnings                  how many there were from the host, and the first
//   report NAME [FILE]        a digest of the report's rows without the first column; writes them to FILE
//
// Answers: numbers are "number:BITS" with the bits of a double, whatever their type, and i64 is "i64:VALUE"; NaN is "nan". Errors are
// "error WHAT TEXT", where WHAT is trap, exception, exhausted, exit, link, or arguments.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { StringDecoder } from 'node:string_decoder';
import { pathToFileURL } from 'node:url';

const [, , hostFile, runtimeFile] = process.argv;
const { createHost, tellTrapped } = await import(pathToFileURL(hostFile));

let warnings = []; // of the host
console.warn = text => warnings.push(text);

const MUCH = 1 << 24; // of a memory that is looked at
class Exit extends Error {}
const digest = data => createHash('sha1').update(data).digest('hex').slice(0, 16);
const compiled = new Map(); // by file

function compile(file) {
    if (compiled.size > 20)
        compiled.clear();
    if (!compiled.has(file))
        compiled.set(file, new WebAssembly.Module(readFileSync(file)));
    return compiled.get(file);
}

// ---- values ----

const view = new DataView(new ArrayBuffer(8));
const outside = []; // external references by number

function parseValue(word) {
    const [type, text] = word.split(':');
    if (text === 'null')
        return null;
    if (type === 'externref')
        return outside[text] ??= { number: text };
    if (type === 'i32')
        return Number(BigInt.asIntN(32, BigInt(text)));
    if (type === 'i64')
        return BigInt.asIntN(64, BigInt(text));
    if (type !== 'f32' && type !== 'f64')
        throw new SyntaxError('unknown kind of argument');
    view.setBigUint64(0, BigInt(text), true);
    return type === 'f32' ? view.getFloat32(0, true) : view.getFloat64(0, true);
}

function showValue(value) {
    if (typeof value === 'bigint')
        return `i64:${BigInt.asUintN(64, value)}`;
    if (typeof value !== 'number')
        return value === null ? 'null' : 'reference';
    if (Number.isNaN(value))
        return 'nan';
    view.setFloat64(0, value, true);
    return `number:${view.getBigUint64(0, true)}`;
}

// ---- what modules import ----

function spectest() {
    const table = { initial: 10, maximum: 20, element: 'anyfunc' };
    const made = {
        global_i32: 666, global_i64: 666n,
        global_f32: new WebAssembly.Global({ value: 'f32' }, 666.6), global_f64: new WebAssembly.Global({ value: 'f64' }, 666.6),
        table: new WebAssembly.Table(table), memory: new WebAssembly.Memory({ initial: 1, maximum: 2 }),
    };
    for (const name of ['print', 'print_i32', 'print_i64', 'print_f32', 'print_f64', 'print_f64_f64', 'print_i32_f32'])
        made[name] = () => {};
    return made;
}

// WASI as src/eval/wasi.c has it. `memory` gives the memory, `write` takes what is written.
function wasi(memory, write) {
    const data = () => new DataView(memory().buffer), BADF = 8;
    const none = (count, size) => (data().setUint32(count, 0, true), data().setUint32(size, 0, true), 0);
    const functions = {
        args_sizes_get: none, environ_sizes_get: none, args_get: () => 0, environ_get: () => 0,
        clock_res_get: (_, at) => (data().setBigUint64(at, 1n, true), 0),
        clock_time_get: (_, _precision, at) => (data().setBigUint64(at, process.hrtime.bigint(), true), 0),
        fd_close: fd => fd < 3 ? 0 : BADF, fd_fdstat_set_flags: fd => fd < 3 ? 0 : BADF,
        fd_fdstat_get(fd, at) {
            if (fd >= 3)
                return BADF;
            new Uint8Array(memory().buffer, at, 24).fill(0);
            data().setUint8(at, 2);
            data().setBigUint64(at + 8, -1n, true);
            return 0;
        },
        fd_prestat_get: () => BADF, fd_prestat_dir_name: () => BADF,
        fd_read: (fd, _vectors, _count, at) => fd === 0 ? (data().setUint32(at, 0, true), 0) : BADF,
        fd_seek: fd => fd < 3 ? 70 : BADF, fd_tell: fd => fd < 3 ? 70 : BADF,
        fd_write(fd, vectors, count, at) {
            if (fd !== 1 && fd !== 2)
                return BADF;
            let total = 0;
            for (let k = 0; k < count; k++, vectors += 8) {
                const size = data().getUint32(vectors + 4, true);
                write(fd, Buffer.from(memory().buffer.slice(data().getUint32(vectors, true), data().getUint32(vectors, true) + size)));
                total += size;
            }
            data().setUint32(at, total, true);
            return 0;
        },
        random_get: (at, size) => (new Uint8Array(memory().buffer, at, size).fill(7), 0),
        sched_yield: () => 0,
        proc_exit(status) {
            throw new Exit(`${status}`);
        },
    };
    const get = (_, name) => (...values) =>
        !functions[name] ? 52 : name !== 'proc_exit' && !memory() ? 21 : functions[name](...values);
    return new Proxy(functions, { get });
}

// ---- instances ----

let instances = [], named = new Map(), registered = new Map(), current = null;
let specials = null;

const REPORT = /\n=+ REPORT CSV FLUSH =+\n(id, .*\n)(\d+, .*\n)*/g;
const sizes = new Map(); // by key: what was exported when it was first asked for; of memories, how much

class Program {
    constructor(file) {
        this.file = file;
        this.text = '';    // reports
        this.decoder = new StringDecoder(); // of those that WASI's functions write
        this.log = [];     // output and calls of imported functions
        this.host = createHost({ onReport: text => { this.text += text; } });
        this.instance = new WebAssembly.Instance(compile(file), this.imports());
        this.host.attach(this.instance, compile(file));
    }

    imports() {
        const imports = {}, output = (_, bytes) => { // reports may be among it
            this.log.push(bytes.toString('latin1'));
            this.text += this.decoder.write(bytes);
        };
        const memory = () => this.instance?.exports.memory;
        for (const { module, name, kind } of WebAssembly.Module.imports(compile(this.file))) {
            const from = imports[module] ??= {};
            if (module === 'whammc')
                imports[module] = this.host.imports.whammc;
            else if (module === 'whammc_runtime')
                imports[module] = this.runtime();
            else if (module === 'spectest')
                imports[module] = specials ??= spectest();
            else if (registered.has(module))
                imports[module] = registered.get(module).instance.exports;
            else if (kind === 'function' && module === 'wasi_snapshot_preview1')
                from[name] = wasi(memory, output)[name];
            else if (kind === 'function') // "0" is a number and a BigInt
                from[name] = (...values) => (this.log.push(`${name} ${values.map(showValue)}\n`), '0');
        }
        return imports;
    }

    // The module that reports of programs with --link=import are made by.
    runtime() {
        const module = compile(runtimeFile);
        const made = new WebAssembly.Instance(module, {
            wasi_snapshot_preview1: wasi(() => made.exports.memory, (_, bytes) => { this.text += this.decoder.write(bytes); }),
        });
        made.exports._initialize?.();
        return made.exports;
    }

    call(f, values) {
        try {
            return `ok ${[f(...values) ?? []].flat().map(showValue).join(' ')}`.trimEnd();
        } catch (error) {
            if (error instanceof WebAssembly.RuntimeError) {
                // Without links between them only this one can have trapped.
                tellTrapped((registered.size ? instances : [this]).map(program => program.host), error);
                return `error trap ${error.message}`;
            }
            return `error ${error instanceof Exit ? 'exit' : error instanceof RangeError ? 'exhausted'
                : error instanceof TypeError || error instanceof SyntaxError ? 'arguments' : 'exception'} ${error.message}`;
        }
    }

    // The rows of the report, or of the reports of all monitors, without ids.
    rows() {
        const before = this.text;
        this.text = '';
        this.host.flush();
        this.text ||= before; // what is bound reports once
        return this.text.split('\n').filter(line => /^\d+, /.test(line)).map(line => line.slice(line.indexOf(',') + 2));
    }

    state(key) {
        const parts = [this.log.join('').replace(REPORT, '')];
        const first = !sizes.has(key);
        if (first)
            sizes.set(key, new Map());
        const known = sizes.get(key);
        for (const [name, what] of Object.entries(this.instance.exports)) {
            if (first)
                known.set(name, what.buffer?.byteLength);
            if (!known.has(name))
                continue;
            if (what instanceof WebAssembly.Memory)
                parts.push(name, digest(new Uint8Array(what.buffer).subarray(0, Math.min(known.get(name), MUCH))));
            else if (what instanceof WebAssembly.Table)
                parts.push(name, String(what.length));
            else if (what instanceof WebAssembly.Global)
                parts.push(name, globalValue(what));
        }
        return digest(parts.join('\n'));
    }
}

function globalValue(global) {
    try {
        return showValue(global.value);
    } catch {
        return 'opaque'; // a vector
    }
}

// ---- reports ----

function showCounts(rows) {
    let instructions = 0, total = 0;
    const categories = [], counts = [];
    for (const row of rows) {
        const words = row.split(', '), [kind, name] = words, [fid, pc, , value] = words.slice(-4); // names of functions have ', '
        if (name === 'instructions')
            total = value;
        else if (kind === 'global_id' || kind === 'memaddr' && name.endsWith('_ops'))
            name.endsWith('_ops') && value !== '0' && categories.push(`${name.slice(0, -4)}=${value}`);
        else if (name === 'count') {
            instructions++;
            if (value !== '0')
                counts.push([Number(fid), Number(pc), value]);
        }
    }
    counts.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return ['ok', instructions, total, ...categories.sort(), ...counts.map(c => c.join(':'))].join(' ');
}

// ---- commands ----

const unhex = word => word === '""' ? '' : Buffer.from(word, 'hex').toString('utf8');
const find = word => word === '-' ? current : word[0] === '#' ? instances[word.slice(1)] : named.get(unhex(word));

const commands = {
    module(name, file) {
        try {
            current = new Program(file);
        } catch (error) {
            current = null;
            if (error instanceof WebAssembly.RuntimeError)
                return `error trap ${error.message}`;
            return `error ${error instanceof RangeError ? 'exhausted' : 'link'} ${error.message}`;
        }
        instances.push(current);
        if (name !== '-')
            named.set(unhex(name), current);
        return 'ok';
    },
    register: (as, name) => (registered.set(unhex(as), find(name)), 'ok'),
    call(name, field, ...words) {
        const program = find(name), f = program?.instance.exports[unhex(field)];
        if (typeof f !== 'function')
            return 'error arguments no such function';
        let values;
        try {
            values = words.map(parseValue);
        } catch (error) {
            return `error arguments ${error.message}`;
        }
        return program.call(f, values);
    },
    get(name, field) {
        const global = find(name)?.instance.exports[unhex(field)];
        return global instanceof WebAssembly.Global ? `ok ${globalValue(global)}` : 'error arguments no such global';
    },
    counts(name) {
        const program = find(name);
        return program ? showCounts(program.rows()) : 'error arguments no such instance';
    },
    state: (name, key) => find(name) ? `ok ${find(name).state(key)}` : 'error arguments no such instance',
    report(name, file) {
        const program = find(name);
        if (!program)
            return 'error arguments no such instance';
        const text = program.rows().join('\n') + '\n';
        if (file)
            writeFileSync(file, text);
        return `ok ${digest(text)}`;
    },
    warnings: () => `ok ${warnings.length} ${warnings[0] ?? ''}`.trimEnd(),
    reset() {
        warnings = [];
        [instances, named, registered, current, specials] = [[], new Map(), new Map(), null, null];
        return 'ok';
    },
};

for await (const line of createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split(' ');
    let answer;
    try {
        answer = commands[command](...words);
    } catch (error) {
        answer = `error internal ${error.stack}`;
    }
    writeSync(1, answer.replaceAll('\n', ' ') + '\n');
}
