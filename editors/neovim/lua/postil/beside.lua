-- What Neovim has the servers of a buffer asked for by itself: `K`, 'omnifunc' and 'tagfunc'. This one has something to
-- say about threads alone, and is there in every file: elsewhere these do what they did before, until another server
-- comes that has it.

local M = {}

local METHODS = { omnifunc = "textDocument/completion", tagfunc = "textDocument/definition" }
local HOVER = "textDocument/hover"
local DESCRIPTION = "In a thread vim.lsp.buf.hover()"

local function neovims(option)
  return "v:lua.vim.lsp." .. option
end

local function ours(option)
  return ("v:lua.require'postil.beside'.%s"):format(option)
end

-- What a buffer has before a server comes; Neovim writes over what comes of the file's type.
function M.before(buffer)
  for option in pairs(METHODS) do
    local value = vim.bo[buffer][option]
    if value ~= neovims(option) and value ~= ours(option) then
      vim.b[buffer]["postil_" .. option] = value
    end
  end
end

local function before(buffer, option)
  return vim.b[buffer]["postil_" .. option] or ""
end

local function others_have(buffer, method)
  return vim.iter(vim.lsp.get_clients({ bufnr = buffer, method = method })):any(function(client)
    return client.name ~= "postil"
  end)
end

-- A diagnostic is at the last message of its thread, and names those before it.
local function first_line(diagnostic)
  local first = diagnostic.lnum
  for _, before_it in ipairs(vim.tbl_get(diagnostic, "user_data", "lsp", "relatedInformation") or {}) do
    first = math.min(first, before_it.location.range.start.line)
  end
  return first
end

local function in_thread()
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  return vim.iter(vim.diagnostic.get(0)):any(function(diagnostic)
    return diagnostic.source == "postil" and first_line(diagnostic) <= line and line <= diagnostic.end_lnum
  end)
end

-- Where a thread is, or is just begun.
local function at_message()
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local typed = vim.api.nvim_get_current_line():sub(1, column)
  return in_thread() or typed:find("%f[%w_]AUTHOR") ~= nil or typed:find("%f[%w_]AUT?H?O?$") ~= nil
end

local is_asked = false

function M.omnifunc(findstart, base)
  if findstart == 1 then
    is_asked = at_message()
  end
  if is_asked then
    return vim.lsp.omnifunc(findstart, base)
  end
  return vim.fn.eval(("%s(%d, %s)"):format(before(0, "omnifunc"), findstart, vim.fn.string(base)))
end

function M.tagfunc(pattern, flags, info)
  if flags:find("c", 1, true) and in_thread() then
    return vim.lsp.tagfunc(pattern, flags)
  end
  local theirs = before(0, "tagfunc")
  -- `vim.NIL`: as where there is none.
  return theirs == "" and vim.NIL or vim.fn[theirs](pattern, flags, info)
end

local function settle(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local here = #vim.lsp.get_clients({ bufnr = buffer, name = "postil" }) > 0
  for option, method in pairs(METHODS) do
    local now, was, others = vim.bo[buffer][option], before(buffer, option), others_have(buffer, method)
    -- Where nothing was completed before, nothing is missed.
    if now == neovims(option) and here and not others and (option == "tagfunc" or was ~= "") then
      vim.bo[buffer][option] = ours(option)
    elseif now == ours(option) and others then
      vim.bo[buffer][option] = neovims(option)
    elseif now == ours(option) and not here then
      vim.bo[buffer][option] = was
    end
  end
  vim.api.nvim_buf_call(buffer, function()
    local key = vim.fn.maparg("K", "n", false, true)
    if key.buffer ~= 1 then
      return
    elseif key.desc == DESCRIPTION and not here and not others_have(buffer, HOVER) then
      vim.keymap.del("n", "K", { buffer = buffer })
    elseif key.desc == "vim.lsp.buf.hover()" and here then
      vim.keymap.set("n", "K", function()
        return (in_thread() or others_have(0, HOVER)) and "<Cmd>lua vim.lsp.buf.hover()<CR>" or "K"
      end, { buffer = buffer, expr = true, desc = DESCRIPTION })
    end
  end)
end

vim.api.nvim_create_autocmd({ "LspAttach", "LspDetach" }, {
  group = vim.api.nvim_create_augroup("postil.beside", { clear = true }),
  callback = function(event)
    if event.event == "LspAttach" then
      return settle(event.buf)
    end
    -- It is still there.
    vim.schedule(function()
      settle(event.buf)
    end)
  end,
})

M.settle = settle

return M
