// Uses SQLite's own build: usage: node sqlite.mjs NODE_MODULES
import { pathToFileURL } from 'node:url';

const { default: initialise } = await import(pathToFileURL(`${process.argv[2]}/@sqlite.org/sqlite-wasm/dist/node.mjs`));
const sqlite3 = await initialise({ print: () => {}, printErr: () => {} });
const db = new sqlite3.oo1.DB();
db.exec('create table t(a, b)');
for (let i = 0; i < 500; i++)
    db.exec({ sql: 'insert into t values (?, ?)', bind: [i * 37 % 101, `row ${i}`] });
console.log(JSON.stringify(db.exec({ sql: 'select a, count(*), min(b) from t group by a order by 2 desc, 1 limit 5', returnValue: 'resultRows' })));
