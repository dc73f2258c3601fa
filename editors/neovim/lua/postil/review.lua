-- What a turn changed, file by file, each as a diff of two windows in a tab of its own: on the left as it was, on the
-- right the file itself. So a change is taken back as in any diff, by `do`, and one tab after the other is closed.

local postil = require("postil")
local asks = require("postil.client")

local M = {}

-- Tabs that are opened without being asked for.
local MOST = 8

local function scratch(file, run, text, filetype)
  local name = ("postil://before/%s/%s"):format(run, file)
  local buffer = vim.fn.bufexists(name) == 1 and vim.fn.bufadd(name)
  if not buffer then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
  end
  local bo = vim.bo[buffer]
  bo.buftype, bo.bufhidden, bo.modifiable = "nofile", "wipe", true
  local lines = vim.split(text, "\n")
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  bo.modifiable, bo.filetype = false, filetype
  return buffer
end

local function diff(client, change, run, turn)
  -- Below the current folder by its short name, as all else is shown.
  local name = vim.fn.fnamemodify(vim.uri_to_fname(change.uri), ":.")
  vim.cmd.tabnew({ vim.fn.fnameescape(name), mods = { keepalt = true } })
  local file = vim.api.nvim_get_current_win()
  local filetype = vim.bo.filetype
  local before = change.before ~= vim.NIL and change.before or ""
  -- Written with other line ends than it is read with, all of it would differ.
  if vim.bo.fileformat == "dos" then
    before = before:gsub("\r\n", "\n")
  end
  if vim.bo.bomb then
    before = before:gsub("^\239\187\191", "")
  end
  local buffer = scratch(change.file, run, before, filetype)
  vim.b[buffer].postil_run = run
  vim.b[buffer].postil_turn = turn
  vim.b[buffer].postil_client = client.id
  vim.cmd.vsplit({ mods = { split = "leftabove" } })
  vim.api.nvim_win_set_buf(0, buffer)
  require("postil.conversation").closed_by_q(buffer)
  vim.cmd.diffthis()
  vim.wo.winbar = "before the turn %<" .. change.file:gsub("%%", "%%%%")
  vim.api.nvim_set_current_win(file)
  vim.cmd.diffthis()
  require("postil.conversation").to_first_change()
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
      diff(client, files[index], answer.run_id, answer.turn)
      first = first or vim.api.nvim_get_current_tabpage()
    end
    vim.api.nvim_set_current_tabpage(first)
    if #files > MOST then
      vim.ui.select(vim.list_slice(files, MOST + 1), {
        prompt = ("%d files changed; review also"):format(#files),
        format_item = function(change)
          return change.file
        end,
      }, function(change)
        if change then
          diff(client, change, answer.run_id, answer.turn)
        end
      end)
    end
  end)
end

return M
