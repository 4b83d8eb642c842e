/*
 * fuzz_instrument.c - any bytes as a program, instrumented with one of the scripts, which use every
 * kind of probe: no crash, and never the status that says that the output would have been invalid.
 * The first byte chooses the storage and the script, the second the other options.
 */
#include "whammc/whammc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const scripts[] = {
    "wasm:opcode:*:before { report unshared var n: i64; n++; }",

    "report var by: map<(u32, str), u64>; report var marks: map<u32, (bool, i32)>;\n"
    "report var any: bool; report var small: u8; var all: u64; report var late: u64;\n"
    "wasm:opcode:*:before { by[(fid, opname)]++; all = all + 2; report var hit: bool; hit = true; "
    "}\n"
    "wasm:opcode:*:after { marks[pc].1++; marks[pc].0 = true; small--; }\n"
    "wasm:func:exit { report unshared var left: u32; left++; any = true; }\n"
    "wasm:block:start { report shared var blocks: i64; blocks++; }\n"
    "wasm:end { late = all; }\n",

    "report var total: i64; var last: i32 = 7;\n"
    "wasm:opcode:*load*|*store*:before { report unshared var a: u32; a = effective_addr; frame var "
    "f: u8; f++; }\n"
    "wasm:opcode:br_if|if|br_on_null:before { report shared var t: i64; if (taken) { t++; } else { "
    "t--; } }\n"
    "wasm:opcode:i32.div_s|i64.rem_u|i32.trunc_f64_s:before { report var bad: bool; bad = trap; }\n"
    "wasm:func:entry { total = total + 1; }\n"
    "wasm:func:exit / fid % 2 == 0 / { total = total - 1; }\n",

    "wasm:opcode:call(arg0: i32):before { report var v: i32; v = arg0; arg0 = arg0 + 1; }\n"
    "wasm:opcode:call(res0: i64):after { report var r: i64; r = res0; res0 = 1; }\n"
    "wasm:opcode:drop(arg0: f64):before { report var d: f64; d = arg0; }\n"
    "wasm:opcode:local.set(arg0: i64):before { report var l: u16; l = arg0 as u16; }\n"
    "wasm(local0: i32):opcode:*:before { local0 = local0 + 1; }\n",

    "fn f(a: i32) -> i64 { if (a > 3) { return 1; } return f(a + 1); }\n"
    "report var total: i64; var base: i32 = 3; base = base * 2;\n"
    "wasm:block:start { report unshared var s: i32 = base; s++; } wasm:block:end { total = total + "
    "(instr_count as i64); }\n"
    "wasm:opcode:block|loop|if|else|try_table:entry { total++; }\n"
    "wasm:opcode:block|loop|if|else|try_table:exit { total++; }\n"
    "wasm:opcode:block|loop|if|else|try_table:after { total = total + f(0); }\n"
    "wasm:opcode:i32.add|i32.div_u:alt / arg0 == 1 / { return arg1; }\n"
    "wasm:opcode:br|br_if|return:alt / base > 100 / { }\n"
    "wasm:opcode:memory.grow:after / failed / { total++; }\n",

    "wasm:opcode:i32.const:alt { return 3; }\n"
    "wasm:opcode:f64.add:alt { return arg0; }\n"
    "wasm:opcode:br|return|unreachable:alt { report var n: i32; n++; }\n"
    "wasm:opcode:*.store*:alt { }\n"
    "wasm:opcode:i32.*:after / res0 > 3 && pc > 4 / { report var n: i32; n = n + res0; }\n",

    "report var seen: map<str, u32>; report var start: u32 = active_data_start(APP_MEMID);\n"
    "fn at(m: u32, a: u32) -> str { memcpy(m, a, 0, a + 1, 7); return read_str(m, a as i32, 9); }\n"
    "wasm:opcode:*load*|*store*:before / page_size(memory) > active_data_len(memory) / {\n"
    "  seen[at(memory, addr)]++; write_str(memory, 3, read_str(0, 5, mem_size(memory)));\n"
    "  if (strcmp((1, 2), \"ab\") || strcontains((addr as i32, 99), \"c\")) { seen[opname]++; } "
    "}\n",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { STORAGES = 3, HOSTS = 4, SCRIPTS = sizeof scripts / sizeof *scripts };
    if (size < 2)
        return 0;
    const char *script = scripts[data[0] / STORAGES % SCRIPTS];
    whammc_options options = {.storage = (whammc_storage)(data[0] % STORAGES),
                              .host = (whammc_host)(data[1] % HOSTS),
                              .exact_traps = data[1] >> 6 & 1,
                              .no_coalesce = data[1] >> 7};
    whammc *w = whammc_new();
    uint8_t *out;
    size_t out_size;
    whammc_add_script(w, "script", script, strlen(script));
    whammc_status status =
        whammc_instrument(w, "module", data + 2, size - 2, &options, &out, &out_size);
    const char *messages = whammc_messages(w, 0);
    if (status == WHAMMC_INTERNAL) {
        fputs(messages, stderr);
        abort();
    }
    whammc_release(out);
    whammc_free(w);
    return 0;
}
