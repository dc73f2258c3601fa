-- The conversation of a run, as a document of the server (LSP 3.18 §workspace/textDocumentContent): read when it is
-- opened, and again whenever the server says that it went on.

local postil = require("postil")
local asks = require("postil.client")

local M = {}

-- How the next one is opened: the modifiers of the command that asked for it.
local modifiers

-- Closes a tab; whoever is in it is back where they came from, and not in the one to the right.
function M.close_tab(tab)
  if tab == vim.api.nvim_get_current_tabpage() and vim.fn.tabpagenr("#") > 0 then
    vim.cmd.tabnext({ vim.fn.tabpagenr("#") })
  end
  vim.cmd.tabclose({ vim.api.nvim_tabpage_get_number(tab), mods = { emsg_silent = true } })
end

-- `q` closes a window of ours, or its whole tab; the last window of all is left empty.
function M.closed_by_q(buffer, tab)
  vim.keymap.set("n", "q", function()
    if tab and #vim.api.nvim_list_tabpages() > 1 then
      M.close_tab(vim.api.nvim_get_current_tabpage())
      return
    end
    local from = vim.fn.win_getid(vim.fn.winnr("#"))
    if pcall(vim.cmd.close) then
      -- There, and not in the window on the left.
      pcall(vim.api.nvim_set_current_win, from)
    else
      vim.cmd.enew()
    end
  end, { buffer = buffer, nowait = true, desc = "Close" })
end

-- Gives a text of others the colours of a type, and not the type itself: by that, plugins that show images fetch them from
-- whatever address the text has.
function M.colour(buffer, filetype)
  vim.bo[buffer].filetype = "postil_text"
  -- 0.10 knows no language of a type of the same name.
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  if filetype ~= "" and not pcall(vim.treesitter.start, buffer, language) then
    vim.bo[buffer].syntax = filetype
  end
end

-- The cursor to the first change of a diff: `]c` alone passes over one that the first line is in.
function M.to_first_change()
  vim.cmd.normal({ "gg", bang = true })
  if vim.fn.diff_hlID(1, 1) == 0 and vim.fn.diff_filler(1) == 0 then
    pcall(vim.cmd.normal, { "]c", bang = true })
  end
end

-- Puts the text in, and keeps those at its end there who were; the first time the cursor stays at the top.
local function fill(buffer, text)
  local lines = vim.split(text, "\n")
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  local at_end = {}
  local last = vim.api.nvim_buf_line_count(buffer)
  local first = not vim.b[buffer].postil_shown
  vim.b[buffer].postil_shown = true
  for _, window in ipairs(first and {} or vim.fn.win_findbuf(buffer)) do
    if vim.api.nvim_win_get_cursor(window)[1] == last then
      at_end[#at_end + 1] = window
    end
  end
  vim.bo[buffer].modifiable = true
  -- Only what differs is replaced, so that the cursor, folds and marks above it stay.
  local now, same = vim.api.nvim_buf_get_lines(buffer, 0, -1, false), 0
  while same < #now and same < #lines and now[same + 1] == lines[same + 1] do
    same = same + 1
  end
  vim.api.nvim_buf_set_lines(buffer, same, -1, false, vim.list_slice(lines, same + 1))
  vim.bo[buffer].modifiable, vim.bo[buffer].modified = false, false
  for _, window in ipairs(at_end) do
    vim.api.nvim_win_set_cursor(window, { #lines, 0 })
  end
end

-- Reads, or reads again.
local function load(client, buffer)
  asks.ask(client, "workspace/textDocumentContent", { uri = vim.api.nvim_buf_get_name(buffer) }, function(result)
    if vim.api.nvim_buf_is_loaded(buffer) then
      fill(buffer, result.text)
    end
  end)
end

-- Reads a buffer that has nothing but its name. `quiet`: a session brought it, whose files may not be open yet.
function M.read(buffer, quiet)
  local bo = vim.bo[buffer]
  vim.b[buffer].postil_made = true
  bo.buftype, bo.bufhidden, bo.swapfile, bo.undolevels, bo.modifiable = "nofile", "hide", false, -1, false
  M.colour(buffer, "markdown")
  M.closed_by_q(buffer)
  local client = asks.shows(buffer, quiet, M.read)
  if not client then
    return
  end
  vim.b[buffer].postil_client = client.id
  vim.b[buffer].postil_run = vim.api.nvim_buf_get_name(buffer):match("^postil://run/([^/?]+)")
  load(client, buffer)
end

-- Opens a buffer by a command, or says why it is not. A swap file is an error to Neovim, whatever is answered to its
-- question: within Lua that would end what goes on with the file.
function M.opens(buffer, command)
  command.mods = vim.tbl_extend("force", { emsg_silent = true }, command.mods or {})
  vim.v.errmsg = ""
  local ran, why = pcall(vim.cmd, command)
  if vim.api.nvim_get_current_buf() == buffer then
    return true
  end
  why = ran and vim.v.errmsg or why
  local asked = not ran and why:find("interrupt") or why:find("E325:", 1, true)
  why = asked and "as was answered to the question about its swap file" or why:gsub("^.-(E%d+:)", "%1")
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ":.")
  postil.say(("%s is not opened: %s"):format(name, why), vim.log.levels.ERROR)
  return false
end

local lengths = {
  ["utf-8"] = string.len,
  ["utf-16"] = vim.fn.strutf16len,
  ["utf-32"] = vim.fn.strchars,
}

-- Whether the cursor was put behind its line last, where only insert mode can have it.
M.is_behind = false

-- Shows a file: in this window where it is there already, for Neovim's own handler takes the first of all tabs.
local function show_file(params, client)
  local buffer = vim.uri_to_bufnr(params.uri)
  if not vim.api.nvim_buf_is_loaded(buffer) and not M.opens(buffer, { cmd = "buffer", args = { buffer } }) then
    return { success = false }
  end
  local here = buffer == vim.api.nvim_get_current_buf()
  local place = { uri = params.uri, range = params.selection }
  local how = { reuse_win = not here, focus = params.takeFocus }
  local shown = vim.lsp.util.show_document(place, client.offset_encoding, how)
  if shown and place.range then
    local start, line = place.range.start, vim.api.nvim_get_current_line()
    local cursor = vim.api.nvim_win_get_cursor(0)
    M.is_behind = cursor[1] == start.line + 1 and start.character >= lengths[client.offset_encoding](line)
    -- Neovim opens the folds there by `:normal`, which in insert mode takes the cursor back from behind the line.
    if M.is_behind and vim.startswith(vim.api.nvim_get_mode().mode, "i") then
      vim.api.nvim_win_set_cursor(0, { cursor[1], #line })
    end
  end
  return { success = shown or false }
end

-- The handler of window/showDocument: our documents come in a split.
function M.show(_, params, ctx)
  if not vim.startswith(params.uri, "postil://") then
    local client = vim.lsp.get_client_by_id(ctx.client_id)
    return client and show_file(params, client) or vim.NIL
  end
  local buffer = vim.fn.bufadd(params.uri)
  vim.b[buffer].postil_client = ctx.client_id
  local window = vim.fn.win_findbuf(buffer)[1]
  if window then
    vim.api.nvim_set_current_win(window)
  else
    if not pcall(vim.cmd.sbuffer, { buffer, mods = modifiers }) then
      -- There is no room for another window.
      vim.cmd("tab sbuffer " .. buffer)
    end
    -- For this text alone, and not for a file that comes into the window later.
    vim.wo[0][0].wrap, vim.wo[0][0].linebreak = true, true
  end
  modifiers = nil
  -- As a session has left it.
  if not vim.b[buffer].postil_made then
    M.read(buffer)
  end
  return { success = true }
end

-- The handler of workspace/textDocumentContent/refresh.
function M.refresh(_, params, ctx)
  local buffer = vim.fn.bufexists(params.uri) == 1 and vim.fn.bufadd(params.uri)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if client and buffer and vim.api.nvim_buf_is_loaded(buffer) then
    load(client, buffer)
  end
  return vim.NIL
end

-- Opens the conversation of a run or of a thread.
function M.open(client, id, smods)
  modifiers = smods
  asks.verb(client, "openConversation", id, nil, function()
    modifiers = nil
  end)
end

return M
