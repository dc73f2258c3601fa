-- Texts that the author writes for a verb: in one line, or in a window of their own.

local postil = require("postil")
local asks = require("postil.client")

local M = {}

-- Insert mode: behind the cursor's line, or where the cursor is.
function M.startinsert(behind)
  vim.schedule(function()
    vim.cmd.startinsert({ bang = behind })
  end)
end

-- The texts that have a window, by buffer; `said` is what was written, and is sent when the window goes.
local composed = {}
-- Those whose window is gone.
local unsent = {}
-- Whether Neovim is about to end: no window goes before.
local leaving = false

-- Whether it could be sent.
local function sent(text)
  local ran, answer, why = pcall(text.send, text.said)
  if not ran then
    answer, why = nil, tostring(answer)
  end
  if not answer then
    postil.say(why .. "; the text is kept here", vim.log.levels.ERROR)
  end
  return answer ~= nil
end

local compose

-- Texts that could not be sent, until they have a window again.
local returned = {}

-- Shows them, once that takes no key that is meant for something else; `at_once`: as soon as there can be a window.
local function show_returned(at_once)
  if not (at_once and vim.fn.getcmdwintype() == "" or postil.may_interrupt()) then
    return vim.defer_fn(show_returned, 100)
  end
  local list = returned
  returned = {}
  for _, each in ipairs(list) do
    compose(each.text, each.lines)
    vim.bo.modified = true
  end
end

local function bring_back(text, lines)
  table.insert(returned, { text = text, lines = lines })
  if #returned == 1 then
    show_returned()
  end
end

-- `:w FILE`: a copy, by Neovim's own means.
local function write_elsewhere(buffer, file)
  local bo = vim.bo[buffer]
  bo.buftype = ""
  local written, why = pcall(vim.cmd, {
    cmd = "write",
    args = { file },
    magic = { file = false, bar = false },
    bang = vim.v.cmdbang == 1,
    mods = { noautocmd = true, keepalt = true },
  })
  bo.buftype = "acwrite"
  if not written then
    postil.say(why:gsub("^.-(E%d+:)", "%1"), vim.log.levels.ERROR)
  end
end

local function send_all()
  local list = unsent
  unsent = {}
  for _, text in ipairs(list) do
    if not sent(text) then
      bring_back(text, text.said)
    end
  end
end

-- While it still has its window, which may stay: Neovim does not end where the file that it is in is not written.
local function send_early(buffer)
  local text = composed[buffer]
  local done = sent(text)
  if done then
    text.sent = text.said
    text.hint("sent; :q closes")
  end
  text.said = nil
  vim.bo[buffer].modified = not done
  return done
end

vim.api.nvim_create_autocmd("ExitPre", {
  group = vim.api.nvim_create_augroup("postil.compose", { clear = true }),
  callback = function()
    leaving = true
    send_all()
    -- Whose window is there keeps Neovim from ending.
    show_returned(true)
    for _, buffer in ipairs(vim.tbl_keys(composed)) do
      if composed[buffer] and composed[buffer].said and not vim.bo[buffer].modified then
        send_early(buffer)
      end
    end
    -- Whoever goes on has not left.
    vim.api.nvim_create_autocmd({ "CmdlineEnter", "InsertEnter", "CursorMoved" }, {
      once = true,
      callback = function()
        leaving = false
      end,
    })
  end,
})

-- A text to be written in a window of its own. It is sent when that is closed after `:w`, for a text may be saved
-- before it is finished, by `:wall` or by a plugin; if it cannot be sent, there is a window again.
---@param text { name: string, prompt: string, source: integer, send: fun(said: string): any, string? }
function compose(text, lines)
  text = vim.tbl_extend("force", text, { said = false })
  local from = vim.api.nvim_get_current_win()
  -- Where there is no room, a tab has it.
  if pcall(vim.cmd.split, { mods = { split = "botright" } }) then
    vim.api.nvim_win_set_height(0, 8)
  else
    vim.cmd("tab split")
  end
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(window),
    once = true,
    callback = function()
      -- Neovim would go to the window on the left, whichever this was opened from.
      if vim.api.nvim_get_current_win() == window then
        vim.schedule(function()
          if vim.api.nvim_win_is_valid(from) then
            vim.api.nvim_set_current_win(from)
          end
        end)
      end
    end,
  })
  local buffer = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_win_set_buf(0, buffer)
  composed[buffer] = text
  -- Names are unique, and a text that was refused, or a session, may still have one.
  local number = buffer
  while vim.fn.bufexists(("postil://%s/%d"):format(text.name, number)) == 1 do
    number = number + 1
  end
  vim.api.nvim_buf_set_name(buffer, ("postil://%s/%d"):format(text.name, number))
  vim.b[buffer].postil_made = true
  local bo = vim.bo[buffer]
  -- It may be off for all that is opened: `:set nomodifiable`.
  bo.modifiable = true
  bo.buftype, bo.bufhidden, bo.swapfile, bo.filetype = "acwrite", "wipe", false, "markdown"
  function text.hint(what)
    for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
      vim.wo[window].winbar = ("%s (%s)"):format(text.prompt, what):gsub("%%", "%%%%")
    end
  end
  text.hint(":wq sends, :q! drops")
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(lines, "\n"))
  bo.modified = false
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buffer,
    -- The file may be written too, below.
    nested = true,
    callback = function(event)
      if event.match ~= vim.api.nvim_buf_get_name(buffer) then
        return write_elsewhere(buffer, event.match)
      end
      local said = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"))
      text.said = said ~= "" and said
      if not text.said then
        return postil.say("there is nothing to say yet; `:q!` closes", vim.log.levels.WARN)
      end
      vim.bo[buffer].modified = false
      if said == text.sent then
        text.said = nil
        return text.hint("sent; :q closes")
      end
      text.hint("sent when this window is closed")
      if leaving then
        -- `:wqall` has been at the file already.
        local saved = vim.api.nvim_buf_is_loaded(text.source) and not vim.bo[text.source].modified
        if send_early(buffer) and saved then
          vim.api.nvim_buf_call(text.source, function()
            vim.cmd("silent update")
          end)
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buffer,
    callback = function()
      composed[buffer] = nil
      if text.said then
        table.insert(unsent, text)
        vim.schedule(send_all)
      end
    end,
  })
end

-- What is to be sent about a buffer, one after the other: the edit that comes of the first moves the lines of the next.
local queues = {}

-- `send` gets what it calls when it has its answer.
function M.in_order(buffer, send)
  local function go_on()
    local following = table.remove(queues[buffer], 1)
    if following then
      following(go_on)
    else
      queues[buffer] = nil
    end
  end
  if queues[buffer] then
    table.insert(queues[buffer], send)
  else
    queues[buffer] = {}
    send(go_on)
  end
end

local function lines_with(part, buffer)
  local lines = vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_lines(buffer, 0, -1, false) or {}
  return #vim.tbl_filter(function(line)
    return line:find(part, 1, true) ~= nil
  end, lines)
end

-- Asks for a text: one line in Neovim's own input, or with a bang in a window. One that is refused is kept.
-- `argument` is asked for when it is sent, and so is the server: both may be others by then. `kept`: the text cannot be
-- sent now, as was said.
---@param argument fun(client: vim.lsp.Client): table?, string?
function M.text_for(call, name, prompt, verb, argument, kept)
  local function server()
    if vim.api.nvim_buf_is_loaded(call.buffer) then
      return asks.begun(call.buffer)
    end
    return call.client and vim.lsp.get_client_by_id(call.client.id), "its file is closed; open it again"
  end
  -- The server, and what it is asked; nil and a sentence.
  local function ready(said)
    local client, why = server()
    if not client then
      return nil, why
    end
    local place, none = argument(client)
    return place and client, place and vim.tbl_extend("force", place, { text = said }) or none
  end
  local text = {
    name = name,
    prompt = prompt,
    source = call.buffer,
    send = function(said)
      local client, asked = ready(said)
      if not client then
        return nil, asked
      end
      return asks.verb_now(client, verb, asked)
    end,
  }
  local function send(said)
    local first, before = said:match("[^\n]*"), 0
    local function failed(error)
      -- It may have been written before its server ended.
      if error and error.ended and lines_with(first, call.buffer) > before then
        return
      end
      bring_back(text, said)
    end
    M.in_order(call.buffer, function(go_on)
      before = lines_with(first, call.buffer)
      local client, asked = ready(said)
      if client then
        return asks.verb(client, verb, asked, go_on, function(error)
          -- Whatever becomes of this one.
          vim.schedule(go_on)
          failed(error)
        end)
      end
      postil.say(asked, vim.log.levels.ERROR)
      vim.schedule(go_on)
      failed()
    end)
  end
  if call.text ~= "" and kept then
    bring_back(text, call.text)
  elseif call.text ~= "" then
    send(call.text)
  elseif call.bang then
    compose(text, "")
    M.startinsert(true)
  else
    vim.ui.input({ prompt = prompt .. ": " }, function(said)
      if said and vim.trim(said) ~= "" then
        send(said)
      end
    end)
  end
end

return M
