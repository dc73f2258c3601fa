//! The built binary as its users meet it: over its pipe, on real files, with real git, SQLite and
//! child servers. Only the model is scripted, and it speaks the real wire format.

// What the tests are made of.
mod harness; // an editor: spawns the binary, speaks LSP, answers what it asks
mod loopback; // programs of others beside a scripted model, without a network
mod model; // a model server on loopback, as strict as the real one
mod peers; // the real editors and servers, where they are installed

// The tests, a module per feature.
mod acp; // outside agents that answer
mod attacks; // what others' text and files try, and that it comes to nothing
mod children; // child language servers and the proxy
mod cli; // every command, its output and exit status
mod commits; // clearing and committing, on real repositories
mod documents; // sync, encodings, random edits
mod editor; // what the author sees: diagnostics, actions, commands, lenses, symbols
mod emacs; // the same in Emacs, where it is installed
mod embedded; // threads in code that stands in other code
mod faults; // bad input: bytes, names, what happens meanwhile
mod helix; // the same in Helix
mod kakoune; // the same in Kakoune, by its page
mod languages; // what is written is a comment to what reads the file
mod lifecycle; // initialize, shutdown, exit, dead parents
mod mcp; // the MCP server, alone and through an editor's server
mod names; // what editors call languages, held beside the table
mod neovim; // the main job in the real editor
mod notebooks; // threads in the cells of a notebook
mod packaging; // what is shipped: pages, completions, npm
mod protocol; // frames, order, cancel, panics
mod sandbox; // an agent's commands: what they reach, how they end
mod semantic_tokens; // the colours of threads
mod store; // runs and rounds, two processes
mod threads; // reading and writing threads
mod tools; // the tools of an agent, called through the binary
mod turns; // agent turns on the scripted model, and offline
mod vim; // the same in Vim with coc.nvim, by its page
mod vscode; // the extension in the real editor
mod whole; // whole trees: what is kept of a scan, branch switches, watching, hooks and CI
mod why; // closed conversations, found again from the lines that they were about
mod writing; // writes to disk beside others, on a full disk, killed half-way
mod zed; // the lists of its extension
