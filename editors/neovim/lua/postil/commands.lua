-- :Postil and its sub-commands. Without an id each is about the thread below the cursor, or about those in the range.

local postil = require("postil")
local asks = require("postil.client")

local M = {}

local places = vim.api.nvim_create_namespace("postil.places")

---@class postil.Call
---@field client vim.lsp.Client
---@field buffer integer
---@field text string what stands behind the sub-command
---@field bang boolean
---@field ranged boolean
---@field elsewhere string? why this window has no server, where the command has to do with turns of any
---@field run string? the run whose conversation or change the window shows
---@field first integer
---@field last integer
---@field smods table

-- Hands `done` the threads that are meant, as arguments of verbs; at least one.
local function meant(call, done, wanted)
  if call.text ~= "" then
    return done({ { thread_id = call.text } })
  elseif call.run then
    return done({ { run_id = call.run } })
  end
  asks.threads_at(call.client, call.buffer, call.first, call.last, function(threads)
    local there = #threads
    if call.ranged and wanted then
      threads = vim.tbl_filter(wanted, threads)
    end
    if #threads == 0 then
      local where = call.first == call.last and ("on line " .. call.first)
        or ("in lines %d to %d"):format(call.first, call.last)
      local what = there > 0 and " waits for an answer" or "; `:Postil threads` lists all"
      return postil.say(("no thread %s%s"):format(where, what), vim.log.levels.WARN)
    end
    done(vim.tbl_map(function(thread)
      return { thread_id = thread.id, uri = asks.uri(call.buffer) }
    end, threads))
  end)
end

-- One after the other: each changes the text that the next is about. The first that fails ends it.
local function in_turn(call, verb, threads, at)
  if threads[at or 1] then
    asks.verb(call.client, verb, threads[at or 1], function()
      in_turn(call, verb, threads, (at or 1) + 1)
    end)
  end
end

local function each(call, verb, wanted)
  meant(call, function(threads)
    in_turn(call, verb, threads)
  end, wanted)
end

-- One of several; asked for only where there are several.
local function one(call, done)
  meant(call, function(threads)
    done(threads[1])
  end)
end

local function is_pending(thread)
  return thread.status == "pending"
end

local function ask_first(call, question)
  return call.bang or vim.fn.confirm("postil: " .. question, "&Yes\n&No", 2) == 1
end

local function startinsert()
  vim.schedule(function()
    vim.cmd.startinsert({ bang = true })
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
  local answer, why = text.send(text.said)
  if not answer then
    postil.say(why .. "; the text is kept here", vim.log.levels.ERROR)
  end
  return answer ~= nil
end

local compose

local function send_all()
  local list = unsent
  unsent = {}
  for _, text in ipairs(list) do
    if not sent(text) then
      compose(text, text.said)
      vim.bo.modified = true
    end
  end
end

-- While it still has its window.
local function send_early(buffer)
  local text = composed[buffer]
  local done = sent(text)
  text.said = nil
  vim.bo[buffer].modified = not done
  return done
end

vim.api.nvim_create_autocmd("ExitPre", {
  group = vim.api.nvim_create_augroup("postil.commands", { clear = true }),
  callback = function()
    leaving = true
    send_all()
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
  vim.cmd.split({ mods = { split = "botright" } })
  vim.api.nvim_win_set_height(0, 8)
  local buffer = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_win_set_buf(0, buffer)
  composed[buffer] = text
  -- Names are unique, and a text that was refused may still stand under the first.
  vim.api.nvim_buf_set_name(buffer, ("postil://%s/%d"):format(text.name, buffer))
  local bo = vim.bo[buffer]
  -- It may be off for all that is opened: `:set nomodifiable`.
  bo.modifiable = true
  bo.buftype, bo.bufhidden, bo.swapfile, bo.filetype = "acwrite", "wipe", false, "markdown"
  local function hint(what)
    for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
      vim.wo[window].winbar = ("%s (%s)"):format(text.prompt, what):gsub("%%", "%%%%")
    end
  end
  hint(":wq sends, :q! drops")
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(lines, "\n"))
  bo.modified = false
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buffer,
    -- The file may be written too, below.
    nested = true,
    callback = function()
      local said = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"))
      text.said = said ~= "" and said
      if not text.said then
        return postil.say("there is nothing to say yet; `:q!` closes", vim.log.levels.WARN)
      end
      vim.bo[buffer].modified = false
      hint("sent when this window is closed")
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

-- Asks for a text: one line in Neovim's own input, or with a bang in a window. One that is refused is kept.
-- `argument` is asked for when it is sent, and so is the server: both may be others by then.
local function text_for(call, name, prompt, verb, argument)
  local function server()
    if vim.api.nvim_buf_is_loaded(call.buffer) then
      return asks.begun(call.buffer)
    end
    return vim.lsp.get_client_by_id(call.client.id), "its file is closed; open it again"
  end
  local function with(said)
    return vim.tbl_extend("force", argument(), { text = said })
  end
  local function window(lines)
    compose({
      name = name,
      prompt = prompt,
      source = call.buffer,
      send = function(said)
        local client, why = server()
        if not client then
          return nil, why
        end
        return asks.verb_now(client, verb, with(said))
      end,
    }, lines)
  end
  local function send(said)
    local function failed()
      window(said)
      vim.bo.modified = true
    end
    local client, why = server()
    if client then
      return asks.verb(client, verb, with(said), nil, failed)
    end
    postil.say(why, vim.log.levels.ERROR)
    failed()
  end
  if call.text ~= "" then
    send(call.text)
  elseif call.bang then
    window("")
    startinsert()
  else
    vim.ui.input({ prompt = prompt .. ": " }, function(said)
      if said and vim.trim(said) ~= "" then
        send(said)
      end
    end)
  end
end

-- Every thread of all servers, or of a file or folder, as { client, thread, file }. Where there is none because a
-- server failed, which is said, `done` does not come.
local function all_threads(path, done)
  local found, left, failed = {}, 0, false
  if #asks.all() == 0 then
    asks.begun(vim.api.nvim_get_current_buf())
  end
  local clients, why = asks.some()
  if #clients == 0 then
    return postil.say(why, vim.log.levels.WARN)
  end
  local function root_of(client)
    return client.root_dir or client.config.root_dir
  end
  local function holds(client)
    return not path or not root_of(client) or postil.holds(root_of(client), path)
  end
  -- A path of another root is none of a server's, but all of a root below the path is.
  clients = vim.tbl_filter(function(client)
    return holds(client) or postil.holds(path, root_of(client))
  end, clients)
  if #clients == 0 then
    local folder = vim.fn.isdirectory(path) == 1 and path or vim.fs.dirname(path)
    return postil.say(("no server works in %s; open a file there"):format(folder), vim.log.levels.WARN)
  end
  left = #clients
  local function finish()
    left = left - 1
    if left == 0 and (#found > 0 or not failed) then
      done(found)
    end
  end
  for _, client in ipairs(clients) do
    asks.verb(client, "listThreads", { path = holds(client) and path or nil }, function(list)
      for _, thread in ipairs(list.threads) do
        if thread.start_line then
          local file = thread.file
          file = postil.is_absolute(file) and file or vim.fs.joinpath(root_of(client) or ".", file)
          -- Of a repository within another both servers know.
          if asks.speaks(client, file) then
            table.insert(found, { client = client, thread = thread, file = file })
          end
        end
      end
      finish()
    end, function()
      failed = true
      finish()
    end)
  end
end

-- Below the current folder by its short name, as all else is shown.
local function short(file)
  return vim.fn.fnamemodify(file, ":.")
end

local function go_to(found)
  vim.cmd.edit(vim.fn.fnameescape(short(found.file)))
  vim.api.nvim_win_set_cursor(0, { math.min(found.thread.start_line, vim.api.nvim_buf_line_count(0)), 0 })
end

-- Has one of the runs chosen.
-- The server of this window, or of the folder where it has none.
local function of_folder(call)
  local client, why = call.client, nil
  if not client then
    client, why = asks.of_folder()
  end
  if not client then
    postil.say(why, vim.log.levels.ERROR)
  end
  return client
end

local function pick_run(client, prompt, done)
  asks.verb(client, "workflowList", { limit = 1000 }, function(runs)
    if #runs == 0 then
      return postil.say("no agent has worked here yet")
    end
    vim.ui.select(runs, {
      prompt = prompt,
      format_item = function(run)
        return ("%s %s %s: %d rounds, %d tokens, $%.4f"):format(
          run.started,
          run.status,
          run.file,
          run.rounds,
          run.tokens,
          run.cost
        )
      end,
    }, function(run)
      if run then
        done(run)
      end
    end)
  end)
end

-- `null` comes as either of two, by Neovim's version.
local function given(value)
  return value ~= vim.NIL and value or nil
end

-- Who answers from now on. `vim.NIL`: whoever is found.
local function select_model(client, model)
  asks.verb(client, "selectModel", { model = model }, function(done)
    local who = given(model) or given(done.answers.model) or "nobody"
    local note = given(done.note)
    postil.say(("%s answers from now on%s"):format(who, note and "; but " .. note or ""))
  end)
end

local function pick_model(client)
  asks.verb(client, "models", {}, function(found)
    local now = found.answers
    local offers = vim.list_extend(found.models, { { model = vim.NIL, about = "whoever is found" } })
    vim.ui.select(offers, {
      prompt = given(now.model) and now.model .. " answers. Who shall?" or "Nobody can be asked: " .. now.why,
      kind = "postil.model",
      format_item = function(offer)
        if offer.model == vim.NIL then
          return offer.about
        end
        return ("%s (%s)"):format(offer.model, offer.about)
      end,
    }, function(offer)
      if offer then
        select_model(client, offer.model)
      end
    end)
  end)
end

-- More turns than this are asked about first: each may cost money.
local MANY = 5

local function counted(count, one_of_it, many_of_it)
  return count == 1 and "1 " .. one_of_it or ("%d %s"):format(count, many_of_it)
end

-- Every thread that waits for an agent, in the whole workspace.
local function reply_all(call)
  local function start()
    asks.verb(call.client, "replyAll", {}, function(answer)
      local refused = answer.refused or {}
      if #answer.runs > 0 or #refused > 0 then
        local said = counted(#answer.runs, "turn", "turns") .. " started"
        if #refused > 0 then
          said = ("%s, %s refused: %s"):format(said, counted(#refused, "thread", "threads"), refused[1].error)
        end
        postil.say(said, #refused > 0 and vim.log.levels.WARN or nil)
      end
    end)
  end
  asks.verb(call.client, "listThreads", {}, function(list)
    local pending = vim.tbl_filter(is_pending, list.threads)
    if #pending == 0 then
      return postil.say("no thread waits for an answer")
    end
    local question = ("Start %d turns, one for each thread that waits?"):format(#pending)
    if #pending <= MANY or vim.fn.confirm("postil: " .. question, "&Yes\n&No", 2) == 1 then
      start()
    end
  end)
end

-- The parameters of a request for the code actions of whole lines, 1-based.
local function actions_at(buffer, first, last)
  return {
    textDocument = { uri = asks.uri(buffer) },
    range = { start = { line = first - 1, character = 0 }, ["end"] = { line = last - 1, character = 0 } },
    context = { diagnostics = {} },
  }
end

-- What a code action chooses, as the arguments of the verb; nil: it does something else.
local function choice(client, action)
  local command = type(action.command) == "table" and action.command or action
  if command.command == asks.prefix(client) .. "choose" then
    return vim.tbl_get(command, "arguments", 1)
  end
  return nil
end

-- Has one of the choices of a thread's question taken.
local function pick_choice(call, thread)
  local params = actions_at(call.buffer, thread.start_line, thread.start_line)
  asks.ask(call.client, "textDocument/codeAction", params, function(actions)
    local found = {}
    for _, action in ipairs(actions or {}) do
      local argument = choice(call.client, action)
      if argument and argument.thread_id == thread.id then
        table.insert(found, { title = action.title, argument = argument })
      end
    end
    if #found == 0 then
      return postil.say(("no question with choices on line %d"):format(call.first), vim.log.levels.WARN)
    end
    vim.ui.select(found, {
      prompt = "Answer",
      format_item = function(offered)
        return offered.title
      end,
    }, function(offered)
      if offered then
        asks.verb(call.client, "choose", offered.argument)
      end
    end)
  end)
end

-- `about`: what completes it; `free`: works without a server for this buffer; `elsewhere`: about the turns that run, so
-- that a terminal's window or that of a list will do.
M.all = {
  reply = {
    about = "thread",
    run = function(call)
      if call.bang then
        return reply_all(call)
      end
      each(call, "replyAsAgent", is_pending)
    end,
  },
  plan = {
    about = "thread",
    run = function(call)
      each(call, "plan", is_pending)
    end,
  },
  say = {
    run = function(call)
      local text = call.text
      call.text = ""
      one(call, function(thread)
        call.text = text
        text_for(call, "say", "Say in this thread", "reply", function()
          return thread
        end)
      end)
    end,
  },
  new = {
    run = function(call)
      local line = math.max(call.first, 1) - 1
      local argument = { uri = asks.uri(call.buffer), position = { line = line, character = 0 } }
      if call.text == "" and not call.bang then
        -- The cursor is put behind the marker by the server.
        return asks.verb(call.client, "newThread", argument, startinsert)
      end
      -- The line may move while the text is written.
      local mark = vim.api.nvim_buf_set_extmark(call.buffer, places, line, 0, {})
      text_for(call, "new", "New thread above line " .. call.first, "newThread", function()
        local loaded = vim.api.nvim_buf_is_loaded(call.buffer)
        local place = loaded and vim.api.nvim_buf_get_extmark_by_id(call.buffer, places, mark, {})[1]
        argument.position.line = place or line
        return argument
      end)
    end,
  },
  resolve = {
    about = "thread",
    run = function(call)
      meant(call, function(threads)
        if #threads == 1 or ask_first(call, ("Remove %d threads?"):format(#threads)) then
          -- From the end: threads with the same first words are numbered from the beginning.
          in_turn(call, "dismissThread", vim.iter(threads):rev():totable())
        end
      end)
    end,
  },
  -- A question of the agent's with choices, answered by one of them.
  choose = {
    run = function(call)
      if call.text == "" then
        return asks.threads_at(call.client, call.buffer, call.first, call.last, function(threads)
          if threads[1] then
            return pick_choice(call, threads[1])
          end
          postil.say(("no question with choices on line %d"):format(call.first), vim.log.levels.WARN)
        end)
      end
      local text = call.text
      call.text = ""
      one(call, function(thread)
        asks.verb(call.client, "choose", vim.tbl_extend("force", thread, { text = text }))
      end)
    end,
  },
  continue = {
    about = "run",
    run = function(call)
      each(call, "continue")
    end,
  },
  threads = {
    about = "file",
    free = true,
    run = function(call)
      local path = call.text ~= "" and postil.whole(call.text) or nil
      all_threads(path, function(found)
        local items = vim.tbl_map(function(each_found)
          return {
            filename = each_found.file,
            lnum = each_found.thread.start_line,
            text = asks.title(each_found.thread),
            type = each_found.thread.status == "pending" and "I" or "N",
          }
        end, found)
        vim.fn.setqflist({}, " ", { title = ":Postil threads", items = items })
        if #items == 0 then
          vim.cmd.cclose()
          postil.say("no threads")
        elseif not call.bang then
          vim.cmd.copen({ mods = call.smods })
        end
      end)
    end,
  },
  pick = {
    free = true,
    run = function()
      all_threads(nil, function(found)
        if #found == 0 then
          return postil.say("no threads")
        end
        vim.ui.select(found, {
          prompt = "Threads",
          kind = "postil.thread",
          format_item = function(item)
            return ("%s:%d %s"):format(short(item.file), item.thread.start_line, asks.title(item.thread))
          end,
        }, function(chosen)
          if chosen then
            go_to(chosen)
          end
        end)
      end)
    end,
  },
  open = {
    about = "run",
    run = function(call)
      if call.text == "" and vim.startswith(vim.api.nvim_buf_get_name(call.buffer), "postil://run/") then
        return -- it is this one
      end
      one(call, function(thread)
        local id = { thread_id = thread.thread_id, run_id = thread.run_id }
        require("postil.conversation").open(call.client, id, call.smods)
      end)
    end,
  },
  review = {
    about = "run",
    elsewhere = true,
    run = function(call)
      -- What an agent waits for comes before what one has made.
      if call.text == "" and require("postil.proposed").open(call.client, call.run) then
        return
      end
      if not call.client or call.text == "" and call.elsewhere then
        return postil.say(call.elsewhere, vim.log.levels.ERROR)
      end
      one(call, function(thread)
        require("postil.review").open(call.client, { thread_id = thread.thread_id, run_id = thread.run_id })
      end)
    end,
  },
  accept = {
    anywhere = true,
    elsewhere = true,
    run = function(call)
      require("postil.proposed").decide(call.client, call.buffer, true, call.bang)
    end,
  },
  reject = {
    anywhere = true,
    elsewhere = true,
    run = function(call)
      require("postil.proposed").decide(call.client, call.buffer, false, call.bang)
    end,
  },
  runs = {
    free = true,
    run = function(call)
      local client = of_folder(call)
      if not client then
        return
      end
      pick_run(client, "Runs", function(run)
        require("postil.conversation").open(client, { run_id = run.id }, call.smods)
      end)
    end,
  },
  model = {
    about = "model",
    free = true,
    run = function(call)
      local client = of_folder(call)
      if client and call.text ~= "" then
        select_model(client, call.text)
      elseif client then
        pick_model(client)
      end
    end,
  },
  cancel = {
    about = "run",
    elsewhere = true,
    run = function(call)
      local running = require("postil.show").running()
      local function cancel(turn)
        asks.verb(turn.client, "cancelTurn", { run_id = turn.run })
      end
      local function choose()
        vim.ui.select(running, {
          prompt = "Cancel which turn?",
          format_item = function(turn)
            return turn.title or turn.run
          end,
        }, function(turn)
          if turn then
            cancel(turn)
          end
        end)
      end
      if call.text ~= "" and not call.client then
        postil.say(call.elsewhere, vim.log.levels.ERROR)
      elseif call.text ~= "" then
        asks.verb(call.client, "cancelTurn", { thread_id = call.text })
      elseif call.run and not call.bang then
        for _, turn in ipairs(running) do
          if turn.run == call.run then
            return cancel(turn)
          end
        end
        postil.say("no turn of this run is at work")
      elseif #running == 0 then
        postil.say("no turn runs")
      elseif call.bang or #running == 1 then
        vim.tbl_map(cancel, running)
      elseif call.elsewhere then
        choose()
      else
        asks.threads_at(call.client, call.buffer, call.first, call.last, function(threads)
          if #threads == 1 then
            return asks.verb(call.client, "cancelTurn", { thread_id = threads[1].id, uri = asks.uri(call.buffer) })
          end
          choose()
        end)
      end
    end,
  },
  undo = {
    about = "run",
    run = function(call)
      one(call, function(thread)
        -- In the window of a review the turn that it shows.
        thread.turn = thread.run_id and vim.b[call.buffer].postil_turn
        asks.verb(call.client, "undoTurn", thread)
      end)
    end,
  },
  clear = {
    run = function(call)
      local file = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(call.buffer), ":t")
      if ask_first(call, "Remove the threads of " .. file .. " and commit it?") then
        local message = call.text ~= "" and call.text or nil
        asks.verb(call.client, "clearAndCommit", { uri = asks.uri(call.buffer), message = message })
      end
    end,
  },
  why = {
    run = function(call)
      local argument = { uri = asks.uri(call.buffer), position = { line = call.first - 1, character = 0 } }
      asks.verb(call.client, "why", argument, function(answer)
        local lines = vim.split(answer.markdown, "\n")
        vim.lsp.util.open_floating_preview(lines, "markdown", { border = "rounded", focus_id = "postil" })
      end)
    end,
  },
  trust = {
    run = function(call)
      local root = call.client.root_dir or call.client.config.root_dir or "this folder"
      if ask_first(call, ("Let agents read, change and run what is in %s?"):format(root)) then
        asks.verb(call.client, "trust", { uri = asks.uri(call.buffer) }, function(answer)
          postil.say(answer.folder .. " is trusted")
        end)
      end
    end,
  },
  restart = {
    free = true,
    of_file = true,
    run = function(call)
      -- One that hangs while it starts, too.
      local client = vim.lsp.get_clients({ bufnr = call.buffer, name = "postil", _uninitialized = true })[1]
      local buffers = client and vim.tbl_keys(client.attached_buffers) or { call.buffer }
      local function start()
        local why
        for _, buffer in ipairs(buffers) do
          if vim.api.nvim_buf_is_loaded(buffer) then
            why = postil.start(buffer, true) or why
          end
        end
        postil.say(why or "started", why and vim.log.levels.ERROR or nil)
        for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
          postil.begin(buffer)
        end
      end
      if not client then
        return start()
      end
      -- First those whose own root it is: what lies in a repository within joins the server that runs there.
      local config, root = postil.config(), client.config.root_dir
      table.sort(buffers, function(before, after)
        return postil.own_root(before, config) == root and postil.own_root(after, config) ~= root
      end)
      asks.stop(client)
      local id, tries = client.id, 0
      local function wait()
        tries = tries + 1
        if not vim.lsp.get_client_by_id(id) then
          return start()
        end
        if tries == 50 then
          asks.stop(client, true)
        end
        vim.defer_fn(wait, 50)
      end
      wait()
    end,
  },
  health = {
    free = true,
    run = function()
      vim.cmd.checkhealth("postil")
    end,
  },
}

-- Sub-commands whose name is not that of their verb.
local verbs_of_ours = {
  "replyAsAgent",
  "replyAll",
  "reply",
  "newThread",
  "dismissThread",
  "clearAndCommit",
  "cancelTurn",
  "undoTurn",
  "openConversation",
  "turnChanges",
  "listThreads",
  "workflowThread",
  "workflowList",
  "workflowSearch",
  "workflowRounds",
  "editMessage",
  "models",
  "selectModel",
}

-- What these do is about the file.
local verbs_of_files = {
  processActions = function(done)
    for _, each_done in ipairs(done) do
      postil.say(("%s: %s"):format(each_done.file, each_done.commit_hash and "committed" or "thread removed"))
    end
  end,
}

-- What the server offers beyond this list is reached by its own name: about the thread, with no text.
local function others(client)
  return vim.tbl_filter(function(verb)
    return not M.all[verb] and not vim.list_contains(verbs_of_ours, verb)
  end, asks.verbs(client))
end

function M.run(options)
  local name, text = options.args:match("^(%S+)%s*(.-)%s*$")
  name, text = name or "threads", text or ""
  local buffer = vim.api.nvim_get_current_buf()
  local command = M.all[name]
  local client, why = asks.of(buffer)
  if not client and not (command and command.free) then
    client, why = asks.begun(buffer)
  end
  if not command and client and vim.list_contains(others(client), name) then
    local tell = verbs_of_files[name]
    command = {
      about = not tell and "thread" or nil,
      run = function(call)
        if tell then
          asks.verb(call.client, name, { uri = asks.uri(call.buffer) }, tell)
        else
          each(call, name)
        end
      end,
    }
  end
  if not command then
    local known = vim.tbl_keys(M.all)
    table.sort(known)
    return postil.say(("there is no `:Postil %s`; there is: %s"):format(name, table.concat(known, ", ")), vim.log.levels.ERROR)
  end
  local elsewhere = not client and command.elsewhere and why or nil
  if elsewhere then
    local all = asks.all()
    client = #all == 1 and all[1] or nil
  elseif not client and not command.free then
    return postil.say(why, vim.log.levels.ERROR)
  end
  local run = vim.b[buffer].postil_run
  local here = command.anywhere or command.free and not command.of_file
  here = here or command.about == "run" or command.about == "thread" and (text ~= "" or options.bang)
  if run and not here then
    return postil.say(
      ("`:Postil %s` is about a file or a thread in it, and this window shows a run: do it in the file"):format(name),
      vim.log.levels.WARN
    )
  end
  command.run({
    client = client,
    elsewhere = elsewhere,
    run = run,
    buffer = buffer,
    text = text,
    bang = options.bang,
    ranged = options.range > 0,
    first = options.range > 0 and options.line1 or vim.api.nvim_win_get_cursor(0)[1],
    last = options.range > 0 and options.line2 or vim.api.nvim_win_get_cursor(0)[1],
    smods = options.smods,
  })
end

-- Ids of threads are in the diagnostics, so that completion asks nobody.
local function thread_ids()
  local ids = {}
  for _, diagnostic in ipairs(vim.diagnostic.get()) do
    local id = diagnostic.source == "postil" and vim.tbl_get(diagnostic, "user_data", "lsp", "data", "thread_id")
    if id then
      ids[id] = true
    end
  end
  return vim.tbl_keys(ids)
end

-- What a question on the cursor's line, or above it, lets one choose.
local function choices(client, buffer)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local params = actions_at(buffer, math.max(line - 1, 1), line)
  local found = {}
  for _, action in ipairs(asks.now(client, "textDocument/codeAction", params, 500) or {}) do
    local argument = choice(client, action)
    if argument then
      table.insert(found, argument.text)
    end
  end
  return found
end

local function run_ids(client)
  local runs = asks.verb_now(client, "workflowList", { limit = 50 }, 500) or {}
  return vim.tbl_map(function(run)
    return run.id
  end, runs)
end

function M.complete(lead, line, position)
  local before = line:sub(1, position)
  -- Abbreviated too.
  local name = before:match("%f[%a]Post?i?l?!?%s+(%S+)%s")
  local client = asks.of(vim.api.nvim_get_current_buf())
  local found
  if not name then
    found = vim.tbl_keys(M.all)
    vim.list_extend(found, client and others(client) or {})
  else
    local about = M.all[name] and M.all[name].about
    if about == "file" then
      return vim.fn.getcompletion(lead, "file")
    end
    found = about and about ~= "model" and thread_ids() or {}
    if about == "model" and client then
      found = vim.tbl_map(function(offer)
        return offer.model
      end, vim.tbl_get(asks.verb_now(client, "models", {}, 500) or {}, "models") or {})
    end
    if name == "choose" and client then
      found = choices(client, vim.api.nvim_get_current_buf())
    end
    if about == "run" and client then
      vim.list_extend(found, run_ids(client))
    end
  end
  table.sort(found)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, found)
end

return M
