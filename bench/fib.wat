;; The plain recursive Fibonacci function: nothing but calls of a tiny function, the worst case for who watches calls.
(module
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func $fib (param $n i32) (result i32)
    (if (i32.lt_u (local.get $n) (i32.const 2)) (then (return (local.get $n))))
    (i32.add
      (call $fib (i32.sub (local.get $n) (i32.const 1)))
      (call $fib (i32.sub (local.get $n) (i32.const 2)))))
  ;; The first argument is a number of two digits; in the memory, pointers are at 0 and texts at 1024.
  (func $main (export "_start") (local $at i32)
    (drop (call $args_get (i32.const 0) (i32.const 1024)))
    (local.set $at (i32.load (i32.const 4)))
    (drop (call $fib
      (i32.add
        (i32.mul (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)) (i32.const 10))
        (i32.sub (i32.load8_u offset=1 (local.get $at)) (i32.const 48)))))))
