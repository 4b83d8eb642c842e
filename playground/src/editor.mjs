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
import { whamm } from './language.mjs';

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

/** A position in the Language Server Protocol, and the offset of one. */
const positionOf = (doc, at) => ({ line: doc.lineAt(at).number - 1, character: at - doc.lineAt(at).from });
const placeOf = (doc, { line, character }) => Math.min(doc.line(line + 1).from + character, doc.length);

// ---- texts of the language server ----

/** Markdown as it comes: fenced code, paragraphs, items, and code in lines. */
function markdownNode(text) {
  const node = document.createElement('div');
  node.className = 'explained';
  for (const [, code, plain] of text.matchAll(/```\w*\n([\s\S]*?)```|((?:(?!```)[\s\S])+)/g)) {
    if (code) node.appendChild(document.createElement('strong')).textContent = code.trimEnd();
    for (const line of (plain ?? '').split('\n').filter(Boolean)) {
      const paragraph = node.appendChild(document.createElement('div'));
      line.split('`').forEach((part, i) => (i % 2 ? paragraph.appendChild(document.createElement('code')) : paragraph).append(part));
    }
  }
  return node;
}

// ---- completion ----

const KINDS = {
  2: 'method', 3: 'function', 5: 'variable', 6: 'variable', 7: 'type', 9: 'namespace', 14: 'keyword', 17: 'text', 21: 'constant', 23: 'event',
};

function optionOf({ label, kind, detail, documentation, sortText }) {
  const info = documentation ? () => markdownNode(`\`\`\`\n${detail ? `${label}: ${detail}` : label}\n\`\`\`\n${documentation}`) : undefined;
  return { label, type: KINDS[kind], detail, info, boost: -Number(sortText[0]) };
}

function completer(ask) {
  return async context => {
    const { doc } = context.state, typed = context.matchBefore(/[\w.:*@"]+/);
    if (!typed && !context.explicit) return null;
    const items = (await ask(doc.toString(), 'completion', positionOf(doc, context.pos)))?.items ?? [];
    if (!items.length) return null;
    return { from: placeOf(doc, items[0].textEdit.range.start), options: items.map(optionOf), validFor: /^\w*$/ };
  };
}

// ---- explanations under the pointer ----

function explainer(ask) {
  return hoverTooltip(async (view, at) => {
    const { doc } = view.state, found = await ask(doc.toString(), 'hover', positionOf(doc, at));
    if (!found) return null;
    const [pos, end] = [found.range.start, found.range.end].map(place => placeOf(doc, place));
    return { pos, end, create: () => ({ dom: markdownNode(found.contents.value) }) };
  });
}

// ---- the editor ----

/**
 * Makes an editor. `check(text)` gives diagnostics, `ask(text, method, position)` what the language server says, both as promises;
 * `onChange(text)` is called at once,
 * `onDiagnostics(diagnostics, show)` when a text has been checked: show(index) goes to one of them.
 */
export function createEditor({ parent, text, check, ask, onChange, onDiagnostics, onRun }) {
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
        indentUnit.of('    '), whamm(), explainer(ask), EditorView.lineWrapping,
        autocompletion({ override: [completer(ask)] }),
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
