-- Lists that the author picks from: threads, runs, models, the choices of a question, what the server asks.

local postil = require("postil")
local asks = require("postil.client")

local M = {}

-- Every thread of all servers, or of a file or folder, as { client, thread, file }. Where there is none because a
-- server failed, which is said, `done` does not come.
function M.all_threads(path, done)
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
function M.short(file)
  return vim.fn.fnamemodify(file, ":.")
end

function M.go_to(found)
  local buffer = vim.fn.bufadd(M.short(found.file))
  vim.cmd("normal! m'")
  -- Not `:edit`, which refuses the file one is in as soon as something is typed.
  if buffer ~= vim.api.nvim_get_current_buf() then
    if not require("postil.conversation").opens(buffer, { cmd = "buffer", args = { buffer } }) then
      return
    end
    vim.bo.buflisted = true
  end
  vim.api.nvim_win_set_cursor(0, { math.min(found.thread.start_line, vim.api.nvim_buf_line_count(0)), 0 })
  vim.cmd("normal! zv")
end

-- `null` comes as either of two, by Neovim's version.
local function given(value)
  return value ~= vim.NIL and value or nil
end

-- Has one of the runs chosen.
function M.run(client, prompt, done)
  asks.verb(client, "workflowList", { limit = 1000 }, function(runs)
    if #runs == 0 then
      return postil.say("no agent has worked here yet")
    end
    vim.ui.select(runs, {
      prompt = prompt,
      format_item = function(run)
        return ("%s %s %s: %s (%d rounds, %d tokens, $%.4f)"):format(
          run.started,
          run.status,
          run.file,
          -- Kept by an older one, or not at all.
          given(run.question) or "?",
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

-- Who answers from now on. `vim.NIL`: whoever is found.
function M.select_model(client, model)
  asks.verb(client, "selectModel", { model = model }, function(done)
    local who = given(model) or given(done.answers.model) or "nobody"
    local note = given(done.note)
    postil.say(("%s answers from now on%s"):format(who, note and "; but " .. note or ""))
  end)
end

function M.model(client)
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
        M.select_model(client, offer.model)
      end
    end)
  end)
end

-- Milliseconds without a key after which nobody types.
local REST = 400

-- What is asked and not answered yet: whom to tell that nobody waits any more, by client and the server's number.
local asked = {}

-- The handler of $/cancelRequest: the turn that asked is over.
function M.withdrawn(_, params, ctx)
  local withdraw = vim.tbl_get(asked, ctx.client_id, params.id)
  if withdraw then
    withdraw()
  end
end

-- The handler of window/showMessageRequest. A list that came while one types would take what is typed for the answer,
-- and a question is whether a folder is trusted, or a command may run: it waits.
function M.asked(_, params, ctx)
  local thread = coroutine.running()
  local keys, typed, told = vim.api.nvim_create_namespace(""), vim.uv.hrtime(), false
  local withdrawn = false
  local others = asked[ctx.client_id] or {}
  asked[ctx.client_id] = others
  -- An older server gives no number.
  local id = params.id or {}
  others[id] = function()
    withdrawn = true
  end
  vim.on_key(function()
    typed = vim.uv.hrtime()
  end, keys)
  local function answer(action)
    -- Neovim's own list lets nothing in while it is open: what came then comes first.
    vim.schedule(function()
      others[id] = nil
      if withdrawn and action then
        local late = ("“%s” changes nothing: nobody waits for an answer any more"):format(action.title)
        postil.say(late, vim.log.levels.WARN)
      end
      coroutine.resume(thread, action or vim.NIL)
    end)
  end
  local function ask()
    local rests = (vim.uv.hrtime() - typed) / 1e6 >= REST
    if withdrawn or not vim.lsp.get_client_by_id(ctx.client_id) then
      vim.on_key(nil, keys)
      answer()
    elseif rests and postil.may_interrupt() then
      vim.on_key(nil, keys)
      local shown, why = pcall(vim.ui.select, params.actions or {}, {
        prompt = params.message,
        kind = "lsp_message",
        format_item = function(action)
          return (action.title:gsub("\r?\n", "\\n"))
        end,
      }, answer)
      if not shown then
        -- CTRL-C at Neovim's own list is an error too. Without an answer the turn would wait for ever.
        answer()
        if not tostring(why):find("Keyboard interrupt", 1, true) then
          postil.say(("%s This cannot be asked: %s"):format(params.message, why), vim.log.levels.ERROR)
        end
      end
    else
      if not told and not postil.may_interrupt() then
        told = true
        local until_then = vim.fn.reg_recording() ~= "" and "the macro is recorded" or "you are back in Normal mode"
        postil.say(("%s You are asked when %s."):format(params.message, until_then), vim.log.levels.WARN)
      end
      vim.defer_fn(ask, 100)
    end
  end
  vim.schedule(ask)
  return coroutine.yield()
end

-- The parameters of a request for the code actions of whole lines, 1-based.
function M.actions_at(buffer, first, last)
  return {
    textDocument = { uri = asks.uri(buffer) },
    range = { start = { line = first - 1, character = 0 }, ["end"] = { line = last - 1, character = 0 } },
    context = { diagnostics = {} },
  }
end

-- What a code action chooses, as the arguments of the verb; nil: it does something else.
function M.chosen(client, action)
  local command = type(action.command) == "table" and action.command or action
  if command.command == asks.prefix(client) .. "choose" then
    return vim.tbl_get(command, "arguments", 1)
  end
  return nil
end

-- Has one of the choices of a thread's question taken.
function M.choice(call, thread)
  local params = M.actions_at(call.buffer, thread.start_line, thread.start_line)
  asks.ask(call.client, "textDocument/codeAction", params, function(actions)
    local found = {}
    for _, action in ipairs(actions or {}) do
      local argument = M.chosen(call.client, action)
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

return M
