// The code view: functions, the instructions of one, the script's sites, and their counts.
import { element, shown, visible } from './dom.mjs';

const MOST_LISTED = 300, MOST_LINES = 20000;

const OPENS = /^(?:block|loop|if|try|try_table)\b/, CLOSES = /^(?:end|delegate)\b/, MIDDLE = /^(?:else|catch|catch_all)\b/;

/** How deep each instruction is in blocks. */
export function depths(instructions) {
  let depth = 0;
  return instructions.map(text => {
    if (CLOSES.test(text)) depth = Math.max(0, depth - 1);
    const here = MIDDLE.test(text) ? Math.max(0, depth - 1) : depth;
    if (OPENS.test(text)) depth++;
    return here;
  });
}

/**
 * A view in `panel`. `disassemble(fid)` and `list(fid)` give promises of what compiler.worker.mjs gives; update({ functions, counts,
 * listed, sources }) says what is new, open(fid, pc) shows a function.
 */
export function createCodeView(panel, { disassemble, list }) {
  let functions = [], counts = {}, sources = {}, listed = null, chosen = null, byHand = false, turn = 0;
  const filter = element('input', { id: 'function-filter', type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'name or number' });
  const choice = element('select', { id: 'functions', size: '1' }), variable = element('select', { id: 'count-of' });
  const note = element('p', { class: 'more', role: 'status' }), code = element('div', { class: 'scroll code', tabindex: '0', role: 'region', 'aria-label': 'Instructions' });
  panel.replaceChildren(element('div', { class: 'code-bar' },
    element('label', { class: 'field grow' }, element('span', {}, 'Find function'), filter),
    element('label', { class: 'field grow' }, element('span', {}, 'Function'), choice),
    element('label', { class: 'field', id: 'count-label' }, element('span', {}, 'Counts of'), variable)), note, code);
  filter.addEventListener('input', () => drawFunctions());
  choice.addEventListener('change', () => open(Number(choice.value)));
  variable.addEventListener('change', () => draw());

  const weight = fid => (counts[variable.value]?.[fid] ?? []).reduce((sum, [, value]) => sum + value, 0);

  // Those with counts first, then those with sites.
  function drawFunctions() {
    const wanted = filter.value.toLowerCase();
    const rank = new Map(functions.map(each => [each.fid, [weight(each.fid), listed?.perFunction[each.fid] ?? 0]]));
    const found = functions.filter(({ fid, name }) => !wanted || name.toLowerCase().includes(wanted) || String(fid) === wanted)
      .sort((a, b) => rank.get(b.fid)[0] - rank.get(a.fid)[0] || rank.get(b.fid)[1] - rank.get(a.fid)[1] || a.fid - b.fid);
    const options = found.slice(0, MOST_LISTED);
    const current = functions.find(each => each.fid === chosen);
    if (current && !options.includes(current)) options.unshift(current);
    choice.replaceChildren(...options.map(({ fid, name }) => {
      const sites = listed?.perFunction[fid];
      return element('option', { value: fid, selected: fid === chosen }, `${visible(name)} (#${fid})${sites ? ` · ${shown(sites)} site${sites === 1 ? '' : 's'}` : ''}`);
    }));
    if (found.length > MOST_LISTED) choice.append(element('option', { disabled: true }, `… and ${shown(found.length - MOST_LISTED)} more: find them by name`));
    return found;
  }

  function drawVariables() {
    const names = Object.keys(counts).filter(name => Object.keys(counts[name]).length), before = variable.value;
    variable.replaceChildren(...names.map(name => element('option', { selected: name === before }, name)));
    panel.querySelector('#count-label').hidden = !names.length;
  }

  async function draw() {
    const mine = ++turn;
    let lines, sites;
    try {
      if (!byHand) { // the function with the most to show
        listed = await list(-1).catch(() => null);
        if (mine !== turn) return;
        chosen = null;
        chosen = drawFunctions()[0]?.fid ?? null;
      }
      if (chosen === null) return;
      [lines, sites] = await Promise.all([disassemble(chosen), list(chosen).catch(() => null)]);
    } catch (error) {
      if (mine === turn) note.textContent = error.message;
      return;
    }
    if (mine !== turn) return;
    listed = sites;
    drawFunctions();
    const matched = new Map();
    for (const site of sites?.here ?? []) matched.set(site.pc, [...(matched.get(site.pc) ?? []), site]);
    const byPc = new Map();
    for (const [pc, value] of counts[variable.value]?.[chosen] ?? []) byPc.set(pc, (byPc.get(pc) ?? 0) + value);
    const most = [...byPc.values()].reduce((a, b) => Math.max(a, b), 1), indents = depths(lines.map(line => line.instruction));
    let last = '';
    const body = [], known = new Set(lines.map(line => line.pc));
    const addRow = (pc, text, indent, extra = '') => {
      const here = matched.get(pc), count = byPc.get(pc);
      const rules = here?.map(site => `${site.event}, line ${sites.probes[site.probe].line} of the script`).join('; ');
      body.push(element('tr', { 'data-pc': pc, class: here ? 'site' : null },
        element('td', { class: 'number count', style: count ? `--heat:${Math.round((100 * Math.log(1 + count)) / Math.log(1 + most))}%` : null }, count === undefined ? '' : shown(count)),
        element('td', {}, here ? element('span', { class: 'mark', title: rules, role: 'img', 'aria-label': `site: ${rules}` }) : ''),
        element('td', { class: 'number pc' }, String(pc)),
        element('td', {}, element('code', { style: `padding-left:${Math.min(indent, 20) * 1.2}em`, class: extra }, visible(text)))));
    };
    // Sites of the function itself are where no instruction is.
    const pcs = [...new Set([...matched.keys(), ...byPc.keys()])].filter(pc => !known.has(pc)).sort((a, b) => a - b);
    for (const pc of pcs) addRow(pc, [...new Set(matched.get(pc)?.map(site => site.event) ?? ['(the function)'])].join(', '), 0, 'event');
    lines.slice(0, MOST_LINES).forEach((line, i) => {
      const text = sources[line.file.split('/').pop()]?.[line.line - 1], place = `${line.file}:${line.line}`;
      if (line.line && place !== last) {
        last = place;
        body.push(element('tr', { class: 'source' }, element('td', {}), element('td', {}), element('td', {}),
          element('td', {}, element('span', { class: 'where' }, visible(`${line.file.split('/').pop()}:${line.line}`)), text ? ` ${visible(text.trim())}` : '')));
      }
      addRow(line.pc, line.instruction, indents[i]);
    });
    code.replaceChildren(element('table', {}, element('caption', { class: 'hidden' }, 'Instructions of the function'),
      element('thead', {}, element('tr', {}, element('th', { scope: 'col', class: 'number' }, 'count'), element('th', { scope: 'col' }, 'site'),
        element('th', { scope: 'col', class: 'number' }, 'pc'), element('th', { scope: 'col' }, 'instruction'))), element('tbody', {}, ...body)));
    const total = sites ? `The script matches at ${shown(sites.count)} site${sites.count === 1 ? '' : 's'} of the program, ${shown(sites.here.length)} of them here. ` : '';
    note.textContent = total + (lines.length > MOST_LINES ? `The first ${shown(MOST_LINES)} of ${shown(lines.length)} instructions are shown.` : '');
  }

  async function open(fid, pc = null) {
    chosen = fid;
    byHand = true;
    drawFunctions();
    await draw();
    const row = pc === null ? null : code.querySelector(`[data-pc="${pc}"]`);
    code.querySelector('.here')?.classList.remove('here');
    row?.classList.add('here');
    row?.scrollIntoView({ block: 'center' });
  }

  return {
    open,
    /** Shows what is new; only if `visibleNow`, as it costs time. */
    update(news, visibleNow) {
      if (news.functions) {
        ({ functions } = news);
        counts = {};
        listed = chosen = null;
        byHand = false;
        filter.value = '';
        code.replaceChildren();
        note.textContent = functions.length ? '' : 'No program is open, or it has no functions.';
      }
      if (news.counts) ({ counts } = news);
      if (news.sources) ({ sources } = news);
      drawVariables();
      if (visibleNow && functions.length) draw();
    },
  };
}
