;; Exceptions as `try_table` has them: caught by tag, with and without their reference, thrown again with throw_ref, and
;; through functions that know nothing of them, an indirect call among them. Round n = 0, 1, 2 goes n calls deep, four times.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (tag $wrong (param i32))
  (type $take (func (param i32)))
  (table funcref (elem $thrower))

  (func $put (param $char i32)
    (i32.store8 (i32.const 16) (local.get $char))
    (i32.store (i32.const 0) (i32.const 16))
    (i32.store (i32.const 4) (i32.const 1))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))

  (func $thrower (param $n i32)
    (if (i32.eqz (local.get $n)) (then (throw $wrong (i32.const 7))))
    (call $thrower (i32.sub (local.get $n) (i32.const 1)))
    (call $put (i32.const 33)))             ;; never

  (func $through (param $n i32)
    (call $thrower (local.get $n))
    (call $put (i32.const 33)))             ;; never

  (func $by_tag (param $n i32)
    (block $caught (result i32)
      (try_table (catch $wrong $caught) (call $through (local.get $n)))
      (return))
    (call $put (i32.add (i32.const 48)))
    (call $put (i32.const 116)))

  (func $again (param $n i32)
    (block $caught (result exnref)
      (try_table (catch_all_ref $caught) (call $through (local.get $n)))
      (return))
    (call $put (i32.const 114))
    (throw_ref))

  (func $indirect (param $n i32)
    (block $caught
      (try_table (catch_all $caught) (call_indirect (type $take) (local.get $n) (i32.const 0)))
      (return))
    (call $put (i32.const 105)))

  (func $inside (param $n i32)              ;; caught where it is thrown: leaves no function
    (block $caught (result i32)
      (try_table (catch $wrong $caught) (throw $wrong (local.get $n)))
      (return))
    (call $indirect))

  (func $round (param $n i32)
    (call $by_tag (local.get $n))
    (block $caught (result i32 exnref)
      (try_table (catch_ref $wrong $caught) (call $again (local.get $n)))
      (return))
    (drop) (drop)
    (call $put (i32.const 97))
    (call $indirect (local.get $n))
    (call $inside (local.get $n)))

  (func $main (export "_start") (local $n i32)
    (loop $next
      (call $round (local.get $n))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $n) (i32.const 3))))
    (call $put (i32.const 10))))
