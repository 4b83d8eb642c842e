// The playground in headless Chromium, end to end. TAP on standard output.
//
//   node test_page.mjs PAGE NODE_MODULES CHROMIUM [LARGE.wasm]
//
// If WHAMMC_PICTURES names a folder, screenshots are kept there.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';

const [page, modules, chromiumPath, large] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, 'x.js'));
const { chromium } = require('playwright-core');
const pictures = process.env.WHAMMC_PICTURES;
const dir = makeFolder('playground');
const PATIENCE = 60000;

// ---- a server like any other: files, below some path ----

const TYPES = { html: 'text/html', js: 'text/javascript', css: 'text/css', wasm: 'application/wasm', svg: 'image/svg+xml' };
const requests = [];

function serve(base) {
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://x');
    requests.push(`${request.method} ${pathname}`);
    const file = path.join(page, path.normalize(`/${pathname.slice(base.length) || 'index.html'}`));
    if (!pathname.startsWith(base) || !fs.existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[file.split('.').pop()] ?? 'text/plain' });
    return fs.createReadStream(file).pipe(response);
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done({ url: `http://127.0.0.1:${server.address().port}${base}`, server })));
}

// ---- programs ----

function assemble(name, text) {
  const [from, to] = ['wat', 'wasm'].map(ending => path.join(dir, `${name}.${ending}`));
  fs.writeFileSync(from, text);
  execFileSync('wat2wasm', ['--debug-names', from, '-o', to]);
  return to;
}

const ENDLESS = `(module (memory (export "memory") 1) (global $n (mut i32) (i32.const 0))
  (func $spin (global.set $n (i32.add (global.get $n) (i32.const 1))))
  (func (export "_start") (loop $l (call $spin) (br $l))))`;
// Names come from exports, as there is no name section.
const HOSTILE_NAMES = ['</script><script>globalThis.hacked=1</script>', '<img src=x onerror=globalThis.hacked=1>', '\\1b[31mred\\1b[0m', "=cmd|' /C calc'!A0",
  '\\e2\\80\\aeevil'];
const HOSTILE = `(module (memory (export "memory") 1)
  ${HOSTILE_NAMES.map((name, i) => `(func (export "${name}") (drop (i32.const ${i})))`).join('\n')}
  (func (export "_start") ${HOSTILE_NAMES.map((_, i) => `(call ${i})`).join(' ')}))`;
const TRAPS = '(module (memory (export "memory") 1) (func $f unreachable) (func (export "_start") (call $f)))';
// One function of more instructions than a call has arguments.
const LONG = `(module (memory (export "memory") 1) (func $long (export "_start") ${'nop '.repeat(140000)}))`;
const IMPORTS = '(module (import "env" "draw" (func)) (func (export "_start") (call 0)))';

function assembleAll() {
  const made = { endless: assemble('endless', ENDLESS), traps: assemble('traps', TRAPS), imports: assemble('imports', IMPORTS),
    long: assemble('long', LONG) };
  const from = path.join(dir, 'hostile.wat'), to = path.join(dir, 'hostile.wasm');
  fs.writeFileSync(from, HOSTILE);
  execFileSync('wat2wasm', [from, '-o', to]);
  const whole = fs.readFileSync(made.endless), damaged = path.join(dir, 'damaged.wasm'), empty = path.join(dir, 'empty.wasm');
  fs.writeFileSync(damaged, whole.subarray(0, whole.length - 7));
  fs.writeFileSync(empty, '');
  return { ...made, hostile: to, damaged, empty };
}

// ---- a user ----

const problems = [];

async function visit(context, url) {
  const tab = await context.newPage();
  tab.on('pageerror', error => problems.push(error.message));
  tab.on('console', message => { if (message.type() === 'error') problems.push(message.text()); });
  await tab.goto(url);
  await ready(tab);
  return tab;
}

const status = tab => tab.textContent('#status');
const waitForStatus = (tab, pattern) => tab.waitForFunction(text => new RegExp(text).test(document.getElementById('status').textContent), pattern,
  { timeout: PATIENCE });
const ready = tab => tab.waitForFunction(() => !document.getElementById('run').disabled && document.querySelectorAll('#examples option').length > 5, null,
  { timeout: PATIENCE });

async function write(tab, text) {
  await tab.click('.cm-content');
  await tab.keyboard.press('Control+A');
  await tab.keyboard.insertText(text);
}

async function waitForCheck(tab, pattern) {
  await tab.waitForFunction(text => new RegExp(text).test(document.getElementById('checked').textContent), pattern, { timeout: PATIENCE });
}

async function run(tab, pattern = '^(ran|it trapped|stopped)') {
  await tab.click('#run');
  await waitForStatus(tab, pattern);
}

async function open(tab, file, pattern = 'functions?$') {
  await tab.setInputFiles('#open', file);
  await waitForStatus(tab, pattern);
}

const COUNT = 'wasm:func:entry { report unshared var calls: u64; calls++; }';
const cells = tab => tab.$$eval('#view-table tbody tr', rows => rows.map(row => [...row.cells].map(cell => cell.textContent)));

// ---- what is tested ----

async function testWriting(tab) {
  await write(tab, 'report var n: u64;\nwasm:func:entry {\n    n++; m++;\n}\n');
  await waitForCheck(tab, '1 error');
  const where = await tab.textContent('#problems .where'), marked = await tab.textContent('.cm-lintRange-error');
  result(where === '3:10' && marked === 'm' && /undeclared-name/.test(await tab.textContent('#problems')), 'an error is shown at its place', where, marked);
  await tab.click('#problems button');
  await tab.keyboard.press('Shift+ArrowRight');
  await tab.keyboard.insertText('n');
  await waitForCheck(tab, 'no problems');
  result((await tab.$$('#problems li')).length === 0, 'fixed from the list of problems, it is gone');
  await tab.fill('#args', '10');
  await run(tab);
  // fib counts its own calls; of the two functions that it consists of each other one.
  await tab.click('#tab-output');
  const output = await tab.textContent('#view-output');
  await tab.click('#tab-table');
  const n = Number((await tab.textContent('[data-variable=n]')).replaceAll(',', ''));
  await write(tab, 'report var n: u64;\nwasm:func:entry / fname == "fib" || fname == "fib_before" / { n++; }\n');
  await waitForCheck(tab, 'no problems');
  await tab.fill('#args', '10');
  await run(tab);
  const fib = Number((await tab.textContent('[data-variable=n]')).replaceAll(',', '')), calls = Number(output.match(/calls (\d+)/)?.[1]);
  result(/fib\(10\) = 55/.test(output) && n > fib && fib > calls, 'it runs, prints and counts', output, [n, fib, calls]);
}

async function testCompletion(tab) {
  await write(tab, 'wasm:opcode:br_if:before { report unshared var n: u64; if (tak');
  await tab.keyboard.type('e', { delay: 30 });
  await tab.waitForSelector('.cm-tooltip-autocomplete li', { timeout: PATIENCE });
  await tab.waitForSelector('.cm-completionInfo', { timeout: PATIENCE });
  const first = await tab.textContent('.cm-tooltip-autocomplete li[aria-selected]'), info = await tab.textContent('.cm-completionInfo');
  result(/^taken/.test(first) && /branch will be taken/.test(info), 'a bound name is completed, with its documentation', first, info);
  await tab.waitForTimeout(200); // so soon after the list has come, keys are for the text
  await tab.keyboard.press('Enter');
  result(/\(taken/.test(await tab.textContent('.cm-content')), 'Enter takes it');
  await write(tab, 'wasm:func:');
  await tab.keyboard.type('e', { delay: 30 });
  await tab.waitForSelector('.cm-tooltip-autocomplete li', { timeout: PATIENCE });
  const events = await tab.$$eval('.cm-tooltip-autocomplete li', items => items.map(item => item.textContent));
  result(events.includes('entry'), 'events are completed', events);
  await tab.keyboard.press('Escape');
  await write(tab, 'wasm:opcode:br_if:before { report unshared var n: u64; if (taken) { n++; } }');
  await waitForCheck(tab, 'no problems');
  await tab.hover('.hl-bound >> text=taken');
  await tab.waitForSelector('.cm-tooltip-hover', { timeout: PATIENCE });
  result(/branch will be taken/.test(await tab.textContent('.cm-tooltip-hover')), 'a name is explained under the pointer');
}

async function testViews(tab) {
  const { frame } = await openFlame(tab);
  const names = await frame.$$eval('.f title', titles => titles.map(title => title.textContent));
  result(names.some(name => name.startsWith('main')), 'a flame graph', names);
  const width = () => frame.$eval('.f:has(title)', () => [...document.querySelectorAll('.f')].filter(each => each.style.display === 'none').length);
  const before = await width();
  await frame.$$eval('.f', frames => frames.at(-1).dispatchEvent(new MouseEvent('click', { bubbles: true })));
  result(await width() > before, 'its frames can be zoomed: its script runs, and no other one may');
  const reached = await frame.evaluate(() => { try { return String(parent.document.title); } catch { return 'none'; } });
  result(reached === 'none', 'what is in the picture cannot reach the page', reached);
  await tab.selectOption('#examples', 'hotness');
  await waitForStatus(tab, '^fib.wasm');
  await tab.fill('#args', '10');
  await run(tab);
  await tab.click('#tab-flame');
  await tab.waitForFunction(() => /no call tree/.test(document.getElementById('view-flame').textContent), null, { timeout: PATIENCE });
  result(true, 'without a call tree it says so');
  await tab.click('#tab-chart');
  result((await tab.$$('.bars li')).length > 5, 'a chart');
  await tab.click('#tab-code');
  await tab.waitForFunction(() => document.querySelectorAll('.code .mark').length > 5, null, { timeout: PATIENCE });
  const rows = await tab.$$eval('.code tr.site', all => all.map(row => [row.cells[0].textContent, row.cells[2].textContent, row.cells[3].textContent]));
  await tab.click('#tab-table');
  const table = await cells(tab), counts = new Map(table.filter(row => row[0] === 'fib').map(row => [row[1], row.at(-1)]));
  await tab.click('#tab-code');
  await tab.selectOption('#functions', { label: (await tab.$$eval('#functions option', all => all.map(one => one.textContent))).find(text => /^fib \(/.test(text)) });
  await tab.waitForFunction(() => [...document.querySelectorAll('.code .source')].some(row => /fib\.c/.test(row.textContent) && /fib_before/.test(row.textContent)),
    null, { timeout: PATIENCE });
  const code = await tab.$$eval('.code tr.site', all => all.map(row => [row.cells[2].textContent, row.cells[0].textContent]));
  result(rows.length > 5 && code.length > 5 && code.every(([pc, count]) => counts.get(pc) === count), 'annotated code has the counts of the table, and lines of source',
    code, [...counts]);
}

async function testLink(context, tab) {
  const script = '// ünïcode 🔥 </script>\nreport var n: u64;\nwasm:func:entry { n++; }\n';
  await tab.selectOption('#programs', 'quicksort');
  await waitForStatus(tab, '^quicksort');
  await write(tab, script);
  await tab.fill('#args', '100 "a b"');
  await tab.click('#share');
  await tab.waitForFunction(() => location.hash.length > 10);
  const second = await visit(context, tab.url());
  const text = await second.evaluate(() => [...document.querySelectorAll('.cm-line')].map(line => line.textContent).join('\n'));
  result(text === script && await second.inputValue('#args') === '100 "a b"' && await second.inputValue('#programs') === 'quicksort',
    'a permanent link opens the same in another page', text);
  await waitForCheck(second, 'no problems');
  await run(second);
  result(/^ran/.test(await status(second)), 'and runs there');
  await second.close();
  const unknown = await context.newPage(), packed = deflateRawSync(JSON.stringify({ script: COUNT, program: 'fibb' })).toString('base64url');
  await unknown.goto(`${tab.url().split('#')[0]}#1.${packed}`);
  await waitForStatus(unknown, "does not have, 'fibb'.*fib is open instead");
  await waitForCheck(unknown, 'no problems');
  result(await unknown.inputValue('#programs') === 'fib', 'a link to a program that is not there: it says so, and what is open');
  await unknown.close();
  for (const [hash, said] of [['#1.AAAA', 'damaged'], ['#7.x', 'not one of the playground'], [`#${tab.url().split('#')[1].slice(0, -9)}`, 'damaged']]) {
    const broken = await context.newPage();
    await broken.goto(tab.url().split('#')[0] + hash);
    await waitForStatus(broken, said);
    result(true, `a link that is ${said}: it says so (${hash.slice(0, 8)})`);
    await broken.close();
  }
}

async function testPrograms(tab, programs) {
  await write(tab, COUNT);
  await waitForCheck(tab, 'no problems');
  await open(tab, programs.hostile);
  await run(tab);
  await tab.click('#tab-table');
  const table = await cells(tab);
  result(table.some(row => row[0] === HOSTILE_NAMES[0]) && table.some(row => /^\S?.?\[31mred/.test(row[0])) && !/[\x1b\u202e]/.test(await tab.textContent('#results')) && table.some(row => row[0] === HOSTILE_NAMES[3]),
    'hostile names are shown as they are written', table);
  for (const name of ['chart', 'code', 'flame', 'output', 'table']) await tab.click(`#tab-${name}`);
  result(await tab.evaluate(() => globalThis.hacked === undefined && !document.querySelector('#results img, #results script')), 'and nothing of them is markup');

  await open(tab, programs.endless);
  await tab.click('#run');
  await waitForStatus(tab, 'running');
  await tab.waitForSelector('#view-table tbody tr', { timeout: PATIENCE });
  const live = (await cells(tab)).find(row => row[0] === 'spin');
  await tab.click('#stop');
  await waitForStatus(tab, '^stopped');
  const last = (await cells(tab)).find(row => row[0] === 'spin');
  const number = row => Number(row?.at(-1).replaceAll(',', ''));
  result(number(live) > 0 && number(last) >= number(live) && await tab.isEnabled('#run'), 'an endless program reports while it runs, and can be stopped',
    live, last);

  // Another program, which is none, while one runs: no report of the one comes after that.
  await tab.click('#run');
  await waitForStatus(tab, 'running');
  await tab.waitForSelector('#view-table tbody tr', { timeout: PATIENCE });
  await open(tab, programs.damaged, 'damaged\\.wasm.*error');
  await tab.waitForTimeout(1500); // two reports
  result(await tab.isDisabled('#run') && await tab.isDisabled('#stop') && (await cells(tab)).length === 0, 'a run ends when another program is opened',
    await status(tab));

  await open(tab, programs.traps);
  await run(tab);
  result(/^it trapped.*unreachable/.test(await status(tab)) && (await cells(tab)).some(row => row[0] === 'f' && row.at(-1) === '1'), 'a trap is told, and the report is there',
    await status(tab));
  await write(tab, COUNT.replaceAll('calls', 'constructor').replace('}', 'report unshared var __proto__: u64; __proto__ = 5; }'));
  await waitForCheck(tab, 'no problems');
  await run(tab);
  await tab.click('#tab-code');
  await tab.waitForFunction(() => document.querySelectorAll('.code .mark').length, null, { timeout: PATIENCE });
  for (const [name, count] of [['__proto__', '5'], ['constructor', '1']]) {
    const found = await tab.selectOption('#count-of', name, { timeout: 5000 }).then(() => tab.waitForFunction(
      text => [...document.querySelectorAll('.code .count')].some(cell => cell.textContent === text), count, { timeout: 5000 })).catch(() => null);
    result(found, `counts of a variable with the name ${name}`, await tab.textContent('#view-code'));
  }
  await tab.click('#tab-table');
  await write(tab, 'wasm:opcode:*:before { report unshared var n: u64; n++; }');
  await waitForCheck(tab, 'no problems');
  await open(tab, programs.long);
  await run(tab);
  await tab.click('#tab-code');
  await tab.waitForFunction(() => /instructions are shown/.test(document.querySelector('#view-code').textContent), null, { timeout: PATIENCE });
  result((await tab.textContent('.code tr[data-pc] .count')) === '1', 'a very long function', (await tab.textContent('#view-code')).slice(0, 500));
  await tab.click('#tab-table');
  await write(tab, COUNT);
  await waitForCheck(tab, 'no problems');
  await open(tab, programs.imports);
  await run(tab, 'env\\.draw');
  result(true, 'imports that are not there are named');
  for (const name of ['damaged', 'empty']) {
    await open(tab, programs[name], `${name}\\.wasm.*error`);
    result(await tab.isDisabled('#run'), `the ${name} module: a message, and it cannot be run`, await status(tab));
  }
  if (!large || !fs.existsSync(large)) return;
  const begin = performance.now();
  await open(tab, large);
  await tab.click('#tab-code');
  await tab.waitForSelector('.code tbody tr', { timeout: PATIENCE });
  await tab.fill('#args', '--version');
  const opened = performance.now() - begin;
  await tab.click('#run');
  await waitForStatus(tab, '^ran|env|gojs|import');
  console.log(`# ${(fs.statSync(large).size / 1e6).toFixed(1)} MB: ${(opened / 1000).toFixed(1)} s until its code is shown, then: ${(await status(tab)).slice(0, 150)}`);
  const listed = (await tab.$$('#functions option')).length, more = await tab.textContent('#functions');
  result(listed > 300 && /and \d[\d,]+ more/.test(more) && /gojs/.test(await status(tab)), 'a large module is opened, shown and instrumented; what it imports is told', listed);
}

async function testAccess(tab, what) {
  await tab.addScriptTag({ content: fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') }).catch(() => {});
  if (!await tab.evaluate(() => 'axe' in globalThis)) await tab.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await tab.evaluate(() => globalThis.axe.run(document, { iframes: false }));
  const list = found.violations.map(each => `${each.id}: ${each.nodes.slice(0, 4).map(node => `${node.html.slice(0, 120)} ${node.failureSummary.slice(0, 200)}`).join(' | ')}`);
  result(list.length === 0, `axe: ${what}`, list);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  result(wide <= 0, `no horizontal scroll: ${what}`, wide);
}

async function testLooks(browser, url) {
  for (const [size, viewport] of Object.entries({ desktop: { width: 1280, height: 800 }, phone: { width: 375, height: 812 }, narrow: { width: 360, height: 640 } })) {
    for (const colorScheme of ['light', 'dark']) {
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', bypassCSP: true }), tab = await visit(context, url);
      await run(tab);
      for (const name of ['table', 'chart', 'code', 'output']) {
        await tab.click(`#tab-${name}`);
        if (name === 'code') await tab.waitForSelector('.code tbody tr', { timeout: PATIENCE });
        await testAccess(tab, `${size}, ${colorScheme}, ${name}`);
        if (pictures) await tab.screenshot({ path: path.join(pictures, `${size}-${colorScheme}-${name}.png`), fullPage: size !== 'desktop' });
      }
      await tab.click('#tab-table');
      await write(tab, 'wasm:func:entry { calls++; }\n');
      await waitForCheck(tab, '1 error');
      await testAccess(tab, `${size}, ${colorScheme}, with an error`);
      if (pictures) await tab.screenshot({ path: path.join(pictures, `${size}-${colorScheme}-error.png`) });
      if (size === 'desktop') {
        await tab.selectOption('#examples', 'calltree');
        await waitForStatus(tab, '^validation');
        await run(tab);
        await tab.click('#tab-flame');
        await tab.waitForSelector('#view-flame iframe', { timeout: PATIENCE });
        await tab.waitForTimeout(500);
        if (pictures) await tab.screenshot({ path: path.join(pictures, `${size}-${colorScheme}-flame.png`) });
      }
      await context.close();
    }
  }
}

async function testKeyboard(tab) {
  await tab.focus('#tab-table');
  await tab.keyboard.press('ArrowRight');
  const chart = await tab.evaluate(() => document.activeElement.id);
  await tab.keyboard.press('End');
  const last = await tab.evaluate(() => document.activeElement.id);
  result(chart === 'tab-chart' && last === 'tab-output', 'tabs by arrow keys', chart, last);
  await write(tab, COUNT);
  await waitForCheck(tab, 'no problems');
  await tab.keyboard.press('Control+Enter');
  await waitForStatus(tab, '^ran');
  result(true, 'Ctrl-Enter runs');
  await tab.click('.cm-content');
  await tab.keyboard.press('Tab');
  result(await tab.evaluate(() => !document.activeElement.closest('.cm-editor')), 'Tab leaves the editor');
  await tab.click('#tab-table');
  await tab.focus('#view-table td button');
  await tab.keyboard.press('Enter');
  result(await tab.evaluate(() => document.activeElement.id) === 'view-code', 'Enter on a function opens its code, which has the focus');
}

/** The flame graph of the example calltree: the page's frame for it, and its place. */
async function openFlame(tab) {
  await tab.selectOption('#examples', 'calltree');
  await waitForStatus(tab, '^validation');
  await tab.fill('#args', '500');
  await run(tab);
  await tab.click('#tab-flame');
  const handle = await tab.waitForSelector('#view-flame iframe', { timeout: PATIENCE }), frame = await handle.contentFrame();
  await frame.waitForSelector('.f[tabindex]', { timeout: PATIENCE, state: 'attached' });
  return { handle, frame };
}
const details = frame => frame.$eval('svg', root => root.querySelector(':scope > text:last-of-type').textContent);
const canReset = frame => frame.$eval('#reset', each => each.style.display === 'inline');

async function testFlameKeys(tab) {
  const { frame } = await openFlame(tab);
  await frame.focus('.f[tabindex="0"]');
  const names = [await details(frame)];
  for (const key of ['ArrowUp', 'ArrowUp', 'Enter']) {
    await tab.keyboard.press(key);
    names.push(await details(frame));
  }
  const zoomed = await canReset(frame);
  await tab.keyboard.press('Escape');
  result(new Set(names.slice(0, 3)).size === 3 && names.every(name => / call/.test(name)) && zoomed && !await canReset(frame),
    'in the flame graph, keys go from frame to frame, zoom in and out', names, zoomed);
}

async function testPhone(browser, url) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 });
  const tab = await visit(context, url);
  const lines = await tab.$$eval('#examples option', all => all.map(one => one.textContent));
  result(lines.every(line => line.length <= 46), 'a phone: the lines of the list of examples are short', lines.filter(line => line.length > 46));
  await run(tab);
  await tab.waitForFunction(() => document.getElementById('results').getBoundingClientRect().top < innerHeight / 2, null, { timeout: PATIENCE });
  result(true, 'a phone: after a run, the report is in view');
  const { handle, frame } = await openFlame(tab);
  await tab.waitForTimeout(1000); // for the page to come to rest
  const cut = await frame.$$eval('.f > text', all => all.filter(text => text.getBBox().width > text.parentNode.getBoundingClientRect().width).map(text => text.textContent));
  result(cut.length === 0, 'a phone: no label is wider than its frame', cut);
  const [x, y] = await frame.$$eval('.f', all => {
    // times differ, and so do widths: the narrowest that a finger hits
    const [place] = all.map(each => each.getBoundingClientRect()).filter(({ width }) => width > 20).sort((one, other) => one.width - other.width);
    return [place.x + place.width / 2, place.y + place.height / 2];
  });
  await handle.scrollIntoViewIfNeeded();
  const box = await handle.boundingBox();
  await tab.touchscreen.tap(box.x + 1 + x, box.y + 1 + y);
  await tab.waitForTimeout(300);
  result(/ call|…/.test(await details(frame)) && await canReset(frame), 'a phone: a touch zooms in, and says what the frame is', await details(frame));
  if (pictures) await tab.screenshot({ path: path.join(pictures, 'phone-flame.png') });
  await context.close();
}

async function testExamples(tab) {
  const wrong = [], names = (await tab.$$eval('#examples option', all => all.map(one => one.value))).filter(Boolean);
  for (const name of names) {
    await tab.selectOption('#examples', name);
    await tab.waitForFunction(() => !document.getElementById('run').disabled && !/reading/.test(document.getElementById('status').textContent), null, { timeout: PATIENCE });
    await waitForCheck(tab, 'no problems|warning|error');
    if (await tab.inputValue('#programs') === 'quicksort') await tab.fill('#args', '300');
    await tab.waitForTimeout(50);
    await run(tab, '^(ran|it trapped|.*error)');
    const said = await status(tab);
    if (!/^ran/.test(said) || !(await tab.textContent('#sentence'))) wrong.push(`${name}: ${said}`);
  }
  result(names.length > 15 && wrong.length === 0, `all ${names.length} examples run`, wrong);
}

async function testOffline(context, url, server) {
  const tab = await visit(context, url);
  await tab.waitForFunction(() => /without a network/.test(document.getElementById('offline').textContent), null, { timeout: PATIENCE });
  await new Promise(done => { server.close(done); server.closeAllConnections(); });
  await context.setOffline(true);
  await tab.reload();
  await ready(tab);
  await tab.selectOption('#programs', 'matmul');
  await waitForStatus(tab, '^matmul');
  await tab.fill('#args', '16');
  await run(tab);
  result(/^ran/.test(await status(tab)), 'without a network and its server it loads again, and runs another program');
}

async function main() {
  const { url, server } = await serve('/some/base/');
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const programs = assembleAll(), context = await browser.newContext({ viewport: { width: 1280, height: 800 } }), tab = await visit(context, url);
    await testWriting(tab);
    await testCompletion(tab);
    await testKeyboard(tab);
    await testViews(tab);
    await testFlameKeys(tab);
    await testLink(context, tab);
    await testPhone(browser, url);
    await testPrograms(tab, programs);
    await tab.close();
    await testExamples(await visit(context, url));
    if (process.env.WHAMMC_PLAYGROUND !== 'quick') await testLooks(browser, url);
    await testOffline(context, url, server);
    result(requests.every(each => each.startsWith('GET ')), 'nothing is sent to the server');
    const unexpected = problems.filter(each => !/env\.draw/.test(each));
    result(unexpected.length === 0, 'no errors on the console', unexpected);
  } catch (error) {
    result(false, 'the page', error.stack);
  } finally {
    await browser.close();
    server.close();
    removeFolder(dir);
  }
}

await main();
end();
