;; Updates of a u32 -> u32 map, as probe code makes them: m[i % keys * spread]++, `rounds` times.
(module
  (import "runtime" "whammc_map_at1" (func $at (param i32 i32 i64) (result i32)))
  (import "env" "memory" (memory 1))
  (func $key (param $i i32) (param $keys i32) (param $spread i32) (result i32)
    (i32.mul (i32.rem_u (local.get $i) (local.get $keys)) (local.get $spread)))
  (func $increment (param $at i32)
    (i32.store (local.get $at) (i32.add (i32.load (local.get $at)) (i32.const 1))))
  (func (export "update") (param $type i32) (param $rounds i32) (param $keys i32) (param $spread i32) (local $i i32)
    (loop $again
      (call $increment (call $at (i32.const 0) (local.get $type)
        (i64.extend_i32_u (call $key (local.get $i) (local.get $keys) (local.get $spread)))))
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $rounds)))))
  ;; The same without the map: a word at one of 512 addresses, in memory that nobody else uses.
  (func (export "loop") (param $type i32) (param $rounds i32) (param $keys i32) (param $spread i32) (local $i i32)
    (loop $again
      (call $increment (i32.add (i32.const 0x4000) (i32.and (i32.const 0x7f8)
        (call $key (local.get $i) (local.get $keys) (local.get $spread)))))
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $rounds))))))
