// Declarations of the host of programs instrumented with { host: 'js' }.

export interface Host {
  /** The part of the import object that the program needs. */
  imports: { whammc: WebAssembly.ModuleImports };
  /** Connects to the instance that was made with `imports`. */
  attach(instance: WebAssembly.Instance, module?: WebAssembly.Module, url?: string): WebAssembly.Instance;
  /** Makes the program report what it has counted so far; false if it cannot. */
  flush(): boolean;
  /** Corrects the counts of the program after a trap. */
  trapped(error: unknown): boolean;
  /** Call this when none of the program's functions is active any more, though some have not returned. */
  unwound(): void;
  /** Calls `call(exports)`, and flushes, also if it throws. */
  run<T>(call: (exports: WebAssembly.Exports) => T): T;
}

export interface HostOptions {
  /** Takes each complete report; console.log does if it is missing. */
  onReport?(text: string, bytes?: Uint8Array): void;
  /** Instead of onReport: takes each complete report in chunks, also those that are too long for a string (in V8, more than 512 MB). */
  onChunks?(chunks: Uint8Array[]): void;
  /** Takes what scripts print while the program runs, whole lines; standard error or the console does if it is missing. */
  onLines?(bytes: Uint8Array): void;
}

/** The host of one instance. */
export function createHost(options?: HostOptions): Host;
/** Whether errors of this kind end a program. */
export function isTrap(error: unknown): boolean;
/** Whether a module asks for such a host. */
export function isInstrumented(module: WebAssembly.Module): boolean;
/** Replaces the functions of WebAssembly by ones that supply the imports of instrumented programs. */
export function patch(options?: HostOptions): { hosts: Host[]; flush(): void; restore(): void };
