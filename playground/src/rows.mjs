// What is shown of the rows of a report.

/** A value as text: numbers in full, tuples in parentheses. */
function show(value) {
  if (Array.isArray(value)) return `(${value.map(show).join(', ')})`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

const isMap = value => Array.isArray(value) && value.every(each => Array.isArray(each) && each.length === 2);

const plain = value => (Array.isArray(value) ? show(value) : value);

/** Rows for people; a map is a row for each of its keys. */
function* tableRows(rows, variables) {
  const types = new Map(variables.map(variable => [`${variable.script}/${variable.name}`, variable.type]));
  for (const row of rows) {
    const { variable, shownFunction, fid, pc, instruction, probe, value, script } = row;
    const place = { variable, function: shownFunction, fid, pc, instruction, probe };
    if (isMap(value) && types.get(`${script}/${variable}`)?.startsWith('map'))
      for (const [key, each] of value) yield { ...place, key: typeof key === 'string' ? key : show(key), value: plain(each) };
    else yield { ...place, key: null, value: plain(value) };
  }
}

/**
 * Of the rows of a report: the first `most`, how many there are in all, and counts, { variable: { fid: [[pc, number]] } }, whose
 * variables can have any names.
 */
export function shownRows(rows, variables, most) {
  const first = [], counts = Object.create(null);
  let all = 0;
  for (const row of tableRows(rows, variables)) {
    if (row.fid !== null && typeof row.value !== 'string') {
      const places = (counts[row.variable] ??= {});
      if (row.pc !== null) (places[row.fid] ??= []).push([row.pc, Number(row.value)]);
    }
    if (all++ < most) first.push(row);
  }
  return { rows: first, all, counts };
}
