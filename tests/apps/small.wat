;; A small WASI program with one of everything that the example scripts look at. Prints "hello" and "done".
(module
  (type $unary (func (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (table 2 funcref)
  (elem (i32.const 0) $double $square)
  (data (i32.const 64) "hello\n")
  (data (i32.const 72) "done\n")
  (func $print (param $at i32) (param $len i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store offset=4 (i32.const 0) (local.get $len))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $double (type $unary) (i32.add (local.get 0) (local.get 0)))
  (func $square (type $unary) (i32.mul (local.get 0) (local.get 0)))
  (func $never (unreachable))
  ;; Sums double(i) or square(i) for i below n, by turns.
  (func $sum (param $n i32) (result i32) (local $i i32) (local $sum i32)
    (block $done
      (loop $again
        (br_if $done (i32.ge_s (local.get $i) (local.get $n)))
        (local.set $sum
          (i32.add (local.get $sum)
            (call_indirect (type $unary) (local.get $i) (i32.and (local.get $i) (i32.const 1)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $again)))
    (local.get $sum))
  ;; 10, 20, or 30 for anything else.
  (func $choose (param $x i32) (result i32)
    (block $other
      (block $one
        (block $zero
          (br_table $zero $one $other (local.get $x)))
        (return (i32.const 10)))
      (return (i32.const 20)))
    (i32.const 30))
  (func $main (result i32) (local $total i32)
    (call $print (i32.const 64) (i32.const 6))
    (local.set $total (call $sum (i32.const 10)))
    (local.set $total (i32.add (local.get $total) (call $choose (i32.const 0))))
    (local.set $total (i32.add (local.get $total) (call $choose (i32.const 1))))
    (local.set $total (i32.add (local.get $total) (call $choose (i32.const 7))))
    (local.set $total (i32.add (local.get $total) (call $choose (i32.const -1))))
    (i64.store (i32.const 16) (i64.extend_i32_u (local.get $total)))
    (drop (memory.grow (i32.const 1)))
    (memory.fill (i32.const 128) (i32.const 7) (i32.const 100))
    (if (i32.eq (i32.load8_u (i32.const 200)) (i32.const 7))
      (then (call $print (i32.const 72) (i32.const 5)))
      (else (call $never)))
    (i32.wrap_i64 (i64.load (i32.const 16))))
  ;; Ends with the low bits of the total as exit status.
  (func (export "_start")
    (call $proc_exit (i32.and (call $main) (i32.const 127)))))
