// Uses sql.js: usage: node sql.mjs NODE_MODULES
import { createRequire } from 'node:module';

const initialise = createRequire(import.meta.url)(`${process.argv[2]}/sql.js`);
const { Database } = await initialise();
const db = new Database();
db.run('create table word (id integer primary key, text, length integer)');
const words = 'the quick brown fox jumps over the lazy dog and runs into the deep dark wood'.split(' ');
for (let i = 0; i < 2000; i++)
    db.run('insert into word (text, length) values (?, ?)', [words[i % 16] + i % 7, i * i % 1009]);
db.run('create index by_length on word (length)');
const queries = [
    'select count(*), sum(length), min(text), max(text) from word',
    'select text, count(*) n, avg(length) from word group by text having n > 20 order by n desc, text limit 7',
    'select a.text, b.length from word a join word b on a.length = b.id where b.length between 100 and 130 order by 1, 2 limit 9',
    'with recursive n(x) as (select 1 union all select x * 7 % 1000003 from n limit 5000) select sum(x) from n',
];
for (const query of queries)
    console.log(JSON.stringify(db.exec(query)));
