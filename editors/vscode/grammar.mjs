// The TextMate grammar of Whamm, with words from the compiler's tables and scanner:
//
//   node grammar.mjs SOURCE-FOLDER >whamm.tmLanguage.json
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const scopes = names => Object.fromEntries(Object.entries(names).map(([group, name]) => [group, { name: `${name}.whamm` }]));
const include = (...names) => names.map(name => ({ include: `#${name}` }));
const anyOf = words => `(?:${words.join('|')})`;
const escaped = text => text.replace(/[()[\]<>]/g, '\\$&');
const NO_NAME_BEFORE = '(?<![\\w.])';

/** The scope of each group of keywords. */
const SCOPES = {
  conditional: 'keyword.control.conditional', repeat: 'keyword.control.loop', return: 'keyword.control.flow', import: 'keyword.control.import',
  function: 'storage.type.function', declaration: 'storage.type', decorator: 'storage.modifier', statement: 'keyword.other', operator: 'keyword.operator.word',
  container: 'support.type', boolean: 'constant.language',
};

/** The pattern of a keyword that can be a name elsewhere. */
function wordInContext(word, [before, after]) {
  const where = before ? `(?<=${escaped(before)}|${escaped(before)} )` : NO_NAME_BEFORE;
  return `${where}${word}\\b${after && `(?=${after === 'WORD' ? '\\s+[A-Za-z_]' : `\\s*${escaped(after)}`})`}`;
}

/** The patterns of the keywords. */
function keywordPatterns(groups, contexts) {
  return Object.entries(groups).flatMap(([group, list]) => {
    const plain = list.filter(word => !contexts[word]), name = `${SCOPES[group]}.whamm`;
    return [...(plain.length ? [{ name, match: `${NO_NAME_BEFORE}${anyOf(plain)}\\b` }] : []),
      ...list.filter(word => contexts[word]).map(word => ({ name, match: wordInContext(word, contexts[word]) }))];
  });
}

export async function makeGrammar(source) {
  const { CONTEXTS, GROUPS, languageWords } = await import(pathToFileURL(path.resolve(source, 'scripts/editors.mjs')));
  const words = languageWords();
  const bound = [...words.names, ...words.numbered.map(name => `${name}\\d+`)];

  return {
    name: 'Whamm', scopeName: 'source.whamm', fileTypes: ['whamm'],
    patterns: include('comments', 'rule', 'block', 'code'),
    repository: {
      comments: {
        patterns: [
          { name: 'comment.line.double-slash.whamm', match: '//.*$' },
          { name: 'comment.block.whamm', begin: '/\\*', end: '\\*/', patterns: include('nested-comment') },
        ],
      },
      'nested-comment': { begin: '/\\*', end: '\\*/', patterns: include('nested-comment') },
      // A match rule is only outside of braces: a pattern and a colon, of which the first one is 'wasm' or has a wildcard.
      rule: {
        name: 'meta.probe.whamm',
        begin: '(?<![\\w.])(?=(?:wasm|[\\w.+\\\\!]*[*?\\[|][\\w.*?|!+\\[\\]\\\\]*)\\s*:)', end: '(?<=\\})|(?=;)',
        patterns: [
          ...include('comments', 'block'),
          // A predicate; '/' divides only in its parentheses and brackets.
          { name: 'meta.predicate.whamm', begin: '/', end: '/', beginCaptures: scopes({ 0: 'punctuation.section.predicate.begin' }),
            endCaptures: scopes({ 0: 'punctuation.section.predicate.end' }), patterns: include('comments', 'expression') },
          { name: 'meta.bounds.whamm', begin: '\\(', end: '\\)', patterns: include('comments', 'expression') },
          { name: 'keyword.operator.wildcard.whamm', match: '[*?|!]' },
          { name: 'punctuation.separator.rule.whamm', match: ':' },
          { name: 'entity.name.namespace.whamm', match: '\\bwasm\\b(?=\\s*:)' },
          { name: 'entity.name.function.event.whamm', match: '[\\w.+\\[\\]\\\\]+' },
        ],
      },
      block: {
        begin: '\\{', end: '\\}', beginCaptures: scopes({ 0: 'punctuation.section.block.begin' }), endCaptures: scopes({ 0: 'punctuation.section.block.end' }),
        patterns: include('comments', 'block', 'code'),
      },
      code: { patterns: [...include('declaration'), ...include('expression')] },
      declaration: {
        patterns: [
          { match: '\\b(fn)\\s+([A-Za-z_]\\w*)', captures: scopes({ 1: 'storage.type.function', 2: 'entity.name.function' }) },
          { match: '\\b(var)\\s+([A-Za-z_]\\w*)', captures: scopes({ 1: 'storage.type', 2: 'variable.other.definition' }) },
          { match: '\\b(const)\\s+([A-Za-z_]\\w*)', captures: scopes({ 1: 'storage.type', 2: 'variable.other.constant' }) },
          { match: '\\b(use)\\s+([A-Za-z_][\\w.]*)', captures: scopes({ 1: 'keyword.control.import', 2: 'entity.name.namespace' }) },
        ],
      },
      expression: {
        patterns: [
          // Only texts that are printed have values in braces.
          { begin: '(?<![\\w.])(print)\\s*(\\()', end: '\\)', beginCaptures: scopes({ 1: 'support.function', 2: 'punctuation.parenthesis.begin' }),
            endCaptures: scopes({ 0: 'punctuation.parenthesis.end' }), patterns: include('comments', 'printed', 'expression') },
          { begin: '\\(', end: '\\)', patterns: include('comments', 'expression') },
          { begin: '\\[', end: '\\]', patterns: include('comments', 'expression') },
          ...include('string'),
          { name: 'entity.name.tag.annotation.whamm', match: '@\\w+' },
          { name: 'constant.numeric.whamm', match: '(?<!\\w)(?<![^.]\\.)(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|\\d[\\d_]*(?:\\.(?!\\.)\\d*)?(?:[eE][+-]?\\d+)?)' },
          { name: 'support.type.whamm', match: `${NO_NAME_BEFORE}${anyOf(words.scalars)}\\b` },
          { name: 'support.type.whamm', match: `(?<=[:<,]|[:<,] )${anyOf(words.aggregations)}\\b` },
          ...keywordPatterns(GROUPS, CONTEXTS),
          { name: 'support.function.whamm', match: `(?<=\\.)${anyOf(words.methods)}(?=\\s*\\()` },
          { name: 'support.function.whamm', match: `${NO_NAME_BEFORE}${anyOf(words.functions)}(?=\\s*\\()` },
          { name: 'variable.language.whamm', match: `${NO_NAME_BEFORE}${anyOf(bound)}\\b` },
          { name: 'entity.name.function.whamm', match: '[A-Za-z_]\\w*(?=\\s*\\()' },
          { name: 'variable.other.whamm', match: '[A-Za-z_]\\w*' },
          { name: 'keyword.operator.whamm', match: '->|\\.\\.|[-+*/%&|^<>=!]=?|~|\\?|&&|\\|\\|' },
        ],
      },
      escape: {
        patterns: [
          { name: 'constant.character.escape.whamm', match: '\\\\(?:[nrt"\'\\\\0]|x[0-9A-Fa-f]{2}|u\\{[0-9A-Fa-f]+\\})' },
          { name: 'invalid.illegal.escape.whamm', match: '\\\\.' },
        ],
      },
      // In the braces of a printed text, quotation marks have a backslash before them.
      string: {
        patterns: [
          { name: 'string.quoted.double.whamm', begin: '"', end: '"', patterns: include('escape') },
          { name: 'string.quoted.double.whamm', begin: '\\\\"', end: '\\\\"|(?=")' },
        ],
      },
      printed: {
        name: 'string.quoted.double.whamm', begin: '"', end: '"',
        patterns: [
          { name: 'constant.character.escape.whamm', match: '\\{\\{|\\}\\}' },
          { name: 'meta.embedded.expression.whamm', begin: '\\{', end: '(:[^}"]*)?(\\})|(?=")', beginCaptures: scopes({ 0: 'punctuation.section.embedded.begin' }),
            endCaptures: scopes({ 1: 'constant.other.format', 2: 'punctuation.section.embedded.end' }),
            patterns: include('expression') },
          ...include('escape'),
        ],
      },
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(JSON.stringify(await makeGrammar(process.argv[2]), null, 1));
