// plugin/edits.mjs - edits JavaScript, with a source map to the original.

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

// A number as source maps have it: base 64, the sign in the lowest bit, five bits a digit.
function encode(number) {
  let rest = number < 0 ? -number * 2 + 1 : number * 2, text = '';
  do {
    text += DIGITS[rest % 32 + (rest > 31 ? 32 : 0)];
    rest = Math.floor(rest / 32);
  } while (rest);
  return text;
}

/** Collects the mappings of one source. */
class Mappings {
  #lines = [''];
  #column = 0; // in the output
  #last = { column: 0, line: 0, sourceColumn: 0 }; // what the next segment is relative to
  #line = 0;
  #sourceColumn = 0;

  // What comes next in the output is what comes next in the source.
  #segment() {
    const last = this.#last, line = this.#lines.length - 1;
    const numbers = [this.#column - last.column, 0, this.#line - last.line, this.#sourceColumn - last.sourceColumn];
    this.#lines[line] += (this.#lines[line] ? ',' : '') + numbers.map(encode).join('');
    this.#last = { column: this.#column, line: this.#line, sourceColumn: this.#sourceColumn };
  }

  /** Code that stays: a segment for each word, so that nothing of an earlier map is lost. */
  keep(text) {
    for (const [word] of text.matchAll(/\n|\w+|[^\S\n]+|[^\w\s]+/g)) {
      if (word === '\n') {
        this.#lines.push('');
        this.#column = this.#last.column = this.#sourceColumn = 0;
        this.#line++;
      } else {
        this.#segment();
        this.#column += word.length;
        this.#sourceColumn += word.length;
      }
    }
  }

  /** Code without line ends that replaces other code without them. */
  replace(before, after) {
    if (after) this.#segment();
    this.#column += after.length;
    this.#sourceColumn += before.length;
  }

  toString() {
    return this.#lines.join(';');
  }
}

/**
 * Replaces parts of a text: each { start, end, text } in order, without line ends. Gives { code, map } as bundlers want it.
 */
export function applyEdits(source, name, edits) {
  const mappings = new Mappings();
  let code = '', at = 0;
  for (const { start, end, text } of edits) {
    const kept = source.slice(at, start);
    mappings.keep(kept);
    mappings.replace(source.slice(start, end), text);
    code += kept + text;
    at = end;
  }
  mappings.keep(source.slice(at));
  return { code: code + source.slice(at), map: { version: 3, sources: [name], sourcesContent: [source], names: [], mappings: String(mappings) } };
}

/** The places of new URL('….wasm', import.meta.url) outside comments: { start, end, path }, start and end those of the text with its quotes. */
export function findUrls(source) {
  const found = [], pattern = /\/\*[\s\S]*?\*\/|(?<=^|[\s;{}(,])\/\/[^\n]*|\bnew\s+URL\s*\(\s*(?:\/\*[^*]*\*\/\s*)*(?<text>'[^'\n]+'|"[^"\n]+"|`[^`\n$]+`)\s*,\s*import\.meta\.url\s*,?\s*\)/dg;
  for (const match of source.matchAll(pattern)) {
    if (!match.groups.text) continue;
    const [start, end] = match.indices.groups.text, path = match.groups.text.slice(1, -1);
    if (/^[^?#]*\.wasm$/.test(path) && !/^(?:[a-z][a-z\d+.-]*:|\/)/i.test(path)) found.push({ start, end, whole: match.index, after: match.index + match[0].length, path });
  }
  return found;
}
