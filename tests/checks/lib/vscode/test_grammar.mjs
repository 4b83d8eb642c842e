// The TextMate grammar, as VS Code tokenises with it: the scopes of what stands in scripts.
//
// usage: node test_grammar.mjs SOURCE-FOLDER PACKAGES-FOLDER
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { makeGrammar } from '../../../../editors/vscode/grammar.mjs';
import { CONTEXTS, GROUPS, languageWords } from '../../../../scripts/editors.mjs';
import { end, result } from '../tap.mjs';

const [source, modules] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), 'x.js'));
const { INITIAL, Registry } = require('vscode-textmate'), oniguruma = require('vscode-oniguruma');
await oniguruma.loadWASM(fs.readFileSync(path.join(path.dirname(require.resolve('vscode-oniguruma')), 'onig.wasm')));
const made = await makeGrammar(source);
const registry = new Registry({
  onigLib: Promise.resolve({ createOnigScanner: patterns => new oniguruma.OnigScanner(patterns), createOnigString: text => new oniguruma.OnigString(text) }),
  loadGrammar: async () => made,
});
const grammar = await registry.loadGrammar('source.whamm');

/** The tokens of a text, [text, scopes], and how many rules are open at its end. */
function tokens(text) {
  let stack = INITIAL;
  const found = [];
  for (const line of text.split(/\r?\n/)) {
    const done = grammar.tokenizeLine(line, stack);
    for (const { startIndex, endIndex, scopes } of done.tokens) found.push([line.slice(startIndex, endIndex), scopes.join(' ')]);
    stack = done.ruleStack;
  }
  return { found, open: stack.depth - 1 };
}

/** The scopes of the first token of this text. */
const scopesOf = (found, text) => found.find(([each]) => each.trim() === text)?.[1] ?? '(no such token)';

/** Of a script, some tokens and what their scopes contain, or do not contain ('!'). */
function check(title, script, wanted) {
  const { found, open } = tokens(script);
  const wrong = Object.entries(wanted).filter(([text, scope]) => scopesOf(found, text).includes(scope.replace('!', '')) === scope.startsWith('!'));
  result(!wrong.length && !open, title, ...wrong.map(([text, scope]) => `'${text}' should be ${scope}, is ${scopesOf(found, text)}`), `${open} rules are open`);
}

check('comments can be nested', '/* a /* b */ still */ var n: u32; // rest "\nvar m: u32;',
  { 'still': 'comment.block', 'n': 'variable.other.definition', '// rest "': 'comment.line', 'm': 'variable.other.definition' });
check('a match rule', 'wasm:opcode:*load*|i32.store:before { x++; }',
  { wasm: 'entity.name.namespace', opcode: 'entity.name.function.event', '|': 'wildcard', 'i32.store': 'entity.name.function.event', before: 'event', x: '!meta.bounds' });
check('a rule with a bound type and a predicate', 'wasm:opcode:call(arg0: i32):before / target_fn_name == "a/b" && (n / 2) > 1 / { x++; }\nwasm:end { y++; }',
  { arg0: 'variable.language', i32: 'support.type', target_fn_name: 'meta.predicate.whamm variable.language', n: 'meta.predicate', x: '!meta.predicate', end: 'entity.name.function.event', y: '!meta.predicate' });
check('a rule over several lines', 'wasm:\n  opcode:\n  call: // why\n  before\n/ /* which */ fid == 3 /\n{\n}\n', { call: 'entity.name.function.event', fid: 'meta.predicate.whamm variable.language' });
check('a rule whose provider is a pattern', '*:func:entry { n++; }', { func: 'entity.name.function.event', n: '!meta.predicate' });
check('a type at script scope is no rule', 'var n: u32 = 3;\nfn twice(n: u32) -> u32 { return n * 2; }\n', { u32: 'support.type', twice: 'entity.name.function', return: 'keyword.control', fn: 'storage' });
check('in a block there is no rule', 'wasm:begin { a = wasm; }', { a: 'variable.other' });
check('a printed text has values in braces', 'wasm:begin { print("{{n}} {n + 1:#x} {sizes[\\"a b\\"]} \\n"); b = "{n}"; }',
  { '{{': 'constant.character.escape', n: 'string', '+': 'meta.embedded.expression', 1: 'constant.numeric', ':#x': 'constant.other.format', 'a b': 'string', sizes: 'meta.embedded', '\\n': 'escape', '{n}': '!meta.embedded', b: '!string' });
check('texts', 'var s: str = "a\\"b\\x41\\u{1F600}\\q"; var t: u32;', { '\\"': 'constant.character.escape', '\\x41': 'escape', '\\u{1F600}': 'escape', '\\q': 'invalid', t: 'variable.other.definition' });
check('numbers', 'const a: u32 = 0xff; const b: f64 = 1.5e-3; const c: u32 = 1_000; fn f() { for (i in 0..9) { } }',
  { '0xff': 'constant.numeric', '1.5e-3': 'constant.numeric', '1_000': 'constant.numeric', 0: 'constant.numeric', 9: 'constant.numeric', for: 'keyword.control', in: 'keyword.operator.word' });
check('a word that is no keyword in its place', 'wasm:begin { value = 1; t.every = 2; print("x") limit 3; }', { value: 'variable', every: 'variable', limit: 'keyword' });
check('methods, functions, annotations', 'wasm:begin { if (fname.starts_with("a")) { @static f(); } g(); }', { starts_with: 'support.function', '@static': 'annotation', f: 'entity.name.function' });

const words = languageWords(), keywords = Object.values(GROUPS).flat();
/** The scopes of a word in a block, with what makes it a keyword. */
function scopesInBlock(word) {
  const [before, after] = CONTEXTS[word] ?? ['', ' '];
  return scopesOf(tokens(`wasm:begin { ${before} ${word} ${after === 'WORD' ? 'x' : after} }`).found, word);
}
const lacking = keywords.filter(word => !/keyword|storage|constant\.language|support\.type/.test(scopesInBlock(word)));
result(!lacking.length, `all ${keywords.length} keywords are keywords`, lacking);
const inContext = Object.keys(CONTEXTS).filter(word => !scopesOf(tokens(`wasm:begin { ${word} = 1; }`).found, word).includes('variable.other'));
result(!inContext.length, 'keywords that can be names are names elsewhere', inContext);
const names = [...words.names, ...words.numbered.map(name => `${name}0`)].filter(name => !scopesOf(tokens(`wasm:begin { ${name}; }`).found, name).includes('variable.language'));
result(!names.length, 'all bound names are known', names);
const types = [...words.scalars, ...words.aggregations].filter(type => !scopesOf(tokens(`var n: ${type};`).found, type).includes('support.type'));
result(!types.length, 'all types are types', types);

/** All scripts of a folder. */
function* scriptsBelow(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile() && entry.name.endsWith('.whamm')) yield path.join(entry.parentPath ?? entry.path, entry.name);
}
const bad = [];
let scripts = 0;
for (const folder of ['stdlib', 'examples', 'tests/fixtures/scripts', 'bench']) {
  for (const script of scriptsBelow(path.join(source, folder))) {
    const text = fs.readFileSync(script, 'utf8'), { found, open } = tokens(text);
    scripts++;
    if (open || found.some(([, scopes]) => scopes.includes('invalid'))) bad.push(`${script}: ${open} rules are open at the end`);
    const rules = (text.match(/^wasm:\S/gm) ?? []).length, heads = found.filter(([each, scopes]) => each === 'wasm' && scopes.endsWith('entity.name.namespace.whamm')).length;
    if (heads < rules) bad.push(`${script}: ${heads} rules of ${rules}`);
  }
}
result(scripts > 40 && !bad.length, `all ${scripts} scripts end as they begin`, ...bad);
end();
