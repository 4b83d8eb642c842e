// Counts of source lines, from what whammc writes. It knows nothing of VS Code.

export interface LineCount {
  line: number;
  count: number;
}

/** Lines and how often they were executed, of `whammc coverage --format=json`. */
export function coverageCounts(json: string): Map<string, LineCount[]> {
  const { files } = JSON.parse(json) as { files: { file: string; lines: LineCount[] }[] };
  return new Map(files.map(({ file, lines }) => [file, lines]));
}

/** Lines and the sums of the numbers at their sites, of `whammc report --format=json --lines`. */
export function lineSums(rows: string): Map<string, LineCount[]> {
  const sums = new Map<string, Map<number, number>>();
  for (const row of rows.split('\n')) {
    if (!row) continue;
    const { file, line, value } = JSON.parse(row) as { file?: string; line?: number; value: unknown };
    if (!file || !line || typeof value !== 'number') continue;
    let lines = sums.get(file);
    if (!lines) sums.set(file, lines = new Map());
    lines.set(line, (lines.get(line) ?? 0) + value);
  }
  return new Map([...sums].map(([file, lines]) => [file, [...lines].map(([line, count]) => ({ line, count }))]));
}

/** How hot lines are, from 0 to `most` - 1, by their share of all counts: each step is a third of the one above. */
export function heat(count: number, total: number, most: number): number {
  return count ? Math.max(0, most - 1 - Math.floor(Math.log(total / count) / Math.log(3))) : 0;
}
