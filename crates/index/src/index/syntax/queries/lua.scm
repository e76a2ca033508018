; Lua.

(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression table: (_) @owner field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression table: (_) @owner method: (identifier) @name)) @definition.method
(assignment_statement (variable_list . name: (identifier) @name) (expression_list . value: (function_definition))) @definition.function
(assignment_statement (variable_list . name: (dot_index_expression table: (_) @owner field: (identifier) @name)) (expression_list . value: (function_definition))) @definition.function
(field name: (identifier) @name value: (function_definition)) @definition.function
(assignment_statement (variable_list . name: (identifier) @alias) (expression_list . value: (function_call name: (identifier) @_require arguments: (arguments (string) @source)) (#eq? @_require "require"))) @import
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @definition.variable)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @definition.variable)
(variable_list name: (identifier) @name @local)
(parameters name: (identifier) @name @local)

(function_call name: (identifier) @_require arguments: (arguments (string) @source) (#eq? @_require "require")) @import
(function_call name: (identifier) @name (#not-eq? @name "require")) @reference.call
(function_call name: (dot_index_expression table: (_) @receiver field: (identifier) @name)) @reference.call
(function_call name: (method_index_expression table: (_) @receiver method: (identifier) @name)) @reference.call
(identifier) @name @reference.use
