(block "}" @end) @indent
(arguments ")" @end) @indent
[(predicate) (assignment) (variable_declaration) (constant_declaration) (derived_declaration) (return_statement)] @indent
