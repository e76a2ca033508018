; Swift.

(class_declaration "extension" name: (user_type (type_identifier) @name .)) @definition.impl
(class_declaration "struct" name: (type_identifier) @name) @definition.struct
(class_declaration "enum" name: (type_identifier) @name) @definition.enum
(class_declaration name: (type_identifier) @name) @definition.class
(protocol_declaration name: (type_identifier) @name) @definition.interface
(typealias_declaration name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type
(enum_entry name: (simple_identifier) @name) @definition.constant
(function_declaration name: (simple_identifier) @name) @definition.function
(protocol_function_declaration name: (simple_identifier) @name) @definition.function
(init_declaration "init" @name) @definition.method
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name) @definition.method
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name) (type_annotation (user_type) @type)) @definition.variable
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name) value: (call_expression (simple_identifier) @type (#match? @type "^[A-Z]"))) @definition.variable
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable
(parameter name: (simple_identifier) @name name: (_) @type) @local

(import_declaration (identifier) @source) @import
(inheritance_specifier inherits_from: (user_type (type_identifier) @name .)) @reference.extends
(call_expression . (simple_identifier) @name) @reference.call
(call_expression . (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @name))) @reference.call
(type_identifier) @name @reference.use
