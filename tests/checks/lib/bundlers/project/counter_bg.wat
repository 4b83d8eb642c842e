;; As wasm-bindgen makes it: imports of the glue's module, texts in memory.
(module
  (import "./counter_bg.js" "log" (func $log (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "hello from wasm")
  (func $fib (export "fib") (param $n i32) (result i32)
    (if (result i32) (i32.lt_u (local.get $n) (i32.const 2))
      (then (local.get $n))
      (else (i32.add (call $fib (i32.sub (local.get $n) (i32.const 1))) (call $fib (i32.sub (local.get $n) (i32.const 2)))))))
  (func $greet (export "greet") (call $log (i32.const 16) (i32.const 15))))
