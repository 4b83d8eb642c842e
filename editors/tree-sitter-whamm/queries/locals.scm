[(source_file) (function_definition) (probe) (for_statement) (annotated_block)] @local.scope

(variable_declaration name: (identifier) @local.definition)
(value_declaration name: (identifier) @local.definition)
(constant_declaration name: (identifier) @local.definition)
(derived_declaration name: (identifier) @local.definition)
(function_definition name: (identifier) @local.definition)
(parameter name: (identifier) @local.definition)
(for_statement variable: (identifier) @local.definition)
(for_statement key: (identifier) @local.definition)
(for_statement value: (identifier) @local.definition)

(identifier) @local.reference
