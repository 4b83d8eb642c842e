;; What bench/callbacks.whamm uses, given by the page: a library that is merged into the program imports it there.
(module
  (import "callbacks" "call_pre" (func $call_pre (param i32 i32 i32)))
  (import "callbacks" "call_post" (func $call_post (param i32 i32)))
  (func (export "call_pre") (param i32 i32 i32) (call $call_pre (local.get 0) (local.get 1) (local.get 2)))
  (func (export "call_post") (param i32 i32) (call $call_post (local.get 0) (local.get 1))))
