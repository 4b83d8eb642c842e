;; A library with what compilers from C do not make: several memories, one of 64 bits; structs, arrays and recursive
;; types; typed tables with segments of expressions; offsets from globals; several results; a start function.
(module
  (rec
    (type $node (struct (field $value i32) (field $next (ref null $node))))
    (type $list (struct (field $head (mut (ref null $node))) (field $length (mut i32)))))
  (type $bytes (array i8))
  (type $op (func (param i32 i32) (result i32)))

  (global $base i32 (i32.const 16))
  (global $list (ref $list) (struct.new $list (ref.null $node) (i32.const 0)))
  (global $started (mut i32) (i32.const 0))

  (memory $small 1)
  (memory $wide i64 1 3)
  (memory $unused 2)
  (table $ops 4 (ref null $op))
  (table $refs 2 externref)

  (elem $first (table $ops) (i32.const 1) (ref null $op) (ref.func $add) (ref.func $subtract))
  (elem $later (ref null $op) (ref.func $multiply) (ref.null $op))
  (data (memory $small) (global.get $base) "hello")
  (data (memory $wide) (i64.const 65500) "wide")
  (data $bytes "\01\02\03\04\05\06")

  (start $begin)
  (func $begin
    (global.set $started (i32.add (global.get $started) (i32.const 1)))
    (table.init $ops $later (i32.const 3) (i32.const 0) (i32.const 1)))

  (func $add (type $op) (i32.add (local.get 0) (local.get 1)))
  (func $subtract (type $op) (i32.sub (local.get 0) (local.get 1)))
  (func $multiply (type $op) (i32.mul (local.get 0) (local.get 1)))

  ;; How often the start function has run.
  (func (export "started") (result i32) (global.get $started))
  ;; 1 adds, 2 subtracts, 3 multiplies, anything else traps.
  (func (export "apply") (param $op i32) (param $a i32) (param $b i32) (result i32)
    (call_indirect $ops (type $op) (local.get $a) (local.get $b) (local.get $op)))
  ;; Puts a number in front of a list.
  (func (export "push") (param $value i32) (result i32)
    (struct.set $list $head (global.get $list)
      (struct.new $node (local.get $value) (struct.get $list $head (global.get $list))))
    (struct.set $list $length (global.get $list)
      (i32.add (struct.get $list $length (global.get $list)) (i32.const 1)))
    (struct.get $list $length (global.get $list)))
  ;; The sum of the list, each number times its place.
  (func (export "sum") (result i32)
    (local $at (ref null $node)) (local $sum i32) (local $place i32)
    (local.set $at (struct.get $list $head (global.get $list)))
    (block $done
      (loop $next
        (br_if $done (ref.is_null (local.get $at)))
        (local.set $place (i32.add (local.get $place) (i32.const 1)))
        (local.set $sum (i32.add (local.get $sum)
          (i32.mul (local.get $place) (struct.get $node $value (local.get $at)))))
        (local.set $at (struct.get $node $next (local.get $at)))
        (br $next)))
    (local.get $sum))
  ;; The sum of the bytes of a passive segment, by way of an array.
  (func (export "bytes") (result i32)
    (local $a (ref null $bytes)) (local $i i32) (local $sum i32)
    (local.set $a (array.new_data $bytes $bytes (i32.const 1) (i32.const 4)))
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (array.get_u $bytes (local.get $a) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (array.len (local.get $a)))))
    (local.get $sum))
  ;; A byte of the first memory.
  (func (export "small") (param $at i32) (result i32) (i32.load8_u $small (local.get $at)))
  ;; Four bytes of each memory.
  (func (export "wide") (result i64)
    (i64.store32 $wide (i64.const 65496) (i64.load32_u $small (i32.const 16)))
    (i64.load $wide (i64.const 65496)))
  ;; The size of the wide memory before and after growing.
  (func (export "grow") (param $pages i64) (result i64 i64)
    (memory.grow $wide (local.get $pages))
    (memory.size $wide))
  (func (export "nothing_there") (result i32) (ref.is_null (table.get $refs (i32.const 1)))))
