; Threads in comments, by tree-sitter-postil. Helix reads the comments of nearly every language with its
; grammar `comment` already, so this one file does for all of them.
((source) @injection.content
  (#match? @injection.content "(AUTHOR|AGENT)[(:]")
  (#set! injection.include-children)
  (#set! injection.language "postil"))
