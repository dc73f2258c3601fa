; extends

; Threads in comments, by tree-sitter-postil.
((comment) @injection.content
  (#match? @injection.content "(AUTHOR|AGENT)[(:]")
  (#set! injection.include-children)
  (#set! injection.language "postil"))
