(function_definition name: (identifier) @name) @definition.function
(source_file (constant_declaration name: (identifier) @name) @definition.constant)
(source_file (variable_declaration name: (identifier) @name) @definition.variable)
(source_file (derived_declaration name: (identifier) @name) @definition.variable)
(probe rule: (match_rule) @name) @definition.probe
(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression field: (field_identifier) @name)) @reference.call
