(function_definition "fn" @context name: (_) @name) @item
(probe rule: (match_rule) @name) @item
(source_file (constant_declaration "const" @context name: (_) @name) @item)
(source_file (variable_declaration "var" @context name: (_) @name) @item)
(source_file (derived_declaration name: (_) @name) @item)
