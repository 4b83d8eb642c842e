(module
  (import "env" "memory" (memory 1 16 shared))
  (func $kernel (export "kernel") (param $x i32) (result i32)
    (i32.add (i32.mul (local.get $x) (i32.const 31)) (i32.const 7)))
  (func $work (export "work") (param $n i32) (result i32)
    (local $s i32) (local $i i32)
    (loop $l
      (local.set $s (i32.xor (local.get $s) (call $kernel (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n))))
    (local.get $s))
  (func $fill (export "fill") (param $n i32)
    (local $i i32)
    (loop $l
      (i32.store (local.get $i) (i32.load offset=4 (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $l (i32.lt_u (local.get $i) (local.get $n)))))
  (func $trap (export "trap") unreachable)
)
