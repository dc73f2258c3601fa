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
  on_new_config = function(new)
    require("postil").with_hooks(new)
  end,
  docs = { description = "postil: a conversation with an agent, in the margins of your code" },
}
