// lib/flame-view.mjs - shows flame graphs over a page. Its style sheet does not reach them, nor do they reach the page: pictures have
// scripts, so they are in a frame of another origin.

const STYLE = `
  dialog { position: fixed; inset: 0; width: 100%; height: 100%; max-width: none; max-height: none; margin: 0; padding: 0; border: 0;
    background: #fff; color: #1a1a1a; font: 14px/1.4 system-ui, sans-serif; }
  dialog[open] { display: flex; flex-direction: column; }
  header { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; padding: 8px 12px; border-bottom: 1px solid #ccc; }
  h1 { flex: 1; margin: 0; font-size: 16px; font-weight: 600; overflow-wrap: anywhere; }
  button, select { min-height: 32px; padding: 4px 12px; border: 1px solid #767676; border-radius: 4px; background: #f6f6f6; color: inherit;
    font: inherit; }
  iframe { flex: 1; width: 100%; border: 0; }`;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** `pictures`: { title, svg } of each module. */
export function showPictures(pictures) {
  const frame = element('iframe', { title: 'Flame graph' }), host = element('div');
  const heading = element('h1'), dialog = element('dialog');
  let url = null, shown = pictures[0];
  frame.setAttribute('sandbox', 'allow-scripts allow-modals'); // its search asks in a box

  function show(picture) {
    shown = picture;
    heading.textContent = `Flame graph of ${picture.title}`;
    if (url) URL.revokeObjectURL(url);
    url = URL.createObjectURL(new Blob([picture.svg], { type: 'image/svg+xml' }));
    frame.src = url;
  }

  const choice = element('select', { ariaLabel: 'Module', onchange: () => show(pictures[choice.selectedIndex]) },
    ...pictures.map(({ title }) => element('option', { textContent: title })));
  const save = element('button', { textContent: 'Save', onclick: () => element('a', { href: url, download: `${shown.title}.flame.svg` }).click() });
  const close = element('button', { textContent: 'Close', onclick: () => dialog.close() });
  dialog.onclose = () => {
    host.remove();
    URL.revokeObjectURL(url);
  };
  dialog.setAttribute('aria-label', 'Flame graph');
  dialog.append(element('header', {}, heading, ...pictures.length > 1 ? [choice] : [], save, close), frame);
  host.attachShadow({ mode: 'open' }).append(element('style', { textContent: STYLE }), dialog);
  document.body.append(host);
  show(shown);
  dialog.showModal();
}
