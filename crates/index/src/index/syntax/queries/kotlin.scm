; Kotlin.

(class_declaration "interface" name: (identifier) @name) @definition.interface
(class_declaration (modifiers (class_modifier "enum")) name: (identifier) @name) @definition.enum
(class_declaration name: (identifier) @name) @definition.class
; `annotation class Name` without a body, which the grammar takes for an expression.
((infix_expression (identifier) @_annotation (identifier) @_class (identifier) @name) @definition.class (#eq? @_annotation "annotation") (#eq? @_class "class"))
(object_declaration name: (identifier) @name) @definition.class
(type_alias type: (identifier) @name) @definition.type
(enum_entry (identifier) @name) @definition.constant
(function_declaration (user_type) @owner . "." . name: (identifier) @name) @definition.function
(function_declaration name: (identifier) @name) @definition.function
(property_declaration (variable_declaration (identifier) @name (user_type) @type)) @definition.variable
(property_declaration (variable_declaration (identifier) @name) (call_expression (identifier) @type (#match? @type "^[A-Z]"))) @definition.variable
(property_declaration (variable_declaration (identifier) @name)) @definition.variable
(class_parameter ["val" "var"] (identifier) @name (user_type) @type) @definition.variable
(class_parameter . (identifier) @name (user_type) @type) @local
(parameter (identifier) @name (user_type) @type) @local
(lambda_parameters (variable_declaration (identifier) @name)) @local
(for_statement (variable_declaration (identifier) @name)) @local

(import (qualified_identifier) @source . (identifier) @alias) @import
(import (qualified_identifier) @source "*" @all) @import
(import (qualified_identifier) @source .) @import
(delegation_specifier [(user_type (identifier) @name .) (constructor_invocation (user_type (identifier) @name .))] @reference.extends)
(call_expression (identifier) @name) @reference.call
(call_expression (navigation_expression (_) @receiver (identifier) @name .)) @reference.call
(navigation_expression . (identifier) @name @reference.use)
(user_type (identifier) @name @reference.use)
