; What names, types and calls are. Of two patterns the later one counts.
(parameter name: (identifier) @variable.parameter)
(function_definition name: (identifier) @function)
(call_expression function: (identifier) @function.call)
(call_expression function: (field_expression field: (field_identifier) @function.method.call))
(text_call function: (identifier) @function.builtin)
(field_identifier) @property
(use_declaration name: (identifier) @module)
(package (identifier) @module)
(annotation) @attribute
(decorator) @keyword.modifier
(scalar_type) @type.builtin
(aggregation) @type.builtin

; Match rules.
(match_rule (pattern) @label)
(predicate "/" @punctuation.special)

; scripts/editors.mjs writes these lines.
["if" "elif" "else"] @keyword.conditional
["while" "for" "break" "continue"] @keyword.repeat
["return"] @keyword.return
["use" "include"] @keyword.import
["fn"] @keyword.function
["var" "const" "value"] @keyword
["report" "unshared" "shared" "frame" "atomic" "shadow"] @keyword.modifier
["delete" "every" "limit" "per"] @keyword
["as" "in"] @keyword.operator
["map" "array"] @type.builtin
((identifier) @variable.builtin
  (#any-of? @variable.builtin "fid" "fname" "escapes" "tail_calls" "fn_tail_calls" "fn_calls" "fn_loops" "fn_size" "fn_params" "resumable"
    "resumes" "pc" "opidx" "at_func_end" "probe_id" "file" "line" "column" "src_function" "inlined" "opname" "bytecode" "category_id"
    "category_name" "addr" "effective_addr" "offset" "align" "memory" "data_size" "is_write" "taken" "back_edge" "loop_calls" "loop_nested"
    "trap" "failed" "num_targets" "default_target" "target" "targets" "target_fn_name" "target_fn_type" "target_fn_escapes"
    "target_fn_tail_calls" "target_fn_resumable" "target_imp_module" "table_entry_idx" "target_funcref" "resolved_fid" "tid" "field_idx"
    "APP_MEMID" "SCRIPT_MEMID" "module_id" "asyncify" "module_name" "component_name" "HOST" "stack_id" "thread" "instr_count"))
((identifier) @variable.builtin
  (#match? @variable.builtin "^(local|global|arg|res|imm)[0-9]+$"))
((call_expression function: (identifier) @function.builtin)
  (#any-of? @function.builtin "drop_args" "alt_call_by_id" "alt_call_by_name" "dup_at" "resolve_funcref" "memid" "active_data_start"
    "active_data_len" "page_size" "mem_size" "read_u8" "read_i8" "read_u16" "read_i16" "read_u32" "read_i32" "read_u64" "read_i64"
    "read_f32" "read_f64" "memcpy" "read_str" "read_cstr" "write_str" "strcmp" "strcontains" "print" "trap" "assert" "exit" "log2" "min"
    "max" "abs" "clz" "ctz" "popcnt"))
((call_expression function: (field_expression field: (field_identifier) @function.method.builtin))
  (#any-of? @function.method.builtin "len" "addr" "starts_with" "ends_with" "contains" "lists" "clear"))
; end of the words

[(true) (false)] @boolean
(number) @number
(string) @string
(escape_sequence) @string.escape
(interpolation "{" @punctuation.special "}" @punctuation.special)
(format) @string.special
[(line_comment) (block_comment)] @comment

["+" "-" "*" "%" "&" "|" "^" "~" "!" "<" ">" "<=" ">=" "==" "!=" "<<" ">>" "&&" "||" "=" "+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<="
  ">>=" "++" "--" "->" "?" ".."] @operator
(binary_expression "/" @operator)
["(" ")" "[" "]"] @punctuation.bracket
(block ["{" "}"] @punctuation.bracket)
["," ";" "." ":"] @punctuation.delimiter
