;; Loops one right behind the other, a br_table to both, blocks that are only an `end`.
(module
  (memory (export "memory") 1)
  (func $leaf (param i32) (result i32)
    local.get 0
    i32.const 1
    i32.add)
  ;; a loop behind a br_if to another, and a br_table to both
  (func $loops (param i32) (result i32) (local i32)
    loop $outer
      local.get 1
      i32.const 1
      i32.add
      local.tee 1
      i32.const 2
      i32.eq
      br_if $outer
      loop $inner
        local.get 1
        i32.const 1
        i32.add
        local.tee 1
        local.get 0
        i32.ge_u
        if
          local.get 1
          return
        end
        block $out
          local.get 1
          i32.const 5
          i32.rem_u
          br_table $inner $outer $inner $outer $out
        end
      end
    end
    local.get 1)
  (func $falls (param i32)
    block
      local.get 0
      br_if 0
    end)
  (func (export "_start") (local i32)
    (loop $again
      (drop (call $leaf (local.get 0)))
      (call $falls (i32.and (local.get 0) (i32.const 1)))
      (local.set 0 (i32.add (local.get 0) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get 0) (i32.const 10))))
    (drop (call $loops (i32.const 9)))
    (drop (call $loops (i32.const 3)))))
