// Runs programs of lib/random/tables.py and their instrumented forms (--host=js) and compares what they do.
//
// usage: node tables.mjs < LINES     each line: [original, [instrumented...]] in JSON
//
// The host calls what is exported and what it finds in tables, is called back, changes tables, and throws; a second instance imports what
// the first one exports. Functions are compared by identity. Prints a line for each instrumented form: {"report": text, "traps": number} or
// {"wrong": what differs}.
import { readFileSync } from 'node:fs';

const FUEL = 120, ROUNDS = 4;
const STACK_FIRST = 16; // a word of the stack's memory

function show(value, seen) {
    if (typeof value === 'function' || (typeof value === 'object' && value !== null && !Array.isArray(value))) {
        if (!seen.has(value))
            seen.set(value, `${typeof value} ${seen.size}`);
        return seen.get(value);
    }
    return Array.isArray(value) ? `[${value.map(item => show(item, seen)).join(' ')}]` : Object.is(value, -0) ? '-0' : String(value);
}

class Run {
    constructor(bytes) {
        this.module = new WebAssembly.Module(bytes);
        this.events = [];
        this.seen = new Map();
        this.depth = this.traps = 0;
        this.report = '';
        this.objects = [{}, Symbol.iterator, 'text'];
        this.table = new WebAssembly.Table({ initial: 16, element: 'anyfunc' });
        this.open = null;
    }

    note(...what) {
        this.events.push(what.map(item => show(item, this.seen)).join(' '));
    }

    // Calls a function of the program, if not too many are active.
    call(title, f, ...args) {
        if (this.depth > 3)
            return undefined;
        this.depth++;
        try {
            const result = f(...args);
            this.note(title, result);
            return result;
        } catch (error) {
            this.traps += error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
            this.note(title, 'throws', error instanceof WebAssembly.RuntimeError ? error.message : error instanceof WebAssembly.Exception ? 'exception' : error.constructor.name);
            return undefined;
        } finally {
            this.depth--;
        }
    }

    functions() {
        return Object.entries(this.open ?? {}).filter(([name]) => /^[fh][0-9]+$|^again$/.test(name)).map(([, f]) => f);
    }

    arguments(f, n) {
        return Array.from({ length: f.length }, (_, k) => f.length === 3 && k === 1 && n % 2 ? null : f.length === 3 && k === 2 ? null : n + k);
    }

    // Imports of an instance, which has a memory of its own: the pages that one adds to it for a report another one would see.
    host() {
        this.memory = new WebAssembly.Memory({ initial: 1 });
        return {
            table: this.table, memory: this.memory,
            h0: n => {
                this.note('h0', n);
                const own = this.functions(), f = own[(n >>> 0) % own.length];
                const result = f && this.call('back', f, ...this.arguments(f, n));
                return typeof result === 'number' ? result : n;
            },
            h1: n => {
                this.note('h1', n);
                if (n % 5 === 1)
                    throw Error('thrown');
                return n ^ 1;
            },
            h2: (n, s, r) => {
                this.note('h2', n, s === null, r);
                const own = this.functions();
                return [n + 1, n % 3 || !own.length ? r : own[(n >>> 0) % own.length], s];
            },
            h3: () => {
                this.note('h3');
                const table = this.open?.table;
                if (!table)
                    return;
                const at = this.events.length % 8, f = table.get(at), own = this.functions();
                this.note('table', f, own.indexOf(f));
                if (f)
                    this.call('from table', f, ...this.arguments(f, at));
                table.set((at + 3) % 8, own[at % own.length]);
            },
        };
    }

    instantiate(host) {
        const write = (at, length) => {
            this.report += Buffer.from(new Uint8Array((this.open['whammc:memory'] ?? this.open.memory ?? this.memory).buffer, at >>> 0, length >>> 0));
        };
        const whammc = { now: () => 0, next_sample: () => 0, sampled() {}, poll() {}, write };
        return new WebAssembly.Instance(this.module, { host, whammc, env: {} }).exports;
    }

    // What the shadow stack has while nothing of the program is active; reset after traps.
    rest(exports) {
        if (!exports['whammc:stack'])
            return;
        if (this.traps)
            exports['whammc:stack_reset']();
        const words = new Uint32Array(exports['whammc:stack'].buffer);
        if (words[STACK_FIRST])
            throw Error(`the shadow stack has ${words[STACK_FIRST]}`);
    }

    use(exports) {
        this.open = exports;
        for (let n = 0; n < ROUNDS; n++) {
            if (n % 2) { // the program goes on
                exports['whammc:flush']?.();
                this.report = '';
            }
            for (const f of this.functions()) {
                exports.fuel.value = FUEL;
                this.call('call', f, ...this.arguments(f, n));
                this.rest(exports);
            }
        }
        const { table, kept, memory } = exports;
        for (let k = 0; k < table.length; k++)
            this.note('entry', table.get(k), this.functions().indexOf(table.get(k)));
        this.note('kept', kept.value, table.length);
        if (memory)
            this.note('memory', new Uint8Array(memory.buffer, 0, 65536).reduce((sum, byte) => Math.imul(sum, 31) + byte | 0, 7));
    }

    run() {
        const first = this.instantiate(this.host());
        this.use(first);
        // Another instance has functions of the first one as its imports, and the same table if it is imported.
        let second;
        for (const [name, f] of Object.entries(first).filter(([name]) => /^f[0-9]+$/.test(name))) {
            try {
                second ??= this.instantiate({ ...this.host(), h0: f, h1: f });
                this.note('linked', name);
            } catch (error) { // it has another type
                this.note(name, error.constructor.name);
            }
        }
        if (second) {
            this.use(second);
            this.note('same', ['h0', 'h1'].map(name => Object.values(first).indexOf(second[name])));
        }
        this.open = first;
        first['whammc:flush']?.();
        return this;
    }
}

for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
    const [original, forms] = JSON.parse(line);
    const before = new Run(readFileSync(original)).run();
    for (const form of forms) {
        let answer;
        try {
            const after = new Run(readFileSync(form)).run();
            const at = before.events.findIndex((event, k) => event !== after.events[k]);
            if (at >= 0 || before.events.length !== after.events.length)
                answer = { wrong: `event ${at}: ${before.events[at]} became ${after.events[at]}` };
            else
                answer = { report: after.report, traps: before.traps, events: before.events.length };
        } catch (error) {
            answer = { wrong: String(error.stack) };
        }
        console.log(JSON.stringify(answer));
    }
}
