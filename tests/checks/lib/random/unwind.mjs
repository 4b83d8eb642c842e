// Runs programs of tests/checks/unwinding and their instrumented forms and compares what they do.
//
// usage: node unwind.mjs STEM...     STEM.wasm is the original, STEM.out.wasm the instrumented program (--host=js)
//
// Prints a line for each: {"report": text} or {"wrong": what differs}.
import { readFileSync } from 'node:fs';

const FUEL = 60;

function run(file) {
    const events = [], thrown = new Set();
    let exports, report = '', open = 0;
    const tag = new WebAssembly.Tag({ parameters: ['i32'] });
    const host = {
        tag,
        f0(n) { // throws now and then
            events.push(`f0 ${n}`);
            if (n % 3 === 1) {
                const error = n % 2 ? new Error(`${n}`) : { n };
                thrown.add(error);
                throw error;
            }
            return n;
        },
        f1(n) { // calls back, and catches now and then
            events.push(`f1 ${n}`);
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
    exports = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), { host, whammc }).exports;
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
    return { events, report };
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
            answer = { report: after.report };
    } catch (error) {
        answer = { wrong: String(error) };
    }
    console.log(JSON.stringify(answer));
}
