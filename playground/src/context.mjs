// The context of a position in a script: in a rule, or in the body of a probe. For completion and hover texts.

const SKIPPED = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:[^"\\]|\\[\s\S])*(?:"|$)/g;

/** The text with blanks for comments and texts, so that braces in them do not count. */
function withoutTexts(script) {
  return script.replace(SKIPPED, text => text.replace(/[^\n]/g, ' '));
}

/**
 * { skipped: true } in a comment or text; { rule, inside: true } in a body or predicate, `rule` null in that of a function;
 * { rule, inside: false } where a rule or declaration is written, `rule` being what there is of it.
 */
export function contextAt(script, at) {
  for (const match of script.matchAll(SKIPPED)) {
    if (match.index >= at) break;
    const end = match.index + match[0].length, closed = /^\/\*[\s\S]*\*\/$|^"[\s\S]+"$/.test(match[0]);
    if (at < end || (at === end && !closed)) return { skipped: true };
  }
  const text = withoutTexts(script.slice(0, at));
  let depth = 0, begin = 0, header = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '{') {
      if (depth++ === 0) header = begin;
    } else if (text[i] === '}') {
      depth = Math.max(0, depth - 1);
      if (depth === 0) begin = i + 1;
    } else if (text[i] === ';' && depth === 0) begin = i + 1;
  }
  const statement = text.slice(depth ? header : begin).trimStart();
  const rule = statement.match(/^[\w*?|.[\]!+]+:[^\s/{(]*/)?.[0] ?? null;
  const predicate = rule !== null && statement.slice(rule.length).includes('/');
  return { skipped: false, rule, inside: depth > 0 || predicate };
}

/** Names that the script declares: variables, maps, functions, constants. */
export function declaredNames(script) {
  const names = new Map();
  for (const [, kind, name] of withoutTexts(script).matchAll(/\b(var|const|fn|frame)\s+(?:var\s+)?([A-Za-z_]\w*)/g))
    names.set(name, kind === 'fn' ? 'function' : kind === 'const' ? 'constant' : 'variable');
  return names;
}

/** Libraries that it uses. */
export function usedLibraries(script) {
  return [...withoutTexts(script).matchAll(/\buse\s+([A-Za-z_]\w*)/g)].map(match => match[1]);
}
