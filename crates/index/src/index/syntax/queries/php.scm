; PHP.

(namespace_definition name: (namespace_name) @name body: (_)) @definition.module
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.constant
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(const_declaration (const_element (name) @name)) @definition.constant
(property_declaration type: (_) @type (property_element name: (variable_name (name) @name))) @definition.variable
(property_declaration (property_element name: (variable_name (name) @name))) @definition.variable
(property_promotion_parameter type: (_) @type name: (variable_name (name) @name)) @definition.variable
(assignment_expression left: (variable_name (name) @name) right: (object_creation_expression [(name) (qualified_name)] @type)) @local
(simple_parameter type: (_) @type name: (variable_name (name) @name)) @local

(namespace_use_clause (qualified_name) @source !alias) @import
(namespace_use_clause (qualified_name) @source alias: (name) @alias) @import
(namespace_use_declaration (namespace_name) @under body: (namespace_use_group (namespace_use_clause [(name) (qualified_name)] @source !alias))) @import
(namespace_use_declaration (namespace_name) @under body: (namespace_use_group (namespace_use_clause [(name) (qualified_name)] @source alias: (name) @alias))) @import
[(require_expression (string) @source) (require_once_expression (string) @source) (include_expression (string) @source) (include_once_expression (string) @source)] @import
[(require_expression (binary_expression right: (string) @source)) (require_once_expression (binary_expression right: (string) @source)) (include_expression (binary_expression right: (string) @source)) (include_once_expression (binary_expression right: (string) @source))] @import
(base_clause [(name) @name (qualified_name (name) @name)] @reference.extends)
(class_interface_clause [(name) @name (qualified_name (name) @name)] @reference.extends)
(use_declaration [(name) @name (qualified_name (name) @name)] @reference.extends)
(function_call_expression function: [(name) @name (qualified_name (name) @name)]) @reference.call
(scoped_call_expression scope: (_) @receiver name: (name) @name) @reference.call
(member_call_expression object: (_) @receiver name: (name) @name) @reference.call
(nullsafe_member_call_expression object: (_) @receiver name: (name) @name) @reference.call
(object_creation_expression [(name) @name (qualified_name (name) @name)]) @reference.call
(class_constant_access_expression . (name) @name) @reference.use
(named_type [(name) @name (qualified_name (name) @name)]) @reference.use
