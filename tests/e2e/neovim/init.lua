-- What the tests' user has in init.lua: postil, and eyes and hands for the tests.

vim.opt.runtimepath:prepend(vim.env.POSTIL_EDITORS .. "/neovim")
vim.opt.swapfile = false
vim.opt.more = false
vim.opt.updatetime = 100

_G.messages, _G.offered, _G.pick, _G.notes, _G.typed = {}, {}, nil, {}, nil

-- The test wakes at each of these and looks again.
local function news()
  pcall(vim.rpcnotify, 1, "news")
end
vim.api.nvim_create_autocmd(
  { "DiagnosticChanged", "LspAttach", "LspDetach", "LspProgress", "BufEnter", "CursorMoved", "ModeChanged" },
  { callback = news }
)
vim.api.nvim_create_autocmd("BufReadPost", {
  callback = function(event)
    vim.api.nvim_buf_attach(event.buf, false, { on_lines = news })
  end,
})
for _, method in ipairs({ "window/showMessage", "window/logMessage" }) do
  local handler = vim.lsp.handlers[method]
  vim.lsp.handlers[method] = function(err, result, ctx, config)
    table.insert(_G.messages, result.message)
    news()
    return handler(err, result, ctx, config)
  end
end

-- A menu such as many users have in place of the built-in prompt; it takes what the test told it to.
vim.ui.select = function(items, options, choose)
  local names = vim.tbl_map(options.format_item or tostring, items)
  _G.offered = names
  for index, name in ipairs(names) do
    if _G.pick and name:find(_G.pick, 1, true) then
      news()
      return choose(items[index], index)
    end
  end
  news()
  choose(nil, nil)
end

-- What is said to the author.
vim.notify = function(text)
  table.insert(_G.notes, text)
  news()
end
function _G.said(part)
  return vim.iter(vim.list_extend(vim.list_slice(_G.notes), _G.messages)):find(function(note)
    return note:find(part, 1, true) ~= nil
  end)
end

-- Whoever is asked for a line types what the test told.
vim.ui.input = function(options, done)
  _G.prompt = options.prompt
  done(_G.typed)
end

-- The code action whose title holds `title`, at the cursor, as `gra` would.
function _G.act(title)
  _G.pick, _G.offered = title, {}
  vim.lsp.buf.code_action()
end

function _G.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, true), "\n")
end

-- The codes of the buffer's threads, from the top.
function _G.codes()
  local found = vim.tbl_filter(function(d)
    return d.source == "postil"
  end, vim.diagnostic.get(0))
  table.sort(found, function(a, b)
    return a.lnum < b.lnum
  end)
  return table.concat(vim.tbl_map(function(d)
    return d.code
  end, found), " ")
end

-- Which they are and whose, for a test that fails.
function _G.threads()
  return vim.tbl_map(function(d)
    return ("%d:%d %s, namespace %d"):format(d.lnum + 1, d.col + 1, d.message, d.namespace)
  end, vim.diagnostic.get(0))
end

-- The ways to have the server started.
local client = vim.json.decode(vim.env.POSTIL_CLIENT)
local way = vim.env.POSTIL_WAY or "setup"
if (vim.env.POSTIL_LSPCONFIG or "") ~= "" then
  vim.opt.runtimepath:prepend(vim.env.POSTIL_LSPCONFIG)
end
if way == "setup" then
  require("postil").setup(client)
elseif way == "nothing" then
  vim.g.postil = client
elseif way == "enable" then
  vim.lsp.config("postil", client)
  vim.lsp.enable("postil")
elseif way == "lspconfig" then
  require("lspconfig").postil.setup(client)
end
