// SQLite at work: inserts, an index, joins, sorting, text. usage: node sqlite.mjs NODE_MODULES ROWS
import { createRequire } from 'node:module';

const [modules, rows] = process.argv.slice(2);
const initialise = createRequire(import.meta.url)(`${modules}/sql.js`);
const { Database } = await initialise();
const db = new Database();
db.run('create table word (id integer primary key, text, length integer)');
const words = 'the quick brown fox jumps over the lazy dog and runs into the deep dark wood'.split(' ');
db.run('begin');
const insert = db.prepare('insert into word (text, length) values (?, ?)');
for (let i = 0; i < Number(rows); i++)
    insert.run([words[i % 16] + i % 71, i * i % 1009]);
insert.free();
db.run('commit');
db.run('create index by_length on word (length)');
const queries = [
    'select count(*), sum(length), min(text), max(text) from word',
    'select text, count(*) n, avg(length) from word group by text having n > 2 order by n desc, text limit 7',
    'select a.text, count(*) from word a join word b on a.length = b.length where b.id % 100 = 1 group by 1 order by 2 desc, 1 limit 5',
    "select count(distinct substr(text, 2, 3) || length) from word where text like '%o%' or upper(text) > 'R'",
];
for (const query of queries)
    console.log(JSON.stringify(db.exec(query)));
