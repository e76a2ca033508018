; Scala.

(class_definition name: (identifier) @name) @definition.class
(object_definition name: (identifier) @name) @definition.class
(package_object name: (identifier) @name) @definition.module
(trait_definition name: (identifier) @name) @definition.trait
(enum_definition name: (identifier) @name) @definition.enum
[(simple_enum_case name: (identifier) @name) (full_enum_case name: (identifier) @name)] @definition.constant
(type_definition name: (type_identifier) @name) @definition.type
(function_definition name: (_) @name) @definition.function
(function_declaration name: (_) @name) @definition.function
(val_definition pattern: (identifier) @name type: (_) @type) @definition.variable
(val_definition pattern: (identifier) @name value: (instance_expression (type_identifier) @type)) @definition.variable
(val_definition pattern: (identifier) @name value: (call_expression function: (identifier) @type) (#match? @type "^[A-Z]")) @definition.variable
(val_definition pattern: (identifier) @name) @definition.variable
(var_definition pattern: (identifier) @name) @definition.variable
(val_declaration name: (identifier) @name) @definition.variable
(given_definition name: (identifier) @name) @definition.variable
(class_parameter name: (identifier) @name type: (_) @type) @definition.variable
(parameter name: (identifier) @name type: (_) @type) @local

(import_declaration) @import @source
(extends_clause type: [(type_identifier) @name (generic_type type: (type_identifier) @name)] @reference.extends)
(call_expression function: [(identifier) @name (generic_function function: (identifier) @name)]) @reference.call
(call_expression function: (field_expression value: (_) @receiver field: (identifier) @name)) @reference.call
(call_expression function: (generic_function function: (field_expression value: (_) @receiver field: (identifier) @name))) @reference.call
(instance_expression [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @reference.call
(field_expression value: (identifier) @receiver field: (identifier) @name) @reference.use
(type_identifier) @name @reference.use
