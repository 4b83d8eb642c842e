;; A program for libraries to be merged into: its memory is full of a pattern, which they must leave alone.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (start $fill)
  (func $pattern (param $at i32) (result i32)
    (i32.mul (i32.add (local.get $at) (i32.const 1)) (i32.const 0x9e3779b9)))
  (func $fill (local $at i32)
    (loop $next
      (i32.store (local.get $at) (call $pattern (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 131072)))))
  ;; The number of words of the memory that are not as they were.
  (func (export "changed") (result i32) (local $at i32) (local $n i32)
    (loop $next
      (local.set $n (i32.add (local.get $n)
        (i32.ne (i32.load (local.get $at)) (call $pattern (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 131072))))
    (local.get $n))
  (func (export "say") (result i32)
    (i32.store (i32.const 0) (i32.const 16))
    (i32.store (i32.const 4) (i32.const 5))
    (i64.store (i32.const 16) (i64.const 0x0a74736f68))
    (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))
    (call $fill)))
