// Emscripten before 3.1.12 takes a Node that has fetch for a browser.
delete globalThis.fetch;
