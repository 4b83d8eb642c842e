(block) @indent.begin
(block "}" @indent.branch @indent.end)
; The rest of a rule and of a statement.
(predicate) @indent.begin
[(assignment) (variable_declaration) (constant_declaration) (derived_declaration) (return_statement) (call_expression)] @indent.begin
(arguments ")" @indent.branch)
[(line_comment) (block_comment)] @indent.ignore
