// Declarations of whammc for JavaScript. tests/checks/npm compares the options with the structures of include/whammc.

/** Bytes of a module or of a file. */
export type Bytes = Uint8Array | ArrayBuffer | ArrayBufferView;
/** A number if that is exact, otherwise a bigint. */
export type Count = number | bigint;

/**
 * Loads the compiler, which all functions otherwise do by themselves. `source` is the source of whammc.wasm, if the compiler is not
 * loaded yet: a URL, a Response, bytes, or the module that init() returned in another thread.
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
  /** The end is exclusive. */
  end: Position;
}

export interface Label {
  message: string;
  file: string | null;
  range: Range | null;
}

export interface Diagnostic extends Label {
  severity: 'error' | 'warning' | 'note';
  /** The tag in brackets, such as "undeclared-name", described in the manual's page of diagnostics. */
  tag: string;
  labels: Label[];
  hints: string[];
}

/** An error in a script, a program or a report; `message` is the text that the command prints. */
export class WhammcError extends Error {
  readonly diagnostics: Diagnostic[];
  /** An internal error of whammc: the output would have been invalid. */
  readonly internal: boolean;
}

// ---- scripts ----

/** The name of a bundled script ("calltree"), or the text of a script. */
export type Script = string | { name?: string; text: string };

export interface Library {
  /** The name in scripts: `use NAME;`. */
  name: string;
  module: Bytes;
  /** The module from which programs import it with link: 'import'. Default: `name`. */
  importAs?: string;
}

export interface CompileOptions {
  /** Values of the scripts' constants. */
  define?: Record<string, string | number | bigint | boolean>;
  libraries?: Library[] | Record<string, Bytes>;
  /** Texts that scripts `include`, by their names. */
  files?: Record<string, string>;
  /** Iterations of loops and calls of recursive functions that an execution of a probe may take. Default: 10,000,000. */
  steps?: number;
  /** Receives output of library functions at compile time; stream 1 is standard output, 2 standard error. */
  write?(stream: 1 | 2, text: string): void;
  /** Their arguments and environment. */
  args?: string[];
  env?: Record<string, string>;
}

/** Checks scripts; returns all errors and warnings. */
export function check(scripts: Script | Script[], options?: CompileOptions): Promise<Diagnostic[]>;
/** Checks scripts and prepares them for instrumenting; throws a WhammcError if there are errors. */
export function compile(scripts: Script | Script[], options?: CompileOptions): Promise<Compiler>;

export interface Constant {
  script: string;
  name: string;
  type: string;
  /** The value in script syntax; null if it is invalid. */
  value: string | null;
}

/** Sources of debug information besides the program. */
export interface Locations {
  /** Overrides what the program has: a module with DWARF and the same code, or a source map. */
  file?: string | Bytes;
  fileName?: string;
  /** The file that the program names: see debugReference(). */
  named?: string | Bytes;
  namedName?: string;
  /** Replacements for the beginnings of paths. */
  maps?: Record<string, string>;
}

export interface ProgramOptions {
  /** The program's name in messages. */
  name?: string;
  locations?: Locations;
  /** Patterns of names: of a component, only these core modules. */
  modules?: string[];
}

/** As whammc_options. */
export interface InstrumentOptions extends ProgramOptions {
  /** Where per-site variables live. */
  storage?: 'auto' | 'globals' | 'memory';
  /** How the report leaves the program. */
  host?: 'auto' | 'wasi' | 'js' | 'none' | 'prof';
  format?: 'csv' | 'json' | 'csv-rfc4180';
  /** "stdout", "stderr", or a file below a folder that the host opens (WASI). */
  report?: string;
  noOptimise?: boolean;
  /** Adjust DWARF to the new code instead of dropping it. */
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
  /** The program is one of several modules that call each other, and are all instrumented. Known of those that are linked dynamically. */
  linked?: boolean;
  /** Put a hash of the program, the scripts and their constants into reports, so that only reports of the same build can be added up. */
  buildId?: boolean;
  /** To measure what these parts of scripts cost: leave them out (`whammc instr --bodies=empty`, `--no-predicates`, `--no-report`). */
  without?: ('bodies' | 'predicates' | 'report')[];
}

export interface Probe {
  script: string;
  /** The rule as written. */
  rule: string;
  line: number;
  /** The number of its sites. */
  sites: Count;
  /** Where it only counts, so that it needs no code at its sites. */
  counting: 'everywhere' | 'partly' | 'nowhere';
  why: { text: string; line: number; column: number } | null;
}

export interface ScriptMap {
  script: string;
  name: string;
  type: string;
  line: number;
  /** All keys are static. */
  cells: boolean;
}

export interface Hosted {
  /** How the report leaves the program; 'auto' if it has no report. */
  host: NonNullable<InstrumentOptions['host']> | 'component';
  /** The reason, if `host` was 'auto'. */
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
  /** The innermost inlined function first. */
  frames: Frame[];
  /** The name of the core module in its component; "" in a module. */
  module: string;
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
  /** Every site of the probes. */
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

/** Attaches monitors to a program, as an engine would when it loads both. */
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
/** Names the functions of a program, from a symbol map or another build of it. */
export function nameFunctions(program: Bytes, names: string | Bytes, options?: { name?: string; namesName?: string }):
  Promise<{ module: Uint8Array; warnings: Diagnostic[] }>;
/** The file with debug information that a program names: a path relative to it, or a URL. */
export function debugReference(program: Bytes): Promise<string | null>;
/** The module that programs instrumented with link: 'import' import as "whammc_runtime". */
export function runtime(): Promise<Uint8Array>;

// ---- reports ----

/** A bucket of a histogram: how many whole numbers n with low <= n < high were added; null where it has no end. */
export interface Bucket {
  low: number | bigint | null;
  high: number | bigint | null;
  count: Count;
}

/** What `min`, `max` (count and the number), `avg` (count, sum, mean) and `stats` have; null if no number was added. */
export interface Aggregation {
  count: Count;
  sum?: number | bigint;
  min?: number | bigint | null;
  max?: number | bigint | null;
  mean?: number | null;
  deviation?: number | null;
}

/** Tuples are arrays; maps and `top` are arrays of pairs of key and value; `hist` and `lhist` are arrays of buckets. */
export type Value = number | bigint | boolean | string | Aggregation | Bucket[] | Value[];

export interface Variable {
  name: string;
  type: string;
  wasmType: string;
  idType: string;
  script: string;
  rows: number;
  /** Of a derived column: what its values are computed from, in postfix form; else null. */
  formula: string | null;
}

export interface Row {
  /** What its module is called; null if the report has only one. */
  module: string | null;
  /** The number of its thread, 0 for the main thread; null if threads were added up. */
  thread: string | null;
  script: string;
  variable: string;
  id: string;
  /** The function's name in the report, and the name to show. */
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
  noInstructions?: boolean;
  inlined?: boolean;
  lines?: boolean;
  /** When the report was made, in nanoseconds since 1970. */
  time?: Count;
  labels?: string[];
  value?: string;
  /** The text of a report to compare with. */
  base?: string | Bytes;
}

export type TextFormat = 'table' | 'csv' | 'csv-rfc4180' | 'json' | 'prometheus' | 'flat' | 'gprof' | 'dot' | 'folded' | 'svg' |
  'speedscope' | 'cpuprofile' | 'perfetto' | 'firefox' | 'callgrind' | 'cachegrind' | 'heap';

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
  /** There are times, not only calls. */
  timed: boolean;
  /** Calls are samples. */
  sampled: boolean;
  functions: ProfileFunction[];
  arcs: { caller: number; callee: number; calls: Count; ns: Count }[];
  /** Depth first; `parent`, `end` and `function` are indices. */
  nodes: { parent: number | null; end: number; depth: number; function: number; calls: Count; self: Count; total: Count }[];
}

export interface TextOptions {
  /** The name of the text in messages. */
  name?: string;
  /** Which of several reports in the text, from 1; 0 is the last. */
  which?: number;
}

/** Reads a report from the output of a program. `byThread`: threads are kept apart, instead of being added up. */
export function readReport(text: string | Bytes,
  options?: TextOptions & { module?: Bytes; locations?: Locations; byThread?: boolean }): Promise<Report>;

/** A report. It holds memory of the compiler until it is closed or garbage-collected. */
export class Report {
  private constructor();
  readonly warnings: Diagnostic[];
  /** The number of reports in the text. */
  readonly count: number;
  /** The report ends in the middle of a row. */
  readonly isCut: boolean;
  /** Other output of the program. */
  readonly rest: string;
  readonly variables: Variable[];
  readonly rows: Row[];
  read(text: string | Bytes, options?: TextOptions): this;
  /** Adds the values of another run. */
  add(text: string | Bytes, options?: TextOptions): this;
  /** Subtracts the values of an earlier report of the same run. */
  subtract(text: string | Bytes, options?: TextOptions): this;
  readImage(image: Bytes, values: Bytes, options?: { name?: string }): this;
  /** The program as it was before it was instrumented. */
  setModule(program: Bytes, options?: { name?: string }): this;
  /** One more program, of another module of the report. */
  addModule(program: Bytes, options?: { name?: string }): this;
  /** Leaves only the module that is called so, or whose name or hash begins so. */
  select(module: string): this;
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
  /** Returns the text of a source file, or nothing if it cannot be read. */
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
  format?: 'text' | 'lcov' | 'cobertura' | 'html' | 'json' | 'drcov';
  name?: string;
  locations?: Locations;
  /** Other programs of which the reports are, too; what all have executed is shown together. */
  modules?: (Bytes | { name: string; bytes: Bytes })[];
  /** Object files, or archives of them, whose functions the linker may have left out: these are then not executed. */
  objects?: (Bytes | { name: string; bytes: Bytes })[];
}): Promise<{ text: string; /** The same; drcov is no text. */ bytes: Uint8Array; totals: CoverageTotals; warnings: Diagnostic[] }>;

/** The user of a language server. */
export interface LanguageServerHost {
  /** Takes a message for the client, in the Language Server Protocol. */
  send(message: object): void;
  /** The contents of a file of the workspace: scripts that others include, programs, whammc.json. */
  read?(path: string): string | Bytes | null | undefined;
  /** The file that the script `from` includes by `path`; if it is left out, `read` of the path beside `from`. */
  find?(from: string, path: string): { name: string; text: string } | null | undefined;
}

/** A language server for one client: `whammc lsp`, without runs. */
export interface LanguageServer {
  /** Takes a message of the client; the answer is sent before this returns. */
  receive(message: string | object): void;
  /** No message is waiting: checks the scripts that have changed, and sends what is wrong with them. */
  idle(): void;
  /** Whether the client has told it to exit. */
  readonly exited: boolean;
  close(): void;
}

/** Starts a language server. */
export function languageServer(host: LanguageServerHost): Promise<LanguageServer>;
