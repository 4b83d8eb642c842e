// Runs a program whose stacks may be left: work(id, calls) calls its function `kernel`, and the import `wait` now and then.
//   await run({ bytes, system, jobs, memory, write })     system: plain, asyncify, jspi; jobs: numbers of calls, at the same time
// What monitors print comes to `write`.
export async function run({ bytes, system, jobs, memory, write }) {
  const BLOCK = 8192, FIRST = 65536, promises = [];
  let exports;

  function waitByAsyncify(id) {
    if (exports.asyncify_get_state() === 2) {
      exports.asyncify_stop_rewind();
      return;
    }
    const block = FIRST + id * BLOCK, words = new Int32Array(exports.memory.buffer);
    promises[id] = new Promise(done => { setTimeout(done, id % 3); });
    words[block >> 2] = block + 8;
    words[(block + 4) >> 2] = block + BLOCK;
    exports.asyncify_start_unwind(block);
  }

  async function startByAsyncify(id, calls) {
    let sum = exports.work(id, calls);
    while (exports.asyncify_get_state() === 1) {
      exports.asyncify_stop_unwind();
      await promises[id];
      exports.asyncify_start_rewind(FIRST + id * BLOCK);
      sum = exports.work(id, calls);
    }
    return sum;
  }

  const waits = {
    plain: () => {},
    asyncify: waitByAsyncify,
    jspi: system === 'jspi' ? new WebAssembly.Suspending(id => new Promise(done => { setTimeout(done, id % 3); })) : null,
  };
  const starts = {
    plain: (id, calls) => exports.work(id, calls),
    asyncify: startByAsyncify,
    jspi: (id, calls) => WebAssembly.promising(exports.work)(id, calls),
  };
  const text = new TextDecoder();
  const imports = { env: { memory, wait: waits[system] }, whammc: { write(at, length) {
    write(text.decode(new Uint8Array(exports['whammc:memory'].buffer, at, length).slice()));
  } } };
  ({ exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports));
  const sums = await Promise.all(jobs.map((calls, id) => starts[system](id, calls)));
  if (exports['whammc:memory'] && !globalThis.WasmProf) exports['whammc:flush']?.();
  return sums;
}
