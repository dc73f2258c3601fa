-- What completes `:Postil` and its arguments.

local asks = require("postil.client")
local pick = require("postil.pick")

local M = {}

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
  local params = pick.actions_at(buffer, math.max(line - 1, 1), line)
  local found = {}
  for _, action in ipairs(asks.now(client, "textDocument/codeAction", params, 500) or {}) do
    local argument = pick.chosen(client, action)
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

---@param commands table of `:Postil`
function M.complete(commands, lead, line, position)
  local before = line:sub(1, position)
  -- Abbreviated too.
  local name = before:match("%f[%a]Post?i?l?!?%s+(%S+)%s")
  local client = asks.of(vim.api.nvim_get_current_buf())
  local found
  if not name then
    found = vim.tbl_keys(commands.all)
    vim.list_extend(found, client and commands.others(client) or {})
  else
    local about = commands.all[name] and commands.all[name].about
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
