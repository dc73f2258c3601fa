; Code in back quotes is of the language around the comment, where an editor knows that language
; (Neovim; others pass over it).
((content) @injection.content
  (#set! injection.parent))
