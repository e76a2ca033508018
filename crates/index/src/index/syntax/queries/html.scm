; HTML: elements with an id, headings, and elements that a page's own code defines.

((element [
   (start_tag (attribute (attribute_name) @_id [(quoted_attribute_value (attribute_value) @name) (attribute_value) @name]))
   (self_closing_tag (attribute (attribute_name) @_id [(quoted_attribute_value (attribute_value) @name) (attribute_value) @name]))
 ]) @definition.element
 (#match? @_id "^[iI][dD]$"))
((element (start_tag (tag_name) @_tag)) @definition.section @name
 (#match? @_tag "^[hH][1-6]$"))
((element [(start_tag (tag_name) @name) (self_closing_tag (tag_name) @name)]) @definition.element
 (#match? @name "-"))
