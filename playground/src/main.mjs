// The page: an editor, a program, runs of it and their reports.
import './style.css';
import { init } from 'whammc';
import { splitWords } from './arguments.mjs';
import { createCodeView } from './code-view.mjs';
import { byId, download, element, shown, visible } from './dom.mjs';
import { createEditor } from './editor.mjs';
import { decodeLink, encodeLink } from './link.mjs';
import LIBRARIES from './libraries.json';
import { BEST, FIRST, PROGRAMS, fetchLibrary, fetchProgram, fetchSource } from './programs.mjs';
import { drawChart, drawTable } from './report-view.mjs';
import { connect } from './rpc.mjs';

const LIST_BY_ITSELF = 2 << 20; // bytes of programs whose sites are listed as one types
const OWN = 'own'; // the value of a program's choice that is a file of the user's
const MOST_OUTPUT = 1 << 20; // characters
const MOST_ABOUT = 44; // characters of a line in a list of choices, which phones cut off
const SIGHT = 0.6; // of the window's height: what begins below it is out of sight
const EXPECTED = 'stale-section'; // the warning of every program with debug information

const makeCompiler = () => new Worker(new URL('./compiler.worker.mjs', import.meta.url), { type: 'module', name: 'compiler' });
const makeRunner = () => new Worker(new URL('./runner.worker.mjs', import.meta.url), { type: 'module', name: 'program' });
const checking = connect(makeCompiler), working = connect(makeCompiler); // one is always free for what is typed

const state = { program: null, own: null, files: [], runner: null, report: null, drawn: null, diagnostics: [], output: '', turn: 0, results: 0 };
let editor = null;

// ---- small things ----

function say(text, kind = '') {
  const status = byId('status');
  status.className = `wide ${kind}`;
  status.textContent = text;
}

const plural = (n, one) => `${shown(n)} ${one}${n === 1 ? '' : 's'}`;

// ---- tabs ----

const tabs = [...document.querySelectorAll('[role=tab]')];
const panelOf = tab => byId(tab.getAttribute('aria-controls'));
const isShown = name => byId(`tab-${name}`).getAttribute('aria-selected') === 'true';

function select(tab, focus = false) {
  for (const each of tabs) {
    each.setAttribute('aria-selected', each === tab);
    each.tabIndex = each === tab ? 0 : -1;
    panelOf(each).hidden = each !== tab;
  }
  if (focus) tab.focus();
  draw(tab.id.slice('tab-'.length));
}

function startTabs() {
  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener('click', () => select(tab));
    tab.addEventListener('keydown', event => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      select(tabs[(to + tabs.length) % tabs.length], true);
    });
  }
}

// ---- colours ----

const THEMES = { auto: ['Auto', 'as the system has them'], light: ['Light', 'light'], dark: ['Dark', 'dark'] };

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const [text, meaning] = THEMES[theme];
  byId('theme').textContent = text;
  byId('theme').setAttribute('aria-label', `${text}. Colours: ${meaning}`);
  try {
    localStorage.setItem('theme', theme);
  } catch { // not allowed: it is not kept
  }
}

function startTheme() {
  let kept = null;
  try {
    kept = localStorage.getItem('theme');
  } catch { // not allowed
  }
  setTheme(Object.hasOwn(THEMES, kept) ? kept : 'auto');
  const names = Object.keys(THEMES);
  byId('theme').addEventListener('click', () => setTheme(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]));
}

// ---- diagnostics ----

function showDiagnostics(diagnostics, show) {
  state.diagnostics = diagnostics;
  const errors = diagnostics.filter(each => each.severity === 'error').length, warnings = diagnostics.length - errors;
  const badge = byId('checked');
  badge.className = `badge ${errors ? 'bad' : warnings ? 'warn' : 'good'}`;
  badge.textContent = errors ? plural(errors, 'error') : warnings ? plural(warnings, 'warning') : 'no problems';
  byId('problems').replaceChildren(...diagnostics.map((each, i) => element('li', { class: each.severity },
    element('button', { type: 'button', onclick: () => show(i) },
      element('span', { class: 'where' }, each.range ? `${each.range.start.line}:${each.range.start.column}` : ''),
      element('span', {}, `${each.severity}: ${visible(each.message)} `, element('code', {}, `[${each.tag}]`),
        ...each.labels.map(label => element('small', {}, visible(label.message))), ...each.hints.map(hint => element('small', {}, visible(hint))))))));
  if (!errors && isShown('code') && state.program?.bytes.length < LIST_BY_ITSELF) codeView.update({}, true);
}

// ---- programs ----

const codeView = createCodeView(byId('view-code'), {
  disassemble: fid => working.call('disassemble', fid),
  list: fid => working.call('list', editor.text, fid),
});

/** Opens a program, and ends the run of another; says what is wrong with it. `source` are the lines of its C file. */
async function open(name, bytes, source = null, sourceName = '') {
  const turn = ++state.turn;
  state.program = null;
  if (state.runner) endRun();
  byId('run').disabled = true;
  clearReport();
  say(`reading ${visible(name)} …`);
  try {
    const { functions } = await working.call('open', name, bytes);
    if (turn !== state.turn) return;
    state.program = { name, bytes };
    byId('run').disabled = state.runner !== null;
    codeView.update({ functions, counts: {}, sources: source ? { [sourceName]: source } : {} }, isShown('code'));
    say(`${visible(name)}: ${shown(bytes.length)} bytes, ${plural(functions.length, 'function')}`);
  } catch (error) {
    if (turn !== state.turn) return;
    codeView.update({ functions: [], counts: {}, sources: {} }, false);
    say(visible(error.message.trim()), 'bad');
  }
}

async function choose(name) {
  byId('programs').value = name;
  if (name === OWN) return state.own && open(state.own.name, state.own.bytes);
  const { source } = PROGRAMS.find(each => each.name === name), turn = state.turn;
  try {
    const [bytes, lines] = await Promise.all([fetchProgram(name), source ? fetchSource(source) : null]);
    return turn === state.turn && open(`${name}.wasm`, bytes, lines, source);
  } catch (error) {
    return say(error.message, 'bad');
  }
}

async function openFile(file) {
  state.own = { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
  const list = byId('programs');
  list.querySelector(`[value=${OWN}]`)?.remove();
  list.append(element('option', { value: OWN }, visible(file.name)));
  list.value = OWN;
  byId('args').value = '';
  await open(state.own.name, state.own.bytes);
}

function showFiles() {
  byId('file-list').replaceChildren(...state.files.map((file, i) => element('li', {}, `${visible(file.name)} (${shown(file.bytes.length)} bytes) `,
    element('button', { type: 'button', class: 'link', onclick: () => { state.files.splice(i, 1); showFiles(); } }, 'Remove', element('span', { class: 'hidden' }, ` ${visible(file.name)}`)))));
}

async function addFiles(files) {
  for (const file of files) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    state.files = [...state.files.filter(each => each.name !== file.name), { name: file.name, bytes }];
  }
  showFiles();
}

function startPrograms() {
  const list = byId('programs');
  list.append(...PROGRAMS.map(({ name, about }) => element('option', { value: name }, shortLine(name, about))));
  list.addEventListener('change', () => {
    byId('args').value = PROGRAMS.find(each => each.name === list.value)?.args ?? '';
    choose(list.value);
  });
  byId('open').addEventListener('change', event => {
    const [file] = event.target.files;
    event.target.value = '';
    if (file) openFile(file);
  });
  byId('files').addEventListener('change', event => addFiles([...event.target.files]));
  document.addEventListener('dragover', event => {
    if ([...event.dataTransfer.types].includes('Files')) event.preventDefault();
  });
  document.addEventListener('drop', event => {
    const files = [...event.dataTransfer.files], module = files.find(file => file.name.endsWith('.wasm'));
    if (!files.length) return;
    event.preventDefault();
    if (module) openFile(module);
    addFiles(files.filter(file => file !== module));
  });
}

// ---- results ----

const EMPTY = { table: 'Run the program to see its report.', chart: 'Run the program to see its report as a chart.',
  flame: 'Run a script that records a call tree, such as the example calltree, to see a flame graph.', output: 'Run the program to see its output.' };

function clearReport() {
  Object.assign(state, { report: null, drawn: null, output: '' });
  state.results++;
  for (const [name, text] of Object.entries(EMPTY)) byId(`view-${name}`).replaceChildren(element('p', { class: 'empty' }, text));
}

/** Files of the report, below its table. */
function downloads() {
  const base = state.program.name.replace(/\.wasm$/, '');
  const formats = [['csv', 'CSV', 'text/csv'], ['json', 'JSON', 'application/json'], ['pprof', 'pprof', 'application/octet-stream'],
    ['speedscope', 'speedscope', 'application/json'], ['cpuprofile', 'cpuprofile', 'application/json'], ['folded', 'folded stacks', 'text/plain']];
  const note = element('span', { role: 'status' });
  const save = async ([format, , type]) => {
    try {
      const name = { csv: 'csv', json: 'json', pprof: 'pb.gz', speedscope: 'speedscope.json', cpuprofile: 'cpuprofile', folded: 'folded.txt' }[format];
      download(`${base}.${name}`, await working.call('write', format === 'csv' ? 'csv-rfc4180' : format, {}), type);
      note.textContent = '';
    } catch (error) {
      note.textContent = ` ${visible(error.message.trim())}`;
    }
  };
  return element('p', { class: 'downloads' }, 'Save as ', ...formats.map(format =>
    element('button', { type: 'button', class: 'quiet', onclick: () => save(format) }, format[1])), note);
}

function showPlace(fid, pc) {
  select(byId('tab-code'));
  codeView.open(fid, pc);
  byId('view-code').focus(); // what was pressed is not shown any more
}

async function drawFlame() {
  const { report } = state, panel = byId('view-flame');
  if (state.drawn === report && panel.querySelector('iframe')) return;
  try {
    const svg = await working.call('write', 'svg', { title: state.program.name });
    if (report !== state.report) return;
    const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
    const height = Number(svg.match(/<svg[^>]*\bheight="(\d+)"/)?.[1] ?? 400);
    // In a sandbox: what is in the picture cannot reach this page, whatever the names in it are.
    const frame = element('iframe', { src: url, title: 'Flame graph', sandbox: 'allow-scripts allow-modals', style: `height:${height + 8}px` });
    frame.addEventListener('load', () => {
      URL.revokeObjectURL(url);
      panel.scrollTop = panel.scrollHeight; // where the roots are
    });
    state.drawn = report;
    panel.replaceChildren(frame, element('p', { class: 'downloads' },
      element('button', { type: 'button', class: 'quiet', onclick: () => download(`${state.program.name.replace(/\.wasm$/, '')}.svg`, svg, 'image/svg+xml') }, 'Save SVG')));
  } catch (error) {
    if (report !== state.report) return;
    const text = /no-tree|no call tree/.test(error.message) ? 'This report has no call tree. ' : `${visible(error.message.trim())} `;
    panel.replaceChildren(element('p', { class: 'empty' }, text, 'The example ',
      element('button', { type: 'button', class: 'link', onclick: () => example('calltree') }, 'calltree'), ' makes one.'));
  }
}

/** Draws the panel that is shown; the others wait until they are. */
function draw(name) {
  if (name === 'code') codeView.update({}, true);
  if (!state.report) return;
  if (name === 'table') {
    drawTable(byId('view-table'), state.report, showPlace);
    byId('view-table').append(downloads());
  }
  if (name === 'chart') drawChart(byId('view-chart'), state.report, showPlace);
  if (name === 'flame') drawFlame();
}

const drawShown = () => draw(tabs.find(tab => tab.getAttribute('aria-selected') === 'true').id.slice('tab-'.length));

// ---- runs ----

function addOutput(stream, text) {
  const panel = byId('view-output');
  if (!panel.querySelector('pre')) panel.replaceChildren(element('pre', { class: 'output' }));
  const pre = panel.querySelector('pre');
  if (state.output.length > MOST_OUTPUT) return;
  state.output += text;
  pre.append(element('span', { class: stream }, visible(text)));
}

function showWritten(files) {
  if (!files.length) return;
  byId('view-output').append(element('p', { class: 'downloads' }, 'Files written by the program: ', ...files.map(({ name, bytes }) =>
    element('button', { type: 'button', class: 'quiet', onclick: () => download(name.split('/').pop(), bytes) }, `${visible(name)} (${shown(bytes.length)} bytes)`))));
}

function setRunning(runner) {
  state.runner = runner;
  byId('run').disabled = runner !== null || !state.program;
  byId('stop').disabled = runner === null;
  document.body.classList.toggle('running', runner !== null);
}

/** Ends the run, if there is one. */
function endRun() {
  state.runner?.terminate();
  setRunning(null);
}

/** Reports come faster than they can be read: the last one counts, and none after the results of another run or program. */
function createReader() {
  const { results } = state;
  let next = null, busy = null;
  async function work() {
    while (next !== null) {
      const text = next;
      next = null;
      const report = await working.call('read', text);
      if (results !== state.results) return;
      state.report = report;
      codeView.update({ counts: report.counts }, false);
      drawShown();
    }
  }
  return text => {
    if (text !== undefined) next = text;
    busy = (busy ?? Promise.resolve()).catch(() => {}).then(work); // one that cannot be read does not keep others away
    return busy;
  };
}

/** Where all is below one another, as on phones, the results would be out of sight. */
function showResults() {
  const { top } = byId('results').getBoundingClientRect();
  if (top > innerHeight * SIGHT) byId('results').scrollIntoView({ block: 'start' });
}

async function run() {
  if (state.runner || !state.program) return;
  clearReport();
  const instrumenting = { terminate() {}, stop() { endRun(); say('stopped'); } };
  setRunning(instrumenting);
  const { program, results } = state, begin = performance.now();
  say('instrumenting …');
  let made;
  try {
    made = await working.call('instrument', editor.text, byId('live').checked);
  } catch (error) {
    if (state.runner !== instrumenting) return;
    setRunning(null);
    const lines = error.message.trim().split('\n');
    say(visible(lines[0]) + (lines.length > 1 ? ' …' : ''), 'bad');
    return;
  }
  if (state.runner !== instrumenting) return;
  const ms = performance.now() - begin, took = `${plural(made.sites, 'site')} instrumented in ${shown(Math.round(ms))} ms`;
  const told = made.warnings.filter(each => each.tag !== EXPECTED);
  const warnings = told.length ? `; ${plural(told.length, 'warning')}: ${visible(told[0].message)}` : '';
  const runner = makeRunner(), read = createReader();
  setRunning(runner);
  say(`${took}; running …${warnings}`);
  const finish = async (text, kind) => {
    runner.terminate();
    if (state.runner === runner) setRunning(null);
    try {
      await read();
      if (results !== state.results) return;
      if (!state.report) throw new Error(kind === 'stopped' ? 'no report yet' : 'the program made no report');
      const printed = state.report.printed.trim();
      if (printed) addOutput('script', `${printed}\n`);
      say(`${text}; ${took}${warnings}`, kind === 'bad' ? 'bad' : 'good');
    } catch (error) {
      if (results !== state.results) return;
      say(`${text}; ${visible(error.message.trim())}`, 'bad');
    }
    drawShown();
    showResults();
  };
  runner.stop = () => finish(`stopped after ${((performance.now() - begin) / 1000).toFixed(1)} s`, 'stopped');
  runner.onerror = event => finish(`the program could not be run: ${event.message ?? 'the browser ended it'}`, 'bad');
  runner.onmessage = ({ data }) => {
    if (state.runner !== runner) return;
    if (data.kind === 'output') addOutput(data.stream, data.text);
    else if (data.kind === 'report') read(data.text).catch(() => {});
    else if (data.kind === 'end') {
      if (data.missing) {
        addOutput('err', `${data.missing}\n`);
        finish(visible(data.missing.split('\n')[0]), 'bad');
        return;
      }
      if (data.trap) addOutput('err', `${data.trap}\n`);
      showWritten(data.files);
      finish(data.trap ? `it trapped after ${shown(Math.round(data.ms))} ms: ${visible(data.trap.split('\n')[0])}` :
        `ran ${shown(Math.round(data.ms))} ms, exit status ${data.status}`, data.trap ? 'bad' : 'good');
    }
  };
  runner.postMessage({ bytes: made.module, args: [program.name.replace(/\.wasm$/, ''), ...splitWords(byId('args').value)],
    stdin: new TextEncoder().encode(byId('stdin').value), files: state.files });
}

// ---- examples and links ----

let bundled = [];

/** The sentence with which a script begins: "// name: sentence". */
const sentenceOf = ({ name, text }) => (text.match(/^\/\/ [\w-]+: ((?:.*\n\/\/ )*?.*?\.)(?:\s|$)/)?.[1] ?? name).replaceAll('\n// ', ' ');
const capital = text => text[0].toUpperCase() + text.slice(1);

/** "name: sentence", cut at a word. */
function shortLine(name, sentence) {
  const line = `${name}: ${sentence.replace(/\.$/, '')}`;
  return line.length <= MOST_ABOUT ? line : `${line.slice(0, MOST_ABOUT).replace(/[^\w]*\s\S*$/, '')} …`;
}

function setSentence(text) {
  byId('sentence').textContent = text;
}

function example(name) {
  const script = bundled.find(each => each.name === name), best = BEST[name] ?? {};
  byId('examples').value = name;
  editor.text = script ? script.text : FIRST.script;
  setSentence(script ? capital(sentenceOf(script)) : FIRST.sentence);
  byId('examples').value = name; // a changed text has no example
  if (state.own && byId('programs').value === OWN) return;
  const program = script ? best.program ?? 'fib' : FIRST.program;
  byId('args').value = best.args ?? PROGRAMS.find(each => each.name === program).args;
  choose(program);
}

function startExamples() {
  const list = byId('examples');
  list.append(element('option', { value: '' }, 'A first script'),
    ...bundled.map(each => element('option', { value: each.name }, shortLine(each.name, sentenceOf(each)))));
  list.addEventListener('change', () => example(list.value));
}

async function share() {
  const button = byId('share');
  try {
    const program = byId('programs').value;
    const hash = await encodeLink({ script: editor.text, program: program === OWN ? `file:${state.own.name}` : program, args: byId('args').value,
      stdin: byId('stdin').value });
    history.replaceState(null, '', `#${hash}`);
    await navigator.clipboard.writeText(location.href).then(() => say('The link is in the clipboard, and in the address.'),
      () => say('The address of this page is now the link.'));
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy link'; }, 2000);
  } catch (error) {
    say(error.message, 'bad');
  }
}

/** What a link says, or the first example. */
async function readLink() {
  try {
    return await decodeLink(location.hash);
  } catch (error) {
    say(error.message, 'bad');
    return undefined;
  }
}

async function followLink(link) {
  if (!link) return choose(FIRST.program);
  byId('args').value = link.args ?? '';
  byId('stdin').value = link.stdin ?? '';
  if (link.stdin) document.querySelector('details').open = true;
  setSentence('A script from a link.');
  if (link.program?.startsWith('file:')) {
    say(`The script of this link was written for ${visible(link.program.slice('file:'.length))}: open that file.`);
    return undefined;
  }
  if (!link.program || PROGRAMS.some(each => each.name === link.program)) return choose(link.program ?? FIRST.program);
  await choose(FIRST.program);
  return say(`This link is for a program that the playground does not have, '${visible(link.program)}'. ${FIRST.program} is open instead; the others are ` +
    `${PROGRAMS.filter(each => each.name !== FIRST.program).map(each => each.name).join(', ')}.`, 'bad');
}

// ---- beginning ----

async function startOffline() {
  if (!('serviceWorker' in navigator) || import.meta.env.DEV) return;
  try {
    await navigator.serviceWorker.register(new URL('./sw.js', document.baseURI));
    await navigator.serviceWorker.ready;
    byId('offline').textContent = 'Ready for use without a network.';
  } catch { // no leave: it works with a network
  }
}

async function startCompilers() {
  const module = await init();
  const libraries = Object.fromEntries(await Promise.all(LIBRARIES.map(async name => [name, await fetchLibrary(name)])));
  await Promise.all([checking, working].map(each => each.call('start', module, libraries)));
}

async function main() {
  startTheme();
  startTabs();
  startPrograms();
  clearReport();
  const link = await readLink();
  const ready = startCompilers();
  setSentence(FIRST.sentence);
  byId('args').value = FIRST.args;
  select(byId('tab-table'));
  editor = createEditor({
    parent: byId('editor'), text: link?.script ?? FIRST.script,
    check: async text => { await ready; return checking.call('check', text); },
    ask: async (text, method, position) => { await ready; return checking.call('ask', text, method, position); },
    onChange() {
      byId('checked').className = 'badge';
      byId('checked').textContent = 'checking …';
    },
    onDiagnostics: showDiagnostics,
    onRun: run,
  });
  byId('program').addEventListener('submit', event => {
    event.preventDefault();
    run();
  });
  byId('stop').addEventListener('click', () => state.runner?.stop?.());
  byId('share').addEventListener('click', share);
  document.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !editor.view.hasFocus) run();
  });
  addEventListener('hashchange', async () => {
    const changed = await readLink();
    if (!changed) return;
    editor.text = changed.script ?? '';
    followLink(changed);
  });
  try {
    await ready;
  } catch (error) {
    return say(`The compiler could not be started: ${error.message}`, 'bad');
  }
  bundled = await checking.call('bundledScripts');
  startExamples();
  byId('version').textContent = `whammc ${await checking.call('version')}.`;
  if (link !== undefined) await followLink(link);
  return startOffline();
}

main();
