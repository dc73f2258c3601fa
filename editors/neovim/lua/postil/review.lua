-- What a turn changed, file by file, each as a diff of two windows in a tab of its own: on the left as it was, on the
-- right the file itself. So a change is taken back as in any diff, by `do`, and one tab after the other is closed.

local postil = require("postil")
local asks = require("postil.client")

local M = {}

-- Tabs that are opened without being asked for.
local MOST = 8

-- A text that is only looked at: how it was before the turn, read as the buffer `file` is.
local function fill(buffer, client, change, turn, file)
  local text = change.before ~= vim.NIL and change.before or ""
  -- Written with other line ends than it is read with, all of it would differ.
  if vim.bo[file].fileformat == "dos" then
    text = text:gsub("\r\n", "\n")
  end
  if vim.bo[file].bomb then
    text = text:gsub("^\239\187\191", "")
  end
  local bo = vim.bo[buffer]
  vim.b[buffer].postil_made = true
  bo.buftype, bo.bufhidden, bo.swapfile, bo.modifiable = "nofile", "wipe", false, true
  local lines = vim.split(text, "\n")
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  bo.modifiable, bo.modified, bo.filetype = false, false, vim.bo[file].filetype
  vim.b[buffer].postil_client, vim.b[buffer].postil_run, vim.b[buffer].postil_turn = client.id, turn.run_id, turn.turn
  require("postil.conversation").closed_by_q(buffer)
end

-- Two windows as a diff.
local function compare(before, file, change)
  vim.wo[before].winbar = "before the turn %<" .. change.file:gsub("%%", "%%%%")
  for _, window in ipairs({ before, file }) do
    vim.api.nvim_win_call(window, vim.cmd.diffthis)
  end
end

-- Shows one file, if it can be opened; its tab.
local function diff(client, change, turn)
  -- Below the current folder by its short name, as all else is shown.
  local short = vim.fn.fnamemodify(vim.uri_to_fname(change.uri), ":.")
  local opened = { cmd = "tabnew", args = { vim.fn.fnameescape(short) }, mods = { keepalt = true } }
  if not require("postil.conversation").opens(vim.fn.bufadd(short), opened) then
    return
  end
  local file = vim.api.nvim_get_current_win()
  local name = ("postil://before/%s/%s"):format(turn.run_id, change.file)
  local buffer = vim.fn.bufexists(name) == 1 and vim.fn.bufadd(name)
  if not buffer then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
  end
  fill(buffer, client, change, turn, vim.api.nvim_get_current_buf())
  vim.cmd.vsplit({ mods = { split = "leftabove" } })
  vim.api.nvim_win_set_buf(0, buffer)
  compare(vim.api.nvim_get_current_win(), file, change)
  vim.api.nvim_set_current_win(file)
  require("postil.conversation").to_first_change()
  return vim.api.nvim_get_current_tabpage()
end

-- Reads a buffer that has nothing but its name, and shows the diff with the file that is in its tab. What is undone, or
-- changed again, by now is not looked at any more.
function M.read(buffer, quiet)
  vim.b[buffer].postil_made = true
  vim.bo[buffer].buftype, vim.bo[buffer].modifiable = "nofile", false
  local client = asks.shows(buffer, quiet, M.read)
  if not client then
    return
  end
  local run, name = vim.api.nvim_buf_get_name(buffer):match("^postil://before/([^/]+)/(.+)$")
  local function close()
    vim.api.nvim_buf_delete(buffer, { force = true })
  end
  asks.verb(client, "turnChanges", { run_id = run }, function(answer)
    local change = vim.iter(answer.files):find(function(each)
      return each.file == name
    end)
    if not vim.api.nvim_buf_is_loaded(buffer) then
      return
    elseif not change then
      return close()
    end
    local file = vim.uri_to_bufnr(change.uri)
    -- It is loaded also where there is a swap file, which would be an error.
    vim.cmd.call({ ("bufload(%d)"):format(file), mods = { emsg_silent = true } })
    fill(buffer, client, change, answer, file)
    for _, before in ipairs(vim.fn.win_findbuf(buffer)) do
      for _, window in ipairs(vim.api.nvim_tabpage_list_wins(vim.api.nvim_win_get_tabpage(before))) do
        if vim.api.nvim_win_get_buf(window) == file then
          compare(before, window, change)
        end
      end
    end
  end, close)
end

-- Reviews the last turn of the run or thread that `id` names.
function M.open(client, id)
  asks.verb(client, "turnChanges", id, function(answer)
    local files = answer.files
    if #files == 0 then
      return postil.say("the last turn changed no file, or is undone already")
    end
    local first
    for index = 1, math.min(#files, MOST) do
      local tab = diff(client, files[index], answer)
      first = first or tab
    end
    if first then
      vim.api.nvim_set_current_tabpage(first)
    end
    if #files > MOST then
      vim.ui.select(vim.list_slice(files, MOST + 1), {
        prompt = ("%d files changed; review also"):format(#files),
        format_item = function(change)
          return change.file
        end,
      }, function(change)
        if change then
          diff(client, change, answer)
        end
      end)
    end
  end)
end

return M
