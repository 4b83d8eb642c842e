// lib/flame-view.mjs - shows flame graphs over a page, below a shadow root, so that its style sheets do not reach them. Nothing here is
// subject to a policy of the page: no inline styles, no frames, no blobs, no text that becomes elements by itself.
import { flame } from './flame.mjs';

const SVG = 'http://www.w3.org/2000/svg';
const STYLE = `
  dialog { position: fixed; inset: 0; width: 100%; height: 100%; max-width: none; max-height: none; margin: 0; padding: 0; border: 0;
    background: #fff; color: #1a1a1a; font: 14px/1.4 system-ui, sans-serif; }
  dialog[open] { display: flex; flex-direction: column; }
  header { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; padding: 8px 12px; border-bottom: 1px solid #ccc; }
  h1 { flex: 1; margin: 0; font-size: 16px; font-weight: 600; overflow-wrap: anywhere; }
  button, select, input { min-height: 32px; padding: 4px 12px; border: 1px solid #767676; border-radius: 4px; background: #f6f6f6; color: inherit;
    font: inherit; }
  main { flex: 1; overflow: auto; }
  main > svg { display: block; }`;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const ENTITIES = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const unescape = text => text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (_, decimal, hex, name) =>
  (name ? ENTITIES[name] : String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16))));

/** The elements of a picture as src/format/svg.c writes it, without its style sheet and its script: { svg, style }. */
function readPicture(text) {
  const style = /<style>([^<]*)<\/style>/.exec(text)[1], root = document.createElementNS(SVG, 'svg');
  const body = text.replace(/<\?[^>]*>|<style>[^<]*<\/style>|<script>[^]*$/g, '');
  let parent = root;
  for (const [, close, name, attributes, empty, content] of body.matchAll(/<(\/?)(\w+)([^>]*?)(\/?)>|([^<]+)/g)) {
    if (content) parent.append(unescape(content));
    if (close) parent = parent.parentNode ?? root;
    if (!name || close) continue;
    const made = parent.appendChild(document.createElementNS(SVG, name));
    for (const [, key, value] of attributes.matchAll(/([\w-]+)="([^"]*)"/g)) if (key !== 'xmlns') made.setAttribute(key, unescape(value));
    if (!empty) parent = made;
  }
  return { svg: root.firstElementChild, style };
}

function sheetOf(text) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
}

function save({ title, svg }) {
  const href = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  element('a', { href, download: `${title}.flame.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

/** `pictures`: { title, svg } of each module. */
export function showPictures(pictures) {
  const host = element('div'), root = host.attachShadow({ mode: 'open' });
  const heading = element('h1'), main = element('main'), dialog = element('dialog', { ariaLabel: 'Flame graph' });
  let shown = null, graph = null;

  function show(picture) {
    const { svg, style } = readPicture(picture.svg);
    shown = picture;
    heading.textContent = `Flame graph of ${picture.title}`;
    root.adoptedStyleSheets = [sheetOf(STYLE), sheetOf(style)];
    main.replaceChildren(svg);
    graph = flame(svg, () => {
      search.focus();
      return null;
    });
    if (search.value) graph.search(search.value);
  }

  const choice = element('select', { ariaLabel: 'Module', onchange: () => show(pictures[choice.selectedIndex]) },
    ...pictures.map(({ title }) => element('option', { textContent: title })));
  const search = element('input', { type: 'search', placeholder: 'Search', ariaLabel: 'Names to mark (a regular expression)',
    oninput: () => graph.search(search.value) });
  dialog.onclose = () => host.remove();
  dialog.append(element('header', {}, heading, ...pictures.length > 1 ? [choice] : [], search,
    element('button', { textContent: 'Save', onclick: () => save(shown) }),
    element('button', { textContent: 'Close', onclick: () => dialog.close() })), main);
  root.append(dialog);
  document.body.append(host);
  dialog.showModal();
  show(pictures[0]); // after showModal(), since it measures
}
