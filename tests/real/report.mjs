// Loaded into Node behind the script of an instrumented program and in front of a program: in the end, what the script knows
// goes into the file REAL_REPORT, as the programs' reports have it.
import { writeFileSync } from 'node:fs';

const { REAL_REPORT: file } = process.env; // some programs take the environment away
process.on('exit', () => writeFileSync(file, WasmProf.saveResults().reports.join('\n')));
