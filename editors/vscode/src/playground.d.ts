declare module 'playground/arguments' {
  /** Words of a line, as a shell would split it. */
  export function splitWords(line: string): string[];
}
