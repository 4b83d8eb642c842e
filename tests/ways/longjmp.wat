;; setjmp and longjmp as clang makes them of exceptions: longjmp throws, and a function with a setjmp catches, asks whether
;; the setjmp is its own, and if so goes on behind it. $outer and $inner both have one; for depths 0 to 9 there is a jump to
;; that of $inner and one that passes it, over a call through a pointer and as many activations of $descend.
;; The exit status is the sum of what the setjmps gave: 10 * (1 + 2).
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (tag $jump (param i32))
  (type $descent (func (param i32 i32)))
  (table funcref (elem $descend))
  (global $setjmps (mut i32) (i32.const 0))
  (global $landed (mut i32) (i32.const 0))

  (func $save (param $env i32)              ;; the number of the setjmp is what is in its buffer
    (global.set $setjmps (i32.add (global.get $setjmps) (i32.const 1)))
    (i32.store (local.get $env) (global.get $setjmps)))

  (func $is_own (param $number i32) (param $mine i32) (result i32)
    (i32.eq (local.get $number) (local.get $mine)))

  (func $longjmp (param $env i32) (param $value i32)
    (i32.store (i32.const 64) (local.get $env))
    (i32.store (i32.const 68) (local.get $value))
    (throw $jump (i32.const 64)))

  (func $descend (param $depth i32) (param $env i32)
    (if (i32.eqz (local.get $depth))
      (then (call $longjmp (local.get $env) (i32.shr_u (local.get $env) (i32.const 4)))))
    (call $descend (i32.sub (local.get $depth) (i32.const 1)) (local.get $env))
    (call $count (i32.const 100)))          ;; never

  (func $count (param $value i32)
    (global.set $landed (i32.add (global.get $landed) (local.get $value))))

  (func $inner (param $depth i32) (param $to i32)
    (local $value i32) (local $again i32) (local $thrown i32) (local $mine i32)
    (loop $resume
      (try
        (do
          (if (i32.eqz (local.get $again))
            (then
              (call $save (i32.const 16))
              (local.set $mine (i32.load (i32.const 16)))))
          (if (local.get $value)
            (then (call $count (local.get $value)))
            (else (call_indirect (type $descent) (local.get $depth) (local.get $to) (i32.const 0)))))
        (catch $jump
          (local.set $thrown)
          (if (call $is_own (i32.load (i32.load (local.get $thrown))) (local.get $mine))
            (then
              (local.set $again (i32.const 1))
              (local.set $value (i32.load offset=4 (local.get $thrown)))
              (br $resume)))
          (call $longjmp (i32.load (local.get $thrown)) (i32.load offset=4 (local.get $thrown)))))))

  (func $outer (param $depth i32)
    (local $value i32) (local $again i32) (local $thrown i32) (local $mine i32)
    (loop $resume
      (try
        (do
          (if (i32.eqz (local.get $again))
            (then
              (call $save (i32.const 32))
              (local.set $mine (i32.load (i32.const 32)))))
          (if (local.get $value)
            (then (call $count (local.get $value)))
            (else
              (call $inner (local.get $depth) (i32.const 16))
              (call $inner (local.get $depth) (i32.const 32)))))
        (catch $jump
          (local.set $thrown)
          (if (call $is_own (i32.load (i32.load (local.get $thrown))) (local.get $mine))
            (then
              (local.set $again (i32.const 1))
              (local.set $value (i32.load offset=4 (local.get $thrown)))
              (br $resume)))
          (call $longjmp (i32.load (local.get $thrown)) (i32.load offset=4 (local.get $thrown)))))))

  (func $main (export "_start") (local $depth i32)
    (loop $next
      (call $outer (local.get $depth))
      (local.set $depth (i32.add (local.get $depth) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $depth) (i32.const 10))))
    (call $proc_exit (global.get $landed))))
