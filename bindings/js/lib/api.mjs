// lib/api.mjs - scripts and programs: the functions of include/whammc/whammc.h.
//
// Each call makes a C object `whammc`, passes it everything, and frees it: the engine keeps no state between calls.
import { init, textBytes, toBytes, withEngine } from './wasm.mjs';

const OK = 0, INTERNAL = 2, JSON_MESSAGES = 2;

/** The values of options that are C enumerations, in their order. */
export const ENUMERATIONS = {
  storage: ['auto', 'globals', 'memory'],
  host: ['auto', 'wasi', 'js', 'none', 'prof', 'component'],
  format: ['csv', 'json', 'csv-rfc4180'],
  link: ['merge', 'import', 'auto'],
};

// ---- diagnostics ----

/** What goes wrong because of a script, a program or a report: `diagnostics` has all errors and warnings. */
export class WhammcError extends Error {
  constructor(text, diagnostics, internal = false) {
    super(text.trimEnd());
    this.name = 'WhammcError';
    this.diagnostics = diagnostics;
    this.internal = internal;
    Object.defineProperty(this, 'keepsEngine', { value: true }); // it comes when C has returned
  }
}

function rangeOf(place) {
  if (place.offset === undefined) return null;
  const start = { offset: place.offset }, end = { offset: place.end_offset };
  if (place.line !== undefined) {
    Object.assign(start, { line: place.line, column: place.column });
    Object.assign(end, { line: place.end_line, column: place.end_column });
  }
  return { start, end };
}

/** Diagnostics from messages as C writes them with WHAMMC_JSON. */
export function parseDiagnostics(text) {
  return text.split('\n').filter(Boolean).map(line => {
    const { severity, tag, message, file = null, labels, hints, ...place } = JSON.parse(line);
    return {
      severity, tag, message, file, range: rangeOf(place), hints,
      labels: labels.map(label => ({ message: label.message, file: label.file ?? null, range: rangeOf(label) })),
    };
  });
}

/** `messages(flags)` gives the address of a text. Throws if the status is not that of success. */
export function takeDiagnostics(engine, status, messages) {
  const diagnostics = parseDiagnostics(engine.text(messages(JSON_MESSAGES)));
  if (status !== OK) throw new WhammcError(engine.text(messages(0)) || 'whammc: internal error', diagnostics, status === INTERNAL);
  return diagnostics;
}

// ---- options ----

/** "noOptimise" as C has it: "no_optimise". */
export function nameInC(name) {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

/** Gives the place of a value in an enumeration. */
export function enumerated(names, name, value) {
  const index = names.indexOf(value);
  if (index < 0) throw new TypeError(`whammc: option ${name}: expected ${names.map(each => `'${each}'`).join(', ')}, found ${JSON.stringify(value)}`);
  return index;
}

/** Fails for options that are none of `known`. */
export function expectOptions(options, known) {
  for (const name of Object.keys(options))
    if (!known.includes(name)) throw new TypeError(`whammc: there is no option ${name}; there are ${known.join(', ')}`);
}

export const INSTRUMENT_OPTIONS = ['storage', 'host', 'format', 'report', 'noOptimise', 'keepDebug', 'link', 'noCoalesce', 'exactTraps',
  'hostFlushes', 'sourceMapUrl', 'threads', 'sourceMapRoot', 'polls', 'linked', 'buildId', 'without'];
/** What the option `without` names, in the order of the bits WHAMMC_WITHOUT_... */
const PARTS = ['bodies', 'predicates', 'report'];
const TEXT_OPTIONS = ['report', 'sourceMapUrl', 'sourceMapRoot'];
const OTHER_OPTIONS = ['name', 'locations', 'modules'];
const MOST_WRONG = 2; // letters of a name for which another is proposed

function makeOptions(scope, options) {
  const values = {};
  expectOptions(options, [...INSTRUMENT_OPTIONS, ...OTHER_OPTIONS]);
  for (const name of INSTRUMENT_OPTIONS) {
    const value = options[name];
    if (value === undefined) continue;
    values[nameInC(name)] = TEXT_OPTIONS.includes(name) ? scope.text(value) :
      name === 'without' ? value.reduce((bits, part) => bits | 1 << enumerated(PARTS, name, part), 0) :
      ENUMERATIONS[name] ? enumerated(ENUMERATIONS[name], name, value) : Number(value);
  }
  return scope.structure('whammc_options', values);
}

/** A whammc_debug_info; `locations` is { file, fileName, named, namedName, maps }. */
export function makeDebugInfo(scope, locations, frames = true) {
  const { file, fileName = 'debug', named, namedName = 'debug', maps = {} } = locations, values = { no_frames: !frames };
  const put = (name, bytes, key) => {
    const copy = textBytes(bytes, key);
    Object.assign(values, { [key]: scope.bytes(copy), [`${key}_size`]: copy.length, [`${key}_name`]: scope.text(name) });
  };
  if (file) put(fileName, file, 'file');
  if (named) put(namedName, named, 'named');
  const pairs = Object.entries(maps), size = scope.engine.size('whammc_path_map');
  if (pairs.length) {
    values.maps = scope.zeros(size * pairs.length);
    values.nmaps = pairs.length;
    pairs.forEach(([from, to], i) =>
      scope.engine.write('whammc_path_map', values.maps + i * size, { from: scope.text(from), to: scope.text(to) }));
  }
  return scope.structure('whammc_debug_info', values);
}

// ---- scripts ----

function bundled(engine, scope, name) {
  const size = scope.zeros(4), text = engine.exports.whammc_bundled_script(scope.text(name), size) >>> 0;
  return text ? engine.bytes.slice(text, text + engine.u32(size)) : null;
}

function bundledNames(engine) {
  const names = [];
  for (let n = 0, at; (at = engine.exports.whammc_bundled_name(n)); n++) names.push(engine.text(at));
  return names;
}

/** Names of scripts are those of bundled ones; anything else is the text of one. */
function toScripts(scripts) {
  return (Array.isArray(scripts) ? scripts : [scripts]).map((script, i) => {
    if (typeof script === 'string') return { script, name: `script${i}.whamm` };
    if (typeof script?.text === 'string') return { text: script.text, name: script.name ?? `script${i}.whamm` };
    throw new TypeError('whammc: a script is the name of a bundled one, a text, or { name, text }');
  });
}

function toLibraries(libraries = []) {
  const list = Array.isArray(libraries) ? libraries : Object.entries(libraries).map(([name, module]) => ({ name, module }));
  return list.map(({ name, module, importAs }) => ({ name, importAs, module: toBytes(module, `library ${name}`) }));
}

/** How many letters have to be added, removed or replaced. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}

function noScript(name, known) {
  const [nearest] = known.filter(each => distance(name, each) <= MOST_WRONG).sort((a, b) => distance(name, a) - distance(name, b));
  return new WhammcError(`whammc: there is no bundled script '${name}'; ${nearest ? `did you mean '${nearest}'?` : `there are ${known.join(', ')}`}`, []);
}

function addScript(engine, scope, w, { script, text, name }) {
  const isName = script !== undefined && /^[\w-]+$/.test(script), found = isName ? bundled(engine, scope, script) : null;
  if (isName && !found) throw noScript(script, bundledNames(engine));
  const bytes = found ?? textBytes(script ?? text, name);
  engine.exports.whammc_add_script(w, scope.text(found ? `${script}.whamm` : name), scope.bytes(bytes), bytes.length);
}

function setWorld(engine, scope, w, { write, args, env }) {
  const values = { args: scope.texts(args), environment: scope.texts(env && Object.entries(env).map(([name, value]) => `${name}=${value}`)) };
  if (write) Object.assign(values, { write: engine.exports.js_on_write(), ctx: scope.callback(write) });
  engine.exports.whammc_set_world(w, scope.structure('whammc_world', values));
}

/** What a compiler is made of: scripts, and options of compile() and bind(). */
function makeSource(scripts, options) {
  expectOptions(options, ['define', 'libraries', 'files', 'steps', 'write', 'args', 'env']);
  return {
    scripts: toScripts(scripts), files: Object.entries(options.files ?? {}), define: Object.entries(options.define ?? {}), libraries: toLibraries(options.libraries),
    steps: options.steps ?? 0, world: { write: options.write, args: options.args, env: options.env },
  };
}

/** Calls work(engine, scope, w) with a `whammc` that has all of this. */
function withCompiler(source, work) {
  return withEngine((engine, scope) => {
    const { exports } = engine, w = exports.whammc_new();
    try {
      for (const script of source.scripts) addScript(engine, scope, w, script);
      for (const [name, text] of source.files) {
        const bytes = textBytes(text, name);
        exports.whammc_add_file(w, scope.text(name), scope.bytes(bytes), bytes.length);
      }
      for (const [name, value] of source.define) exports.whammc_define(w, scope.text(name), scope.text(value));
      for (const { name, importAs, module } of source.libraries)
        exports.whammc_add_library(w, scope.text(name), scope.text(importAs), scope.bytes(module), module.length);
      exports.whammc_set_steps(w, source.steps);
      setWorld(engine, scope, w, source.world);
      const result = work(engine, scope, w);
      exports.whammc_free(w);
      return result;
    } catch (error) {
      if (error.keepsEngine) exports.whammc_free(w);
      throw error;
    }
  });
}

const finish = (engine, w, status) => takeDiagnostics(engine, status, flags => engine.exports.whammc_messages(w, flags));

/** An array of structures that belongs to w. */
function owned(engine, scope, w, name, get) {
  const count = scope.zeros(4), at = engine.exports[get](w, count) >>> 0;
  return engine.readAll(name, at, engine.u32(count));
}

// ---- results ----

const camel = name => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** The members as JavaScript names them. */
export function renamed(object) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [camel(name), value]));
}

function probesOf(engine, scope, w) {
  const countings = owned(engine, scope, w, 'whammc_counting', 'whammc_countings');
  return owned(engine, scope, w, 'whammc_probe_stats', 'whammc_probes').map((probe, i) => {
    const { counts, partly, why, line, column } = countings[i] ?? {};
    return { ...probe, counting: counts ? 'everywhere' : partly ? 'partly' : 'nowhere', why: why ? { text: why, line, column } : null };
  });
}

function mapsOf(engine, scope, w) {
  return owned(engine, scope, w, 'whammc_map', 'whammc_maps').map(map => ({ ...map, cells: map.cells !== 0 }));
}

/** Calls a function that makes a module. */
function makeModule(engine, scope, w, call) {
  const out = scope.zeros(8), warnings = finish(engine, w, call(out, out + 4));
  return { module: engine.take(engine.u32(out), engine.u32(out + 4)), warnings };
}

function hostOf(engine, scope, w) {
  const why = scope.zeros(4), host = ENUMERATIONS.host[engine.exports.whammc_hosted(w, why)];
  return { host, why: engine.text(engine.u32(why)) || '', link: ENUMERATIONS.link[engine.exports.whammc_linked(w)] };
}

function sourceMapOf(engine, scope, w) {
  const size = scope.zeros(4);
  return engine.text(engine.exports.whammc_source_map(w, size));
}

/** A site as JavaScript has it. */
function readSite(engine, at) {
  const { fid, fname, frames, nframes, ...site } = engine.read('whammc_site', at);
  return { ...site, fid, function: fname, frames: engine.readAll('whammc_frame', frames, nframes) };
}

// ---- the interface ----

/** Scripts that have been checked: see index.d.ts. */
export class Compiler {
  #source;

  constructor(source, warnings, constants) {
    this.#source = source;
    this.warnings = warnings;
    this.constants = constants;
  }

  instrument(program, options = {}) {
    const bytes = toBytes(program, 'program');
    return withCompiler(this.#source, (engine, scope, w) => {
      const settings = makeOptions(scope, options), { exports } = engine;
      exports.whammc_choose_modules(w, scope.texts(options.modules));
      if (options.locations) exports.whammc_locate(w, makeDebugInfo(scope, options.locations, false));
      const made = makeModule(engine, scope, w, (out, size) => exports.whammc_instrument(w, scope.text(options.name ?? 'program.wasm'),
        scope.bytes(bytes), bytes.length, settings, out, size));
      const report = { ...hostOf(engine, scope, w), probes: probesOf(engine, scope, w), maps: mapsOf(engine, scope, w) };
      const result = { module: made.module, report, warnings: made.warnings };
      if (options.sourceMapUrl !== undefined) result.sourceMap = sourceMapOf(engine, scope, w);
      return result;
    });
  }

  list(program, options = {}) {
    expectOptions(options, OTHER_OPTIONS);
    const bytes = toBytes(program, 'program');
    return withCompiler(this.#source, (engine, scope, w) => {
      const { exports } = engine, sites = [], on = scope.callback(at => sites.push(readSite(engine, at)));
      exports.whammc_choose_modules(w, scope.texts(options.modules));
      exports.whammc_locate(w, makeDebugInfo(scope, options.locations ?? {}));
      const status = exports.whammc_list(w, scope.text(options.name ?? 'program.wasm'), scope.bytes(bytes), bytes.length,
        exports.js_on_site(), on);
      const warnings = finish(engine, w, status);
      return { sites, probes: probesOf(engine, scope, w), maps: mapsOf(engine, scope, w), warnings };
    });
  }

  monitor(options = {}) {
    return withCompiler(this.#source, (engine, scope, w) => {
      const settings = makeOptions(scope, options), { exports } = engine;
      return makeModule(engine, scope, w, (out, size) => exports.whammc_compile_monitor(w, settings, out, size));
    });
  }

  explainMonitor(options = {}) {
    return withCompiler(this.#source, (engine, scope, w) => {
      const out = scope.zeros(4);
      finish(engine, w, engine.exports.whammc_explain_monitor(w, makeOptions(scope, options), out));
      return engine.text(engine.u32(out));
    });
  }
}

export async function compile(scripts, options = {}) {
  await init();
  const source = makeSource(scripts, options);
  return withCompiler(source, (engine, scope, w) => {
    const warnings = finish(engine, w, engine.exports.whammc_check(w));
    return new Compiler(source, warnings, owned(engine, scope, w, 'whammc_constant', 'whammc_constants'));
  });
}

export async function check(scripts, options = {}) {
  await init();
  return withCompiler(makeSource(scripts, options), (engine, scope, w) => {
    engine.exports.whammc_check(w);
    return parseDiagnostics(engine.text(engine.exports.whammc_messages(w, JSON_MESSAGES)));
  });
}

/** `monitors`: bytes, { name, module, libraries }, or an array of these. */
function toMonitors(monitors) {
  return (Array.isArray(monitors) ? monitors : [monitors]).map((monitor, i) => {
    const { module = monitor, name = `monitor${i}.wasm`, libraries } = monitor?.module ? monitor : {};
    return { name, module: toBytes(module, name), libraries: toLibraries(libraries) };
  });
}

export async function bind(program, monitors, options = {}) {
  await init();
  const { write, args, env, ...rest } = options, bytes = toBytes(program, 'program'), list = toMonitors(monitors);
  return withCompiler({ ...makeSource([], { write, args, env }), scripts: [] }, (engine, scope, w) => {
    const { exports } = engine, settings = makeOptions(scope, rest);
    for (const { name, module, libraries } of list) {
      exports.whammc_add_monitor(w, scope.text(name), scope.bytes(module), module.length);
      for (const library of libraries)
        exports.whammc_add_monitor_library(w, scope.text(library.name), scope.bytes(library.module), library.module.length);
    }
    const made = makeModule(engine, scope, w, (out, size) =>
      exports.whammc_bind(w, scope.text(rest.name ?? 'program.wasm'), scope.bytes(bytes), bytes.length, settings, out, size));
    const attached = owned(engine, scope, w, 'whammc_attached', 'whammc_attachments');
    return { module: made.module, report: { attached }, warnings: made.warnings };
  });
}

export async function explain(rule) {
  await init();
  return withCompiler(makeSource([], {}), (engine, scope, w) => {
    const { exports } = engine, events = [];
    const on = scope.callback(at => {
      const { text, doc, names, nnames, functions, nfunctions } = engine.read('whammc_event', at);
      const bound = engine.readAll('whammc_name', names, nnames)
        .map(({ is_static: isStatic, assignable, ...name }) => ({ ...name, isStatic: isStatic !== 0, assignable: assignable !== 0 }));
      events.push({ text, doc, names: bound, functions: engine.readAll('whammc_function', functions, nfunctions) });
    });
    finish(engine, w, exports.whammc_explain(w, scope.text(rule), exports.js_on_event(), on));
    return events;
  });
}

export async function nameFunctions(program, names, { name = 'program.wasm', namesName = 'names' } = {}) {
  await init();
  const bytes = toBytes(program, 'program'), table = textBytes(names, 'names');
  return withCompiler(makeSource([], {}), (engine, scope, w) => makeModule(engine, scope, w, (out, size) =>
    engine.exports.whammc_name_functions(w, scope.text(name), scope.bytes(bytes), bytes.length, scope.text(namesName),
      scope.bytes(table), table.length, out, size)));
}

/** The file with debug information that a program names, or null. */
export async function debugReference(program) {
  await init();
  const bytes = toBytes(program, 'program');
  return withEngine((engine, scope) => {
    const name = scope.zeros(4), size = engine.exports.whammc_debug_reference(scope.bytes(bytes), bytes.length, name);
    const at = engine.u32(name);
    return size ? new TextDecoder().decode(engine.part(at, size).slice()) : null;
  });
}

export async function bundledScripts() {
  await init();
  return withEngine((engine, scope) => bundledNames(engine).map(name => ({ name, text: new TextDecoder().decode(bundled(engine, scope, name)) })));
}

export async function version() {
  await init();
  return withEngine(engine => engine.text(engine.exports.whammc_version()));
}

/** The module that programs instrumented with { link: 'import' } import as "whammc_runtime". */
export async function runtime() {
  await init();
  return withEngine((engine, scope) => {
    const size = scope.zeros(4), at = engine.exports.whammc_runtime(size);
    return engine.part(at, engine.u32(size)).slice();
  });
}
