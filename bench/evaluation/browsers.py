"""Pages in headless browsers: serves files, opens a page that measures, and returns what it sends back."""

import http.server
import json
import os
import subprocess
import tempfile
import threading

from .measure import Failed, kill

TIMEOUT = 300  # seconds that a page may take
SETTLE = 4  # seconds for which a browser is busy with itself after its start; programs take up to three times as long meanwhile
PAGE = """<!doctype html><meta charset="utf-8">{scripts}
<script type="module">
const send = text => fetch('/result', {{ method: 'POST', body: text }});
try {{
    const {{ measure }} = await import("/bench/{measuring}");
    const bytes = new Uint8Array(await (await fetch('/module.wasm')).arrayBuffer());
    await new Promise(done => setTimeout(done, {settle}));
    await send(JSON.stringify(await measure(bytes, {argument})));
}} catch (error) {{
    await send(JSON.stringify({{ error: String(error) }}));
}}
</script>
"""
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync"]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self, body, kind):
        self.send_response(200)
        for name, value in (("Content-Type", kind), ("Content-Length", len(body)), ("Cache-Control", "no-store"),
                            ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Embedder-Policy", "require-corp")):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path not in self.server.files:
            self.send_error(404)
            return
        kind = {"wasm": "application/wasm", "js": "text/javascript", "mjs": "text/javascript"}.get(self.path.rpartition(".")[2], "text/html")
        self._answer(self.server.files[self.path], kind)

    def do_POST(self):
        self.server.result = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"", "text/plain")
        self.server.ready.set()

    def log_message(self, *_):
        pass


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # browsers are killed while they wait


def _command(browser, url, profile):
    if "firefox" in os.path.basename(browser):
        return [browser, "--headless", "--no-remote", "--profile", profile, url]
    return [browser, *CHROMIUM, f"--user-data-dir={profile}", url]


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def measure(browser, measuring, module, script, argument):
    """What measure(bytes of the module, argument) of bench/`measuring` returns in a new, cross-origin isolated page; script: what the page
    loads before, or None."""
    bench = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    server = _Server(("127.0.0.1", 0), _Handler)
    server.ready, server.result = threading.Event(), b""
    scripts = '<script src="/module.js"></script>' if script else ""
    page = PAGE.format(scripts=scripts, measuring=measuring, argument=json.dumps(argument), settle=1000 * SETTLE)
    server.files = {"/": page.encode(), "/module.wasm": _read(module), **({"/module.js": _read(script)} if script else {}),
                    **{f"/bench/{name}": _read(os.path.join(bench, name)) for name in {measuring, "rounds.mjs"}}}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory(prefix="whammc-browser-", ignore_cleanup_errors=True) as profile:
            try:
                process = subprocess.Popen(_command(browser, f"http://127.0.0.1:{server.server_port}/", profile), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except OSError as error:
                raise Failed(f"{browser}: {error.strerror}") from error
            try:
                # Second by second: the time in which all of this is stopped does not count. Browsers may leave their work to another process.
                ended = any(server.ready.wait(1) or process.poll() for _ in range(TIMEOUT))
            finally:
                kill(process.pid)
                process.wait()
    finally:
        server.shutdown()
        server.server_close()
    if not server.ready.is_set():
        raise Failed(f"{os.path.basename(browser)} " + (f"ended with status {process.returncode}" if ended else f"did not answer in {TIMEOUT} s"))
    result = json.loads(server.result)
    if "error" in result:
        raise Failed(f"{os.path.basename(browser)}: {result['error'][:160]}")
    return result
