(module
  (memory (export "memory") 1)
  (func $f (param i32) (nop) (drop (local.get 0)) (block (br_if 0 (local.get 0)) (nop)))
  (func (export "_start")
    (call $f (i32.const 1)) (call $f (i32.const 0)) (call $f (i32.const 1))))
