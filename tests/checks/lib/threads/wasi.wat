;; Threads for WASI: eight of them call `kernel` 100, 101 ... times, then add 1 at address 0; the first thread waits for them, and calls it 7
;; times. tests/checks/wasi_threads puts in how they end.
(module
  (import "env" "memory" (memory 1 16 shared))
  (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (export "memory" (memory 0))
  (data (i32.const 100) "hello\n")
  (func $kernel (export "kernel"))
  (func $work (param $n i32)
    (loop $again
      call $kernel
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $forever (loop $again (br $again)))
  (func $wait_for_others (local $done i32)
    (loop $wait
      (local.set $done (i32.atomic.load (i32.const 0)))
      (if (i32.lt_u (local.get $done) (i32.const 8))
        (then
          (drop (memory.atomic.wait32 (i32.const 0) (local.get $done) (i64.const -1)))
          (br $wait)))))
  (func (export "wasi_thread_start") (param $number i32) (param $calls i32)
    (call $work (local.get $calls))
    (drop (i32.atomic.rmw.add (i32.const 0) (i32.const 1)))
    (drop (memory.atomic.notify (i32.const 0) (i32.const 99)))
    (if (i32.eq (local.get $calls) (i32.const 107)) (then nop (;last;)))
    nop (;each;))
  (func (export "_start") (local $i i32)
    (i32.store (i32.const 16) (i32.const 100))
    (i32.store (i32.const 20) (i32.const 6))
    (drop (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 24)))
    (loop $more
      (drop (call $spawn (i32.add (i32.const 100) (local.get $i))))
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
    call $wait_for_others
    (call $work (i32.const 7))
    nop (;first;)))
