// Serves profiles of the instrumented programs in a Node process for pprof, Parca and Pyroscope, without changes to the process:
//
//   node --require ./app.js --import ./serve-pprof.mjs server.mjs
//   go tool pprof -top http://127.0.0.1:6060/debug/pprof/profile
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

createServer((request, response) => {
  const known = request.url.split('?')[0] === '/debug/pprof/profile' && /^(127\.0\.0\.1|localhost):/.test(request.headers.host);
  response.writeHead(known ? 200 : 404, { 'content-type': 'application/octet-stream' });
  response.end(known ? gzipSync(WasmProf.pprof()) : '');
}).listen(Number(process.env.PPROF_PORT ?? 6060), '127.0.0.1').unref();
