-- For nvim-lspconfig's own way: require("lspconfig").postil.setup {}

local here = vim.api.nvim_get_runtime_file("lsp/postil.lua", false)[1]
local config = dofile(here)
local markers = config.root_markers

return {
  default_config = vim.tbl_extend("force", config, {
    -- Any file can hold a thread: nvim-lspconfig then attaches to all.
    filetypes = nil,
    root_dir = function(name)
      return require("postil").root_of(name, markers)
    end,
    single_file_support = true,
  }),
  on_new_config = function(new, root)
    local postil = require("postil")
    postil.with_hooks(postil.with_options(new))
    -- Decided on before.
    postil.say_left_out({ "filetypes", "root_dir" })
    local why = postil.missing(new, root)
    if why then
      new.enabled = false
      postil.say_once(why, vim.log.levels.WARN)
    end
  end,
  docs = { description = "postil: a conversation with an agent, in the margins of your code" },
}
