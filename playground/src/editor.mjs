// The script editor: diagnostics, completion and hover texts from the compiler.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, indentUnit, indentOnInput } from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import {
  EditorView, crosshairCursor, drawSelection, dropCursor, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip,
  keymap, lineNumbers,
} from '@codemirror/view';
import { contextAt, declaredNames, usedLibraries } from './context.mjs';
import { whamm } from './language.mjs';
import words from './words.json';

const PAUSE = 250; // ms without typing before a script is checked

// ---- positions ----

/** The offset of a diagnostic's position: lines and columns count from 1, columns in code points. */
function offsetOf(doc, position) {
  if (!position?.line) return 0;
  const line = doc.line(Math.min(position.line, doc.lines));
  const before = Array.from(line.text).slice(0, (position.column ?? 1) - 1).join('');
  return Math.min(line.from + before.length, line.to);
}

function toLint(doc, diagnostic) {
  const from = offsetOf(doc, diagnostic.range?.start), end = offsetOf(doc, diagnostic.range?.end);
  const notes = [...diagnostic.labels.map(label => label.message), ...diagnostic.hints];
  return {
    from, to: Math.max(from, end), severity: diagnostic.severity === 'note' ? 'info' : diagnostic.severity, source: diagnostic.tag,
    message: [diagnostic.message, ...notes].join('\n'),
  };
}

// ---- what the compiler knows of a rule ----

/** Wraps explain(rule), which gives [] for rules that are not complete or wrong; keeps what it gave. */
function makeExplainer(explain) {
  const kept = new Map();
  return rule => {
    if (!kept.has(rule)) {
      if (kept.size > 200) kept.clear();
      kept.set(rule, explain(rule).catch(() => []));
    }
    return kept.get(rule);
  };
}

/** What all events of a rule have. */
function common(events, list, key) {
  const [first, ...others] = events;
  if (!first) return [];
  return first[list].filter(each => others.every(event => event[list].some(other => key(other) === key(each))));
}

function infoNode(title, text) {
  const node = document.createElement('div'), head = node.appendChild(document.createElement('strong'));
  node.className = 'explained';
  head.textContent = title;
  node.append(document.createElement('br'), text);
  return node;
}

const withInfo = (label, type, detail, doc) =>
  ({ label, type, detail, info: doc ? () => infoNode(detail ? `${label}: ${detail}` : label, doc) : undefined });
const callOf = ({ text, doc }) => {
  const name = text.slice(0, text.indexOf('('));
  return { ...withInfo(name, 'function', text.slice(name.length), doc), apply: `${name}(` };
};

// ---- completion ----

async function completeRule(explain, typed) {
  const parts = typed.split(':'), prefix = parts.slice(0, -1).join(':');
  if (parts.length <= 1) {
    const events = words.events.map(event => withInfo(event.text, 'event', '', event.doc));
    const declarations = ['report', 'var', 'const', 'fn', 'use', 'unshared', 'map', 'shared', 'atomic'].map(label => ({ label, type: 'keyword' }));
    return [...events, ...declarations];
  }
  if (/^wasm:opcode$/.test(prefix)) return [{ label: '*', type: 'event', detail: 'every instruction' },
    ...words.instructions.map(each => withInfo(each.text, 'event', each.detail, ''))];
  const events = await explain(prefix === 'wasm' ? 'wasm:*:*' : `${prefix}:*`);
  const plain = prefix === 'wasm' ? [{ text: 'wasm:opcode:', doc: 'around each occurrence of an instruction' }, ...await explain('wasm:*')] : [];
  const endings = new Map();
  for (const { text, doc } of [...events, ...plain])
    endings.set(prefix === 'wasm' ? text.slice('wasm:'.length) : text.slice(text.lastIndexOf(':') + 1), doc);
  return [...endings].map(([label, doc]) => withInfo(label, 'event', '', doc));
}

async function completeBody(explain, script, rule) {
  const events = rule ? await explain(rule) : [], options = [];
  for (const [label, type] of declaredNames(script)) options.push({ label, type, boost: 2 });
  for (const name of common(events, 'names', each => each.name))
    options.push(withInfo(name.name, 'variable', `${name.type ?? 'any'}${name.isStatic ? ', static' : ''}`, name.doc));
  for (const each of common(events, 'functions', each => each.text)) options.push(callOf(each));
  for (const label of words.keywords) options.push({ label, type: 'keyword', boost: -1 });
  for (const label of words.types) options.push({ label, type: 'type', boost: -1 });
  for (const label of usedLibraries(script)) options.push({ label, type: 'namespace' });
  return options;
}

function completeMember(script, owner) {
  if (usedLibraries(script).includes(owner))
    return (words.libraries[owner] ?? []).map(({ name, detail }) => withInfo(name, 'function', detail, ''));
  return words.methods.map(({ name, detail, doc }) => withInfo(name, 'method', detail, doc));
}

function completer(explain) {
  return async context => {
    const script = context.state.doc.toString(), { skipped, rule, inside } = contextAt(script, context.pos);
    if (skipped) return null;
    const member = context.matchBefore(/[A-Za-z_]\w*\.\w*/);
    if (inside && member) {
      const [owner] = member.text.split('.');
      return { from: member.from + owner.length + 1, options: completeMember(script, owner), validFor: /^\w*$/ };
    }
    if (inside) {
      const word = context.matchBefore(/\w+/);
      if (!word && !context.explicit) return null;
      return { from: word?.from ?? context.pos, options: await completeBody(explain, script, rule), validFor: /^\w*$/ };
    }
    const used = context.matchBefore(/\buse\s+\w*/);
    if (used) {
      const options = Object.keys(words.libraries).map(label => ({ label, type: 'namespace' }));
      return { from: used.from + used.text.search(/\w*$/), options, validFor: /^\w*$/ };
    }
    const word = context.matchBefore(/[\w*?|.:[\]!+]+/), typed = word?.text ?? '';
    if (!typed && !context.explicit) return null;
    const from = (word?.from ?? context.pos) + typed.lastIndexOf(':') + 1;
    return { from, options: await completeRule(explain, typed), validFor: /^[\w.]*$/ };
  };
}

// ---- explanations under the pointer ----

async function explanation(explain, script, at, word) {
  const { skipped, rule, inside } = contextAt(script, at);
  if (skipped) return null;
  if (!inside && rule) {
    const [event] = await explain(rule);
    return event ? [event.text, event.doc] : null;
  }
  const events = rule ? await explain(rule) : [], base = word.replace(/\d+$/, 'N');
  const name = common(events, 'names', each => each.name).find(each => each.name === word || each.name === base);
  if (name) return [`${word}: ${name.type ?? 'any'}${name.isStatic ? ', static' : ''}${name.assignable ? ', assignable' : ''}`, name.doc];
  const call = common(events, 'functions', each => each.text).find(each => each.text.startsWith(`${word}(`));
  return call ? [call.text, call.doc] : null;
}

function explainer(explain) {
  return hoverTooltip(async (view, at) => {
    const line = view.state.doc.lineAt(at), script = view.state.doc.toString();
    for (const match of line.text.matchAll(/[\w*?|.:[\]!+]+/g)) {
      const from = line.from + match.index, to = from + match[0].length;
      if (at < from || at > to) continue;
      const found = await explanation(explain, script, to, match[0]);
      return found && { pos: from, end: to, create: () => ({ dom: infoNode(...found) }) };
    }
    return null;
  });
}

// ---- the editor ----

/**
 * Makes an editor. `check(text)` gives diagnostics, `explain(rule)` events, both as promises; `onChange(text)` is called at once,
 * `onDiagnostics(diagnostics, show)` when a text has been checked: show(index) goes to one of them.
 */
export function createEditor({ parent, text, check, explain, onChange, onDiagnostics, onRun }) {
  const know = makeExplainer(explain);
  let timer = 0, turn = 0;

  async function inspect() {
    const mine = ++turn, { doc } = view.state;
    const diagnostics = await check(doc.toString()).catch(error => [{
      severity: 'error', tag: 'internal', message: error.message, range: null, labels: [], hints: [],
    }]);
    if (mine !== turn || doc !== view.state.doc) return;
    const lint = diagnostics.map(each => toLint(doc, each));
    view.dispatch(setDiagnostics(view.state, lint));
    onDiagnostics(diagnostics, index => {
      view.dispatch({ selection: { anchor: lint[index].from }, scrollIntoView: true });
      view.focus();
    });
  }

  function changed() {
    turn++;
    clearTimeout(timer);
    timer = setTimeout(inspect, PAUSE);
  }

  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(), dropCursor(), indentOnInput(),
        bracketMatching(), closeBrackets(), highlightActiveLine(), highlightSelectionMatches(), crosshairCursor(), lintGutter(),
        indentUnit.of('    '), whamm(), explainer(know), EditorView.lineWrapping,
        autocompletion({ override: [completer(know)] }),
        EditorView.contentAttributes.of({ 'aria-label': 'Script in Whamm', spellcheck: 'false' }),
        keymap.of([{ key: 'Mod-Enter', run: () => (onRun(), true) }, ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap,
          ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.updateListener.of(update => {
          if (!update.docChanged) return;
          changed();
          onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  inspect();

  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(value) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value }, selection: { anchor: 0 } });
    },
    view,
  };
}
