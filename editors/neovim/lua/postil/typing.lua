-- A message that is typed stays in one line. Neovim would break it at 'textwidth' and go on below in an ordinary comment,
-- which is no part of the message: a line that goes on with one is indented by two blanks more.

local M = {}

local group = vim.api.nvim_create_augroup("postil.typing", { clear = true })

-- 'formatoptions' by buffer, while a message is typed: as it was, and as it is.
local held = {}

local function give_back(buffer)
  local options = held[buffer]
  held[buffer] = nil
  -- Whoever has set it meanwhile keeps it.
  if options and vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].formatoptions == options.now then
    vim.bo[buffer].formatoptions = options.before
  end
end

local function is_message(line)
  return line:find("%f[%w_]AUTHOR:") ~= nil or line:find("%f[%w_]AUTHOR%b():") ~= nil
end

-- Looks after a buffer in which there may be threads. Before each character, for a marker may just have been typed.
function M.watch(buffer)
  vim.api.nvim_clear_autocmds({ group = group, buffer = buffer })
  vim.api.nvim_create_autocmd("InsertCharPre", {
    group = group,
    buffer = buffer,
    callback = function()
      if not is_message(vim.api.nvim_get_current_line()) then
        give_back(buffer)
      elseif not held[buffer] and #vim.lsp.get_clients({ bufnr = buffer, name = "postil" }) > 0 then
        local before = vim.bo[buffer].formatoptions
        held[buffer] = { before = before, now = (before:gsub("[tca]", "")) }
        vim.bo[buffer].formatoptions = held[buffer].now
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "InsertLeave", "BufUnload" }, {
    group = group,
    buffer = buffer,
    callback = function()
      give_back(buffer)
    end,
  })
end

return M
