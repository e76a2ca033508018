; C. Patterns of one kind of node go from the special to the general: the first that matches a definition counts.

(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(union_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.constant
(type_definition type: (struct_specifier body: (_)) declarator: (type_identifier) @name) @definition.struct
(type_definition type: (enum_specifier body: (_)) declarator: (type_identifier) @name) @definition.enum
(type_definition declarator: (type_identifier) @name) @definition.type
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @name)) @definition.type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @definition.type
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition.function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @definition.function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @declaration.function
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @declaration.function
(declaration declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @declaration.function
(field_declaration type: (_) @type declarator: (field_identifier) @name) @definition.variable
(field_declaration type: (_) @type declarator: (pointer_declarator declarator: (field_identifier) @name)) @definition.variable
(field_declaration type: (_) @type declarator: (array_declarator declarator: (field_identifier) @name)) @definition.variable
(declaration type: (_) @type declarator: (identifier) @name) @definition.variable
(declaration type: (_) @type declarator: (init_declarator declarator: (identifier) @name)) @definition.variable
(declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @name)) @definition.variable
(declaration type: (_) @type declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @definition.variable
(declaration type: (_) @type declarator: (array_declarator declarator: (identifier) @name)) @definition.variable
(declaration type: (_) @type declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @definition.variable
(parameter_declaration type: (_) @type declarator: (identifier) @name) @local
(parameter_declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @name)) @local

(preproc_include path: [(string_literal) (system_lib_string)] @source) @import
(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression argument: (_) @receiver field: (field_identifier) @name)) @reference.call
(type_identifier) @name @reference.use
(identifier) @name @reference.use
