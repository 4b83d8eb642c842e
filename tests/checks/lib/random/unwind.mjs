// Runs programs of tests/checks/unwinding and their instrumented forms and compares what they do.
//
// usage: node unwind.mjs STEM...     STEM.wasm is the original, STEM.out.wasm the instrumented program (--host=js)
//
// Prints a line for each: {"report": text, "stacks": n} or {"wrong": what differs}. If the host may read a shadow stack at any time, it is
// compared with the engine's stack, n times: whenever the program calls a function of the host.
import { readFileSync } from 'node:fs';

const FUEL = 60, FUNCTIONS = 7; // of a program, as throwing.py has it
const FRAMES = 16; // where in the memory whammc:stack: a word
Error.stackTraceLimit = Infinity;

const importsOf = module => WebAssembly.Module.imports(module).filter(({ kind }) => kind === 'function');

// The functions on a shadow stack, by their indices in the program, outermost first.
function shadowStack(memory) {
    const words = new Int32Array(memory.buffer);
    return [...words.subarray(FRAMES, words.indexOf(0, FRAMES))].map(frame => frame - 1);
}

// The same as the engine knows it: the program's functions, which are `added` further back than in the program, and those of the host
// by their names.
function engineStack({ own, added, host }) {
    const active = [];
    for (const [, name, index] of new Error().stack.matchAll(/^ +at (?:Object\.)?(\w+ )?.*?(?::wasm-function\[(\d+)\]:0x\w+\)?)?$/gm)) {
        const called = host.indexOf(name?.trim());
        if (index !== undefined && own(index - added))
            active.push(index - added);
        else if (index === undefined && called >= 0)
            active.push(called);
    }
    return active.reverse();
}

// Whether a shadow stack is right: it has all functions; but of the host's, those called by tail calls or through tables need no frames.
function isSame(shadow, engine, { own }) {
    let at = 0;
    for (const index of engine)
        if (shadow[at] === index)
            at++;
        else if (own(index))
            return false;
    return at === shadow.length;
}

function run(file) {
    const events = [], thrown = new Set(), module = new WebAssembly.Module(readFileSync(file)), all = importsOf(module);
    const program = all.filter(one => one.module === 'host').map(({ name }) => name);
    const own = index => index >= program.length && index < program.length + FUNCTIONS;
    const layout = { own, added: all.length - program.length, host: program };
    let exports, report = '', open = 0, stacks = 0;
    function compareStacks(name) {
        if (!all.some(one => one.name === 'next_sample'))
            return;
        const shadow = shadowStack(exports['whammc:stack']), engine = engineStack(layout);
        stacks++;
        if (!isSame(shadow, engine, layout))
            events.push(`in ${name}, the shadow stack is ${shadow}, and not ${engine}`);
    }
    const tag = new WebAssembly.Tag({ parameters: ['i32'] });
    const host = {
        tag,
        f0(n) { // throws now and then
            events.push(`f0 ${n}`);
            compareStacks('f0');
            if (n % 3 === 1) {
                const error = n % 2 ? new Error(`${n}`) : { n };
                thrown.add(error);
                throw error;
            }
            return n;
        },
        f1(n) { // calls back, and catches now and then
            events.push(`f1 ${n}`);
            compareStacks('f1');
            if (open > 5)
                return 0;
            open++;
            try {
                return exports[`f${(n >>> 0) % 4}`](n);
            } catch (error) {
                if (n % 2)
                    throw error;
                return -1;
            } finally {
                open--;
            }
        },
    };
    const whammc = { now: () => 0, next_sample: () => 0, write: (at, length) => {
        report += Buffer.from(new Uint8Array((exports['whammc:memory'] ?? exports.memory).buffer, at >>> 0, length >>> 0));
    } };
    exports = new WebAssembly.Instance(module, { host, whammc }).exports;
    for (let n = 0; n < 6; n++) {
        for (let k = 0; k < 4; k++) {
            exports.fuel.value = FUEL;
            try {
                events.push(exports[`f${k}`](n));
            } catch (error) {
                const what = error instanceof WebAssembly.Exception ? error.is(tag) ? `tag ${error.getArg(tag, 0)}` : 'other tag'
                    : thrown.has(error) ? 'same' : `${error}`;
                events.push(`thrown ${what}`);
            }
        }
    }
    exports['whammc:flush']?.();
    return { events, report, stacks };
}

for (const stem of process.argv.slice(2)) {
    let answer;
    try {
        const before = run(`${stem}.wasm`), after = run(`${stem}.out.wasm`);
        const at = before.events.findIndex((event, k) => event !== after.events[k]);
        const traps = before.events.find(event => /RuntimeError/.test(event));
        if (traps)
            answer = { wrong: `the original: ${traps}` };
        else if (at >= 0 || before.events.length !== after.events.length)
            answer = { wrong: `event ${at}: ${before.events[at]} became ${after.events[at]}` };
        else
            answer = { report: after.report, stacks: after.stacks };
    } catch (error) {
        answer = { wrong: String(error) };
    }
    console.log(JSON.stringify(answer));
}
