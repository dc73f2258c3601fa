-- What a session (:mksession) brings back of this plugin's windows: their names, and no text. What was said and changed
-- is read again; a text that was being written, and a change that waited for its author, ended with their Neovim.

local M = {}

-- BufReadCmd of what can be read.
function M.read(buffer, quiet)
  local kind = vim.api.nvim_buf_get_name(buffer):match("^postil://(%a+)/")
  if kind == "run" then
    require("postil.conversation").read(buffer, quiet)
  elseif kind == "before" then
    require("postil.review").read(buffer, quiet)
  else
    -- Its windows go as well.
    vim.api.nvim_buf_delete(buffer, { force = true })
  end
end

-- SessionLoadPost.
function M.loaded()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local is_ours = vim.startswith(vim.api.nvim_buf_get_name(buffer), "postil://")
    -- With `localoptions` a session has set all their options, but nothing that only this plugin sets.
    if is_ours and vim.api.nvim_buf_is_loaded(buffer) and not vim.b[buffer].postil_made then
      vim.bo[buffer].buflisted = false
      M.read(buffer, true)
    end
  end
end

return M
