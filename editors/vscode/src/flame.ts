// The page of a flame graph: the picture that whammc writes, whose frames lead to the sources. It knows nothing of VS Code.

export interface Place {
  file: string;
  line: number;
}

/** Where the functions of a profile for speedscope begin, by name. */
export function placesOf(speedscope: string): Record<string, Place> {
  const { shared } = JSON.parse(speedscope) as { shared: { frames: { name: string; file?: string; line?: number }[] } };
  const known = shared.frames.filter(({ file, line }) => file && line);
  return Object.fromEntries(known.map(({ name, file, line }) => [name, { file: file!, line: line! }]));
}

/** The page that shows the picture and sends { name } when a frame of one of these names is clicked. Only scripts with the nonce run. */
export function flamePage(svg: string, names: string[], nonce: string): string {
  const picture = svg.slice(svg.indexOf('<svg')).replace(/<script\b/, `<script nonce="${nonce}"`)
    // In a page, the picture is not the document.
    .replace('flame(document.documentElement,', "flame(document.querySelector('svg'),");
  return `<!DOCTYPE html>
<html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'">
<style>
body { padding: 0; margin: 0; background: #fffdf5; color: #000 }
form { position: sticky; top: 0; padding: 4px 8px; background: #fffdf5 }
#search { display: none !important } /* it needs prompt(), which VS Code's pages do not have */
.f[data-known]:hover text { text-decoration: underline }
</style></head>
<body><form><input placeholder="Search (a regular expression)" size="30" aria-label="Search"></form>
${picture}
<script nonce="${nonce}">
const editor = acquireVsCodeApi(), known = new Set(${JSON.stringify(names).replace(/</g, '\\u003c')});
for (const frame of window.flame.frames) {
  if (!known.has(frame.name)) continue;
  frame.node.dataset.known = '';
  frame.node.addEventListener('click', () => editor.postMessage({ name: frame.name }));
}
document.querySelector('form').addEventListener('submit', event => event.preventDefault());
document.querySelector('input').addEventListener('input', event => window.flame.search(event.target.value));
</script></body></html>`;
}
