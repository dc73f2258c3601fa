-- Changes that an agent proposes and that are not made yet (`turn.review = "ask"`): the server asks about each file,
-- and waits. They are looked at in a tab of their own, one file after the other, as a diff of how it is and how it
-- would be; `:Postil accept` and `:Postil reject` decide. Closing the tab decides nothing.

local postil = require("postil")

local M = {}

-- What waits for an answer, in the order it came: { client, change, answer }.
local waiting = {}

-- The files of one run that are asked about.
local function of_run(run)
  return vim.tbl_filter(function(asked)
    return asked.change.run_id == run
  end, waiting)
end

-- The same of one client, or of all.
function M.waiting(client)
  return vim.tbl_filter(function(asked)
    return not client or asked.client == client.id
  end, waiting)
end

-- There is no file: `null`, which comes as either of two, by Neovim's version.
local function none(text)
  return text == nil or text == vim.NIL
end

local function lines_of(text)
  if none(text) then
    return {}
  end
  -- Line ends are not what is looked at.
  local lines = vim.split(text, "\r?\n")
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  return lines
end

-- The file, with its old name where it is renamed.
local function named(change)
  return none(change.from) and change.file or change.from .. " → " .. change.file
end

local function escaped(text)
  return (text:gsub("%%", "%%%%"))
end

-- A tab that shows proposals of a run; its windows.
local function tab_of(run)
  for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
    if vim.t[tab].postil_proposed == run then
      return tab
    end
  end
end

-- A text that is only looked at, in this window.
local function fill(asked, name, text)
  local change = asked.change
  local buffer = vim.api.nvim_create_buf(false, true)
  -- It may be off for all that is opened: `:set nomodifiable`.
  vim.bo[buffer].modifiable = true
  -- Names are unique, and an earlier one may still stand in another tab.
  pcall(vim.api.nvim_buf_set_name, buffer, ("postil://%s/%s/%s"):format(name, change.run_id, change.file))
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines_of(text))
  local bo = vim.bo[buffer]
  bo.bufhidden, bo.modifiable = "wipe", false
  local conversation = require("postil.conversation")
  conversation.colour(buffer, vim.filetype.match({ filename = change.file, buf = buffer }) or "")
  vim.b[buffer].postil_client, vim.b[buffer].postil_run = asked.client, change.run_id
  vim.b[buffer].postil_proposed, vim.b[buffer].postil_made = change.uri, true
  conversation.closed_by_q(buffer, true)
  vim.api.nvim_win_set_buf(0, buffer)
  vim.cmd.diffthis()
end

-- Closes our windows in a tab but one, which it gives.
local function one_of_ours(tab)
  local ours = vim.tbl_filter(function(window)
    return vim.b[vim.api.nvim_win_get_buf(window)].postil_proposed ~= nil
  end, vim.api.nvim_tabpage_list_wins(tab))
  for at = 2, #ours do
    vim.api.nvim_win_close(ours[at], true)
  end
  return ours[1]
end

-- Shows one file; in the tab that the run has already, if it has one.
local function show(asked)
  local change = asked.change
  local left = of_run(change.run_id)
  local tab = tab_of(change.run_id)
  if tab then
    vim.api.nvim_set_current_tabpage(tab)
    -- What the author has opened beside stays.
    local kept = one_of_ours(tab)
    if kept then
      vim.api.nvim_set_current_win(kept)
      vim.cmd.diffoff()
    else
      vim.cmd.split({ mods = { split = "topleft" } })
    end
  else
    vim.cmd.tabnew()
    vim.bo.bufhidden = "wipe"
    vim.t.postil_proposed = change.run_id
  end
  fill(asked, "proposed", change.after)
  local what = not none(change.from) and " (renamed)"
    or none(change.before) and " (new)"
    or none(change.after) and " (removed)"
    or ""
  vim.wo.winbar = ("proposed%s: :Postil accept, :Postil reject%s, q: later %%<%s"):format(
    what,
    #left > 1 and ("; :Postil! accept, :Postil! reject: all %d files"):format(#left) or "",
    escaped(named(change))
  )
  vim.cmd.vsplit({ mods = { split = "leftabove" } })
  fill(asked, "now", change.before)
  vim.wo.winbar = "as it is %<" .. escaped(none(change.from) and change.file or change.from)
  vim.cmd.wincmd("p")
  require("postil.conversation").to_first_change()
end

-- The tab goes on to the run's next file, or away. Whoever is elsewhere stays there.
local function go_on(run)
  local tab = tab_of(run)
  if not tab then
    return
  end
  local here = vim.api.nvim_get_current_tabpage()
  local next_one = of_run(run)[1]
  if next_one then
    local function shows(asked)
      for _, window in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
        if vim.b[vim.api.nvim_win_get_buf(window)].postil_proposed == asked.change.uri then
          return true
        end
      end
    end
    if not vim.iter(of_run(run)):any(shows) then
      show(next_one)
    end
  elseif #vim.api.nvim_list_tabpages() > 1 then
    require("postil.conversation").close_tab(tab)
  else
    vim.t[tab].postil_proposed = nil
    local kept = one_of_ours(tab)
    if kept then
      vim.api.nvim_win_call(kept, function()
        vim.cmd.diffoff()
        vim.cmd.enew()
      end)
    end
  end
  if here ~= tab and vim.api.nvim_tabpage_is_valid(here) then
    vim.api.nvim_set_current_tabpage(here)
  end
end

local function decide(list, accepted)
  local runs = {}
  for _, asked in ipairs(list) do
    for at, other in ipairs(waiting) do
      if other == asked then
        table.remove(waiting, at)
        runs[asked.change.run_id] = true
        asked.answer({ accepted = accepted })
        break
      end
    end
  end
  for run in pairs(runs) do
    go_on(run)
  end
end

-- Nobody waits for an answer any more: the turn is over, or its server.
function M.withdraw(client, run)
  decide(
    vim.tbl_filter(function(asked)
      return asked.client == client and (not run or asked.change.run_id == run)
    end, waiting),
    false
  )
end

-- Opens what is asked about: of this run, or of the first.
function M.open(client, run)
  local asked = run and of_run(run)[1] or not run and M.waiting(client)[1]
  if asked then
    show(asked)
  end
  return asked ~= nil and asked ~= false
end

-- `:Postil accept` and `:Postil reject`: the file that is looked at, else the only one; `all` of them.
function M.decide(client, buffer, accepted, all)
  local run, uri = vim.b[buffer].postil_run, vim.b[buffer].postil_proposed or vim.uri_from_bufnr(buffer)
  local list = run and of_run(run) or M.waiting(client)
  if #list == 0 then
    return postil.say("no change waits to be accepted or rejected")
  end
  if not all and #list > 1 then
    local here = vim.tbl_filter(function(asked)
      return asked.change.uri == uri
    end, list)
    if #here ~= 1 then
      return postil.say(
        ("%d changes wait: `:Postil review` shows them, `:Postil! %s` is for all"):format(
          #list,
          accepted and "accept" or "reject"
        ),
        vim.log.levels.WARN
      )
    end
    list = here
  end
  decide(list, accepted)
end

local function tell(run)
  local list = of_run(run)
  if #list == 0 then
    return
  end
  local change = list[1].change
  local what = #list > 1 and ("%d files"):format(#list)
    or ("%s (+%d −%d)"):format(named(change), change.added, change.removed)
  postil.say(
    ("the agent wants to change %s, and waits for you: `:Postil review`, `:Postil accept` or `:Postil reject`"):format(
      what
    )
  )
  -- Nor where another one is looked at.
  if postil.may_interrupt() and not vim.t.postil_proposed then
    show(list[1])
  end
end

-- The handler of postil/review: answered when the author has decided.
function M.ask(_, change, ctx)
  local thread = coroutine.running()
  local asked = { client = ctx.client_id, change = change }
  function asked.answer(result)
    vim.schedule(function()
      coroutine.resume(thread, result)
    end)
  end
  table.insert(waiting, asked)
  -- Once for all that are asked about together; when some do not come, for those that did.
  local came = #of_run(change.run_id)
  if came == change.of then
    vim.schedule(function()
      tell(change.run_id)
    end)
  elseif came == 1 then
    vim.defer_fn(function()
      if #of_run(change.run_id) < change.of and not tab_of(change.run_id) then
        tell(change.run_id)
      end
    end, 1000)
  end
  return coroutine.yield()
end

return M
