// Loaded before a runner: what Node 18's WASI lacks is not there.
delete require('node:wasi').WASI.prototype.getImportObject;
