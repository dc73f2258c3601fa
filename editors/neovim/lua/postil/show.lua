-- What is shown beside the text. The state of a thread is a diagnostic, which Neovim shows as all others; here its
-- sign gets a letter of its own, and a running turn shows what it does behind its thread. Neovim would show the
-- latter as an inlay hint, but only to those who have these switched on; for them nothing is drawn here.

local postil = require("postil")

local M = {}

local marks = vim.api.nvim_create_namespace("postil.turns")
local group = vim.api.nvim_create_augroup("postil.show", { clear = true })

-- Running turns by the token of their progress: { client, title, message }.
M.turns = {}

local function running(client)
  for _, turn in pairs(M.turns) do
    if turn.client == client.id then
      return true
    end
  end
  return false
end

-- Whether a buffer's inlay hints were on when it was drawn.
local hinted = {}

-- Draws the running turns of one buffer anew.
local function draw(client, buffer)
  local where = postil.ui().turns
  local hints = vim.lsp.inlay_hint and vim.lsp.inlay_hint.is_enabled({ bufnr = buffer })
  hinted[buffer] = hints
  if not where or hints or not running(client) then
    vim.api.nvim_buf_clear_namespace(buffer, marks, 0, -1)
    return
  end
  local last = vim.api.nvim_buf_line_count(buffer)
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(buffer) },
    range = { start = { line = 0, character = 0 }, ["end"] = { line = last, character = 0 } },
  }
  local function shown(error, hints_now)
    if error or not vim.api.nvim_buf_is_loaded(buffer) then
      return
    end
    vim.api.nvim_buf_clear_namespace(buffer, marks, 0, -1)
    for _, hint in ipairs(running(client) and not hinted[buffer] and hints_now or {}) do
      local line = math.min(hint.position.line, vim.api.nvim_buf_line_count(buffer) - 1)
      local text = { { hint.label, "DiagnosticVirtualTextInfo" } }
      vim.api.nvim_buf_set_extmark(
        buffer,
        marks,
        line,
        0,
        where == "below" and { virt_lines = { text } } or { virt_text = text, virt_text_pos = "eol" }
      )
    end
  end
  if vim.fn.has("nvim-0.11") == 1 then
    client:request("textDocument/inlayHint", params, shown, buffer)
  else
    client.request("textDocument/inlayHint", params, shown, buffer)
  end
end

-- Inlay hints are switched on and off without a word, so while turns run it is looked whether they are.
local watch

local function look()
  for _, turn in pairs(M.turns) do
    local client = vim.lsp.get_client_by_id(turn.client)
    for buffer in pairs(client and client.attached_buffers or {}) do
      local hints = vim.lsp.inlay_hint.is_enabled({ bufnr = buffer })
      if hinted[buffer] ~= nil and hinted[buffer] ~= hints and vim.api.nvim_buf_is_loaded(buffer) then
        draw(client, buffer)
      end
    end
  end
  if next(M.turns) then
    watch = vim.defer_fn(look, 500)
  else
    watch, hinted = nil, {}
  end
end

-- Each step of a turn comes here, and each drawing asks the server: buffers that nobody sees are drawn when they are.
local due = {}

local function draw_all(client)
  if not watch then
    look()
  end
  if due[client.id] then
    return
  end
  due[client.id] = true
  vim.defer_fn(function()
    due[client.id] = nil
    for _, buffer in ipairs(vim.tbl_keys(client.attached_buffers)) do
      if vim.api.nvim_buf_is_loaded(buffer) and (#vim.fn.win_findbuf(buffer) > 0 or not running(client)) then
        draw(client, buffer)
      end
    end
    vim.cmd.redrawstatus({ bang = true })
  end, 50)
end

vim.api.nvim_create_autocmd("BufWinEnter", {
  group = group,
  callback = function(event)
    for _, client in ipairs(next(M.turns) and vim.lsp.get_clients({ bufnr = event.buf, name = "postil" }) or {}) do
      draw(client, event.buf)
    end
  end,
})

-- How many threads of a buffer wait, and for whom; by buffer, until its diagnostics change. A status line is drawn at
-- each move, and Neovim copies all diagnostics for whoever asks.
local counted = {}

local function count(buffer)
  local counts = { pending = 0, awaiting_user = 0 }
  for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
    local code = diagnostic.source == "postil" and diagnostic.code
    if counts[code] then
      counts[code] = counts[code] + 1
    end
  end
  counted[buffer] = counts
  return counts
end

-- `⟳` tells of one turn what it does, of several how many.
function M.statusline()
  local buffer = vim.api.nvim_get_current_buf()
  local counts = counted[buffer] or count(buffer)
  local parts = {}
  if counts.pending > 0 then
    table.insert(parts, counts.pending .. "?")
  end
  if counts.awaiting_user > 0 then
    table.insert(parts, counts.awaiting_user .. "»")
  end
  local turns = vim.tbl_values(M.turns)
  if #turns == 1 then
    -- Escaped: what an agent does is not for 'statusline' to evaluate.
    local what = vim.fn.strcharpart((turns[1].message or turns[1].title or ""):gsub("%c", " "), 0, 40)
    table.insert(parts, "⟳ " .. what:gsub("%%", "%%%%"))
  elseif #turns > 1 then
    table.insert(parts, "⟳ " .. #turns .. " turns")
  end
  return table.concat(parts, " ")
end

-- The runs that go on: { id, title }.
function M.running()
  local list = {}
  for token, turn in pairs(M.turns) do
    local client = vim.lsp.get_client_by_id(turn.client)
    if client then
      table.insert(list, { client = client, run = token:match("^postil/(.+)$"), title = turn.message or turn.title })
    end
  end
  return list
end

vim.api.nvim_create_autocmd("LspProgress", {
  group = group,
  callback = function(event)
    local data = event.data
    -- Neovim 0.10 before its last patch and later ones name it differently.
    local params = data.params or data.result
    local client = vim.lsp.get_client_by_id(data.client_id)
    local token = params and params.token
    if not client or client.name ~= "postil" or type(token) ~= "string" or not vim.startswith(token, "postil/") then
      return
    end
    local value = params.value
    if value.kind == "end" then
      M.turns[token] = nil
      if package.loaded["postil.proposed"] then
        require("postil.proposed").withdraw(client.id, token:match("^postil/(.+)$"))
      end
    else
      local turn = M.turns[token] or { client = client.id }
      turn.title, turn.message = value.title or turn.title, value.message or turn.message
      M.turns[token] = turn
    end
    draw_all(client)
  end,
})

-- A server has ended: its turns have too. It may have had no buffer any more.
function M.ended(id)
  for token, turn in pairs(M.turns) do
    if turn.client == id then
      M.turns[token] = nil
    end
  end
  if package.loaded["postil.proposed"] then
    require("postil.proposed").withdraw(id)
  end
  vim.cmd.redrawstatus({ bang = true })
end

vim.api.nvim_create_autocmd("LspDetach", {
  group = group,
  callback = function(event)
    local id = event.data.client_id
    local client = vim.lsp.get_client_by_id(id)
    if not client or client.name ~= "postil" then
      return
    end
    -- Of a buffer that is unloaded too, which goes on to have its marks, and is drawn no more.
    if vim.api.nvim_buf_is_valid(event.buf) then
      vim.api.nvim_buf_clear_namespace(event.buf, marks, 0, -1)
    end
    vim.schedule(function()
      client = vim.lsp.get_client_by_id(id)
      if client and not (client.is_stopped and vim.fn.has("nvim-0.11") == 1 and client:is_stopped()) then
        return
      end
      M.ended(id)
    end)
  end,
})

-- Namespaces of diagnostics whose signs are set.
local signed = {}

local function sign(namespace)
  if vim.diagnostic.config(nil, namespace).signs ~= nil then
    return
  end
  local severity = vim.diagnostic.severity
  vim.diagnostic.config({
    signs = function(...)
      local signs, all = postil.ui().signs, vim.diagnostic.config().signs
      if type(all) == "function" then
        all = all(...)
      end
      -- Whoever chose signs of their own, or none, keeps them, and whatever else is set for all.
      if not signs or all == false or (type(all) == "table" and all.text) then
        return all
      end
      local text = { [severity.INFO] = signs.pending, [severity.HINT] = signs.awaiting_user }
      return vim.tbl_extend("force", type(all) == "table" and all or {}, { text = text })
    end,
  }, namespace)
end

-- The state as a word behind the thread. From 0.11 on Neovim shows of diagnostics the signs alone, unless it is told
-- more; whoever has told it sees threads in the same way, and not twice. Asked anew whenever they are drawn.
local function state(namespace)
  if vim.diagnostic.config(nil, namespace).virtual_text ~= nil then
    return
  end
  local behind = {
    prefix = "",
    format = function(diagnostic)
      -- What is asked stands in the text already; why nobody has answered it does not.
      local word = diagnostic.message:match("^(%l[%l ]*):")
      return word and word .. (diagnostic.message:match(" %(its turn was cancelled%)$") or "") or diagnostic.message
    end,
  }
  vim.diagnostic.config({
    virtual_text = function(...)
      local how, all = postil.ui().state, vim.diagnostic.config()
      local theirs = all.virtual_text
      if type(theirs) == "function" then
        theirs = theirs(...)
      end
      if how == "sign" then
        return false
      elseif theirs then
        return theirs
      end
      return (how == "eol" or not all.virtual_lines) and behind
    end,
  }, namespace)
end

-- What was told under a buffer's old name is taken back under it too, which no buffer has any more. Neovim tells the
-- server of the new name when the file is written, or read anew.
local named
vim.api.nvim_create_autocmd("BufFilePre", {
  group = group,
  callback = function(event)
    named = vim.uri_from_bufnr(event.buf)
  end,
})
vim.api.nvim_create_autocmd("BufFilePost", {
  group = group,
  callback = function(event)
    local clients = vim.lsp.get_clients({ bufnr = event.buf, name = "postil" })
    -- What the servers know it by.
    vim.b[event.buf].postil_renamed = #clients > 0 and (vim.b[event.buf].postil_renamed or named) or nil
  end,
})
vim.api.nvim_create_autocmd({ "BufWritePost", "BufReadPost" }, {
  group = group,
  callback = function(event)
    local old = vim.b[event.buf].postil_renamed
    if not old then
      return
    end
    if event.event == "BufReadPost" then
      -- Neovim has closed it by its new name, and left the server. Another buffer may have the old name by now.
      local name = vim.uri_to_fname(old)
      local other = vim.fn.bufexists(name) == 1 and vim.fn.bufadd(name)
      for _, client in ipairs(require("postil.client").all()) do
        if not (other and vim.lsp.buf_is_attached(other, client.id)) then
          client.rpc.notify("textDocument/didClose", { textDocument = { uri = old } })
        end
      end
    end
    postil.moved(event.buf)
    for _, diagnostic in ipairs(vim.diagnostic.get(event.buf)) do
      if diagnostic.source == "postil" then
        vim.diagnostic.reset(diagnostic.namespace, event.buf)
      end
    end
  end,
})
vim.api.nvim_create_autocmd("DiagnosticChanged", {
  group = group,
  callback = function(event)
    if counted[event.buf] then
      counted[event.buf] = nil
      vim.cmd.redrawstatus({ bang = true })
    end
    for _, diagnostic in ipairs(event.data.diagnostics or {}) do
      local namespace = diagnostic.namespace
      if diagnostic.source == "postil" and not signed[namespace] then
        signed[namespace] = true
        vim.schedule(function()
          sign(namespace)
          state(namespace)
        end)
      end
    end
  end,
})

local checked = {}

-- A server begins with a buffer. What another has said of it before, which looks through the same folder, is no more.
function M.attached(client, buffer)
  require("postil.typing").watch(buffer)
  require("postil.beside").settle(buffer)
  if next(M.turns) then
    draw(client, buffer)
  end
  for _, other in ipairs(require("postil.client").all()) do
    for _, namespace in ipairs(other.attached_buffers[buffer] and {} or postil.namespaces(other.id)) do
      if #vim.diagnostic.get(buffer, { namespace = namespace }) > 0 then
        vim.diagnostic.reset(namespace, buffer)
      end
    end
  end
  -- Neovim 0.12 draws all that was ever told of a file while it was closed, when it is read.
  vim.schedule(function()
    for _, namespace in ipairs(vim.api.nvim_buf_is_loaded(buffer) and postil.namespaces(client.id) or {}) do
      vim.diagnostic.show(namespace, buffer)
    end
  end)
  if checked[client.id] then
    return
  end
  checked[client.id] = true
  if require("postil.client").too_old(client) then
    postil.say_once(
      "the server that runs is older than this plugin, and some of :Postil will not work: update postil",
      vim.log.levels.WARN
    )
  end
end

return M
