;; proc_exit in the middle: below a direct and an indirect call, in a recursion.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (type $take (func (param i32)))
  (table funcref (elem $work $finish))
  (func $leaf)
  (func $work (param $n i32)
    (call $leaf)
    (call $leaf)
    (if (local.get $n)
      (then (call $work (i32.sub (local.get $n) (i32.const 1)))))
    (call $leaf))
  (func $finish (param $n i32)
    (if (local.get $n)
      (then (call $finish (i32.sub (local.get $n) (i32.const 1))))
      (else (call $proc_exit (i32.const 17))))
    (call $leaf))                           ;; never
  (func $main (export "_start")
    (call $work (i32.const 4))
    (call_indirect (type $take) (i32.const 2) (i32.const 0))
    (call_indirect (type $take) (i32.const 3) (i32.const 1))
    (call $leaf)))                          ;; never
