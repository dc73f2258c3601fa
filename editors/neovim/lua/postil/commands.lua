-- :Postil and its sub-commands. Without an id each is about the thread below the cursor, or about those in the range.

local postil = require("postil")
local asks = require("postil.client")
local compose = require("postil.compose")
local pick = require("postil.pick")

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
---@field of_thread boolean? it is about that run's thread
---@field first integer
---@field last integer
---@field smods table

local NO_THREAD = "no thread %s; `:Postil threads` lists all"

-- Of a run that is asked for so, the run alone is wanted: no round has this number.
local function of_run(call)
  return { run_id = call.run, after = 2 ^ 31 }
end

local function thread_of(answer)
  return { thread_id = answer.run.thread_id, uri = answer.run.uri }
end

-- Hands `done` the threads that are meant, as arguments of verbs; at least one. Where there is none, or nobody could
-- tell, that is said, and then `failed` is called.
local function meant(call, done, wanted, failed)
  if call.text ~= "" then
    return done({ { thread_id = call.text } })
  elseif call.run and call.of_thread then
    return asks.verb(call.client, "workflowRounds", of_run(call), function(answer)
      done({ thread_of(answer) })
    end, failed)
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
      local what = there > 0 and "no thread %s waits for an answer" or NO_THREAD
      postil.say(what:format(where), vim.log.levels.WARN)
      return failed and failed()
    end
    done(vim.tbl_map(function(thread)
      return { thread_id = thread.id, uri = asks.uri(call.buffer) }
    end, threads))
  end, failed)
end

-- Marks the lines that a command was given for; where they are by then, as `first` and `last`, both 1-based, or nil where
-- they are all gone. They move with what is changed above them.
local function marked(call)
  local buffer, first, last = call.buffer, math.max(call.first, 1), math.max(call.last, 1)
  local ends = vim.api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or ""
  local mark = vim.api.nvim_buf_set_extmark(buffer, places, first - 1, 0, {
    end_row = last - 1,
    end_col = #ends,
    invalidate = true,
  })
  return function()
    if not vim.api.nvim_buf_is_loaded(buffer) then
      return first, last
    end
    local at = vim.api.nvim_buf_get_extmark_by_id(buffer, places, mark, { details = true })
    if not at[1] then
      return first, last
    elseif not at[3].invalid then
      return at[1] + 1, at[3].end_row + 1
    end
  end
end

-- One after the other: each changes the text that the next is about. The first that fails ends it, and `done` is called
-- at the end. Threads that are removed so are one undo step, unless something else is changed in between.
local function in_turn(call, verb, threads, done, at)
  at = at or 1
  if vim.api.nvim_buf_is_valid(call.buffer) then
    vim.b[call.buffer].postil_joins = verb == "dismissThread" and threads[at] and at > 1 or nil
  end
  if threads[at] then
    asks.verb(call.client, verb, threads[at], function()
      in_turn(call, verb, threads, done, at + 1)
    end, function()
      in_turn(call, verb, threads, done, #threads + 1)
    end)
  elseif done then
    done()
  end
end

local function each(call, verb)
  meant(call, function(threads)
    in_turn(call, verb, threads)
  end)
end

-- One of several; asked for only where there are several.
local function one(call, done, failed)
  meant(call, function(threads)
    done(threads[1])
  end, nil, failed)
end

local function is_pending(thread)
  return thread.status == "pending"
end

local function ask_first(call, question)
  return call.bang or vim.fn.confirm("postil: " .. question, "&Yes\n&No", 2) == 1
end

-- More turns than this are asked about first: each may cost money.
local MANY = 5

local function may_start(count)
  local question = ("Start %d turns, one for each thread that waits?"):format(count)
  return count <= MANY or vim.fn.confirm("postil: " .. question, "&Yes\n&No", 2) == 1
end

-- A turn for each thread that is meant.
local function start_turns(call, verb)
  meant(call, function(threads)
    if may_start(#threads) then
      in_turn(call, verb, threads)
    end
  end, is_pending)
end

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

local function counted(count, one_of_it, many_of_it)
  return count == 1 and "1 " .. one_of_it or ("%d %s"):format(count, many_of_it)
end

-- Every thread that waits for an agent, in the whole workspace or in a file. The server lets a few run at once.
local function reply_all(call, where)
  local function start()
    asks.verb(call.client, "replyAll", where, function(answer)
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
  asks.verb(call.client, "listThreads", where, function(list)
    local pending = vim.tbl_filter(is_pending, list.threads)
    if #pending == 0 then
      return postil.say("no thread waits for an answer")
    end
    if may_start(#pending) then
      start()
    end
  end)
end

-- The thread of the run that the window shows, or that stands at the place by now; nil and a sentence.
local function thread_at(client, call, now)
  if call.run then
    local answer, why = asks.verb_now(client, "workflowRounds", of_run(call))
    return answer and thread_of(answer), why
  end
  local first, last = now()
  if not first then
    return nil, "its line is gone"
  end
  local uri = asks.uri(call.buffer)
  local list, why = asks.verb_now(client, "listThreads", { uri = uri })
  if not list then
    return nil, why
  end
  local thread = asks.touching(list, first, last)[1]
  if not thread then
    return nil, NO_THREAD:format("on line " .. first)
  end
  return { thread_id = thread.id, uri = uri }
end

-- `about`: what completes it; `free`: works without a server for this buffer; `elsewhere`: about the turns that run, so
-- that a terminal's window or that of a list will do; `of_thread`: in a window that shows a run, about its thread;
-- `says`: what stands behind it is the author's text, which is kept where no server runs.
M.all = {
  reply = {
    about = "thread",
    of_thread = true,
    run = function(call)
      local is_file = call.ranged and call.last > call.first and call.text == "" and not call.run
      is_file = is_file and call.first == 1 and call.last == vim.api.nvim_buf_line_count(call.buffer)
      if call.bang or is_file then
        return reply_all(call, call.bang and {} or { uri = asks.uri(call.buffer) })
      end
      start_turns(call, "replyAsAgent")
    end,
  },
  plan = {
    about = "thread",
    of_thread = true,
    run = function(call)
      start_turns(call, "plan")
    end,
  },
  say = {
    of_thread = true,
    says = true,
    run = function(call)
      local text, now = call.text, marked(call)
      -- Which thread it is could not be told: the one that is there when the text is sent.
      local function keep()
        call.text = text
        if text ~= "" then
          compose.text_for(call, "say", "Say in this thread", "reply", function(client)
            return thread_at(client, call, now)
          end, true)
        end
      end
      if not call.client then
        return keep()
      end
      call.text = ""
      one(call, function(thread)
        call.text = text
        -- From the window of its run, too, it is the file that is written into.
        if call.run and thread.uri and vim.fn.bufloaded(vim.uri_to_fname(thread.uri)) == 1 then
          call.buffer = vim.uri_to_bufnr(thread.uri)
        end
        compose.text_for(call, "say", "Say in this thread", "reply", function()
          return thread
        end)
      end, keep)
    end,
  },
  new = {
    says = true,
    run = function(call)
      local line = math.max(call.first, 1) - 1
      -- The line may move while the text is written, or another thread is.
      local mark = vim.api.nvim_buf_set_extmark(call.buffer, places, line, 0, {})
      local uri = asks.uri(call.buffer)
      local function argument()
        local loaded = vim.api.nvim_buf_is_loaded(call.buffer)
        local place = loaded and vim.api.nvim_buf_get_extmark_by_id(call.buffer, places, mark, {})[1]
        -- It may have another name by now, or be gone.
        uri = loaded and asks.uri(call.buffer) or uri
        return { uri = uri, position = { line = place or line, character = 0 } }
      end
      if call.text ~= "" or call.bang then
        local prompt = "New thread above line " .. call.first
        return compose.text_for(call, "new", prompt, "newThread", argument, not call.client)
      end
      compose.in_order(call.buffer, function(go_on)
        asks.verb(call.client, "newThread", argument(), function()
          -- The cursor is put behind the marker by the server.
          compose.startinsert(require("postil.conversation").is_behind)
          go_on()
        end, go_on)
      end)
    end,
  },
  resolve = {
    about = "thread",
    of_thread = true,
    run = function(call)
      -- The one that is removed moves the others, and their numbers: which thread is meant is asked for when those before
      -- are removed.
      local now = marked(call)
      compose.in_order(call.buffer, function(go_on)
        call.first, call.last = now()
        if not call.first then
          -- Its lines went with a thread that is removed.
          return go_on()
        end
        meant(call, function(threads)
          if #threads == 1 or ask_first(call, ("Remove %d threads?"):format(#threads)) then
            -- From the end: threads with the same first words are numbered from the beginning.
            return in_turn(call, "dismissThread", vim.iter(threads):rev():totable(), go_on)
          end
          go_on()
        end, nil, go_on)
      end)
    end,
  },
  -- A question of the agent's with choices, answered by one of them.
  choose = {
    run = function(call)
      if call.text == "" then
        return asks.threads_at(call.client, call.buffer, call.first, call.last, function(threads)
          if threads[1] then
            return pick.choice(call, threads[1])
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
      pick.all_threads(path, function(found)
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
      pick.all_threads(nil, function(found)
        if #found == 0 then
          return postil.say("no threads")
        end
        vim.ui.select(found, {
          prompt = "Threads",
          kind = "postil.thread",
          format_item = function(item)
            return ("%s:%d %s"):format(pick.short(item.file), item.thread.start_line, asks.title(item.thread))
          end,
        }, function(chosen)
          if chosen then
            pick.go_to(chosen)
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
      pick.run(client, "Runs", function(run)
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
        pick.select_model(client, call.text)
      elseif client then
        pick.model(client)
      end
    end,
  },
  cancel = {
    about = "run",
    elsewhere = true,
    run = function(call)
      local running = require("postil.show").running()
      local function cancel(turn)
        -- Of all that run, one may end by itself before its word comes.
        asks.verb(turn.client, "cancelTurn", { run_id = turn.run }, nil, nil, call.bang)
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
        vim.lsp.util.open_floating_preview(lines, "markdown", { focus_id = "postil" })
      end)
    end,
  },
  trust = {
    run = function(call)
      local root = call.client.root_dir or call.client.config.root_dir or "this folder"
      if ask_first(call, ("Let agents read, change and run what is in %s?"):format(root)) then
        -- The server says what that means.
        asks.verb(call.client, "trust", { uri = asks.uri(call.buffer) })
      end
    end,
  },
  restart = {
    free = true,
    of_file = true,
    run = function(call)
      asks.restart(call.buffer)
    end,
  },
  health = {
    free = true,
    run = function()
      vim.cmd.checkhealth("postil")
    end,
  },
}

-- Verbs that a sub-command of another name reaches already.
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
function M.others(client)
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
  if not command and client and vim.list_contains(M.others(client), name) then
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
    postil.say(why, vim.log.levels.ERROR)
    if not command.says or text == "" then
      return
    end
  end
  local run = vim.b[buffer].postil_run
  local here = command.anywhere or command.free and not command.of_file
  here = here or command.of_thread or command.about == "run" or command.about == "thread" and (text ~= "" or options.bang)
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
    of_thread = command.of_thread,
    buffer = buffer,
    text = text,
    bang = options.bang,
    ranged = options.range > 0,
    first = options.range > 0 and options.line1 or vim.api.nvim_win_get_cursor(0)[1],
    last = options.range > 0 and options.line2 or vim.api.nvim_win_get_cursor(0)[1],
    smods = options.smods,
  })
end

function M.complete(...)
  return require("postil.complete").complete(M, ...)
end

return M
