; Java.

(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(enum_constant name: (identifier) @name) @definition.constant
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(compact_constructor_declaration name: (identifier) @name) @definition.method
(annotation_type_element_declaration name: (identifier) @name) @definition.method
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name)) @definition.variable
(constant_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(local_variable_declaration type: (type_identifier) @var declarator: (variable_declarator name: (identifier) @name value: (object_creation_expression type: (_) @type)) (#eq? @var "var")) @local
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name)) @local
(formal_parameter type: (_) @type name: (identifier) @name) @local
(enhanced_for_statement type: (_) @type name: (identifier) @name) @local
(catch_formal_parameter (catch_type (type_identifier) @type) name: (identifier) @name) @local
(resource type: (_) @type name: (identifier) @name) @local
(lambda_expression parameters: (identifier) @name) @local
(inferred_parameters (identifier) @name) @local

(import_declaration (scoped_identifier) @source (asterisk)? @all) @import
(superclass [(type_identifier) @name (generic_type (type_identifier) @name) (scoped_type_identifier (type_identifier) @name .)] @reference.extends)
(type_list [(type_identifier) @name (generic_type (type_identifier) @name)] @reference.extends)
(method_invocation !object name: (identifier) @name) @reference.call
(method_invocation object: (_) @receiver name: (identifier) @name) @reference.call
(method_reference (_) @receiver "::" (identifier) @name) @reference.call
(object_creation_expression type: [(type_identifier) @name (generic_type (type_identifier) @name) (scoped_type_identifier (type_identifier) @name .)]) @reference.call
(type_identifier) @name @reference.use
(field_access object: (_) @receiver field: (identifier) @name) @reference.use
