; C++, beside the patterns of C.

(namespace_definition name: (_) @name) @definition.module
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(class_specifier name: (template_type name: (type_identifier) @name) body: (_)) @definition.class
(struct_specifier name: (template_type name: (type_identifier) @name) body: (_)) @definition.struct
; `class EXPORTED Shelf : public Rack { … };`, which the grammar takes for a function.
(function_definition type: [(class_specifier name: (type_identifier) !body) (struct_specifier name: (type_identifier) !body)] . declarator: (identifier) @name body: (compound_statement)) @outline.class
(function_definition type: [(class_specifier name: (type_identifier) !body) (struct_specifier name: (type_identifier) !body)] . (ERROR . (identifier) @name) body: (compound_statement)) @outline.class
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type
(function_definition declarator: (function_declarator declarator: [(field_identifier) (destructor_name) (operator_name)] @name)) @definition.function
(function_definition declarator: (function_declarator declarator: (template_function name: (identifier) @name))) @definition.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @definition.function
(function_definition declarator: (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))) @definition.function
(function_definition declarator: (function_declarator declarator: (qualified_identifier scope: (_) @owner name: [(identifier) (destructor_name) (operator_name)] @name))) @definition.function
(function_definition declarator: (function_declarator declarator: (qualified_identifier name: (qualified_identifier scope: (_) @owner name: [(identifier) (destructor_name) (operator_name)] @name)))) @definition.function
(function_definition declarator: (reference_declarator (function_declarator declarator: (qualified_identifier scope: (_) @owner name: [(identifier) (operator_name)] @name)))) @definition.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name)))) @definition.function
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @definition.method
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @definition.method
(field_declaration declarator: (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))) @definition.method
(field_declaration_list (declaration declarator: (function_declarator declarator: [(identifier) (destructor_name)] @name)) @definition.method)
(field_declaration_list (template_declaration (declaration declarator: (function_declarator declarator: [(identifier) (destructor_name) (operator_name)] @name)) @definition.method))
(field_declaration_list (template_declaration (declaration declarator: (_ (function_declarator declarator: [(identifier) (operator_name)] @name))) @definition.method))
(declaration declarator: (reference_declarator (function_declarator declarator: (identifier) @name))) @declaration.function
(field_declaration type: (_) @type declarator: (reference_declarator (field_identifier) @name)) @definition.variable
(declaration declarator: (init_declarator declarator: (_ (identifier) @name) value: (new_expression type: (_) @type))) @definition.variable
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @name)) @local
(for_range_loop type: (_) @type declarator: (_ (identifier) @name)) @local

(base_class_clause [(type_identifier) @name (template_type name: (type_identifier) @name) (qualified_identifier name: (type_identifier) @name) (qualified_identifier name: (template_type name: (type_identifier) @name))] @reference.extends)
(call_expression function: (template_function name: (identifier) @name)) @reference.call
(call_expression function: (qualified_identifier scope: (_) @receiver name: (identifier) @name)) @reference.call
(call_expression function: (qualified_identifier name: (qualified_identifier scope: (_) @receiver name: (identifier) @name))) @reference.call
(call_expression function: (qualified_identifier scope: (_) @receiver name: (template_function name: (identifier) @name))) @reference.call
(call_expression function: (field_expression argument: (_) @receiver field: (template_method name: (field_identifier) @name))) @reference.call
(new_expression type: [(type_identifier) @name (template_type name: (type_identifier) @name) (qualified_identifier name: (type_identifier) @name)]) @reference.call
