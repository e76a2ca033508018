; Bash.

(function_definition name: (word) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @definition.variable)
(function_definition body: (_ (declaration_command (variable_assignment name: (variable_name) @name)) @local))

(command name: (command_name (word) @_source) argument: (_) @source (#any-of? @_source "source" ".")) @import
(command name: (command_name (word) @name) (#not-any-of? @name "source" ".")) @reference.call
(simple_expansion (variable_name) @name) @reference.use
(expansion (variable_name) @name) @reference.use
