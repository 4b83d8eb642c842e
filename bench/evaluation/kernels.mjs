// Runs the programs of evaluation/profilers.py in Node and in pages: measure() says how long they take to compile and to run.

import { unknown } from '../rounds.mjs';

const COMPILATIONS = 15, LEAST = 30; // how often to compile; milliseconds that a function runs in a measurement
const ENOUGH = 10000, FEWEST = 60; // milliseconds after which no further frame is needed, but for so many

const GROUPS = {
    'simple mathematics': ['multiplyInt', 'multiplyDouble', 'multiplyIntVec', 'multiplyDoubleVec', 'sumInt', 'sumDouble', 'quicksortInt', 'quicksortDouble'],
    'image processing': ['imageConvolute', 'imageGrayscale', 'imageThreshold'],
    'marker detection': ['markerDetection'],
};

// --- The same arcs as analyses made with Wasabi collect them: each call is two calls of JavaScript ----------

function makeCallbacks() {
    const callees = new Int32Array(1 << 20), starts = new Float64Array(1 << 20), arcsFrom = [];
    let depth = 0;
    return {
        call_pre(func, instr, callee) {
            callees[++depth] = callee;
            starts[depth] = performance.now();
        },
        call_post(func) {
            const spent = performance.now() - starts[depth], callee = callees[depth--];
            const arcs = arcsFrom[func] ??= new Map(), arc = arcs.get(callee);
            if (arc) {
                arc.calls++;
                arc.ms += spent;
            } else {
                arcs.set(callee, { calls: 1, ms: spent });
            }
        },
    };
}

// --- A cartridge for WasmBoy: fills the tiles, scrolls and plays a tone, for ever ---------------------------

function makeCartridge() {
    const rom = new Uint8Array(0x8000), code = [
        0x31, 0xfe, 0xff, // ld sp, 0xfffe
        0x3e, 0x91, 0xe0, 0x40, 0x3e, 0xe4, 0xe0, 0x47, // the screen and its colours
        0x3e, 0x80, 0xe0, 0x26, 0x3e, 0x77, 0xe0, 0x24, 0x3e, 0xff, 0xe0, 0x25, // sound
        0x3e, 0x80, 0xe0, 0x11, 0x3e, 0xf3, 0xe0, 0x12, 0x3e, 0xc1, 0xe0, 0x13, 0x3e, 0x87, 0xe0, 0x14,
    ];
    const again = code.length;
    code.push(0x21, 0x00, 0x80); // ld hl, 0x8000
    const inner = code.length;
    code.push(0x78, 0x85, 0xac, 0x22, 0x4f, 0x07, 0x04); // a = (b + l) ^ h; [hl++] = a; c = a; rotate; b++
    const call = code.length;
    code.push(0xcd, 0, 0, 0x7c, 0xfe, 0x98); // call; ld a, h; cp 0x98
    code.push(0x20, inner - (code.length + 2) & 0xff); // jr nz, inner
    code.push(0xf0, 0x43, 0x3c, 0xe0, 0x43); // scroll
    code.push(0x18, again - (code.length + 2) & 0xff); // jr again
    const routine = 0x150 + code.length;
    code[call + 1] = routine & 0xff;
    code[call + 2] = routine >> 8;
    code.push(0xc5, 0xc1, 0xc9); // push bc; pop bc; ret
    rom.set([0x00, 0xc3, 0x50, 0x01], 0x100);
    rom.set(code, 0x150);
    return rom;
}

function startWasmBoy(instance) {
    const core = instance.exports;
    new Uint8Array(core.memory.buffer).set(makeCartridge(), core.CARTRIDGE_ROM_LOCATION.value);
    core.config(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return core;
}

// --- Measuring --------------------------------------------------------------------------------------------

function fast(work, least) {
    const start = performance.now();
    let runs = 0, end;
    do {
        work();
        runs++;
        end = performance.now();
    } while (end - start < least);
    return (end - start) / runs;
}

// Threads of a page, such as that of the clock, start only while the page itself does nothing, as between two frames.
const pause = () => new Promise(done => { setTimeout(done, 50); });

function compileTime(bytes) {
    const times = [];
    for (let i = 0; i < COMPILATIONS; i++) {
        const copy = unknown(bytes), start = performance.now();
        new WebAssembly.Module(copy);
        times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[COMPILATIONS >> 1];
}

/** bytes: of kernels.c or of WasmBoy. Result: { compile, run: { program: ms } }, milliseconds by the clock; of WasmBoy, of a frame. */
export async function measure(bytes, frames) {
    const compile = compileTime(bytes), run = {};
    const { instance } = await WebAssembly.instantiate(bytes, { callbacks: makeCallbacks(), env: { abort() { throw new Error('abort'); } } });
    if (instance.exports.executeMultipleFrames) {
        const core = startWasmBoy(instance);
        core.executeMultipleFrames(10);
        await pause();
        const start = performance.now();
        let done = 0, spent = 0;
        while (done < frames && (spent < ENOUGH || done < FEWEST)) {
            core.executeMultipleFrames(1);
            spent = performance.now() - start;
            done++;
        }
        run.WasmBoy = spent / done;
        return { compile, run };
    }
    const least = frames < 100 ? LEAST / 3 : LEAST;
    instance.exports._initialize?.();
    instance.exports.prepare();
    await pause();
    for (const [group, names] of Object.entries(GROUPS)) {
        const times = names.map(name => (fast(instance.exports[name], least / 3), fast(instance.exports[name], least)));
        run[group] = times.reduce((sum, time) => sum + time, 0) / times.length;
    }
    return { compile, run };
}
