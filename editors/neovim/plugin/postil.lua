-- What is there from the start: the command, the <Plug> maps, and a server for files as they are opened. All else
-- is loaded when it is used.

if vim.g.loaded_postil or vim.g.postil == false then
  return
end
vim.g.loaded_postil = 1

-- A system's package may bring this to a Neovim that is too old: that is told when it is used, not at each start.
if vim.fn.has("nvim-0.10") == 0 then
  vim.cmd([[command! -nargs=* -bang -range Postil echohl ErrorMsg | echo "postil needs Neovim 0.10 or newer" | echohl None]])
  return
end

vim.api.nvim_create_user_command("Postil", function(options)
  require("postil.commands").run(options)
end, {
  desc = "Threads in comments: reply, say, resolve …",
  nargs = "*",
  range = true,
  bang = true,
  complete = function(...)
    return require("postil.commands").complete(...)
  end,
})

-- All sub-commands; that none is missing is tested, for to load them takes time.
local names = "reply plan say new choose continue resolve threads pick open runs review accept reject cancel undo "
  .. "why clear model trust restart health"
for name in names:gmatch("%a+") do
  vim.keymap.set({ "n", "x" }, ("<Plug>(postil-%s)"):format(name), (":Postil %s<CR>"):format(name), { silent = true })
end
for name, step in pairs({ next = 1, prev = -1 }) do
  vim.keymap.set({ "n", "x" }, ("<Plug>(postil-%s)"):format(name), function()
    require("postil").go(step * vim.v.count1)
  end)
end

local group = vim.api.nvim_create_augroup("postil", { clear = true })
vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "FileType" }, {
  group = group,
  callback = function(event)
    -- After whatever else the event does, which may find out the file's type.
    vim.b[event.buf].postil_begins = true
    vim.schedule(function()
      require("postil").begin(event.buf)
    end)
  end,
})
vim.api.nvim_create_autocmd("LspAttach", {
  group = group,
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == "postil" then
      require("postil.show").attached(client, event.buf)
    end
  end,
})
vim.api.nvim_create_autocmd("BufReadCmd", {
  group = group,
  pattern = { "postil://run/*", "postil://before/*" },
  callback = function(event)
    require("postil.session").read(event.buf)
  end,
})
vim.api.nvim_create_autocmd("SessionLoadPost", {
  group = group,
  callback = function()
    -- It comes once for each buffer, and windows may be closed only when all have had it.
    vim.schedule(function()
      require("postil.session").loaded()
    end)
  end,
})

-- A package manager may load this when files are open already.
if vim.v.vim_did_enter == 1 then
  vim.schedule(function()
    require("postil").begin_all()
  end)
end
