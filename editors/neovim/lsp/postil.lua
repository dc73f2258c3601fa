-- The client's configuration, for Neovim 0.10 and newer.
--
-- 0.11 and newer, with this folder (editors/neovim) on the runtimepath:
--     vim.lsp.enable("postil")
-- 0.10, the same, or without any folder, with this file alone:
--     require("postil").setup()          -- lua/postil.lua beside it
--     vim.lsp.start(vim.tbl_extend("force", dofile("…/lsp/postil.lua"), { root_dir = vim.fs.root(0, ".git") }))
--
-- Threads show as diagnostics, the verbs as code actions (`vim.lsp.buf.code_action()`; `gra` from 0.11 on).
-- Settings go under `settings.postil`, with the names that postil.toml has.

-- By client and address, the version of the text that its server was last told of. Neovim's own count is one for all
-- clients of a buffer, and before 0.12 the late start of another server sets it to 0.
local told = {}
local function count(client, answer)
  -- Neovim 0.10 does not keep it.
  client.server_info = client.server_info or answer and answer.serverInfo
  local versions, notify, request = {}, client.rpc.notify, client.rpc.request
  told[client.id] = versions
  -- Neovim 0.10 does not keep either that it has asked the server to go. From then on that refuses all that it is asked,
  -- as Neovim does when it ends and a turn or a diagnostic is told of meanwhile: nothing is, and no refusal is taken.
  client.rpc.request = function(method, params, answered, ...)
    if client.postil_stops and method ~= "shutdown" then
      return false
    end
    client.postil_stops = client.postil_stops or method == "shutdown"
    local function unless_refused(error, ...)
      if method == "shutdown" or not (error and client.postil_stops) then
        return answered(error, ...)
      end
    end
    return request(method, params, answered and unless_refused, ...)
  end
  client.rpc.notify = function(method, params, ...)
    local document = type(params) == "table" and params.textDocument
    if method == "textDocument/didOpen" or method == "textDocument/didChange" then
      versions[document.uri] = document.version
    elseif method == "textDocument/didClose" then
      versions[document.uri] = nil
    end
    return notify(method, params, ...)
  end
end

-- The version that an edit must be made for; `nil`: the text is not open, or there is a newer one than was told.
local function version(client, uri, buffer)
  local now, known = vim.lsp.util.buf_versions[buffer], told[client.id]
  if not known then
    return now
  end
  return (now == 0 or now == known[uri]) and known[uri] or nil
end

-- Why a text cannot be edited: a sentence.
local function locked(buffer)
  if vim.api.nvim_buf_is_loaded(buffer) and not vim.bo[buffer].modifiable then
    local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ":.")
    return ("%s cannot be changed: 'modifiable' is off"):format(name)
  end
end

-- A block insert goes to the lines that it was begun on, wherever they are by then. The mode does not tell of one.
vim.api.nvim_create_autocmd("ModeChanged", {
  group = vim.api.nvim_create_augroup("postil.block", { clear = true }),
  pattern = "[^i]*:i",
  callback = function(event)
    vim.b[event.buf].postil_block = event.match == "\22:i" or nil
  end,
})

-- Whether Neovim is at something in this buffer that goes by line numbers which it took before: a completion, which
-- takes away what was typed by them, the question of `:s///c`, a block insert, an operator that waits for its motion,
-- a command with a number in it that is being typed.
local function is_amid(buffer)
  local mode = vim.api.nvim_get_mode().mode
  local is_block = vim.startswith(mode, "i") and vim.b[buffer].postil_block == true
  if mode == "c" and vim.fn.getcmdtype() == ":" then
    return vim.fn.getcmdline():find("%d") ~= nil
  end
  return is_block or mode:find("^[iR]v?[cx]") ~= nil or vim.startswith(mode, "r") or vim.startswith(mode, "no")
end

-- Milliseconds that an edit waits for the end of that: the server waits for 30 s.
local PATIENCE = 25000

-- Whether Lua waits, within Neovim's loop, as for a formatter on saving: what comes of that is put in by the lines that
-- it was given. This plugin waits for a server's word alone, which may come behind the edit, and so does whoever has
-- Neovim wait for what a command of this server says. To be called by the loop.
local function is_waiting(id)
  local frame, from = debug.getinfo(3, "f"), debug.getinfo(4, "S")
  if not frame or frame.func ~= vim.wait then
    return false
  elseif not from then
    return true
  end
  -- `client:request_sync(method, params)`, `vim.lsp.buf_request_sync(buffer, method, params)`
  local _, method = debug.getlocal(4, 2)
  local _, params = debug.getlocal(4, 3)
  local client = vim.lsp.get_client_by_id(id) or {}
  local commands = vim.tbl_get(client, "server_capabilities", "executeCommandProvider", "commands") or {}
  local command = method == "workspace/executeCommand" and vim.tbl_get(params, "command")
  return not (vim.list_contains(commands, command) or from.source:find("[/\\]postil[/\\]client%.lua$"))
end

-- Milliseconds in which a server that was asked for changes gives them, if it ever does.
local ANSWERS = 10000

-- When each such request was first seen.
local asked = setmetatable({}, { __mode = "k" })

-- Whether a server was asked for changes of these buffers, which come for the text as it was then.
local function is_asked(buffers)
  local now, found = vim.uv.now(), false
  for buffer in pairs(buffers) do
    for _, client in ipairs(vim.lsp.get_clients({ bufnr = buffer })) do
      for _, request in pairs(client.requests) do
        local formats = request.bufnr == buffer and request.method:find("ormatting$")
        if request.type == "pending" and (formats or request.method:find("rename$")) then
          asked[request] = asked[request] or now
          found = found or now - asked[request] < ANSWERS
        end
      end
    end
  end
  return found
end

-- Waits for the end of all that; `false`: it does not come.
local function wait_amid(buffers, id)
  local thread, began, wait = coroutine.running(), vim.uv.now(), 0
  -- Neovim calls handlers of requests in one, through `pcall`, out of which plain Lua 5.1 cannot yield: there is no wait there.
  while thread and jit do
    local waiting
    local timer = assert(vim.uv.new_timer())
    timer:start(wait, 0, function()
      timer:close()
      -- Who waits stands on the stack that this is called on, and not on that of the handler.
      vim.schedule(function()
        waiting = is_waiting(id)
        coroutine.resume(thread)
      end)
    end)
    coroutine.yield()
    local here = vim.api.nvim_get_current_buf()
    -- First: where nothing was called for long, the server has given the edit up by now.
    if vim.uv.now() - began > PATIENCE then
      return false
    elseif not waiting and not (buffers[here] and is_amid(here)) and not is_asked(buffers) then
      return true
    end
    wait = 10
  end
  return true
end

local held = vim.api.nvim_create_namespace("postil.held")

-- Changes these buffers, and keeps what is selected in the current one: where the selection began is moved along with
-- its text in none of its kinds by Neovim 0.10, and in a block not by 0.12.
local function keeping_selection(buffers, change)
  local buffer = vim.api.nvim_get_current_buf()
  if not buffers[buffer] or not vim.api.nvim_get_mode().mode:find("^[vVsS\22\19]") then
    return change()
  end
  local _, line, column = unpack(vim.fn.getpos("v"))
  -- `$` in Visual mode is behind the end.
  local length = #vim.api.nvim_buf_get_lines(buffer, line - 1, line, true)[1]
  local mark = vim.api.nvim_buf_set_extmark(buffer, held, line - 1, math.min(column - 1, length), {})
  change()
  local place = vim.api.nvim_buf_get_extmark_by_id(buffer, held, mark, {})
  vim.api.nvim_buf_del_extmark(buffer, held, mark)
  local _, now, at = unpack(vim.fn.getpos("v"))
  if place[1] and (place[1] + 1 ~= now or place[2] + 1 ~= at) then
    -- To the other end, which is put right, and back.
    local selects = vim.api.nvim_get_mode().mode:find("^[sS\19]") and "\7" or ""
    vim.cmd("normal! " .. selects .. "o")
    vim.api.nvim_win_set_cursor(0, { place[1] + 1, place[2] })
    vim.cmd("normal! o" .. selects)
  end
end

-- The loaded buffers that an edit is about, each with its edits.
local function touched(edit)
  local buffers = {}
  local function add(uri, edits)
    local buffer = vim.uri_to_bufnr(uri)
    if vim.api.nvim_buf_is_loaded(buffer) then
      buffers[buffer] = vim.list_extend(buffers[buffer] or {}, edits)
    end
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      add(change.textDocument.uri, change.edits)
    end
  end
  for uri, edits in pairs(edit.changes or {}) do
    add(uri, edits)
  end
  return buffers
end

-- Lines that come behind the last one go without their end: Neovim of before June 2026 puts an empty line behind them for it.
local function without_last_end(buffers)
  for buffer, edits in pairs(buffers) do
    for _, each in ipairs(edits) do
      if each.range.start.line >= vim.api.nvim_buf_line_count(buffer) then
        each.newText = each.newText:gsub("([^\r\n])\r?\n$", "%1")
      end
    end
  end
end

-- Setting 'undolevels', even to what it is, ends the undo step that is being written.
local function end_undo_step(buffer)
  vim.bo[buffer].undolevels = vim.bo[buffer].undolevels
end

-- A new step; while one command of the author's takes several edits (`postil_joins`), that of the edit before it, unless
-- the text has changed since.
local function begin_undo_step(buffer, label)
  local before = vim.b[buffer].postil_edit or {}
  local follows = before.label == label and before.tick == vim.api.nvim_buf_get_changedtick(buffer)
  if vim.b[buffer].postil_joins and follows then
    vim.api.nvim_buf_call(buffer, vim.cmd.undojoin)
  else
    end_undo_step(buffer)
  end
end

-- Takes the server's edits. Four things differ from Neovim's own handler. The versions of all files, and whether
-- they can be changed, are checked before any is touched, and a text that went on is answered `applied = false` (the
-- built-in one skips that file with a message and answers `true`). A text nobody has changed since it was opened has
-- version 0, which the built-in check ignores. The edit is an undo step of its own, so that `u` parts it from what is
-- being typed. And it waits while Neovim is at something that it would lead astray.
local function apply_edit(_, params, ctx)
  local edit = params.edit
  local opened = touched(edit)
  if next(opened) and not wait_amid(opened, ctx.client_id) then
    local why = "a completion, a question, an operator, a command or a formatter took too long"
    return { applied = false, failureReason = why, busy = true }
  end
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if not client then
    return { applied = false, failureReason = "the client is gone" }
  end
  local buffers = touched(edit)
  for index, change in ipairs(edit.documentChanges or {}) do
    local document = change.textDocument
    if document then
      local buffer = vim.uri_to_bufnr(document.uri)
      -- vim.NIL: any version
      if type(document.version) == "number" then
        local now = version(client, document.uri, buffer)
        if now ~= document.version then
          return {
            applied = false,
            failedChange = index - 1,
            failureReason = ("%s is at version %s, the edit is for %d"):format(
              document.uri,
              now or "(not open, or newer than the server knows)",
              document.version
            ),
          }
        end
      end
    end
  end
  for buffer in pairs(buffers) do
    local why = locked(buffer)
    if why then
      return { applied = false, failureReason = why }
    end
  end
  for buffer in pairs(buffers) do
    begin_undo_step(buffer, params.label)
  end
  without_last_end(buffers)
  local function apply()
    vim.lsp.util.apply_workspace_edit(edit, client.offset_encoding)
  end
  local applied, problem = pcall(keeping_selection, buffers, apply)
  for buffer in pairs(buffers) do
    end_undo_step(buffer)
    vim.b[buffer].postil_edit = { label = params.label, tick = vim.api.nvim_buf_get_changedtick(buffer) }
  end
  -- Without the line of Neovim's own that it comes from.
  return { applied = applied, failureReason = not applied and tostring(problem):gsub("^.-:%d+: ", "") or nil }
end

-- The rest of the plugin is there too.
local whole = #vim.api.nvim_get_runtime_file("lua/postil/conversation.lua", false) > 0

-- Neovim tells every server of ours of a buffer that is written under another name, also those that it is not attached
-- to (as of 0.12), and a server looks through repositories within its folder, which may have one of their own: their
-- word on a file is not shown beside that of the file's own.
local function publish(error, result, ctx, config)
  local name = vim.uri_to_fname(result.uri)
  local buffer = vim.fn.bufexists(name) == 1 and vim.fn.bufadd(name)
  local own = buffer and vim.lsp.get_clients({ bufnr = buffer, name = "postil" }) or {}
  local is_theirs = #own > 0 and not vim.lsp.buf_is_attached(buffer, ctx.client_id)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if whole and client then
    is_theirs = not require("postil.client").speaks(client, name)
  end
  -- What is taken back always goes.
  if is_theirs and #result.diagnostics > 0 then
    return
  elseif #result.diagnostics > 0 and not buffer then
    -- Below the current folder by its short name. Neovim would have it by its whole path, also when it is opened then.
    vim.fn.bufadd(vim.fn.fnamemodify(name, ":."))
  end
  return vim.lsp.handlers["textDocument/publishDiagnostics"](error, result, ctx, config)
end

-- An answer may come when its buffer has gone over to the server of another project, and would then stay.
local function pulled(error, result, ctx, ...)
  if vim.lsp.buf_is_attached(ctx.bufnr, ctx.client_id) then
    return vim.lsp.handlers["textDocument/diagnostic"](error, result, ctx, ...)
  end
end

-- Asks for diagnostics again when the server says that they changed, as at the beginning and the end of a turn. Neovim
-- before #40623 of July 2026 does so for files alone that are not open, where a server tells of these too.
local function ask_again(_, _, ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if client then
    vim.lsp.buf.workspace_diagnostics({ client_id = client.id })
    for buffer in pairs(client.attached_buffers) do
      client:request("textDocument/diagnostic", {
        textDocument = vim.lsp.util.make_text_document_params(buffer),
        identifier = vim.tbl_get(client.server_capabilities, "diagnosticProvider", "identifier"),
      }, nil, buffer)
    end
  end
  return vim.NIL
end

local on_windows = vim.fn.has("win32") == 1

-- Where it lies below a folder of the PATH. On Windows npm puts it behind a script.
local names = { "postil" }
if on_windows then
  local package = "node_modules/postil-win32-x64/bin/postil.exe"
  names = { "postil.exe", "node_modules/postil/" .. package, package }
end

-- What is started. A PATH may have entries that are relative, and to Windows a name alone means the current folder before
-- the PATH: a repository may hold a program of that name. So it is looked for; at last where cargo puts it.
local function program()
  for folder in vim.gsplit(vim.env.PATH or "", on_windows and ";" or ":", { plain = true }) do
    folder = on_windows and folder:gsub('"', "") or folder
    if folder:find(on_windows and "^%a:[/\\]" or "^/") or on_windows and folder:find("^\\\\") then
      for _, name in ipairs(names) do
        local file = vim.fs.joinpath(folder, name)
        if vim.fn.executable(file) == 1 then
          return vim.fs.normalize(file, { expand_env = false })
        end
      end
    end
  end
  local last = vim.fs.joinpath(vim.uv.os_homedir() or "/", ".cargo/bin", names[1])
  return vim.fs.normalize(last, { expand_env = false })
end

local found = program()

local config = {
  name = "postil",
  cmd = { found },
  root_markers = { "postil.toml", ".git", ".jj", ".hg" },
  -- Any file can hold a thread, so there is no `filetypes`.
  flags = {
    -- Each change is sent as it is made. With the 150 ms that Neovim waits by default, the text that the
    -- server reads is old while one types, and its edits are refused. One number rules all clients of a
    -- buffer that count columns alike, so other servers get their changes at once too.
    debounce_text_changes = 0,
  },
  handlers = {
    ["workspace/applyEdit"] = apply_edit,
    ["textDocument/publishDiagnostics"] = publish,
    ["textDocument/diagnostic"] = pulled,
    -- Older ones do not announce it, and are told.
    ["workspace/diagnostic/refresh"] = vim.fn.has("nvim-0.12") == 1 and ask_again or nil,
  },
  on_init = count,
}

-- Neovim takes edits with versions, and does not say so. Without them an edit could meet a text that went on.
config.capabilities = { workspace = { workspaceEdit = { documentChanges = true } } }

-- A conversation is then a document of the server, and goes on while it is read.
if whole then
  config.capabilities.workspace.textDocumentContent = vim.empty_dict()
  config.init_options = { reviews = true }
  config.before_init = function(params, started)
    require("postil").starting(params, started)
  end
  config.on_exit = function(...)
    require("postil").ended(...)
  end
  -- A line of ours, as all else; Neovim's own may ask for a key, whatever is being typed.
  config.handlers["window/showMessage"] = function(_, params)
    local levels = { vim.log.levels.ERROR, vim.log.levels.WARN }
    require("postil").say(params.message, levels[params.type])
    return params
  end
  config.handlers["window/showMessageRequest"] = function(...)
    return require("postil.pick").asked(...)
  end
  config.handlers["$/cancelRequest"] = function(...)
    require("postil.pick").withdrawn(...)
  end
  config.handlers["postil/review"] = function(...)
    return require("postil.proposed").ask(...)
  end
  config.handlers["window/showDocument"] = function(...)
    return require("postil.conversation").show(...)
  end
  config.handlers["workspace/textDocumentContent/refresh"] = function(...)
    return require("postil.conversation").refresh(...)
  end
end

if not vim.lsp.config then
  -- Before 0.11 these are taken as they are, not put over Neovim's own. And diagnostics are to be sent: that Neovim
  -- asks for them only while the cursor is in their file, and shows old ones when an answer comes meanwhile.
  config.capabilities = vim.tbl_deep_extend("force", vim.lsp.protocol.make_client_capabilities(), config.capabilities)
  config.capabilities.textDocument.diagnostic = nil
elseif whole then
  -- Neovim looks first whether it can be run.
  config.cmd = require("postil").cmd() or config.cmd
  -- Not by Neovim itself, for which what the user does at these is done instead of ours.
  config.root_dir = function(buffer)
    vim.schedule(function()
      local postil = require("postil")
      if postil.takes(buffer) then
        postil.start(buffer)
      end
    end)
  end
end
-- Who puts more over this looks again, if it is still that.
config.found, config.find = found, program
config.hooks = { before_init = config.before_init, on_init = config.on_init, on_exit = config.on_exit }

return config
