;; Times that are known: env.work(n) makes the clock go on by n ms, and nothing else does. clock.mjs has the imports.
(module
  (import "env" "work" (func $work (param i32)))
  (import "env" "callback" (func $callback (param i32)))   ;; 1 ms, called(n), 2 ms
  (import "env" "invoke" (func $invoke (param i32)))       ;; calls the entry of the table, catches what fail throws
  (import "env" "fail" (func $fail))
  (type $plain (func))
  (table (export "table") funcref (elem $middle $thrower $first))
  (func $leaf (call $work (i32.const 3)))                  ;; 3
  (func $middle                                            ;; 11
    (call $leaf)
    (call $leaf)
    (call $work (i32.const 5)))
  (func $down (param $n i32)                               ;; 4 + 4 n
    (call $work (i32.const 1))
    (if (local.get $n) (then (call $down (i32.sub (local.get $n) (i32.const 1)))))
    (call $leaf))
  (func $even (param $n i32)
    (call $work (i32.const 1))
    (if (local.get $n) (then (call $odd (i32.sub (local.get $n) (i32.const 1))))))
  (func $odd (param $n i32)
    (call $work (i32.const 2))
    (if (local.get $n) (then (call $even (i32.sub (local.get $n) (i32.const 1))))))
  (func $indirect (call_indirect (type $plain) (i32.const 0)))
  (func $first (call $leaf))                               ;; a call is its first instruction
  (func $tail (call $work (i32.const 4)) (return_call $leaf))
  (func $called (export "called") (param $n i32)           ;; 10, or 33 with what it calls back
    (call $work (i32.const 7))
    (call $leaf)
    (if (local.get $n) (then (call $callback (i32.sub (local.get $n) (i32.const 1))) (call $work (i32.const 10)))))
  (func $thrower
    (call $work (i32.const 11))
    (call $fail))
  (func $main (export "go")                                ;; 11 + 16 + 6 + 11 + 7 + 36 + 11 + 3 + 97 = 198
    (call $middle)
    (call $down (i32.const 3))
    (call $even (i32.const 3))
    (call $indirect)
    (call $tail)
    (call $callback (i32.const 1))
    (call $invoke (i32.const 1))
    (call_indirect (type $plain) (i32.const 2))
    (call $work (i32.const 97)))
  (func $deeper (call $work (i32.const 9)) unreachable)
  (func $trapping (export "trapping")
    (call $work (i32.const 6))
    (call $deeper)))
