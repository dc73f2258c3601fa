-- require("postil").setup { … }: starts postil for every file that is opened, on Neovim 0.10 as on newer
-- ones. What is given goes over lsp/postil.lua, for instance
--     { cmd = { "/opt/postil" }, settings = { postil = { model = "offline" } } }

local M = {}

-- A buffer with a file, or one to be written.
local function wanted(buffer)
  return vim.bo[buffer].buftype == "" and vim.api.nvim_buf_get_name(buffer) ~= ""
end

function M.setup(options)
  local here = vim.api.nvim_get_runtime_file("lsp/postil.lua", false)[1]
  assert(here, "lsp/postil.lua is not on the runtimepath")
  local config = vim.tbl_deep_extend("force", dofile(here), options or {})
  local function start(buffer)
    if wanted(buffer) then
      local name = vim.api.nvim_buf_get_name(buffer)
      local root = vim.fs.root(buffer, config.root_markers) or vim.fs.dirname(name)
      vim.lsp.start(vim.tbl_extend("keep", { root_dir = config.root_dir or root }, config), { bufnr = buffer })
    end
  end
  vim.api.nvim_create_autocmd("FileType", {
    group = vim.api.nvim_create_augroup("postil", { clear = true }),
    callback = function(event)
      start(event.buf)
    end,
  })
  -- Files that were open before.
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      start(buffer)
    end
  end
end

return M
