[(block) (predicate) (assignment) (variable_declaration) (constant_declaration) (derived_declaration) (return_statement) (call_expression)] @indent
(block "}" @outdent)
(arguments ")" @outdent)
