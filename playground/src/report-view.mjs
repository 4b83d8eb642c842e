// Reports as a table and as a chart.
import { element, isNumber, shown, visible } from './dom.mjs';

const MOST_ROWS = 500, MOST_BARS = 25;

const COLUMNS = [
  ['key', 'key'], ['function', 'function'], ['pc', 'pc'], ['instruction', 'instruction'], ['value', 'value'],
];

const compare = (a, b) => {
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return String(a ?? '').localeCompare(String(b ?? ''));
};

/** The variables that have more than one row, each with its rows, and all others together. */
function grouped(report) {
  const groups = new Map();
  for (const row of report.rows) {
    if (!groups.has(row.variable)) groups.set(row.variable, []);
    groups.get(row.variable).push(row);
  }
  const scalars = [...groups].filter(([, rows]) => rows.length === 1 && rows[0].fid === null && rows[0].key === null);
  const others = [...groups].filter(([, rows]) => !scalars.some(([, alone]) => alone === rows));
  return { scalars: scalars.map(([name, [row]]) => ({ name, value: row.value })), others };
}

function placeOf(row) {
  if (row.key !== null) return visible(row.key);
  const place = row.pc ? ` +${row.pc}` : '';
  return `${visible(row.function ?? (row.fid === null ? row.variable : `#${row.fid}`))}${place}${row.instruction ? `  ${visible(row.instruction)}` : ''}`;
}

// ---- the table ----

function cell(row, column, onPlace) {
  const value = row[column];
  if (column === 'function' && row.fid !== null)
    return element('td', {}, element('button', { type: 'button', class: 'link', onclick: () => onPlace(row.fid, row.pc) }, visible(value ?? `#${row.fid}`)));
  return element('td', { class: isNumber(value) ? 'number' : null }, shown(value));
}

function variableTable(name, type, rows, onPlace) {
  const used = COLUMNS.filter(([column]) => column === 'value' || rows.some(row => row[column] !== null && row[column] !== ''));
  const state = { column: isNumber(rows[0].value) ? 'value' : null, down: true, all: false };
  const body = element('tbody'), more = element('p', { class: 'more' });
  const heads = used.map(([column, title]) => element('th', { scope: 'col', 'aria-sort': 'none', class: column === 'value' || column === 'pc' ? 'number' : null },
    element('button', { type: 'button', onclick: () => sortBy(column) }, title)));

  function draw() {
    const sorted = state.column ? rows.toSorted((a, b) => (state.down ? -1 : 1) * compare(a[state.column], b[state.column])) : rows;
    const visibleRows = state.all ? sorted : sorted.slice(0, MOST_ROWS);
    body.replaceChildren(...visibleRows.map(row => element('tr', {}, ...used.map(([column]) => cell(row, column, onPlace)))));
    heads.forEach((head, i) => head.setAttribute('aria-sort', used[i][0] !== state.column ? 'none' : state.down ? 'descending' : 'ascending'));
    more.replaceChildren(...(visibleRows.length < rows.length ? [`${shown(visibleRows.length)} of ${shown(rows.length)} rows. `,
      element('button', { type: 'button', class: 'link', onclick: () => { state.all = true; draw(); } }, 'Show all')] : []));
  }
  function sortBy(column) {
    state.down = state.column === column ? !state.down : column === 'value';
    state.column = column;
    draw();
  }
  draw();
  return element('section', { class: 'variable' },
    element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Table of ${name}` },
      element('table', {}, element('caption', {}, element('code', {}, visible(name)), ` ${type}`),
        element('thead', {}, element('tr', {}, ...heads)), body)), more);
}

/** Fills a panel with tables; onPlace(fid, pc) shows code. */
export function drawTable(panel, report, onPlace) {
  const { scalars, others } = grouped(report), types = new Map(report.variables.map(variable => [variable.name, variable.type]));
  const nodes = [];
  if (scalars.length)
    nodes.push(element('dl', { class: 'scalars' }, ...scalars.map(({ name, value }) =>
      element('div', {}, element('dt', {}, visible(name)), element('dd', { 'data-variable': name }, shown(value))))));
  for (const [name, rows] of others) nodes.push(variableTable(name, types.get(name) ?? '', rows, onPlace));
  if (report.all > report.rows.length) nodes.push(element('p', {}, `The first ${shown(report.rows.length)} of ${shown(report.all)} rows are shown; the downloads have all.`));
  if (!nodes.length) nodes.push(element('p', { class: 'empty' }, 'The report has no rows.'));
  panel.replaceChildren(...nodes);
}

// ---- the chart ----

function bars(title, entries) {
  const most = entries.reduce((max, entry) => Math.max(max, Number(entry.value)), 0), total = entries.reduce((sum, entry) => sum + Number(entry.value), 0);
  const rest = entries.slice(MOST_BARS);
  const items = entries.slice(0, MOST_BARS).map(({ label, value, open }) => element('li', {},
    open ? element('button', { type: 'button', class: 'link label', onclick: open }, label) : element('span', { class: 'label' }, label),
    element('span', { class: 'track', 'aria-hidden': 'true' }, element('span', { class: 'bar-fill', style: `width:${most > 0 ? (100 * Number(value)) / most : 0}%` })),
    element('span', { class: 'number' }, shown(value), element('small', {}, total > 0 ? ` ${((100 * Number(value)) / total).toFixed(1)} %` : ''))));
  return element('section', { class: 'chart' }, element('h3', {}, visible(title)), element('ol', { class: 'bars' }, ...items),
    rest.length ? element('p', { class: 'more' }, `and ${shown(rest.length)} more`) : null);
}

const descending = (a, b) => compare(b.value, a.value);

/** Fills a panel with bars: the largest numbers of each variable, by function where there are many sites. */
export function drawChart(panel, report, onPlace) {
  const { scalars, others } = grouped(report), charts = [];
  const numbers = scalars.filter(each => isNumber(each.value) && each.value > 0);
  if (numbers.length > 1) charts.push(bars('variables', numbers.map(({ name, value }) => ({ label: visible(name), value })).sort(descending)));
  for (const [name, rows] of others) {
    const entries = rows.filter(row => isNumber(row.value) && row.value > 0)
      .map(row => ({ label: placeOf(row), value: row.value, open: row.fid === null ? null : () => onPlace(row.fid, row.pc) }));
    if (entries.length) charts.push(bars(name, entries.sort(descending)));
  }
  if (!charts.length) charts.push(element('p', { class: 'empty' }, 'The report has no numbers above 0.'));
  panel.replaceChildren(...charts);
}
