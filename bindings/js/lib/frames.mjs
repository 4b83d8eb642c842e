// lib/frames.mjs - the frames of a page: what frames of the same origin load is counted with the page.
//
// A new frame has the window of an empty page, which stays if the frame then loads a page of the same origin. So it is prepared as soon
// as the frame is in the document, or somebody asks for its window. The windows of other pages are new when their scripts begin.
const LOADED = Symbol.for('whammc.register');

/**
 * Calls enter(window), now and from now on, for the window of each frame that has no hook of its own; and say(text), once for each page, if
 * that was late, or is impossible since the page is of another origin.
 */
export function watchFrames(enter, say) {
  const told = new Set(), known = new WeakSet(); // addresses; documents, and prototypes of frames
  const { get } = Object.getOwnPropertyDescriptor(HTMLIFrameElement.prototype, 'contentWindow');
  const windowOf = frame => Reflect.apply(get, frame, []);

  function tell(address, text) {
    if (!told.has(address)) say(`the frame ${address} ${text}`);
    told.add(address);
  }

  function isClosed(view) {
    try {
      return !view.document;
    } catch {
      return true;
    }
  }

  // `hasLoaded`: it has loaded its page.
  function look(frame, hasLoaded) {
    const view = windowOf(frame);
    if (!view) return;
    if (isClosed(view)) {
      if (hasLoaded) tell(frame.src || 'with a sandbox', 'is of another origin: what it loads is not counted here, but its page can load the hook itself');
      return;
    }
    if (!view[LOADED]) {
      enter(view);
      if (view.location.href !== 'about:blank')
        tell(view.location.href, 'has got a new window: what it has loaded so far is not counted, but its page can load the hook itself');
    }
    watch(view);
  }

  function interceptWindows({ prototype }) {
    for (const name of ['contentWindow', 'contentDocument']) {
      const property = Object.getOwnPropertyDescriptor(prototype, name);
      Object.defineProperty(prototype, name, { ...property, get: new Proxy(property.get, {
        apply(target, self, args) {
          const result = Reflect.apply(target, self, args);
          look(self, false);
          return result;
        },
      }) });
    }
  }

  function once(key, begin) {
    if (!known.has(key)) begin(key);
    known.add(key);
  }

  // The frames in a window.
  function watch(view) {
    once(view.HTMLIFrameElement, interceptWindows);
    once(view.document, document => {
      const frames = document.getElementsByTagName('iframe'), lookAtAll = hasLoaded => [...frames].forEach(frame => look(frame, hasLoaded));
      new view.MutationObserver(() => lookAtAll(false)).observe(document, { childList: true, subtree: true });
      document.addEventListener('load', ({ target }) => {
        if ([...frames].includes(target)) look(target, true);
      }, true);
      lookAtAll(document.readyState === 'complete');
    });
  }

  watch(globalThis);
}
