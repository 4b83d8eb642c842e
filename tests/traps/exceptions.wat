;; Exceptions that nobody catches, and traps beside them.
;; features: exceptions
;; calls: throws(0) throws(1) throws(2) calls(0) calls(1) calls(2) loops(5) loops(9)
(module
  (tag $e (param i32))
  (memory 1)
  (func $throws (export "throws") (param i32)
    nop
    (if (i32.eqz (local.get 0)) (then nop (throw $e (i32.load (i32.const 16)))))
    (drop (i32.div_u (i32.const 1) (i32.sub (local.get 0) (i32.const 1))))
    nop)
  (func (export "calls") (param i32)
    nop
    (call $throws (local.get 0))
    nop
    (drop (i32.load (i32.const 65533))))
  (func (export "loops") (param i32) (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (if (i32.eq (local.get $i) (i32.const 7)) (then (throw $e (local.get $i))))
      (drop (i32.rem_s (i32.const 5) (i32.sub (local.get 0) (local.get $i))))
      (br $next))))
