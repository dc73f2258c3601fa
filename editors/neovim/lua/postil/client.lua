-- Asking the server, and saying so when it does not answer.

local postil = require("postil")
local long = require("postil.long")

local M = {}

local newer = vim.fn.has("nvim-0.11") == 1

-- A method of a client; Neovim 0.11 made them methods.
local function call(client, name, ...)
  if newer then
    return client[name](client, ...)
  end
  return client[name](...)
end

function M.stop(client, by_force)
  call(client, "stop", by_force)
end

local function problem(error)
  return error.message or vim.inspect(error)
end

-- Whether the server of a buffer is about to be started, or has not yet said what it can do.
function M.starting(buffer)
  local clients = vim.lsp.get_clients({ bufnr = buffer, name = "postil", _uninitialized = true })
  return vim.b[buffer].postil_begins or vim.b[buffer].postil_moves or vim.iter(clients):any(function(client)
    return not client.initialized
  end)
end

local STARTS = "its server is being started; try again in a moment"

-- The client of a buffer; nil and a sentence: there is none.
function M.of(buffer)
  local client = vim.lsp.get_clients({ bufnr = buffer, name = "postil" })[1]
  if client and vim.b[buffer].postil_renamed then
    -- Written already, as by `:saveas`: the servers hear of it in a moment.
    if M.starting(buffer) then
      return nil, STARTS
    end
    return nil, "this buffer has got another name; save it first (:write)"
  elseif client then
    return client
  end
  -- The server's own documents, as a conversation, belong to whom they came from.
  local from = vim.b[buffer].postil_client
  local function follows(other)
    return postil.left[from] ~= nil and other.config.root_dir == postil.left[from]
  end
  client = from and (vim.lsp.get_client_by_id(from) or vim.iter(M.all()):find(follows))
  if client then
    return client
  end
  local why = postil.unfit(buffer)
  if why then
    return nil, why
  end
  if M.starting(buffer) then
    return nil, STARTS
  end
  return nil, "no server runs for this file; `:Postil restart` starts one, :checkhealth postil tells more"
end

-- The same, for a command that was typed while the server still starts: that is waited for.
function M.begun(buffer)
  local client, why
  local function wait()
    client, why = M.of(buffer)
    if not client and M.starting(buffer) then
      vim.wait(3000, function()
        client, why = M.of(buffer)
        return client ~= nil or not M.starting(buffer)
      end, 20)
    end
  end
  wait()
  if not client and long.waits(buffer) then
    why = long.join(buffer)
    if not why then
      wait()
    end
  end
  return client, why
end

-- Every server of ours: one for each root.
function M.all()
  return vim.lsp.get_clients({ name = "postil" })
end

-- The same; where none runs, those of the open files, or else that of the current folder, are started and waited for.
-- Else a sentence.
function M.some()
  local found = M.all()
  if #found > 0 then
    return found
  end
  local function begun()
    return #vim.lsp.get_clients({ name = "postil", _uninitialized = true })
  end
  if begun() == 0 then
    postil.start_open()
  end
  local why = begun() == 0 and postil.start_here()
  if why then
    return {}, why
  end
  vim.wait(3000, function()
    found = M.all()
    return #found > 0 and #found == begun()
  end, 20)
  return found, "its server is being started; try again in a moment"
end

-- The server that the current folder belongs to, or the only one that runs; else nil and a sentence.
function M.of_folder()
  local all, why = M.some()
  local folder, found = vim.uv.cwd() or ".", #all == 1 and all[1] or nil
  for _, client in ipairs(all) do
    if postil.holds(client.config.root_dir or "", folder) then
      found = client
    end
  end
  return found, found == nil and (#all > 0 and "several servers run: do it in a file of one of them" or why) or nil
end

-- The server that a text of ours is read from. Where none runs yet, `later` is called when one does, which is said
-- unless `quiet`.
function M.shows(buffer, quiet, later)
  local client = M.of(buffer) or M.all()[1]
  if client then
    return client
  end
  vim.api.nvim_create_autocmd("LspAttach", {
    once = true,
    callback = function()
      vim.schedule(function()
        if vim.api.nvim_buf_is_loaded(buffer) and not vim.b[buffer].postil_run then
          later(buffer, true)
        end
      end)
    end,
  })
  if not quiet then
    postil.say("no server runs that could show this; open a file of its project", vim.log.levels.WARN)
  end
end

-- Whether a server speaks for a file: it has it open; or none has, and there is no other with a folder nearer to it.
function M.speaks(client, name)
  local buffer = vim.fn.bufexists(name) == 1 and vim.fn.bufadd(name)
  local own = buffer and vim.lsp.get_clients({ bufnr = buffer, name = "postil" }) or {}
  if #own > 0 then
    return vim.list_contains(own, client)
  end
  local root = client.config.root_dir or ""
  return not vim.iter(M.all()):any(function(other)
    local inner = other.config.root_dir or ""
    return #inner > #root and postil.holds(inner, name)
  end)
end

function M.prefix(client)
  return vim.tbl_get(client.config, "init_options", "commandPrefix") or "postil."
end

-- The verbs that the server offers.
function M.verbs(client)
  local commands = vim.tbl_get(client.server_capabilities or {}, "executeCommandProvider", "commands") or {}
  local prefix, verbs = M.prefix(client), {}
  for _, command in ipairs(commands) do
    if vim.startswith(command, prefix) then
      table.insert(verbs, command:sub(#prefix + 1))
    end
  end
  return verbs
end

-- The protocol for plugins that this one needs (docs/editors/protocol.md).
local NEEDED = 1

-- Whether the server lacks what this plugin relies on.
function M.too_old(client)
  return (vim.tbl_get(client.server_capabilities or {}, "experimental", "postil", "protocol") or 0) < NEEDED
end

function M.offers(client, verb)
  return vim.list_contains(M.verbs(client), verb)
end

local function lacks(client, verb)
  return ("the server that runs has no `%s`: update postil%s"):format(
    verb,
    vim.tbl_get(client, "server_info", "version") and (" (it is " .. client.server_info.version .. ")") or ""
  )
end

-- What has not been answered, by client: Neovim forgets it when a server ends.
local pending = {}

-- A server has ended.
function M.ended(id)
  for finish in pairs(pending[id] or {}) do
    finish({ message = "the server ended before it answered; `:Postil restart` starts it again", ended = true })
  end
  pending[id] = nil
end

local ENDED = "the server has ended; `:Postil restart` starts it again"

-- Sends; `answered` is called once, with an error or the answer, also where the server ends first. What to cancel it by.
local function send(client, method, params, answered)
  local over = false
  local function finish(error, result)
    if over then
      return
    end
    over = true
    if pending[client.id] then
      pending[client.id][finish] = nil
    end
    answered(error, result)
  end
  local sent, id = false, nil
  if not (client.postil_stops or client.is_stopped and call(client, "is_stopped")) then
    sent, id = call(client, "request", method, params, finish)
  end
  if sent then
    pending[client.id] = pending[client.id] or {}
    pending[client.id][finish] = true
  else
    finish({ message = ENDED })
  end
  return id
end

-- Asks; `done` gets the answer. A failure is told to the author, but where it is `moot`, and given to `failed` where there
-- is one.
function M.ask(client, method, params, done, failed, moot)
  local answered = false
  send(client, method, params, function(error, result)
    answered = true
    if error then
      if not moot then
        postil.say(problem(error), vim.log.levels.ERROR)
      end
      if failed then
        failed(error)
      end
    elseif done then
      done(result)
    end
  end)
  if answered then
    return
  end
  local slow = postil.ui().slow
  vim.defer_fn(function()
    if not answered then
      postil.say(
        ("the server has not answered for %g s; its answer is still taken when it comes"):format(slow / 1000),
        vim.log.levels.WARN
      )
    end
  end, slow)
end

-- Runs a verb; `argument` is its one object.
function M.verb(client, verb, argument, done, failed, moot)
  if not M.offers(client, verb) then
    local error = { message = lacks(client, verb) }
    postil.say(error.message, vim.log.levels.ERROR)
    return failed and failed(error)
  end
  local arguments = { next(argument) and argument or vim.empty_dict() }
  local params = { command = M.prefix(client) .. verb, arguments = arguments }
  M.ask(client, "workspace/executeCommand", params, done, failed, moot)
end

-- Asks and waits. The answer, or nil and a sentence.
function M.now(client, method, params, patience)
  local answer
  local id = send(client, method, params, function(error, result)
    answer = { error = error, result = result }
  end)
  local _, why = vim.wait(patience or 5000, function()
    return answer ~= nil
  end, 10)
  if not answer then
    call(client, "cancel_request", id)
    -- Which may have come too late.
    why = why == -2 and "interrupted" or "timeout"
    return nil, ("the server does not answer (%s); look what it has done before you try again"):format(why)
  elseif answer.error then
    return nil, problem(answer.error)
  end
  return answer.result
end

-- A verb, waited for: where an editor's own command must not go on without it. The answer, or nil and a sentence.
function M.verb_now(client, verb, argument, patience)
  if not M.offers(client, verb) then
    return nil, lacks(client, verb)
  end
  local arguments = { next(argument) and argument or vim.empty_dict() }
  local params = { command = M.prefix(client) .. verb, arguments = arguments }
  return M.now(client, "workspace/executeCommand", params, patience)
end

function M.uri(buffer)
  return vim.uri_from_bufnr(buffer)
end

-- Those of a file's threads that touch the lines from `first` to `last`, both 1-based. Of a single line on which none
-- stands it is the one above it: a thread is about the line that follows.
function M.touching(list, first, last)
  local here, above = {}, {}
  for _, thread in ipairs(list.threads) do
    if thread.start_line then
      local said = thread.thread[#thread.thread]
      local _, more = said.text:gsub("\n", "")
      local ends = said.line + more
      if thread.start_line <= last and first <= ends then
        table.insert(here, thread)
      elseif first == last and ends + 1 == first then
        table.insert(above, thread)
      end
    end
  end
  return #here > 0 and here or above
end

function M.threads_at(client, buffer, first, last, done, failed)
  M.verb(client, "listThreads", { uri = M.uri(buffer) }, function(list)
    done(M.touching(list, first, last))
  end, failed)
end

-- A line of a list that is longer is hard to read, and Neovim's own quickfix window wraps it.
local LONGEST = 150

-- One line of a thread, for lists.
function M.title(thread)
  local text = ""
  for _, message in ipairs(thread.thread) do
    text = message.text ~= "" and message.text or text
  end
  local waits = thread.status == "pending" and "awaiting agent" or "awaiting you"
  text = text:gsub("%s+", " ")
  local shown = vim.fn.strcharpart(text, 0, LONGEST)
  return ("[%s] %s%s"):format(waits, shown, shown ~= text and "…" or "")
end

-- Stops the server of a buffer, by force after 2.5 s, and starts it again for all that it served.
function M.restart(buffer)
  -- One that hangs while it starts, too.
  local client = vim.lsp.get_clients({ bufnr = buffer, name = "postil", _uninitialized = true })[1]
  local buffers = client and vim.tbl_keys(client.attached_buffers) or { buffer }
  local function start()
    local why
    for _, each in ipairs(buffers) do
      if vim.api.nvim_buf_is_loaded(each) then
        why = postil.start(each, true) or why
      end
    end
    postil.say(why or "started", why and vim.log.levels.ERROR or nil)
    for _, each in ipairs(vim.api.nvim_list_bufs()) do
      postil.begin(each)
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
  M.stop(client)
  local id, tries = client.id, 0
  local function wait()
    tries = tries + 1
    if not vim.lsp.get_client_by_id(id) then
      return start()
    end
    if tries == 50 then
      M.stop(client, true)
    end
    vim.defer_fn(wait, 50)
  end
  wait()
end

return M
