-- What is shown beside the text. The state of a thread is a diagnostic, which Neovim shows as all others; here its
-- sign gets a letter of its own, and a running turn shows what it does behind its thread. Neovim would show the
-- latter as an inlay hint, but only to those who have these switched on; for them nothing is drawn here.

local postil = require("postil")

local M = {}

local marks = vim.api.nvim_create_namespace("postil.turns")

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

-- Draws the running turns of one buffer anew.
local function draw(client, buffer)
  local where = postil.ui().turns
  local hints = vim.lsp.inlay_hint and vim.lsp.inlay_hint.is_enabled({ bufnr = buffer })
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
    for _, hint in ipairs(running(client) and hints_now or {}) do
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

local function draw_all(client)
  for _, buffer in ipairs(vim.lsp.get_buffers_by_client_id(client.id)) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      draw(client, buffer)
    end
  end
  vim.cmd.redrawstatus()
end

-- `⟳` tells of one turn what it does, of several how many.
function M.statusline()
  local counts = { pending = 0, awaiting_user = 0 }
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    local code = diagnostic.source == "postil" and diagnostic.code
    if counts[code] then
      counts[code] = counts[code] + 1
    end
  end
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
    local what = (turns[1].message or turns[1].title or ""):gsub("[%c]", " "):gsub("%%", "%%%%")
    table.insert(parts, "⟳ " .. vim.fn.strcharpart(what, 0, 40))
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

local group = vim.api.nvim_create_augroup("postil.show", { clear = true })

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
    else
      local turn = M.turns[token] or { client = client.id }
      turn.title, turn.message = value.title or turn.title, value.message or turn.message
      M.turns[token] = turn
    end
    draw_all(client)
  end,
})

vim.api.nvim_create_autocmd("LspDetach", {
  group = group,
  callback = function(event)
    local id = event.data.client_id
    vim.schedule(function()
      local client = vim.lsp.get_client_by_id(id)
      if client and not (client.is_stopped and vim.fn.has("nvim-0.11") == 1 and client:is_stopped()) then
        return
      end
      for token, turn in pairs(M.turns) do
        if turn.client == id then
          M.turns[token] = nil
        end
      end
      if vim.api.nvim_buf_is_loaded(event.buf) then
        vim.api.nvim_buf_clear_namespace(event.buf, marks, 0, -1)
      end
      vim.cmd.redrawstatus()
    end)
  end,
})

-- Namespaces of diagnostics whose signs are set.
local signed = {}

local function sign(namespace)
  local signs = postil.ui().signs
  local all = vim.diagnostic.config().signs
  -- Whoever chose signs of their own, or none, keeps them.
  if not signs or all == false or (type(all) == "table" and all.text) then
    return
  end
  if vim.diagnostic.config(nil, namespace).signs ~= nil then
    return
  end
  local severity = vim.diagnostic.severity
  vim.diagnostic.config({
    signs = { text = { [severity.INFO] = signs.pending, [severity.HINT] = signs.awaiting_user } },
  }, namespace)
end

vim.api.nvim_create_autocmd("DiagnosticChanged", {
  group = group,
  callback = function(event)
    for _, diagnostic in ipairs(event.data.diagnostics or {}) do
      local namespace = diagnostic.namespace
      if diagnostic.source == "postil" and not signed[namespace] then
        signed[namespace] = true
        vim.schedule(function()
          sign(namespace)
        end)
      end
    end
  end,
})

local checked = {}

-- A server begins with a buffer.
function M.attached(client)
  if checked[client.id] then
    return
  end
  checked[client.id] = true
  local asks = require("postil.client")
  if not asks.offers(client, "turnChanges") then
    postil.say_once(
      "the server that runs is older than this plugin, and some of :Postil will not work: update postil",
      vim.log.levels.WARN
    )
  end
end

return M
