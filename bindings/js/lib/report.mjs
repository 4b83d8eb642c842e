// lib/report.mjs - reports of instrumented programs: the functions of include/whammc/report.h and coverage.h.
import { enumerated, expectOptions, makeDebugInfo, nameInC, renamed, takeDiagnostics } from './api.mjs';
import { Scope, createEngine, decode, explainFailure, giveBytes, init, textBytes, toBytes, withEngine } from './wasm.mjs';

const OUTSIDE = 0xffffffff;

// Formats that are not text.
const BINARY = ['pprof'];

export const REPORT_ENUMERATIONS = {
  by: ['site', 'line', 'function', 'file'],
  sort: ['value', 'place', 'name'],
};
export const COVERAGE_FORMATS = ['text', 'lcov', 'cobertura', 'html', 'json', 'drcov'];
const KINDS = ['unsigned', 'signed', 'float', 'bool', 'string', 'tuple', 'map', 'record', 'buckets', 'none', 'unreadable'];

export const REPORT_OPTIONS = ['variables', 'top', 'title', 'mangled', 'width', 'colour', 'ascii', 'by', 'sort', 'nonzero', 'hex',
  'noInstructions', 'inlined', 'lines', 'time', 'labels', 'value', 'base'];
export const COVERAGE_OPTIONS = ['source', 'allFiles', 'include', 'exclude', 'noMarkers', 'mangled', 'title', 'time', 'width'];
const LISTS = ['variables', 'labels', 'include', 'exclude'], TEXTS = ['title', 'value'];

function makeOption(scope, name, value) {
  if (LISTS.includes(name)) return scope.texts(value);
  if (TEXTS.includes(name)) return scope.text(value);
  if (REPORT_ENUMERATIONS[name]) return enumerated(REPORT_ENUMERATIONS[name], name, value);
  return value;
}

function makeReportOptions(scope, structure, known, options) {
  const values = {};
  expectOptions(options, known);
  for (const [name, value] of Object.entries(options))
    if (value !== undefined) values[nameInC(name)] = makeOption(scope, name, value);
  return scope.structure(structure, values);
}

// ---- values ----

/** A value as JavaScript has it. Keys of maps can be tuples, so a map is an array of pairs. */
function readValue(engine, at) {
  const kind = KINDS[engine.readMember('WhammcValue', 'kind', at)];
  const size = engine.readMember('WhammcValue', 'size', at), member = name => engine.readMember('WhammcValue', `as.${name}`, at);
  switch (kind) {
    case 'unsigned': return member('u');
    case 'signed': return member('i');
    case 'float': return member('f');
    case 'bool': return Number(member('u')) !== 0;
    case 'none': return null;
    case 'tuple':
    case 'map':
    case 'record':
    case 'buckets': {
      const parts = member('parts'), step = engine.size('WhammcValue');
      const values = Array.from({ length: size }, (_, i) => readValue(engine, parts + i * step));
      if (kind === 'tuple') return values;
      if (kind === 'buckets') return values.flatMap((low, i) => (i % 3 ? [] : [{ low, high: values[i + 1], count: values[i + 2] }]));
      const pairs = values.flatMap((key, i) => (i % 2 ? [] : [[key, values[i + 1]]]));
      return kind === 'map' ? pairs : Object.fromEntries(pairs);
    }
    default: {
      const text = engine.view.getUint32(at + 8, true);
      return decode(engine.part(text, size));
    }
  }
}

// ---- reports ----

/** A report that was read: see index.d.ts. It has memory of its own until close(). */
export class Report {
  #engine;
  #r;
  #scope; // what must live as long as the report

  /** byThread: what is read keeps threads apart. */
  constructor(byThread = false) {
    this.#engine = createEngine();
    this.#scope = new Scope(this.#engine);
    this.#r = this.#engine.exports.whammc_report_new();
    this.#engine.exports.whammc_report_by_thread(this.#r, byThread);
    this.warnings = [];
  }

  #use(work) {
    if (!this.#engine) throw new Error('whammc: the report was closed');
    const scope = new Scope(this.#engine);
    try {
      return work(this.#engine, scope, this.#r);
    } catch (error) {
      if (!error.keepsEngine && !(error instanceof TypeError)) this.#engine = null; // in the middle of a call of C
      throw explainFailure(error);
    } finally {
      if (this.#engine) scope.free();
    }
  }

  #finish(engine, status) {
    const diagnostics = takeDiagnostics(engine, status, flags => engine.exports.whammc_report_messages(this.#r, flags));
    this.warnings.push(...diagnostics);
  }

  #take(call, text, { name = 'report', which = 0 } = {}) {
    const bytes = textBytes(text, name);
    this.#use((engine, scope, r) => {
      this.#finish(engine, engine.exports[call](r, scope.text(name), scope.bytes(bytes), bytes.length, which));
    });
    return this;
  }

  read(text, options) {
    return this.#take('whammc_report_read', text, options);
  }

  add(text, options) {
    return this.#take('whammc_report_add', text, options);
  }

  subtract(text, options) {
    return this.#take('whammc_report_subtract', text, options);
  }

  /** The report of a program instrumented with { link: 'import' } from its image and its values. */
  readImage(image, values, { name = 'report' } = {}) {
    const a = toBytes(image, 'image'), b = toBytes(values, 'values');
    this.#use((engine, scope, r) => this.#finish(engine,
      engine.exports.whammc_report_read_image(r, scope.text(name), scope.bytes(a), a.length, scope.bytes(b), b.length)));
    return this;
  }

  setModule(program, { name = 'program.wasm' } = {}) {
    const bytes = toBytes(program, 'program');
    this.#use((engine, scope, r) =>
      this.#finish(engine, engine.exports.whammc_report_set_module(r, scope.text(name), scope.bytes(bytes), bytes.length)));
    return this;
  }

  /** One more program, of another module of the report. */
  addModule(program, { name = 'program.wasm' } = {}) {
    const bytes = toBytes(program, 'program');
    this.#use((engine, scope, r) =>
      this.#finish(engine, engine.exports.whammc_report_add_module(r, scope.text(name), scope.bytes(bytes), bytes.length)));
    return this;
  }

  /** Leaves only one module of the report. */
  select(module) {
    this.#use((engine, scope, r) => this.#finish(engine, engine.exports.whammc_report_select(r, scope.text(module))));
    return this;
  }

  locate(locations) {
    this.#use((engine, scope, r) => {
      const kept = new Scope(engine);
      engine.exports.whammc_report_locate(r, makeDebugInfo(kept, locations));
      this.#scope.free();
      this.#scope = kept;
    });
    return this;
  }

  get count() {
    return this.#use((engine, scope, r) => engine.exports.whammc_report_count(r) >>> 0);
  }

  get isCut() {
    return this.#use((engine, scope, r) => engine.exports.whammc_report_is_cut(r) !== 0);
  }

  /** What the program itself has printed. */
  get rest() {
    return this.#use((engine, scope, r) => {
      const size = scope.zeros(4), at = engine.exports.whammc_report_rest(r, size);
      return decode(engine.part(at, engine.u32(size)));
    });
  }

  get variables() {
    return this.#use((engine, scope, r) => {
      const count = scope.zeros(4), at = engine.exports.whammc_report_variables(r, count);
      return engine.readAll('WhammcVariable', at, engine.u32(count)).map(renamed);
    });
  }

  /** All rows as objects. */
  get rows() {
    const { variables } = this;
    return this.#use((engine, scope, r) => {
      const count = scope.zeros(4), at = engine.exports.whammc_report_rows(r, count);
      return engine.readAll('WhammcRow', at, engine.u32(count)).map((row, i) => {
        const value = engine.exports.whammc_report_value(r, i) >>> 0;
        const { script, name } = variables[row.variable];
        return {
          module: row.module, thread: row.thread, script, variable: name, id: row.id, function: row.fname, shownFunction: row.shown_fname ?? row.fname, probe: row.probe,
          instruction: row.instruction, fid: row.has_place ? row.fid : null, pc: row.has_place ? row.pc : null,
          value: value ? readValue(engine, value) : null,
        };
      });
    });
  }

  /** The report in a format of `whammc report --format`: a text, or bytes. */
  write(format, options = {}) {
    return this.#use((engine, scope, r) => {
      const out = scope.zeros(8), { exports } = engine, values = { ...options };
      if (!exports.whammc_report_format(scope.text(format), out)) throw new TypeError(`whammc: there is no format '${format}'`);
      if (options.base !== undefined) values.base = this.#base(engine, scope, options.base);
      const settings = makeReportOptions(scope, 'WhammcReportOptions', REPORT_OPTIONS, values);
      try {
        this.#finish(engine, exports.whammc_report_write(r, engine.u32(out), settings, out, out + 4));
      } finally {
        if (values.base) exports.whammc_report_free(values.base);
      }
      const bytes = engine.take(engine.u32(out), engine.u32(out + 4));
      return BINARY.includes(format) ? bytes : decode(bytes);
    });
  }

  /** The report to compare with, which is a text: it has to be in the same memory. */
  #base(engine, scope, text) {
    const { exports } = engine, bytes = textBytes(text, 'base'), base = exports.whammc_report_new();
    const status = exports.whammc_report_read(base, scope.text('base'), scope.bytes(bytes), bytes.length, 0);
    takeDiagnostics(engine, status, flags => exports.whammc_report_messages(base, flags));
    return base;
  }

  table(options) {
    return this.write('table', options);
  }

  svg(options) {
    return this.write('svg', options);
  }

  speedscope(options) {
    return this.write('speedscope', options);
  }

  cpuprofile(options) {
    return this.write('cpuprofile', options);
  }

  folded(options) {
    return this.write('folded', options);
  }

  pprof(options) {
    return this.write('pprof', options);
  }

  /** Calls ('calls') or the call tree ('tree') as objects. */
  profile(kind = 'tree', options = {}) {
    expectOptions(options, ['variables', 'mangled']);
    return this.#use((engine, scope, r) => {
      const out = scope.zeros(4), settings = makeReportOptions(scope, 'WhammcReportOptions', REPORT_OPTIONS, options);
      this.#finish(engine, engine.exports.whammc_report_profile(r, enumerated(['calls', 'tree'], 'kind', kind), settings, out));
      const profile = engine.read('WhammcProfile', engine.u32(out));
      const all = (name, at, count) => engine.readAll(name, at, count).map(renamed);
      return {
        timed: profile.timed,
        sampled: profile.sampled,
        functions: all('WhammcProfileFunction', profile.functions, profile.nfunctions)
          .map(({ fid, ...rest }) => ({ ...rest, fid: fid === OUTSIDE ? null : fid })),
        arcs: all('WhammcProfileArc', profile.arcs, profile.narcs),
        nodes: all('WhammcProfileNode', profile.nodes, profile.nnodes)
          .map(({ parent, ...rest }) => ({ ...rest, parent: parent === OUTSIDE ? null : parent })),
      };
    });
  }

  /** Gives the memory back; after that the report cannot be used. Reports that nobody refers to give it back, too. */
  close() {
    this.#engine = null;
  }
}

export async function readReport(text, { module, locations, byThread, ...options } = {}) {
  await init();
  expectOptions(options, ['name', 'which']);
  const report = new Report(byThread);
  if (module) report.setModule(module);
  if (locations) report.locate(locations);
  return report.read(text, options);
}

// ---- coverage ----

export async function coverage(program, reports, { format = 'lcov', name = 'program.wasm', locations, modules = [], objects = [], ...options } = {}) {
  await init();
  const bytes = toBytes(program, 'program'), texts = (Array.isArray(reports) ? reports : [reports]).map(text => textBytes(text, 'report'));
  const named = (list, otherwise, what) => list.map(one => ({ name: one.name ?? otherwise, bytes: toBytes(one.bytes ?? one, what) }));
  const others = named(modules, 'program.wasm', 'module'), files = named(objects, 'objects', 'object');
  const kind = enumerated(COVERAGE_FORMATS, 'format', format);
  return withEngine((engine, scope) => {
    const { exports } = engine, c = exports.whammc_coverage_new(), out = scope.zeros(8), totals = scope.structure('WhammcCoverageTotals');
    const finish = status => takeDiagnostics(engine, status, flags => exports.whammc_coverage_messages(c, flags));
    const values = { ...options };
    try {
      if (options.source) {
        const { source } = options;
        delete values.source;
        Object.assign(values, { source: exports.js_on_source() });
      }
      const settings = makeReportOptions(scope, 'WhammcCoverageOptions', COVERAGE_OPTIONS, values);
      if (options.source) engine.write('WhammcCoverageOptions', settings, { ctx: scope.callback((path, size) => giveBytes(scope, options.source(path), path, size)) });
      if (locations) exports.whammc_coverage_locate(c, makeDebugInfo(scope, locations));
      const warnings = finish(exports.whammc_coverage_set_module(c, scope.text(name), scope.bytes(bytes), bytes.length));
      others.forEach(other => warnings.push(...finish(
        exports.whammc_coverage_add_module(c, scope.text(other.name), scope.bytes(other.bytes), other.bytes.length))));
      files.forEach(file => warnings.push(...finish(
        exports.whammc_coverage_include_objects(c, scope.text(file.name), scope.bytes(file.bytes), file.bytes.length))));
      texts.forEach((text, i) => warnings.push(...finish(
        exports.whammc_coverage_add(c, scope.text(`report${texts.length > 1 ? i + 1 : ''}`), scope.bytes(text), text.length))));
      warnings.push(...finish(exports.whammc_coverage_write(c, kind, settings, out, out + 4)));
      exports.js_coverage_totals(c, totals);
      const written = engine.take(engine.u32(out), engine.u32(out + 4));
      const counts = renamed(engine.read('WhammcCoverageTotals', totals));
      exports.whammc_coverage_free(c);
      return { text: decode(written), bytes: written, totals: counts, warnings };
    } catch (error) {
      if (error.keepsEngine) exports.whammc_coverage_free(c);
      throw error;
    }
  });
}
