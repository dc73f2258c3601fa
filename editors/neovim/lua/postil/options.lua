-- The options of the client and of the plugin: which there are, and what each must be.

local M = {}

local is_list = vim.islist or vim.tbl_islist

-- What can stand beside a line: Neovim takes no other sign, and would say so at each diagnostic.
local function is_sign(text)
  local cells = type(text) == "string" and not text:find("%c") and vim.fn.strdisplaywidth(text)
  return cells and cells <= 2
end

local function is_text(value)
  return type(value) == "string"
end

-- Whether this is a list of such values.
local function is_list_of(value, is_such)
  return type(value) == "table" and is_list(value) and vim.iter(value):all(is_such)
end

-- Whether this is a table of such keys and values, as a rule asks.
local function is_table_of(is_key, is_value)
  return function(value)
    return type(value) == "table"
      and vim.iter(pairs(value)):all(function(key, each)
        return is_key(key) and is_value(each)
      end)
  end
end

-- A rule for an option of this type.
local function a(kind)
  return {
    "a " .. kind,
    function(value)
      return type(value) == kind
    end,
  }
end

-- One for what is called at the client's start or end.
local calls = {
  "a function, or a list of functions",
  function(value)
    return type(value) == "function" or is_list_of(value, vim.is_callable)
  end,
}

-- One for what has to be among these.
local function among(values)
  return {
    '"' .. table.concat(values, '", "', 1, #values - 1) .. '" or "' .. values[#values] .. '"',
    function(value)
      return vim.list_contains(values, value)
    end,
  }
end

-- Whether a milliseconds' option is one; false: never.
local function is_time(value)
  return value == false or type(value) == "number"
end

-- What an option must be; whatever else is given is said, and left out.
local wanted = {
  cmd = {
    'a list like { "/path/to/postil" }, or a function',
    function(value)
      return type(value) == "function" or is_list_of(value, is_text) and value[1] ~= nil
    end,
  },
  settings = {
    "a table like { postil = { … } }",
    function(value)
      return type(value) == "table" and (next(value) == nil or type(value.postil) == "table")
    end,
  },
  filetypes = {
    'a list like { "rust" }',
    function(value)
      return is_list_of(value, is_text)
    end,
  },
  root_dir = {
    "a folder, or left to `root_markers`",
    is_text,
  },
  root_markers = {
    'a list like { "postil.toml", ".git" }',
    function(value)
      return is_list_of(value, function(marker)
        -- Newer ones know of markers of one rank.
        return is_text(marker) or vim.fn.has("nvim-0.12") == 1 and is_list_of(marker, is_text)
      end)
    end,
  },
  before_init = calls,
  on_init = calls,
  on_attach = calls,
  on_exit = calls,
  on_error = a("function"),
  get_language_id = a("function"),
  reuse_client = a("function"),
  capabilities = a("table"),
  init_options = a("table"),
  detached = a("boolean"),
  workspace_required = a("boolean"),
  commands = {
    "a table of functions",
    is_table_of(is_text, vim.is_callable),
  },
  handlers = {
    "a table of functions",
    is_table_of(is_text, vim.is_callable),
  },
  cmd_env = {
    'a table like { NAME = "value" }',
    is_table_of(is_text, function(value)
      return vim.list_contains({ "string", "number", "boolean" }, type(value))
    end),
  },
  cmd_cwd = {
    "a folder that is there",
    function(value)
      return is_text(value) and vim.fn.isdirectory(value) == 1
    end,
  },
  exit_timeout = {
    "a number of milliseconds, or false",
    is_time,
  },
  flags = {
    "a table like { debounce_text_changes = 150 }",
    function(value)
      local known = { debounce_text_changes = "number", allow_incremental_sync = "boolean" }
      return type(value) == "table" and is_time(value.exit_timeout or false) and vim.iter(known):all(function(name, kind)
        return value[name] == nil or type(value[name]) == kind
      end)
    end,
  },
  offset_encoding = {
    '"utf-8", "utf-16" or "utf-32"',
    function(value)
      return is_text(value) and vim.list_contains({ "utf8", "utf16", "utf32" }, (value:lower():gsub("-", "")))
    end,
  },
  trace = among({ "off", "messages", "verbose" }),
  workspace_folders = {
    'a list like { { name = "project", uri = "file:///path" } }',
    function(value)
      return is_list_of(value, function(folder)
        return type(folder) == "table" and is_text(folder.uri) and is_text(folder.name)
      end)
    end,
  },
  name = {
    '"postil", by which the plugin finds its server',
    function(value)
      return value == "postil"
    end,
  },
  ui = a("table"),
  ["ui.signs"] = {
    "false, or a table with `pending` and `awaiting_user`, each two columns wide at most",
    function(value)
      return value == false or type(value) == "table" and is_sign(value.pending) and is_sign(value.awaiting_user)
    end,
  },
  ["ui.state"] = among({ "auto", "eol", "sign" }),
  ["ui.turns"] = {
    '"eol", "below" or false',
    function(value)
      return value == "eol" or value == "below" or value == false
    end,
  },
  ["ui.slow"] = {
    "a number of milliseconds",
    function(value)
      return type(value) == "number" and value > 0
    end,
  },
}

-- The names that Neovim's clients have, in any version that this runs in.
local known = "before_init capabilities cmd cmd_cwd cmd_env commands detached exit_timeout filetypes flags "
  .. "get_language_id handlers init_options name offset_encoding on_attach on_error on_exit on_init reuse_client "
  .. "root_dir root_markers settings trace ui workspace_folders workspace_required"

-- Whether there is an option of this name. Of what lies deeper the server says it itself.
local function is_known(prefix, name)
  if prefix == "" then
    return vim.list_contains(vim.split(known, " "), name)
  end
  return wanted[prefix .. name] ~= nil or prefix .. name == "settings.postil"
end

-- Says once that an option is not as it must be.
local function tell(path, why)
  vim.schedule(function()
    require("postil").say_once(("the option `%s` %s: :help postil-options"):format(path, why), vim.log.levels.WARN)
  end)
end

-- Why an option is left out: a sentence; nil: it is not.
local function unfit(path, value)
  local rule = wanted[path]
  return rule and not rule[2](value) and ("must be %s; it is left out"):format(rule[1]) or nil
end

-- What of these options is as it must be. Of all else it is said.
function M.checked(from, prefix)
  local kept = {}
  for name, value in pairs(from) do
    local path = prefix .. tostring(name)
    local why = unfit(path, value)
    if why or not is_known(prefix, name) then
      tell(path, why or "is not known")
    end
    if path == "ui" and not why then
      kept.ui = M.checked(value, "ui.")
    elseif not why then
      kept[name] = value
    end
    if path == "settings" and not why then
      M.checked(value, "settings.")
    end
  end
  return kept
end

-- Puts what `plain` tells in place of what in a client's configuration is not as it must be, as `vim.lsp.config` takes
-- anything.
function M.mend(config, plain)
  for name in pairs(wanted) do
    local value = config[name]
    -- That is a function there.
    local why = value ~= nil and name ~= "root_dir" and unfit(name, value) or nil
    if why then
      tell(name, why)
      config[name] = plain()[name]
    end
  end
end

return M
