;; Unwinding through JavaScript, as Emscripten does it without Wasm's exceptions: $fail throws a JavaScript exception through
;; Wasm functions, up to env.invoke, JavaScript that calls a function of the table and catches. For n = 0 to 3: one such call
;; that fails n calls deep and one that comes back; each is followed by a direct and an indirect call. In the end an exception
;; that nobody catches. `go` gives what invoke gave, as decimal digits.
(module
  (import "env" "invoke" (func $invoke (param i32 i32) (result i32)))   ;; (entry, n) -> 1 if it failed, else 0
  (import "env" "fail" (func $fail))
  (type $take (func (param i32)))
  (table (export "table") funcref (elem $work $plain))
  (func $leaf)
  (func $plain (param $n i32) (call $leaf))
  (func $descend (param $n i32)
    (if (i32.eqz (local.get $n)) (then (call $fail)))
    (call $descend (i32.sub (local.get $n) (i32.const 1)))
    (call $leaf))                           ;; never
  (func $work (param $n i32)
    (call $leaf)
    (call $descend (local.get $n)))
  (func $try (param $entry i32) (param $n i32) (result i32) (local $failed i32)
    (local.set $failed (call $invoke (local.get $entry) (local.get $n)))
    (call $leaf)
    (call_indirect (type $take) (local.get $n) (i32.const 1))
    (local.get $failed))
  (func $go (export "go") (result i32) (local $n i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 10)) (call $try (i32.const 0) (local.get $n))))
      (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 10)) (call $try (i32.const 1) (local.get $n))))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $n) (i32.const 4))))
    (local.get $sum))
  (func $uncaught (export "uncaught") (param $n i32)
    (call $descend (local.get $n))))
