// Uses Binaryen: usage: node binaryen.mjs NODE_MODULES
import { pathToFileURL } from 'node:url';

const { default: binaryen } = await import(pathToFileURL(`${process.argv[2]}/binaryen/index.js`));
const module = binaryen.parseText(`(module
  (memory 1)
  (func $square (param i32) (result i32) (i32.mul (local.get 0) (local.get 0)))
  (func (export "f") (param $n i32) (result i32) (local $i i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (call $square (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (local.get $sum)))`);
module.optimize();
console.log(module.emitText());
