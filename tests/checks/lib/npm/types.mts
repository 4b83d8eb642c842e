// What users write, for tsc; an expected error that does not come is one, too.
import { Compiler, Report, WhammcError, bind, check, compile, coverage, init, readReport, type Diagnostic, type Row } from 'whammc';
import { createHost, patch } from 'whammc/host';

const program = new Uint8Array();
await init(new URL('whammc.wasm', 'https://example.org'));
const compiler: Compiler = await compile(['calltree', { name: 'a.whamm', text: '' }], { define: { timed: false, n: 3 } });
const { module, report, warnings } = compiler.instrument(program, { host: 'js', noOptimise: true, report: 'stderr' });
const first: Diagnostic | undefined = warnings[0];
const host: 'auto' | 'wasi' | 'js' | 'none' | 'prof' = report.host;
// @ts-expect-error no such host
compiler.instrument(module, { host: 'node' });
// @ts-expect-error no such option
compiler.instrument(module, { hosts: 'js' });
const read: Report = await readReport('', { module: program });
const rows: Row[] = read.add('').rows;
const picture: string = read.svg({ title: 'a', top: 3 }), bytes: Uint8Array = read.write('pprof');
const text: string = read.write('gprof'), functions: string[] = read.profile('tree').functions.map(each => each.name);
const lines: number = (await coverage(program, ['', bytes], { format: 'html', source: path => (path ? '' : null) })).totals.lines;
const places = (await bind(program, { module })).report.attached.map(each => each.places);
const offsets = (await check('')).map(each => each.range?.start.offset);
try {
  await compile('');
} catch (error) {
  if (error instanceof WhammcError) console.log(error.diagnostics.length, first, host, rows, picture, text, functions, lines, places, offsets);
}
createHost({ onReport: made => console.log(made.length) }).flush();
patch().restore();
