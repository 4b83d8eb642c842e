// The sizes of the scripts beside programs: OUT.js, which a page loads before its program, stays small, whatever OUT.views.js has.
// esbuild minifies it; where that is not installed, only the files themselves are measured.
//   node test_size.mjs WHAMMC MODULES
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';

const whammc = resolve(process.argv[2]), esbuild = resolve(process.argv[3], 'esbuild-wasm/bin/esbuild'), work = makeFolder('size');
const MINIFIED = 22100, RAW = 38000; // bytes

const CASES = {
  hotness: ['-s', 'hotness'],
  coverage: ['-s', 'coverage'],
  arcs: ['-s', 'profile'],
  tree: ['-s', 'calltree'],
  heap: ['-s', 'heap'],
  'sampled by a thread': ['-s', 'sample', '-D', 'outside=true'],
  'samples itself': ['-s', 'sample', '-D', 'tells=true'],
  'profile without views': ['-s', 'profile', '--no-js-views'],
};

const minified = file => spawnSync(process.execPath, [esbuild, '--minify', file], { cwd: work, encoding: 'utf8', maxBuffer: 1 << 24 }).stdout.length;

try {
  writeFileSync(join(work, 'app.wat'), '(module (func $a (export "a")) (func $b (export "main") (call $a)))');
  execFileSync('wat2wasm', ['--debug-names', 'app.wat', '-o', 'app.wasm'], { cwd: work });
  for (const [title, options] of Object.entries(CASES)) {
    execFileSync(whammc, ['instr', '--host=js', ...options, 'app.wasm', '-o', 'out.wasm'], { cwd: work, stdio: 'ignore' });
    const raw = readFileSync(join(work, 'out.js')).length;
    result(raw > 1000 && raw <= RAW, `${title}: at most ${RAW} bytes`, `${raw}`);
    if (!existsSync(esbuild)) {
      result(true, `${title}: minified # SKIP esbuild-wasm is not installed`);
      continue;
    }
    const size = minified('out.js');
    console.log(`# ${title}: ${raw} bytes, ${size} minified`);
    result(size > 1000 && size <= MINIFIED, `${title}: at most ${MINIFIED} bytes minified`, `${size}`);
  }
  // Names are only in the second file: a program with many functions has the same first one.
  const many = Array.from({ length: 2000 }, (_, i) => `(func $a_function_with_a_long_name_${i})`).join('');
  writeFileSync(join(work, 'many.wat'), `(module ${many} (func (export "main")))`);
  execFileSync('wat2wasm', ['--debug-names', 'many.wat', '-o', 'many.wasm'], { cwd: work });
  const sizes = ['app', 'many'].map(name => {
    execFileSync(whammc, ['instr', '--host=js', '-s', 'profile', `${name}.wasm`, '-o', 'out.wasm'], { cwd: work, stdio: 'ignore' });
    return ['out.js', 'out.views.js'].map(file => readFileSync(join(work, file)).length);
  });
  result(sizes[0][0] === sizes[1][0] && sizes[1][1] > sizes[0][1] + 60000, 'names are in the second file', sizes);
} finally {
  removeFolder(work);
}
end();
