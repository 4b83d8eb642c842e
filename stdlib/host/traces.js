// The traces that Profiler.stop() returns, in the form of the JS Self-Profiling API, of samples { source, timestamp, stack }.
import { namesOf } from './names.js';
import { idOf } from './parts.js';

/** In stacks of samples: functions in the middle that are left out. */
export const LEFT_OUT = 4294967295;

// Makes { resources, frames, stacks, samples } of samples with frames { name, resource, ... }.
function createTrace() {
  const resources = [], frames = [], stacks = [], samples = [];
  const known = new Map();
  function once(list, key, make) {
    if (!known.has(key)) {
      known.set(key, list.length);
      list.push(make());
    }
    return known.get(key);
  }
  function frameId({ name, resource, line, column }) {
    const id = resource === undefined ? undefined : once(resources, `r ${resource}`, () => resource);
    return once(frames, `f ${name} ${id} ${line} ${column}`, () => ({ name, ...id === undefined ? {} : { resourceId: id },
      ...line === undefined ? {} : { line, column } }));
  }
  function add(timestamp, list) {
    let parent;
    for (const frame of list) {
      const frame_ = frameId(frame), above = parent;
      parent = once(stacks, `s ${above} ${frame_}`, () => ({ ...above === undefined ? {} : { parentId: above }, frameId: frame_ }));
    }
    samples.push(parent === undefined ? { timestamp } : { timestamp, stackId: parent });
  }
  return { add, trace: { resources, frames, stacks, samples } };
}

// The frames of a sample of a trace, outermost first.
function framesOf(trace, { stackId }) {
  const list = [];
  for (let id = stackId; id !== undefined; id = trace.stacks[id].parentId) {
    const { name, resourceId, line, column } = trace.frames[trace.stacks[id].frameId];
    list.unshift({ name, resource: trace.resources[resourceId], line, column });
  }
  return list;
}

// The JavaScript frames of the browser's profiler at that time, if it has a sample within one of its intervals. Its frames of
// programs, which have the URL `title` or one made by the engine, are removed.
function under(trace, interval, timestamp, title) {
  let low = 0, high = trace.samples.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (trace.samples[middle].timestamp < timestamp) low = middle + 1;
    else high = middle;
  }
  const near = [trace.samples[low - 1], trace.samples[low]].filter(Boolean)
    .sort((a, b) => Math.abs(a.timestamp - timestamp) - Math.abs(b.timestamp - timestamp))[0];
  if (!near || Math.abs(near.timestamp - timestamp) > interval) return [];
  const isOfProgram = ({ name, resource }) =>
    (resource === undefined ? name === 'js-to-wasm' : resource === title || resource.startsWith('wasm:'));
  const all = framesOf(trace, near), first = all.findIndex(isOfProgram);
  return first < 0 ? all : all.slice(0, first);
}

/**
 * The trace of some samples. `outer`: { trace, interval } of the browser's profiler, or null; visible(frame): whether a frame is to be in
 * it.
 */
export function makeTrace(samples, outer, visible) {
  const { add, trace } = createTrace(), known = new Map();
  const nameOf = ({ module }, fid) => {
    if (!known.has(module)) known.set(module, namesOf({ id: idOf(module), module }).names);
    return known.get(module)[fid] ?? `#${fid}`;
  };
  for (const { source, timestamp, stack } of samples.sort((a, b) => a.timestamp - b.timestamp)) {
    const own = stack.map(fid => (fid === LEFT_OUT ? { name: '...' } : { name: nameOf(source, fid), resource: source.title }));
    add(timestamp, [...outer && stack.length ? under(outer.trace, outer.interval, timestamp, source.title) : [], ...own.filter(visible)]);
  }
  return trace;
}
