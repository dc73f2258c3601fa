-- require("postil").setup { … } is optional: without it, or with `vim.g.postil`, the server is started for each file
-- that is opened. What is given goes over lsp/postil.lua, for instance
--     { cmd = { "/opt/postil" }, settings = { postil = { model = "offline" } } }
-- and `ui` is for the plugin itself: see `:help postil-options`.

local rules = require("postil.options")
local long = require("postil.long")

local M = {}

---@class postil.Ui
---@field signs table|false signs of threads by status; false: as all diagnostics have them
---@field state "auto"|"eol"|"sign" whether the state of a thread is a word too, beside its sign
---@field turns "eol"|"below"|false where a running turn shows what it does
---@field slow integer milliseconds after which it is said that the server has not answered
local ui = { signs = { pending = "?", awaiting_user = "»" }, state = "auto", turns = "eol", slow = 10000 }

local given

-- Whether `vim.notify` is Neovim's own, and not a plugin's or the user's.
local function is_plain(notify)
  local source = type(notify) == "function" and debug.getinfo(notify, "S").source or ""
  return source == "?" or source:find("^@vim/") ~= nil
end

-- A text without its middle, of so many columns.
local function shortened(text, columns)
  local length, kept, short = vim.fn.strchars(text), columns, text
  while vim.fn.strdisplaywidth(short) > columns and kept > 0 do
    kept = kept - 1
    local last = math.floor(kept / 2)
    short = vim.fn.strcharpart(text, 0, kept - last) .. "…" .. vim.fn.strcharpart(text, length - last)
  end
  return short
end

-- Without a line for commands ('cmdheight' is 0) a text that is too long asks for a key whatever 'shortmess' says. Only
-- what is shown is kept for `:messages`: the whole is, in parts.
local function say_bare(text, color)
  local columns = vim.v.echospace
  local step = vim.fn.strdisplaywidth(text) == vim.fn.strchars(text) and columns or math.floor(columns / 2)
  for first = 0, vim.fn.strchars(text) - 1, math.max(step, 1) do
    vim.api.nvim_echo({ { vim.fn.strcharpart(text, first, step), color } }, true, {})
    vim.cmd.redraw()
  end
  vim.api.nvim_echo({ { shortened(text, columns), color } }, false, {})
end

-- Neovim's own notification of more than one line asks for a key, and takes what is being typed for it. A long text is
-- shown without its middle instead; the whole is in `:messages`.
function M.say(text, level)
  text, level = "postil: " .. text, level or vim.log.levels.INFO
  if not is_plain(vim.notify) or #text < vim.v.echospace and not text:find("\n") then
    return vim.notify(text, level)
  end
  -- From a command that still runs it would ask all the same.
  vim.schedule(function()
    local color = ({ [vim.log.levels.ERROR] = "ErrorMsg", [vim.log.levels.WARN] = "WarningMsg" })[level] or "None"
    text = text:gsub("%s*\n%s*", " ")
    if vim.o.cmdheight == 0 then
      return say_bare(text, color)
    end
    local shortmess = vim.o.shortmess
    vim.opt.shortmess:append("T")
    vim.cmd.echohl(color)
    vim.cmd.echomsg(vim.fn.string(text))
    vim.cmd.echohl("None")
    vim.o.shortmess = shortmess
  end)
end

local said = {}
-- The same sentence once only.
function M.say_once(text, level)
  if not said[text] then
    said[text] = true
    M.say(text, level)
  end
end

-- Whether a window or a question may come: not under the fingers of somebody who types, or who is at a prompt, nor
-- into a macro.
function M.may_interrupt()
  local mode = vim.api.nvim_get_mode()
  return vim.fn.reg_recording() == "" and (mode.mode == "n" or mode.mode == "nt") and not mode.blocking and vim.fn.getcmdwintype() == ""
end

local function options()
  if not given then
    local all = vim.g.postil
    if all ~= nil and type(all) ~= "table" and all ~= true then
      M.say_once("vim.g.postil must be a table, or false; it is left out: :help postil-options", vim.log.levels.WARN)
    end
    given = rules.checked(type(all) == "table" and all or {}, "")
  end
  return given
end

---@return postil.Ui
function M.ui()
  return vim.tbl_extend("force", ui, options().ui or {})
end

-- Whether `vim.lsp.enable("postil")` looks after starting it.
local function enabled()
  if vim.lsp.is_enabled then
    return vim.lsp.is_enabled("postil")
  end
  return vim.lsp._enabled_configs ~= nil and vim.lsp._enabled_configs.postil ~= nil
end

-- Whether it did once. Told not to since, it is not for us to start one in its place.
local was_enabled = false

-- What nvim-lspconfig's older way was set up with, where it looks after starting it.
local function by_lspconfig()
  local configs = package.loaded["lspconfig.configs"]
  local ours = configs and rawget(configs, "postil")
  return ours and ours.manager and ours
end

-- What the user does at the start or the end of a server is done as well, and not instead. `config.hooks` is ours.
function M.with_hooks(config)
  for name, ours in pairs(config.hooks) do
    -- What is set for all servers is hidden by ours.
    local for_all = vim.lsp.config and vim.lsp.config["*"] or {}
    local theirs = config[name] ~= ours and config[name] or for_all[name]
    theirs = type(theirs) == "table" and vim.tbl_filter(vim.is_callable, theirs) or { theirs }
    if vim.is_callable(theirs[1]) then
      config[name] = function(...)
        ours(...)
        for _, each in ipairs(theirs) do
          each(...)
        end
      end
    end
  end
  return config
end

-- The options that are the client's.
local function client_options()
  local own = vim.tbl_extend("force", {}, options())
  own.ui = nil
  return own
end

-- What the user has set to be started.
function M.cmd()
  return client_options().cmd
end

-- Says which of them count for nothing, as something else has started the server; `names`: of these.
function M.say_left_out(names)
  local left = vim.tbl_filter(function(name)
    return client_options()[name] ~= nil
  end, names)
  if #left > 0 then
    table.sort(left)
    M.say_once(
      ("the options `%s` are left out, as the server is not started by this plugin; give them to what starts it: :help postil-options"):format(
        table.concat(left, "`, `")
      ),
      vim.log.levels.WARN
    )
  end
end

-- Puts them into a client's configuration.
function M.with_options(config)
  for name, value in pairs(vim.tbl_deep_extend("force", config, client_options())) do
    config[name] = value
  end
  -- By now it may lie elsewhere.
  if type(config.cmd) == "table" and config.cmd[1] == config.found then
    config.found = config.find()
    config.cmd = { config.found }
  end
  config.has_options = true
  return config
end

-- The configuration of the client.
function M.config()
  local theirs = not enabled() and by_lspconfig()
  if theirs then
    return M.with_options(vim.tbl_extend("force", {}, theirs.manager.config))
  end
  -- What is set for Neovim's own way counts here too.
  local base = vim.lsp.config and vim.lsp.config.postil
  local here = vim.api.nvim_get_runtime_file("lsp/postil.lua", false)[1]
  assert(here, "lsp/postil.lua is not on the runtimepath")
  local config = M.with_options(vim.tbl_extend("force", {}, base or dofile(here)))
  rules.mend(config, function()
    return dofile(here)
  end)
  return M.with_hooks(config)
end

-- What netrw and oil read files of other machines by.
local remote = "scp sftp ssh rcp rsync ftp http https dav davs fetch oil-ssh oil-sftp"

-- In bytes: Neovim would stand still while a larger one is sent.
local MOST_BYTES = 64 * 1024 * 1024

-- Whether a file is larger than that, or than Neovim can say.
local function is_huge(name)
  local bytes = vim.fn.getfsize(name)
  return bytes > MOST_BYTES or bytes == -2
end

-- Why there can be no threads in this buffer: a sentence; nil: there can be.
function M.unfit(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local scheme = name:match("^(%a[%w+.-]+)://")
  if scheme and vim.list_contains(vim.split(remote, " "), scheme) then
    return "it reads files of this machine, and " .. name .. " is none; open the file itself, or run nvim where it lies"
  elseif scheme then
    -- Ours, a version that git keeps (fugitive, gitsigns, diffview), a list of files (oil), a part of an archive.
    return "this window shows no file of the disk; do it in the file itself"
  elseif vim.bo[buffer].buftype ~= "" then
    return "this window shows no file"
  elseif name == "" then
    return "this buffer has no file name yet; save it first (:write NAME)"
  elseif vim.fn.isdirectory(name) == 1 then
    return "this is a folder"
  elseif vim.fs.normalize(name, { expand_env = false }):find("/.git/", 1, true) then
    -- A message of a commit shows what is committed, with the threads in it.
    return "this is a file of git's own"
  elseif is_huge(name) then
    return "this file is larger than 64 MB, and Neovim would stand still while it is sent"
  end
end

-- Whether a path lies in a folder, also by links.
local function lies_in(folder, path)
  local real = vim.uv.fs_realpath
  return M.holds(folder, path) or M.holds(real(folder) or folder, real(path) or path)
end

-- Why `cmd[1]` is not run in a folder: a sentence; nil: it is, or only it itself knows.
function M.missing(config, root)
  local program = type(config.cmd) == "table" and config.cmd[1]
  if not program then
    return
  elseif vim.fn.executable(program) == 0 then
    return ("`%s` cannot be run: install postil so that it is on the PATH, or set `cmd`; :checkhealth postil"):format(
      program == config.found and "postil" or program
    )
  end
  -- A PATH may name folders of a project. Who has their home in one has their own programs in there.
  if program == config.found and lies_in(root, program) and not lies_in(root, vim.uv.os_homedir() or "") then
    return ("the postil that comes first on the PATH, %s, is a file of this project, and is not started: install postil outside of it, or set `cmd`"):format(
      program
    )
  end
end

-- How often the server of a root ended by itself. One that always does would do so with every file that is opened.
local ended = {}
local MOST = 3

-- A sentence, where the server of this root is not to be started again unasked.
local function broken(root)
  if (ended[root] or 0) >= MOST then
    return "its server ends by itself; `:Postil restart` tries again, :checkhealth postil tells more"
  end
end

-- Those of the diagnostics of a client, which are sent or asked for.
function M.namespaces(id)
  local found = {}
  for namespace, about in pairs(vim.diagnostic.get_namespaces()) do
    if (about.name or ""):find("lsp%.postil%." .. id .. "%f[%D]") then
      table.insert(found, namespace)
    end
  end
  return found
end

-- The folders of the servers that have ended, by their ids: what windows show of theirs is the next one's.
M.left = {}

-- The client's `on_exit`.
function M.ended(code, signal, id)
  local client = vim.lsp.get_client_by_id(id)
  M.left[id] = client and client.config.root_dir
  local why
  -- It was stopped by signal 15; the server then exits with 143.
  local stopped = signal == 15 or code == 143
  if client and not stopped and (code ~= 0 or signal ~= 0) then
    local root = client.config.root_dir or ""
    ended[root] = client.initialized and (ended[root] or 0) + 1 or MOST
    -- 9: a restart has ended it.
    why = signal ~= 9 and broken(root) or nil
  end
  vim.schedule(function()
    if why then
      M.say_once(why, vim.log.levels.WARN)
    end
    -- Neovim takes back what it said of the files that it had open, and not of others.
    vim.iter(M.namespaces(id)):each(vim.diagnostic.reset)
    for _, name in ipairs({ "postil.show", "postil.client" }) do
      if package.loaded[name] then
        require(name).ended(id)
      end
    end
  end)
end

-- The client's `before_init`: says so when the settings are not as they must be, or the server does not come.
function M.starting(params, config)
  -- Neovim 0.10 asks for diagnostics only while the cursor is in their file: they are to be sent, whatever capabilities
  -- the user has set.
  if not vim.lsp.config then
    params.capabilities.textDocument.diagnostic = nil
  end
  -- Whoever starts it by `vim.lsp.enable` has set it up past us, and the server passes over what is not its own.
  rules.checked({ settings = config.settings }, "")
  if not config.has_options then
    M.say_left_out(vim.tbl_filter(function(name)
      -- Before it was set up past us, the program was found by this.
      return name ~= "cmd" or not vim.deep_equal(config.cmd, M.cmd())
    end, vim.tbl_keys(client_options())))
  end
  local slow = M.ui().slow
  vim.defer_fn(function()
    for _, client in ipairs(vim.lsp.get_clients({ name = "postil", _uninitialized = true })) do
      if client.config == config and not client.initialized then
        return M.say(
          ("the server has been starting for %g s; `:Postil restart` tries again, :checkhealth postil tells more"):format(
            slow / 1000
          ),
          vim.log.levels.WARN
        )
      end
    end
  end, slow)
end

local on_windows = vim.fn.has("win32") == 1

-- A path for being compared: Windows has two separators, and the case of letters does not count. Roots come with `/`
-- there, names of buffers with `\`, and what the server tells with either.
function M.comparable(path)
  return on_windows and vim.fn.tolower(vim.fs.normalize(path, { expand_env = false, win = true })) or path
end

function M.is_absolute(path)
  local on_drive = on_windows and (path:find("^%a:[/\\]") or path:find("^\\\\"))
  return vim.startswith(path, "/") or on_drive ~= nil and on_drive ~= false
end

-- What was typed for a file or folder, as a whole path.
function M.whole(text)
  -- `expand` runs what a name has in back quotes, and a completion has the names of a repository.
  local path = text:find("^[%%#<]") and vim.fn.expand(text) or text:gsub("^%$([%w_]+)", vim.env)
  return (vim.fn.fnamemodify(path, ":p"):gsub(on_windows and "[/\\]$" or "/$", ""))
end

-- Whether a path is a folder or lies in it.
function M.holds(folder, path)
  return vim.startswith(M.comparable(path) .. "/", M.comparable(folder):gsub("/$", "") .. "/")
end

-- The nearest folder of a running server that holds this file.
local function running_root(name, markers)
  local found
  for _, client in ipairs(vim.lsp.get_clients({ name = "postil", _uninitialized = true })) do
    local root = client.config.root_dir
    local fits = type(root) == "string" and not client.rpc.is_closing() and M.holds(root, name)
    -- Of a lone file it is just where that lies, and nothing that belongs together.
    local marked = fits and vim.fs.root(root, markers)
    if marked and M.comparable(marked) == M.comparable(root) and not M.holds(root, vim.uv.os_homedir() or "") then
      found = (not found or #found < #root) and root or found
    end
  end
  return found
end

local function own_root(name, markers)
  return vim.fs.root(name, markers) or vim.fs.dirname(name)
end

-- The folder that the server of a file works in. That of a repository within the folder of a server that runs is the
-- latter: it looks through the inner one as well, and two that know of the same file would change it each for itself.
function M.root_of(name, markers)
  return running_root(name, markers) or own_root(name, markers)
end

function M.root(buffer, config)
  return M.root_of(vim.api.nvim_buf_get_name(buffer), config.root_markers or {})
end

-- The same where no server runs.
function M.own_root(buffer, config)
  return own_root(vim.api.nvim_buf_get_name(buffer), config.root_markers or {})
end

local FAILS = "the server does not start; :checkhealth postil tells more"

-- Why the last one did not start, for :checkhealth: a sentence.
M.failure = nil

-- Without the line of code that it comes from, and what Neovim says of what it starts.
local function bare(problem)
  local text = problem:gsub("^.-:%d+: ", "")
  local inner = text:match("^Spawning .* failed with error message: (.*)")
  return inner and inner:gsub("^.-:%d+: ", "") or text
end

-- Starts one by `start`, which is Neovim's; whether it does. What that says of a failure is a line of its own code, and
-- is kept instead: nothing else tells the reason.
local function starts(start, config, options)
  local notify, reason = vim.notify, nil
  local function hear(text, ...)
    if debug.getinfo(2, "f").func ~= start then
      return notify(text, ...)
    end
    reason = text
  end
  vim.notify = hear
  local done, id, why = pcall(start, config, options)
  if vim.notify == hear then
    vim.notify = notify
  end
  reason = tostring(not done and id or why or reason or "Neovim tells no reason")
  M.failure = not (done and id) and bare(reason) or nil
  return M.failure == nil
end

-- Starts the server for a buffer, or gives the reason why not. `anew`: though it ended by itself.
function M.start(buffer, anew)
  local why = not vim.api.nvim_buf_is_valid(buffer) and "this buffer is gone" or M.unfit(buffer)
  if why then
    return why
  end
  local config = M.config()
  if type(config.root_dir) ~= "string" then
    config.root_dir = M.root(buffer, config)
  end
  why = M.missing(config, config.root_dir)
  if why then
    return why
  end
  local theirs = not enabled() and by_lspconfig()
  if theirs then
    theirs.launch(buffer)
    return
  end
  if anew then
    ended[config.root_dir] = nil
  end
  why = broken(config.root_dir)
  if why then
    return why
  end
  require("postil.beside").before(buffer)
  if not starts(vim.lsp.start, config, { bufnr = buffer, reuse_client = config.reuse_client }) then
    return FAILS
  end
end

-- Starts the server of the current folder, for no buffer: what is asked about a project needs no file. Or the reason
-- why not.
function M.start_here()
  local config = M.config()
  if type(config.root_dir) ~= "string" then
    local folder = vim.uv.cwd() or "."
    config.root_dir = vim.fs.root(folder, config.root_markers or {}) or folder
  end
  local why = M.missing(config, config.root_dir) or broken(config.root_dir)
  if why then
    return why
  end
  local theirs = not enabled() and by_lspconfig()
  if theirs then
    -- It knows of no server that it has not started, and starts them for a buffer alone: one that is gone at once.
    local buffer = vim.api.nvim_create_buf(false, false)
    theirs.manager:try_add(buffer, config.root_dir, true)
    vim.api.nvim_buf_delete(buffer, { force = true })
    return #vim.lsp.get_clients({ name = "postil", _uninitialized = true }) == 0 and FAILS or nil
  end
  local start = vim.fn.has("nvim-0.11") == 1 and vim.lsp.start or vim.lsp.start_client
  if not starts(start, config, { attach = false }) then
    return FAILS
  end
end

local function has_type(buffer)
  local types = vim.api.nvim_buf_is_valid(buffer) and M.config().filetypes
  return types == nil or types and vim.list_contains(types, vim.bo[buffer].filetype)
end

-- Whether a server is started for a buffer unasked.
function M.takes(buffer)
  return has_type(buffer) and not long.is_left(buffer)
end

-- Starts the servers of all files that are open, for a command that is about their texts: one that none has open would
-- be told of the disk.
function M.start_open()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and M.takes(buffer) then
      M.start(buffer)
    end
  end
end

-- A buffer was opened, or got a name or a type.
function M.begin(buffer)
  if not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  vim.b[buffer].postil_begins = nil
  if not vim.api.nvim_buf_is_loaded(buffer) or M.unfit(buffer) then
    return
  end
  if #vim.lsp.get_clients({ bufnr = buffer, name = "postil" }) > 0 then
    return
  end
  local why
  was_enabled = was_enabled or enabled()
  if enabled() then
    -- Neovim starts it, and is silent about a program that is not there.
    local root = M.root(buffer, M.config())
    why = M.takes(buffer) and (M.missing(M.config(), root) or broken(root))
  elseif was_enabled or by_lspconfig() then
    -- It starts it, and says itself what it misses.
    return
  else
    why = M.takes(buffer) and M.start(buffer)
  end
  if why then
    M.say_once(why, vim.log.levels.WARN)
  elseif has_type(buffer) and long.is_left(buffer) then
    long.watch(buffer, M.start)
  end
end

-- A buffer was written under another name. In another project it goes on with the server of that, as if it were opened
-- there; Neovim would leave it with the one that it has.
function M.moved(buffer)
  -- So that a command waits meanwhile: Neovim may take a key before it does what was scheduled.
  vim.b[buffer].postil_moves = true
  -- Neovim has to tell of the new name first, so that the old one is closed.
  vim.schedule(function()
    if not vim.api.nvim_buf_is_loaded(buffer) then
      return
    end
    vim.b[buffer].postil_moves, vim.b[buffer].postil_renamed = nil, nil
    if M.unfit(buffer) then
      return
    end
    local config = M.config()
    local root = type(config.root_dir) == "string" and config.root_dir or M.root(buffer, config)
    local left = false
    for _, client in ipairs(vim.lsp.get_clients({ bufnr = buffer, name = "postil" })) do
      if M.comparable(client.config.root_dir or "") ~= M.comparable(root) then
        vim.lsp.buf_detach_client(buffer, client.id)
        left = true
      end
    end
    local why = left and M.start(buffer)
    if why then
      M.say_once(why, vim.log.levels.WARN)
    end
  end)
end

function M.begin_all()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    M.begin(buffer)
  end
end

function M.setup(config)
  given, was_enabled = rules.checked(config or {}, ""), false
  -- Where `vim.g.postil = false` or a package manager has left it out.
  if vim.v.vim_did_enter == 1 then
    vim.g.postil = nil
    vim.cmd.runtime("plugin/postil.lua")
    vim.schedule(M.begin_all)
  end
end

-- The cursor to the `count`-th next thread, round the end; negative: back.
function M.go(count)
  local lines, last = {}, vim.api.nvim_buf_line_count(0)
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    if diagnostic.source == "postil" then
      -- What was deleted a moment ago may still be told of.
      lines[math.min(diagnostic.lnum + 1, last)] = diagnostic.col
    end
  end
  local sorted = vim.tbl_keys(lines)
  table.sort(sorted)
  if #sorted == 0 then
    return M.say("there is no thread in this file")
  end
  local here = vim.api.nvim_win_get_cursor(0)[1]
  local before = #vim.tbl_filter(function(line)
    return line < here
  end, sorted)
  -- 0-based; on a thread, its own place counts.
  local at = before + (count > 0 and (lines[here] and 0 or -1) or 0) + count
  local line = sorted[at % #sorted + 1]
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { line, lines[line] })
  vim.cmd("normal! zv")
end

-- For 'statusline': `1? 2» ⟳ reading src/net.rs`, empty where there is nothing to say.
function M.statusline()
  return package.loaded["postil.show"] and require("postil.show").statusline() or ""
end

return M
