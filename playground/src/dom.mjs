// Making elements. Texts from programs and scripts become text nodes, never markup.

export const byId = id => document.getElementById(id);

/** element('td', { class: 'number', onclick }, 'text', child, ...) */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

// Control characters, and those that change the direction of what follows, as the symbols that stand for them.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A name or text of a program, for people: what is not visible, or would change how the rest looks, is written out. */
export function visible(text) {
  return String(text).replace(HIDDEN, c => (c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : `\\u{${c.charCodeAt(0).toString(16)}}`));
}

/** Offers bytes or a text as a file. */
export function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  element('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const format = new Intl.NumberFormat('en');

/** A value of a report: numbers with separators. */
export function shown(value) {
  if (typeof value === 'bigint' || Number.isInteger(value)) return format.format(value);
  if (typeof value === 'number') return Number.isFinite(value) ? format.format(Number(value.toPrecision(7))) : String(value);
  return value === null || value === undefined ? '' : visible(value);
}

export const isNumber = value => typeof value === 'number' || typeof value === 'bigint';
