// Declarations of whammc for JavaScript. tests/checks/npm compares the options with the structures of include/whammc.

/** Bytes of a module or of a file. */
export type Bytes = Uint8Array | ArrayBuffer | ArrayBufferView;
/** A number where that is exact, else a bigint. */
export type Count = number | bigint;

/**
 * Loads the compiler, which all functions do by themselves. `source` says where whammc.wasm comes from, for those who come first: a
 * URL, a Response, bytes, or the module that init() gave in another thread.
 */
export function init(source?: string | URL | Response | Promise<Response> | Bytes | WebAssembly.Module): Promise<WebAssembly.Module>;

/** "1.2.3" */
export function version(): Promise<string>;

// ---- diagnostics ----

/** `offset` in bytes; `line` and `column`, of texts, from 1 in code points. */
export interface Position {
  offset: number;
  line?: number;
  column?: number;
}

export interface Range {
  start: Position;
  /** Behind the last byte. */
  end: Position;
}

export interface Label {
  message: string;
  file: string | null;
  range: Range | null;
}

export interface Diagnostic extends Label {
  severity: 'error' | 'warning' | 'note';
  /** As in the manual's page of diagnostics: "undeclared-name". */
  tag: string;
  labels: Label[];
  hints: string[];
}

/** Something is wrong with a script, a program or a report; the message is the text that `whammc` prints. */
export class WhammcError extends Error {
  readonly diagnostics: Diagnostic[];
  /** whammc is at fault: the output would have been invalid. */
  readonly internal: boolean;
}

// ---- scripts ----

/** The name of a bundled script ("calltree"), or the text of a script. */
export type Script = string | { name?: string; text: string };

export interface Library {
  /** Scripts say `use NAME;`. */
  name: string;
  module: Bytes;
  /** The module that programs import it from, with link: 'import'; else the name. */
  importAs?: string;
}

export interface CompileOptions {
  /** Values of the scripts' constants. */
  define?: Record<string, string | number | bigint | boolean>;
  libraries?: Library[] | Record<string, Bytes>;
  /** Takes what library functions print while scripts are compiled; stream 1 is standard output, 2 standard error. */
  write?(stream: 1 | 2, text: string): void;
  /** What they see of arguments and environment. */
  args?: string[];
  env?: Record<string, string>;
}

/** Checks scripts; gives all errors and warnings. */
export function check(scripts: Script | Script[], options?: CompileOptions): Promise<Diagnostic[]>;
/** Checks scripts and prepares them for instrumenting; throws a WhammcError if there are errors. */
export function compile(scripts: Script | Script[], options?: CompileOptions): Promise<Compiler>;

export interface Constant {
  script: string;
  name: string;
  type: string;
  /** As scripts write it; null if there is none that is right. */
  value: string | null;
}

/** Where source locations are, besides in the program. */
export interface Locations {
  /** To take them from, whatever the program has: a module with DWARF and the same code, or a source map. */
  file?: string | Bytes;
  fileName?: string;
  /** The file that the program names: see debugReference(). */
  named?: string | Bytes;
  namedName?: string;
  /** Beginnings of paths, and what they become. */
  maps?: Record<string, string>;
}

export interface ProgramOptions {
  /** What messages call the program. */
  name?: string;
  locations?: Locations;
}

/** As whammc_options. */
export interface InstrumentOptions extends ProgramOptions {
  /** Where variables of sites live. */
  storage?: 'auto' | 'globals' | 'memory';
  /** How the report gets out of the program. */
  host?: 'auto' | 'wasi' | 'js' | 'none' | 'prof';
  format?: 'csv' | 'json' | 'csv-rfc4180';
  /** "stdout", "stderr", or a file below a folder that the host opens (WASI). */
  report?: string;
  noOptimise?: boolean;
  /** DWARF is adjusted to the new code, instead of being dropped. */
  keepDebug?: boolean;
  link?: 'merge' | 'import' | 'auto';
  noCoalesce?: boolean;
  exactTraps?: boolean;
  hostFlushes?: boolean;
  /** The URL of the source map that the output will have; the result then has `sourceMap`. */
  sourceMapUrl?: string;
  /** Has no effect: this build uses one thread. */
  threads?: number;
  sourceMapRoot?: string;
  polls?: boolean;
  /** Whether reports have a hash of the program, the scripts and what was defined, so that only those that have the same can be added up. */
  buildId?: boolean;
}

export interface Probe {
  script: string;
  /** The rule as written. */
  rule: string;
  line: number;
  /** At how many places it matches. */
  sites: Count;
  /** Where it only counts, so that no code of its own is needed. */
  counting: 'everywhere' | 'partly' | 'nowhere';
  why: { text: string; line: number; column: number } | null;
}

export interface ScriptMap {
  script: string;
  name: string;
  type: string;
  line: number;
  /** The keys are known when a program is instrumented. */
  cells: boolean;
}

export interface Hosted {
  /** How the report gets out; 'auto' if the program reports nothing. */
  host: NonNullable<InstrumentOptions['host']>;
  /** Why, if host was 'auto'. */
  why: string;
  link: 'merge' | 'import' | 'auto';
}

export interface Instrumented {
  module: Uint8Array;
  report: Hosted & { probes: Probe[]; maps: ScriptMap[] };
  warnings: Diagnostic[];
  sourceMap?: string;
}

export interface Frame {
  file: string;
  line: number;
  column: number;
  function: string;
  linkage: string;
}

export interface Site {
  /** An index into `probes`. */
  probe: number;
  /** The probe's number in reports. */
  number: number;
  event: string;
  fid: number;
  function: string;
  pc: number;
  instruction: string;
  /** From the innermost inlined function. */
  frames: Frame[];
}

export interface Listed {
  sites: Site[];
  probes: Probe[];
  maps: ScriptMap[];
  warnings: Diagnostic[];
}

export class Compiler {
  private constructor();
  readonly warnings: Diagnostic[];
  readonly constants: Constant[];
  instrument(program: Bytes, options?: InstrumentOptions): Instrumented;
  /** Every place where a probe matches. */
  list(program: Bytes, options?: ProgramOptions): Listed;
  /** Compiles the scripts without a program into a monitor module. */
  monitor(options?: Pick<InstrumentOptions, 'format' | 'report' | 'noOptimise'>): { module: Uint8Array; warnings: Diagnostic[] };
  /** How the scripts are split into the probes of a monitor, as text. */
  explainMonitor(options?: Pick<InstrumentOptions, 'format' | 'report' | 'noOptimise'>): string;
}

export interface BindOptions extends Pick<InstrumentOptions, 'name' | 'host' | 'noOptimise' | 'keepDebug'>,
  Pick<CompileOptions, 'write' | 'args' | 'env'> {}

export interface Monitor {
  name?: string;
  module: Bytes;
  libraries?: Library[] | Record<string, Bytes>;
}

/** Attaches monitors to a program, as an engine would that loads them with it. */
export function bind(program: Bytes, monitors: Bytes | Monitor | (Bytes | Monitor)[], options?: BindOptions): Promise<{
  module: Uint8Array;
  report: { attached: { monitor: string; name: string; places: Count }[] };
  warnings: Diagnostic[];
}>;

export interface ExplainedEvent {
  text: string;
  doc: string;
  names: { name: string; type: string | null; isStatic: boolean; assignable: boolean; doc: string }[];
  functions: { text: string; doc: string }[];
}

/** The events that a rule matches, in the order of their numbers. */
export function explain(rule: string): Promise<ExplainedEvent[]>;
export function bundledScripts(): Promise<{ name: string; text: string }[]>;
/** Gives the functions of a program names, from a symbol map or another build of it. */
export function nameFunctions(program: Bytes, names: string | Bytes, options?: { name?: string; namesName?: string }):
  Promise<{ module: Uint8Array; warnings: Diagnostic[] }>;
/** The file with debug information that a program names: a path relative to it, or a URL. */
export function debugReference(program: Bytes): Promise<string | null>;
/** The module that programs instrumented with link: 'import' import as "whammc_runtime". */
export function runtime(): Promise<Uint8Array>;

// ---- reports ----

/** Tuples are arrays; maps are arrays of pairs of key and value. */
export type Value = number | bigint | boolean | string | Value[];

export interface Variable {
  name: string;
  type: string;
  wasmType: string;
  idType: string;
  script: string;
  rows: number;
}

export interface Row {
  script: string;
  variable: string;
  id: string;
  /** The function's name in the report, and the one for people. */
  function: string | null;
  shownFunction: string | null;
  probe: string | null;
  instruction: string | null;
  fid: number | null;
  pc: number | null;
  value: Value | null;
}

/** As WhammcReportOptions. */
export interface ReportOptions {
  variables?: string[];
  top?: number;
  title?: string;
  mangled?: boolean;
  width?: number;
  colour?: boolean;
  ascii?: boolean;
  by?: 'site' | 'line' | 'function' | 'file';
  sort?: 'value' | 'place' | 'name';
  nonzero?: boolean;
  hex?: boolean;
  inlined?: boolean;
  lines?: boolean;
  /** When the report was made, in nanoseconds since 1970. */
  time?: Count;
  labels?: string[];
  value?: string;
  /** The text of a report to compare with. */
  base?: string | Bytes;
}

export type TextFormat = 'table' | 'csv' | 'csv-rfc4180' | 'json' | 'gprof' | 'dot' | 'folded' | 'svg' | 'speedscope' | 'cpuprofile' |
  'flat' | 'firefox' | 'callgrind' | 'perfetto' | 'heap';

export interface ProfileFunction {
  name: string;
  /** null: outside of the program, or inlined. */
  fid: number | null;
  untimed: boolean;
  calls: Count;
  recursiveCalls: Count;
  self: Count;
  total: Count;
  cycle: number;
}

export interface Profile {
  /** There are nanoseconds, not only calls. */
  timed: boolean;
  functions: ProfileFunction[];
  arcs: { caller: number; callee: number; calls: Count; ns: Count }[];
  /** Depth first; `parent`, `end` and `function` are indices. */
  nodes: { parent: number | null; end: number; depth: number; function: number; calls: Count; self: Count; total: Count }[];
}

export interface TextOptions {
  /** What messages call the text. */
  name?: string;
  /** Which of several reports in the text, from 1; 0 is the last. */
  which?: number;
}

/** Reads a report from all that a program has printed. */
export function readReport(text: string | Bytes, options?: TextOptions & { module?: Bytes; locations?: Locations }): Promise<Report>;

/** A report. It has memory of its own until it is closed or collected. */
export class Report {
  private constructor();
  readonly warnings: Diagnostic[];
  /** How many reports the text has. */
  readonly count: number;
  /** It ends in the middle of a row. */
  readonly isCut: boolean;
  /** What the program itself has printed. */
  readonly rest: string;
  readonly variables: Variable[];
  readonly rows: Row[];
  read(text: string | Bytes, options?: TextOptions): this;
  /** Adds the values of another run. */
  add(text: string | Bytes, options?: TextOptions): this;
  /** Takes away the values of an earlier report of the same run. */
  subtract(text: string | Bytes, options?: TextOptions): this;
  readImage(image: Bytes, values: Bytes, options?: { name?: string }): this;
  /** The program as it was before it was instrumented. */
  setModule(program: Bytes, options?: { name?: string }): this;
  locate(locations: Locations): this;
  write(format: 'pprof', options?: ReportOptions): Uint8Array;
  write(format: TextFormat, options?: ReportOptions): string;
  table(options?: ReportOptions): string;
  svg(options?: ReportOptions): string;
  speedscope(options?: ReportOptions): string;
  cpuprofile(options?: ReportOptions): string;
  folded(options?: ReportOptions): string;
  pprof(options?: ReportOptions): Uint8Array;
  profile(kind?: 'calls' | 'tree', options?: Pick<ReportOptions, 'variables' | 'mangled'>): Profile;
  close(): void;
}

// ---- coverage ----

/** As WhammcCoverageOptions. */
export interface CoverageOptions {
  /** Gives the text of a source file, if there is one. */
  source?(path: string): string | Bytes | null | undefined;
  allFiles?: boolean;
  include?: string[];
  exclude?: string[];
  noMarkers?: boolean;
  mangled?: boolean;
  title?: string;
  /** Seconds since 1970. */
  time?: Count;
  width?: number;
}

export interface CoverageTotals {
  lines: number;
  linesExecuted: number;
  functions: number;
  functionsExecuted: number;
  branches: number;
  branchesExecuted: number;
}

/** The coverage of a program's source by one or more runs. */
export function coverage(program: Bytes, reports: string | Bytes | (string | Bytes)[], options?: CoverageOptions & {
  format?: 'text' | 'lcov' | 'cobertura' | 'html' | 'json';
  name?: string;
  locations?: Locations;
}): Promise<{ text: string; totals: CoverageTotals; warnings: Diagnostic[] }>;
