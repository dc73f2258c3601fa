-- :Postil and its sub-commands. Without an id each is about the thread below the cursor, or about those in the range.

local postil = require("postil")
local asks = require("postil.client")

local M = {}

---@class postil.Call
---@field client vim.lsp.Client
---@field buffer integer
---@field text string what stands behind the sub-command
---@field bang boolean
---@field ranged boolean
---@field first integer
---@field last integer
---@field smods table

-- Hands `done` the threads that are meant, as arguments of verbs; at least one.
local function meant(call, done, wanted)
  if call.text ~= "" then
    return done({ { thread_id = call.text } })
  end
  asks.threads_at(call.client, call.buffer, call.first, call.last, function(threads)
    if call.ranged and wanted then
      threads = vim.tbl_filter(wanted, threads)
    end
    if #threads == 0 then
      local where = call.first == call.last and ("on line " .. call.first)
        or ("in lines %d to %d"):format(call.first, call.last)
      return postil.say(("no thread %s; `:Postil threads` lists all"):format(where), vim.log.levels.WARN)
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

-- A text to be written in a window of its own: `:wq` sends it. It is gone only when it was sent, or by `:q!`.
local function compose(name, hint, text, send)
  vim.cmd.split({ mods = { split = "botright" } })
  vim.api.nvim_win_set_height(0, 8)
  local buffer = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_win_set_buf(0, buffer)
  -- Names are unique, and a text that was refused may still stand under the first.
  vim.api.nvim_buf_set_name(buffer, ("postil://%s/%d"):format(name, buffer))
  local bo = vim.bo[buffer]
  bo.buftype, bo.bufhidden, bo.swapfile, bo.filetype = "acwrite", "wipe", false, "markdown"
  vim.wo.winbar = hint:gsub("%%", "%%%%")
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, "\n"))
  bo.modified = false
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buffer,
    callback = function()
      local said = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"))
      if said == "" then
        return postil.say("there is nothing to say yet; `:q!` closes", vim.log.levels.WARN)
      end
      local answer, why = send(said)
      if answer then
        vim.bo[buffer].modified = false
      else
        -- Still modified: `:wq` does not close, and nothing is lost.
        postil.say(why .. "; the text is kept here", vim.log.levels.ERROR)
      end
    end,
  })
end

-- Asks for a text: one line in Neovim's own input, or with a bang in a window. One that is refused is kept.
local function text_for(call, name, prompt, verb, argument)
  local function window(text)
    compose(name, prompt .. " (:wq sends, :q! drops)", text, function(said)
      return asks.verb_now(call.client, verb, vim.tbl_extend("force", argument, { text = said }))
    end)
  end
  local function send(said)
    asks.verb(call.client, verb, vim.tbl_extend("force", argument, { text = said }), nil, function()
      window(said)
      vim.bo.modified = true
    end)
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

-- Every thread of all servers, as { client, thread }.
local function all_threads(path, done)
  local clients, found, left = asks.all(), {}, 0
  if #clients == 0 then
    return postil.say("no server runs; it is started with the first file that is opened", vim.log.levels.WARN)
  end
  left = #clients
  local function finish()
    left = left - 1
    if left == 0 then
      done(found)
    end
  end
  for _, client in ipairs(clients) do
    local root = client.root_dir or client.config.root_dir
    -- A path of another root is none of this server's.
    if path and root and not vim.startswith(path .. "/", root .. "/") then
      finish()
    else
      asks.verb(client, "listThreads", { path = path }, function(list)
        for _, thread in ipairs(list.threads) do
          if thread.start_line then
            local file = vim.startswith(thread.file, "/") and thread.file or vim.fs.joinpath(root or ".", thread.file)
            table.insert(found, { client = client, thread = thread, file = file })
          end
        end
        finish()
      end, finish)
    end
  end
end

local function go_to(found)
  -- Below the current folder by its short name, as all else is shown.
  vim.cmd.edit(vim.fn.fnameescape(vim.fn.fnamemodify(found.file, ":.")))
  vim.api.nvim_win_set_cursor(0, { math.min(found.thread.start_line, vim.api.nvim_buf_line_count(0)), 0 })
end

-- Has one of the runs chosen, of `file` alone where one is given.
local function pick_run(client, file, prompt, done)
  asks.verb(client, "workflowList", { limit = 1000 }, function(runs)
    if file then
      runs = vim.tbl_filter(function(run)
        return run.file == file
      end, runs)
    end
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

-- The file of a buffer as the server names it.
local function relative(client, buffer)
  local root = client.root_dir or client.config.root_dir or ""
  local name = vim.api.nvim_buf_get_name(buffer)
  return vim.startswith(name, root .. "/") and name:sub(#root + 2) or name
end

-- `about`: what completes it; `free`: works without a server for this buffer.
M.all = {
  reply = {
    about = "thread",
    run = function(call)
      if call.bang then
        return asks.verb(call.client, "replyAll", {}, function(answer)
          postil.say(("%d turns started"):format(#answer.runs))
        end)
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
        text_for(call, "say", "Say in this thread", "reply", thread)
      end)
    end,
  },
  new = {
    run = function(call)
      local argument = { uri = asks.uri(call.buffer), position = { line = call.first - 1, character = 0 } }
      if call.text == "" and not call.bang then
        -- The cursor is put behind the marker by the server.
        return asks.verb(call.client, "newThread", argument, startinsert)
      end
      text_for(call, "new", "New thread above line " .. call.first, "newThread", argument)
    end,
  },
  resolve = {
    about = "thread",
    run = function(call)
      meant(call, function(threads)
        if #threads == 1 or ask_first(call, ("Remove %d threads?"):format(#threads)) then
          in_turn(call, "dismissThread", threads)
        end
      end)
    end,
  },
  -- A question of the agent's with choices, answered by one of them.
  choose = {
    run = function(call)
      if call.text == "" then
        local wanted = asks.prefix(call.client) .. "choose"
        return vim.lsp.buf.code_action({
          filter = function(action)
            local command = type(action.command) == "table" and action.command.command or action.command
            return command == wanted
          end,
        })
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
      local path = call.text ~= "" and vim.fn.fnamemodify(vim.fn.expand(call.text), ":p"):gsub("/$", "") or nil
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
            return ("%s:%d %s"):format(item.thread.file, item.thread.start_line, asks.title(item.thread))
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
      one(call, function(thread)
        require("postil.conversation").open(call.client, { thread_id = thread.thread_id }, call.smods)
      end)
    end,
  },
  review = {
    about = "run",
    run = function(call)
      one(call, function(thread)
        require("postil.review").open(call.client, { thread_id = thread.thread_id })
      end)
    end,
  },
  runs = {
    run = function(call)
      pick_run(call.client, nil, "Runs", function(run)
        require("postil.conversation").open(call.client, { run_id = run.id }, call.smods)
      end)
    end,
  },
  cancel = {
    about = "run",
    run = function(call)
      local running = require("postil.show").running()
      local function cancel(turn)
        asks.verb(turn.client, "cancelTurn", { run_id = turn.run })
      end
      if call.text ~= "" then
        asks.verb(call.client, "cancelTurn", { thread_id = call.text })
      elseif #running == 0 then
        postil.say("no turn runs")
      elseif call.bang or #running == 1 then
        vim.tbl_map(cancel, running)
      else
        asks.threads_at(call.client, call.buffer, call.first, call.last, function(threads)
          if #threads == 1 then
            return asks.verb(call.client, "cancelTurn", { thread_id = threads[1].id, uri = asks.uri(call.buffer) })
          end
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
        end)
      end
    end,
  },
  undo = {
    about = "run",
    run = function(call)
      one(call, function(thread)
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
    run = function(call)
      local client = vim.lsp.get_clients({ bufnr = call.buffer, name = "postil" })[1]
      local function start()
        local why = postil.start(call.buffer, true)
        postil.say(why or "started", why and vim.log.levels.ERROR or nil)
        for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
          postil.begin(buffer)
        end
      end
      if not client then
        return start()
      end
      vim.lsp.stop_client(client.id)
      local id, tries = client.id, 0
      local function wait()
        tries = tries + 1
        if not vim.lsp.get_client_by_id(id) then
          return start()
        end
        if tries == 50 then
          vim.lsp.stop_client(id, true)
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
  local client, why = asks.of(buffer)
  local command = M.all[name]
  if not command and client and vim.list_contains(others(client), name) then
    command = {
      about = "thread",
      run = function(call)
        each(call, name)
      end,
    }
  end
  if not command then
    local known = vim.tbl_keys(M.all)
    table.sort(known)
    return postil.say(("there is no `:Postil %s`; there is: %s"):format(name, table.concat(known, ", ")), vim.log.levels.ERROR)
  end
  if not client and not command.free then
    return postil.say(why, vim.log.levels.ERROR)
  end
  command.run({
    client = client,
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

local function run_ids(client)
  local runs = asks.verb_now(client, "workflowList", { limit = 50 }, 500) or {}
  return vim.tbl_map(function(run)
    return run.id
  end, runs)
end

function M.complete(lead, line, position)
  local before = line:sub(1, position)
  local name = before:match("Postil!?%s+(%S+)%s")
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
    found = about and thread_ids() or {}
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
