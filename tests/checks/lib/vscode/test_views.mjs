// The extension's modules that know nothing of VS Code, on what whammc writes.
//
// usage: node test_views.mjs WHAMMC APP MODULES-FOLDER
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';

const [whammc, app, modules] = process.argv.slice(2);
const load = name => import(pathToFileURL(path.join(modules, `${name}.mjs`)));
const { flamePage, placesOf } = await load('flame'), { coverageCounts, heat, lineSums } = await load('counts');
const folder = makeFolder('views'), file = name => path.join(folder, name), source = path.join(path.dirname(app), 'app.c');
function run(...args) {
  const done = spawnSync(whammc, args, { cwd: folder, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`whammc ${args.join(' ')}: ${done.stderr}`);
}

run('profile', `--save=${file('p')}`, '-o', file('flame.svg'), app, '100');
run('report', `--module=${app}`, '--lines', '--format=speedscope', '-o', file('speedscope'), file('p'));
const places = placesOf(fs.readFileSync(file('speedscope'), 'utf8'));
result(places.slow?.file === source && places.slow.line === 5 && places.mix?.line === 4, 'the places of functions', places);
const page = flamePage(fs.readFileSync(file('flame.svg'), 'utf8'), [...Object.keys(places), '</script><b>'], 'abc');
const scripts = page.match(/<script[^>]*>/g);
result(scripts.length === 2 && scripts.every(tag => tag === '<script nonce="abc">'), 'all scripts of the page have the nonce', scripts);
result(page.includes("flame(document.querySelector('svg'),") && !page.includes('documentElement'), 'the picture is not the document');
result(!page.includes('</script><b>'), 'names are no markup');
result(page.includes('<title>slow (') && page.includes('"slow"'), 'the picture has the frame');

run('coverage', '--format=json', '-o', file('c'), app, '1');
const covered = coverageCounts(fs.readFileSync(file('c'), 'utf8')).get(source), of = line => covered.find(each => each.line === line)?.count;
result(of(8) === 10 && of(14) === 0 && of(10) === undefined, 'coverage', covered);
run('run', '-s', 'hotness', '--report-format=json', '-o', file('h'), app, '1');
run('report', `--module=${app}`, '--lines', '--format=json', '-o', file('hot'), file('h'));
const sums = lineSums(fs.readFileSync(file('hot'), 'utf8')).get(source);
const total = sums.reduce((sum, { count }) => sum + count, 0), hottest = sums.reduce((a, b) => (a.count > b.count ? a : b));
result(hottest.line === 4 && hottest.count > 0.9 * total && sums.some(({ line, count }) => line === 14 && !count), 'hot lines', sums);
result([heat(90, 100, 4), heat(30, 100, 4), heat(5, 100, 4), heat(1, 1e9, 4), heat(0, 100, 4)].join() === '3,2,1,0,0', 'degrees of heat',
  [heat(90, 100, 4), heat(30, 100, 4), heat(5, 100, 4), heat(1, 1e9, 4), heat(0, 100, 4)]);
removeFolder(folder);
end();
