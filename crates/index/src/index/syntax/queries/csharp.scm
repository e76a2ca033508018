; C#.

(namespace_declaration name: (_) @name) @definition.module
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.struct
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_member_declaration name: (identifier) @name) @definition.constant
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(destructor_declaration name: (identifier) @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(property_declaration type: (_) @type name: (identifier) @name) @definition.variable
(field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @name))) @definition.variable
(event_field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @name))) @definition.variable
(local_declaration_statement (variable_declaration type: (implicit_type) (variable_declarator name: (identifier) @name (object_creation_expression type: (_) @type)))) @local
(local_declaration_statement (variable_declaration type: (_) @type (variable_declarator name: (identifier) @name))) @local
(parameter type: (_) @type name: (identifier) @name) @local
(parameter !type name: (identifier) @name) @local
(foreach_statement type: (_) @type left: (identifier) @name) @local

(using_directive name: (identifier) @alias (_) @source) @import
(using_directive !name [(identifier) (qualified_name)] @source) @import
(base_list [(identifier) @name (generic_name (identifier) @name) (qualified_name name: (identifier) @name) (qualified_name name: (generic_name (identifier) @name))] @reference.extends)
(invocation_expression function: [(identifier) @name (generic_name (identifier) @name)]) @reference.call
(invocation_expression function: (member_access_expression expression: (_) @receiver name: [(identifier) @name (generic_name (identifier) @name)])) @reference.call
(invocation_expression function: (member_access_expression "this" @receiver name: [(identifier) @name (generic_name (identifier) @name)])) @reference.call
(invocation_expression function: (member_access_expression "base" @receiver name: [(identifier) @name (generic_name (identifier) @name)])) @reference.call
(conditional_access_expression condition: (_) @receiver (_ (member_binding_expression name: (identifier) @name))) @reference.call
(object_creation_expression type: [(identifier) @name (generic_name (identifier) @name) (qualified_name name: (identifier) @name)]) @reference.call
(attribute name: (identifier) @name) @reference.use
(identifier) @name @reference.use
