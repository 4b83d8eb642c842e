// What the program says and, where it was instrumented, what has been counted.
export function show(output) {
  const reports = globalThis.WasmProf?.saveResults().reports ?? [];
  globalThis.shown = { output, reports: [...reports] };
  if (typeof document === 'undefined') console.log(JSON.stringify(globalThis.shown));
}
