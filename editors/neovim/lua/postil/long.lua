-- Files of very many lines. Undo tells of each line that it changes by itself, and at each Neovim copies all the lines
-- before it for the servers of the buffer: `u` after a `:%s` takes seconds there. Other servers are started for files of
-- their languages, this one for all that are opened, logs and tables too. So it is not started for such a file unasked,
-- unless a thread is in it: it is when one is wanted there.

local M = {}

-- Lines: below it such an undo takes tenths of a second.
local MOST = 10000

-- How many are looked through at once.
local PIECE = 1000

local function has_marker(text)
  for _, word in ipairs({ "AUTHOR", "AGENT" }) do
    -- A plain search is many times faster, and mostly finds none.
    if text:find(word, 1, true) and (text:find(word .. ":", 1, true) or text:find(word .. "%b():")) then
      return true
    end
  end
  return false
end

-- Whether these lines of a buffer hold one, 1-based.
local function holds(buffer, first, last)
  for line = math.max(first, 1) - 1, math.min(last, vim.api.nvim_buf_line_count(buffer)) - 1, PIECE do
    local lines = vim.api.nvim_buf_get_lines(buffer, line, math.min(line + PIECE, last), false)
    if has_marker(table.concat(lines, "\n")) then
      return true
    end
  end
  return false
end

-- By buffer, the state of its text when it was found to hold none.
local without = {}

-- Whether a buffer has very many lines, and no thread.
function M.is_left(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return false
  end
  local count, tick = vim.api.nvim_buf_line_count(buffer), vim.api.nvim_buf_get_changedtick(buffer)
  if count > MOST and without[buffer] ~= tick then
    without[buffer] = not holds(buffer, 1, count) and tick or nil
  end
  return count > MOST and without[buffer] == tick
end

local group = vim.api.nvim_create_augroup("postil.long", { clear = true })

-- What starts the server of a buffer that waits for a thread, by buffer.
local waiting = {}

-- Whether a buffer waits for a thread.
function M.waits(buffer)
  return waiting[buffer] ~= nil
    and vim.api.nvim_buf_is_loaded(buffer)
    and #vim.lsp.get_clients({ bufnr = buffer, name = "postil", _uninitialized = true }) == 0
end

-- Those that do.
function M.all()
  return vim.tbl_filter(M.waits, vim.tbl_keys(waiting))
end

-- A thread is wanted in a buffer that waits: starts the server, or gives the reason why not.
function M.join(buffer)
  local start = waiting[buffer]
  waiting[buffer] = nil
  vim.api.nvim_clear_autocmds({ group = group, buffer = buffer })
  return start(buffer)
end

-- Waits for a marker in this buffer, and starts its server by `start` then.
function M.watch(buffer, start)
  vim.api.nvim_clear_autocmds({ group = group, buffer = buffer })
  waiting[buffer] = start
  local function look(first, last)
    if holds(buffer, first, last) or not M.waits(buffer) then
      local why = M.join(buffer)
      if why then
        require("postil").say_once(why, vim.log.levels.WARN)
      end
    end
  end
  vim.api.nvim_create_autocmd({ "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = buffer,
    callback = function()
      local line = vim.api.nvim_win_get_cursor(0)[1]
      look(line, line)
    end,
  })
  vim.api.nvim_create_autocmd({ "TextChanged", "InsertLeave" }, {
    group = group,
    buffer = buffer,
    callback = function()
      look(vim.api.nvim_buf_get_mark(buffer, "[")[1], vim.api.nvim_buf_get_mark(buffer, "]")[1])
    end,
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buffer,
    callback = function()
      waiting[buffer], without[buffer] = nil, nil
    end,
  })
end

return M
