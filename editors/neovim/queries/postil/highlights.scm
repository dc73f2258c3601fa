; Who speaks.
(author) @keyword.author
(agent) @keyword.agent
(name) @variable.parameter
(message
  ["(" ")" ":"] @punctuation.delimiter)

; What is said; a comment still, for a theme that has nothing better.
(text) @comment.documentation

; What can be gone to.
(file) @string.special.path
(place) @string.special.path
(symbol) @attribute
(code) @markup.raw
(link) @string.special.url
