;; What callbacks.whamm uses: only the types count, as JavaScript gives the functions.
(module
  (func (export "call_pre") (param i32 i32 i32))
  (func (export "call_post") (param i32 i32)))
