" Syntax of Whamm scripts.
if exists('b:current_syntax')
  finish
endif

syntax case match
syntax sync minlines=200

" scripts/editors.mjs writes these lines.
syntax keyword whammConditional if elif else
syntax keyword whammRepeat while
syntax match whammRepeat '\v<for>%(\s*\()@='
syntax match whammRepeat '\v<break>%(\s*;)@='
syntax match whammRepeat '\v<continue>%(\s*;)@='
syntax keyword whammReturn return
syntax keyword whammImport use
syntax match whammImport '\v<include>%(\s*")@='
syntax keyword whammFunctionWord fn
syntax keyword whammDeclaration var
syntax match whammDeclaration '\v<const>%(\s+\h)@='
syntax match whammDeclaration "\v%(shadow\s*)@16<=<value>"
syntax keyword whammDecorator report unshared shared frame
syntax match whammDecorator '\v<atomic>%(\s+\h)@='
syntax match whammDecorator '\v<shadow>%(\s+\h)@='
syntax match whammStatement '\v<delete>%(\s+\h)@='
syntax match whammStatement "\v%(\)\s*)@16<=<every>"
syntax match whammStatement "\v%(\)\s*)@16<=<limit>"
syntax match whammStatement "\v%(\[\s*)@16<=<per>"
syntax keyword whammOperator as in
syntax keyword whammContainer map
syntax match whammContainer '\v<array>%(\s*\<)@='
syntax keyword whammBoolean true false
syntax keyword whammType u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 bool str funcref
syntax match whammAggregation "\v%([:<,]\s*)@16<=(count|sum|min|max|avg|stats|hist|lhist|top)>"
syntax keyword whammName fid fname escapes tail_calls fn_tail_calls fn_calls fn_loops fn_size fn_params resumable resumes pc opidx
      \ at_func_end probe_id file line column src_function inlined opname bytecode category_id category_name addr effective_addr offset
      \ align memory data_size is_write taken back_edge loop_calls loop_nested trap failed num_targets default_target target targets
      \ target_fn_name target_fn_type target_fn_escapes target_fn_tail_calls target_fn_resumable target_imp_module table_entry_idx
      \ target_funcref resolved_fid tid field_idx APP_MEMID SCRIPT_MEMID module_id asyncify module_name component_name HOST stack_id thread
      \ instr_count
syntax match whammName "\v<(local|global|arg|res|imm)\d+>"
syntax match whammFunction "\v<(drop_args|alt_call_by_id|alt_call_by_name|dup_at|resolve_funcref|memid|active_data_start|active_data_len|page_size|mem_size|read_u8|read_i8|read_u16|read_i16|read_u32|read_i32|read_u64|read_i64|read_f32|read_f64|memcpy|read_str|read_cstr|write_str|strcmp|strcontains|print|trap|assert|exit|log2|min|max|abs|clz|ctz|popcnt)>\ze\s*\("
syntax match whammMethod "\v\.\s*\zs(len|addr|starts_with|ends_with|contains|lists|clear)>\ze\s*\("
syntax keyword whammEvent contained wasm begin end report stack suspend resume func entry exit block start unwind opcode edge interval
syntax keyword whammMode contained before after alt entry exit at_target unwind
" end of the words

syntax cluster whammCode contains=whammConditional,whammRepeat,whammReturn,whammImport,whammFunctionWord,whammDeclaration,whammDecorator,whammStatement,whammOperator,whammContainer,whammBoolean,whammType,whammAggregation,whammName,whammFunction,whammMethod,whammField,whammAnnotation,whammDefinition,whammNumber,whammSign,whammString,whammTextCall,whammAssert,whammLineComment,whammBlockComment

syntax match whammSign "[-+*/%&|^~!<>=?:]\+"
syntax match whammNumber "\v<0x\x+>|<0b[01]+>|<\d[0-9_]*%(\.\.@!\d*)?%([eE][+-]?\d+)?>|-%(inf|nan)>"
syntax match whammField "\.\@1<!\.\s*\zs\h\w*\>\%(\s*(\)\@!"
syntax match whammAnnotation "@\s*\h\w*"
syntax match whammDefinition "\%(\<fn\s\+\)\@16<=\h\w*"

" The rule, the predicate and the block of a probe. What begins with a pattern and a colon is a rule, but not in a block.
syntax match whammRule "\v^\s*[A-Za-z0-9_.*+\\?|!\[\]]*\s*%(\([^;{}()"]*%(\([^;{}()"]*\)[^;{}()"]*)*\)\s*)?:" contains=whammBounds,whammEvent,whammPattern nextgroup=@whammRuleNext skipwhite skipnl
syntax match whammRulePart contained "\v[A-Za-z0-9_.*+\\?|!\[\]]+" contains=whammPattern,whammEvent,whammMode nextgroup=@whammRuleNext skipwhite skipnl
syntax cluster whammRuleNext contains=whammRulePart,whammColon,whammBounds,whammPredicate,whammBlock
syntax match whammColon contained ":" nextgroup=@whammRuleNext skipwhite skipnl
syntax region whammBounds contained start="(" end=")" contains=@whammCode nextgroup=@whammRuleNext skipwhite skipnl
syntax region whammPredicate contained matchgroup=whammDelimiter start="/[/*]\@!" end="/\ze\_s*{" contains=@whammCode,whammParens nextgroup=whammBlock skipwhite skipnl
syntax match whammPattern contained "[*+\\?|!\[\]]\+"

syntax region whammBlock matchgroup=whammBrace start="{" end="}" contains=@whammCode,whammBlock,whammParens fold transparent
syntax region whammParens contained start="(" end=")" contains=@whammCode,whammParens transparent

" Strings, and texts, which have values in braces.
syntax region whammString start=+"+ skip=+\\.+ end=+"+ contains=whammEscape,whammBadEscape
syntax match whammBadEscape contained "\\."
syntax match whammEscape contained "\v\\%([nrt\"'\\0]|x\x\x|u\{\x+\})"
syntax match whammTextCall "\v<%(print|trap)>\ze\s*\(\s*\"%(\\_.|[^\"\\])*\"\s*\)" nextgroup=whammTextStart skipwhite
syntax match whammTextStart contained "(\s*" nextgroup=whammText
syntax region whammText contained start=+"+ skip=+\\.+ end=+"+ contains=whammEscape,whammBadEscape,whammValue,whammDoubled
syntax region whammAssert matchgroup=whammFunction start="\<assert\s*(" matchgroup=NONE end=")" contains=@whammCode,whammParens,whammAssertText
syntax match whammAssertText contained ",\s*\ze\"\%(\\\_.\|[^\"\\]\)*\"\s*)" nextgroup=whammText
syntax region whammValue contained matchgroup=whammSpecial start="{" end="}" contains=@whammCode,whammFormat,whammQuoted oneline
syntax match whammFormat contained ":[<>^]\=#\=\d*\%(\.\d\+\)\=[xXboe?]\=\ze}"
syntax match whammDoubled contained "{{\|}}"
syntax region whammQuoted contained start=+\\"+ end=+\\"+ oneline

syntax match whammLineComment "//.*" contains=whammTodo,@Spell
syntax region whammBlockComment start="/\*" end="\*/" contains=whammBlockComment,whammTodo,@Spell fold
syntax keyword whammTodo contained TODO FIXME XXX

highlight default link whammConditional Conditional
highlight default link whammRepeat Repeat
highlight default link whammReturn Statement
highlight default link whammImport Include
highlight default link whammFunctionWord Keyword
highlight default link whammDeclaration Keyword
highlight default link whammDecorator StorageClass
highlight default link whammStatement Statement
highlight default link whammOperator Operator
highlight default link whammContainer Type
highlight default link whammBoolean Boolean
highlight default link whammType Type
highlight default link whammAggregation Type
highlight default link whammName Identifier
highlight default link whammFunction Function
highlight default link whammTextCall Function
highlight default link whammMethod Function
highlight default link whammDefinition Function
highlight default link whammAnnotation PreProc
highlight default link whammEvent Label
highlight default link whammMode Keyword
highlight default link whammPattern Special
highlight default link whammNumber Number
highlight default link whammSign Operator
highlight default link whammString String
highlight default link whammText String
highlight default link whammQuoted String
highlight default link whammEscape SpecialChar
highlight default link whammDoubled SpecialChar
highlight default link whammFormat Special
highlight default link whammSpecial Special
highlight default link whammDelimiter Delimiter
highlight default link whammBadEscape Error
highlight default link whammLineComment Comment
highlight default link whammBlockComment Comment
highlight default link whammTodo Todo

let b:current_syntax = 'whamm'
