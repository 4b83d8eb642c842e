;; Tail calls: a loop of 1,000 of them, to itself, to another function and through a table. Only the first activation is
;; called; all the others take over the place of the one before.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (type $step (func (param i32) (result i32)))
  (table funcref (elem $ping $pong))
  (func $leaf)
  (func $ping (param $n i32) (result i32)
    (call $leaf)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 3))))
    (return_call $pong (i32.sub (local.get $n) (i32.const 1))))
  (func $pong (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 4))))
    (if (i32.and (local.get $n) (i32.const 1))
      (then (return_call $pong (i32.sub (local.get $n) (i32.const 1)))))
    (return_call_indirect (type $step) (i32.sub (local.get $n) (i32.const 1)) (i32.const 0)))
  (func $main (export "_start")
    (call $proc_exit
      (i32.add (call $ping (i32.const 999))
        (call_indirect (type $step) (i32.const 11) (i32.const 1))))))
