// Runs a program with a main function in a page: for bench/sampling.
import { startProgram, unknown } from './rounds.mjs';

const PAUSE = 100; // milliseconds before a run: threads of a page begin when its own thread waits

/** How long each of these runs of the program takes, in milliseconds. All runs are of new modules, which the engine has to optimise. */
export async function measure(bytes, { args, runs }) {
    const times = [];
    for (let i = 0; i < runs; i++) {
        const { imports, run } = startProgram(['program', ...args]);
        const instance = new WebAssembly.Instance(new WebAssembly.Module(unknown(bytes)), imports);
        await new Promise(resolve => setTimeout(resolve, PAUSE));
        const began = performance.now();
        run(instance);
        times.push(performance.now() - began);
    }
    return { times };
}
