-- :checkhealth postil

local M = {}

local health = vim.health

local function output(command)
  local ok, run = pcall(vim.system, command, { text = true, timeout = 10000 })
  if not ok then
    -- Without the line of Neovim's own that it comes from.
    return { code = -1, stdout = "", why = (tostring(run):gsub("^.-:%d+: ", "")) }
  end
  local done = run:wait()
  local why = vim.trim(done.stderr or "")
  if done.code == 124 then
    why = "it did not end in 10 s"
  end
  return { code = done.code, stdout = vim.trim(done.stdout or ""), why = why }
end

-- What is wrong counts as such, so that it is not passed over among the rest.
local function tell_findings(found)
  local rest = {}
  for _, line in ipairs(vim.split(found, "\n")) do
    local name, wrong = line:match("^✗ (%S.-)%s%s+(.*)")
    if wrong then
      health.error(name .. ": " .. wrong)
    else
      table.insert(rest, line)
    end
  end
  health.info(table.concat(rest, "\n"))
end

local function servers()
  local clients = vim.lsp.get_clients({ name = "postil" })
  if #clients == 0 then
    health.info("no server runs: it is started with the first file that is opened")
  end
  for _, client in ipairs(clients) do
    local version = vim.tbl_get(client, "server_info", "version") or "of unknown version"
    local buffers = vim.tbl_count(client.attached_buffers)
    local root = client.root_dir or client.config.root_dir or "no folder"
    health.ok(("server %s for %s (%d buffers)"):format(version, root, buffers))
    if require("postil.client").too_old(client) then
      health.error("that server is older than this plugin", "update postil, then `:Postil restart`")
    end
  end
  local failure = require("postil").failure
  if failure then
    health.error("the server does not start: " .. failure, "look at the options: :help postil-options")
  end
  for _, buffer in ipairs(require("postil.long").all()) do
    local name, lines = vim.api.nvim_buf_get_name(buffer), vim.api.nvim_buf_line_count(buffer)
    health.info(
      ("no server for %s yet: it has %d lines and no thread; a marker in it, or `:Postil new`, starts it"):format(
        vim.fn.fnamemodify(name, ":~:."),
        lines
      )
    )
  end
end

-- The folder that is asked about: that of the file from whose window this was called, else of a server that runs, else
-- the current one.
local function root(config)
  local postil = require("postil")
  local from = vim.fn.bufnr("#")
  if from > 0 and vim.api.nvim_buf_is_loaded(from) and not postil.unfit(from) then
    local client = vim.lsp.get_clients({ bufnr = from, name = "postil" })[1]
    return client and client.config.root_dir or postil.root(from, config)
  end
  local client = vim.lsp.get_clients({ name = "postil" })[1]
  return client and client.config.root_dir or vim.fn.getcwd()
end

function M.check()
  health.start("postil: the server")
  if vim.fn.has("nvim-0.10") == 0 then
    health.error("this Neovim is older than 0.10", "update Neovim")
    return
  end
  local config = require("postil").config()
  local command = config.cmd
  local program = type(command) == "table" and command[1]
  local why = require("postil").missing(config, root(config))
  if not program then
    health.info("`cmd` is a function: nothing is known of the program")
  elseif why then
    health.error(why, 'it is set so: vim.g.postil = { cmd = { "/path/to/postil" } }')
  else
    local version = output({ program, "--version" })
    if version.code == 0 then
      health.ok(("%s (%s)"):format(version.stdout, vim.fn.exepath(program)))
    else
      health.error(("`%s --version` fails: %s"):format(program, version.why), "install it again")
    end
    health.start("postil: what `postil doctor` finds")
    -- It ends with 1 where it has found something wrong.
    local doctor = output({ program, "doctor", "-C", root(config) })
    if doctor.stdout ~= "" then
      tell_findings(doctor.stdout)
    else
      health.warn("it fails: " .. doctor.why)
    end
  end
  health.start("postil: in this Neovim")
  servers()
  local parser = vim.api.nvim_get_runtime_file("parser/postil.*", false)[1]
  if parser then
    -- Newer ones return what is wrong, others throw it.
    local loads, added, why = pcall(vim.treesitter.language.add, "postil")
    if loads and not why then
      health.ok("the tree-sitter grammar `postil` is installed")
    else
      health.error(("%s cannot be loaded: %s"):format(parser, why or added), "build it again; :help postil-parser")
    end
  else
    health.info("no tree-sitter grammar `postil`: threads are coloured by the server alone; :help postil-highlight")
  end
end

return M
