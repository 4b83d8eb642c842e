// Whamm for CodeMirror: highlighting. What is a keyword comes from the compiler's tables (words.mjs).
import { HighlightStyle, LanguageSupport, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { tags } from '@lezer/highlight';
import words from './words.json';

const keywords = new Set(words.keywords), types = new Set([...words.types, 'memaddr']);
const bound = new Set(words.names), functions = new Set(words.functions);
const numbered = /^(?:local|global|arg|res|imm)\d+$/;
const NUMBER = /^(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?)/;

function wordToken(word) {
  if (word === 'true' || word === 'false') return 'bool';
  if (keywords.has(word)) return 'keyword';
  if (types.has(word)) return 'typeName';
  if (bound.has(word) || numbered.test(word)) return 'standardName';
  return functions.has(word) ? 'functionName' : 'variableName';
}

/** Comments can be nested; rules are only where no braces are open. */
function token(stream, state) {
  if (state.comments) {
    while (!stream.eol()) {
      if (stream.match('*/')) {
        if (--state.comments === 0) break;
      } else if (stream.match('/*')) state.comments++;
      else stream.next();
    }
    return 'comment';
  }
  if (state.string) {
    for (let c; (c = stream.next()) !== undefined;) {
      if (c === '\\') stream.next();
      else if (c === '"') {
        state.string = false;
        break;
      }
    }
    return 'string';
  }
  if (stream.eatSpace()) return null;
  if (stream.match('//')) {
    stream.skipToEnd();
    return 'comment';
  }
  if (stream.match('/*')) {
    state.comments = 1;
    return token(stream, state);
  }
  if (stream.eat('"')) {
    state.string = true;
    return token(stream, state);
  }
  if (state.depth === 0 && stream.match(/^[\w*?|.[\]!+]+:[\w*?|.:[\]!+]+/)) return 'meta';
  if (stream.match(NUMBER)) return 'number';
  const word = stream.match(/^[A-Za-z_]\w*/);
  if (word) return wordToken(word[0]);
  const c = stream.next();
  if (c === '{') state.depth++;
  else if (c === '}') state.depth = Math.max(0, state.depth - 1);
  return '(){}[];,.'.includes(c) ? 'punctuation' : 'operator';
}

const parser = StreamLanguage.define({
  name: 'whamm',
  startState: () => ({ comments: 0, string: false, depth: 0 }),
  token,
  tokenTable: { standardName: tags.standard(tags.variableName), functionName: tags.function(tags.variableName) },
  languageData: { commentTokens: { line: '//', block: { open: '/*', close: '*/' } }, closeBrackets: { brackets: ['(', '[', '{', '"'] } },
  indent: (state, after, context) => (state.depth - (/^\s*\}/.test(after) ? 1 : 0)) * context.unit,
});

const style = HighlightStyle.define([
  { tag: tags.comment, class: 'hl-comment' },
  { tag: tags.string, class: 'hl-string' },
  { tag: [tags.number, tags.bool], class: 'hl-number' },
  { tag: tags.keyword, class: 'hl-keyword' },
  { tag: tags.typeName, class: 'hl-type' },
  { tag: tags.meta, class: 'hl-rule' },
  { tag: [tags.standard(tags.variableName), tags.function(tags.variableName)], class: 'hl-bound' },
]);

export const whamm = () => new LanguageSupport(parser, syntaxHighlighting(style));
