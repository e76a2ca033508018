; Ruby.

(module name: [(constant) @name (scope_resolution name: (_) @name)]) @definition.module
(class name: [(constant) @name (scope_resolution name: (_) @name)]) @definition.class
(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.function
(assignment left: (constant) @name) @definition.constant
(call method: (identifier) @_accessor arguments: (argument_list (simple_symbol) @name) (#any-of? @_accessor "attr_reader" "attr_accessor" "attr_writer")) @definition.variable
(alias name: (_) @name) @definition.function
(assignment left: (identifier) @name right: (call receiver: (_) @type method: (identifier) @_new (#eq? @_new "new"))) @local
(assignment left: (identifier) @name) @local
(method_parameters [(identifier) @name (optional_parameter name: (identifier) @name) (keyword_parameter name: (identifier) @name) (splat_parameter name: (identifier) @name)] @local)
(block_parameters (identifier) @name @local)

(call !receiver method: (identifier) @_require arguments: (argument_list (string) @source) (#any-of? @_require "require" "require_relative" "load")) @import
(superclass [(constant) @name (scope_resolution name: (_) @name)] @reference.extends)
(call !receiver method: (identifier) @_mixin arguments: (argument_list [(constant) @name (scope_resolution name: (_) @name)]) (#any-of? @_mixin "include" "extend" "prepend")) @reference.extends
(call !receiver method: (identifier) @name (#not-any-of? @name "require" "require_relative" "load" "include" "extend" "prepend")) @reference.call
(call receiver: (_) @receiver method: (_) @name) @reference.call
(body_statement (identifier) @name @reference.call)
(constant) @name @reference.use
