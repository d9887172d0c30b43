---The one connection of this Neovim, and what is known through it.
local Client = require('memoryd.client')
local config = require('memoryd.config')
local location = require('memoryd.location')
local progress = require('memoryd.progress')

local uv = vim.uv or vim.loop

local EVENTS = {
  'memory/saved',
  'memory/forgotten',
  'memory/retired',
  'extraction/finished',
  'dream/started',
  'dream/phase',
  'dream/file',
  'dream/finished',
}
-- What coding agents set for the programs that they run: a change made there is not a person's.
local AGENT_VARIABLES = {
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT',
  'CODEX_SANDBOX',
  'CODEX_THREAD_ID',
  'CURSOR_AGENT',
  'GEMINI_CLI',
  'OPENCODE',
  'AI_AGENT',
}

local M = {}

---@type memoryd.State
M.state = progress.new()
---@type string[] the files of the memories of the folder asked about last, for completion
M.files = {}

---@type memoryd.Client?
local client
local refreshing = false
---@type fun(event: memoryd.Event)[]
local listeners = {}

---@return string? path
---@return string? problem
function M.socket()
  if config.current.socket then
    return vim.fn.fnamemodify(vim.fn.expand(config.current.socket), ':p')
  end
  local passwd = uv.os_get_passwd()
  local user = { uid = uv.getuid(), homedir = passwd and passwd.homedir or '/' }
  local platform = jit.os == 'OSX' and 'darwin' or 'linux'
  return location.found(uv.os_environ(), user, platform, function(path)
    return uv.fs_stat(path) ~= nil
  end)
end

---The folder whose project a request is about.
---@return string
function M.cwd()
  return vim.fn.getcwd()
end

---@return boolean
local function is_in_an_agent()
  for _, name in ipairs(AGENT_VARIABLES) do
    if (uv.os_getenv(name) or '') ~= '' then
      return true
    end
  end
  return false
end

---@param event memoryd.Event
local function tell(event)
  local options = { pattern = 'MemorydEvent', modeline = false }
  if vim.fn.has('nvim-0.8') == 1 then
    options.data = event
  end
  vim.api.nvim_exec_autocmds('User', options)
  for _, listener in ipairs(listeners) do
    listener(event)
  end
end

local function redraw()
  vim.cmd('redrawstatus!')
end

---Asks for the inbox and the memories again, once for a burst of events.
function M.refresh()
  if refreshing then
    return
  end
  refreshing = true
  vim.defer_fn(function()
    refreshing = false
    if not M.is_open() then
      return
    end
    M.request('inbox/list', { cwd = M.cwd() }, function(failure, result)
      M.state.inbox = failure and M.state.inbox or #result.items
      redraw()
    end)
    M.request('memory/list', { cwd = M.cwd() }, function(failure, result)
      if not failure then
        M.files = vim.tbl_map(function(memory)
          return memory.file
        end, result.memories)
      end
    end)
  end, 50)
end

local function on_event(event)
  progress.update(M.state, event)
  if progress.touches_inbox(event) or event.kind == 'memory/forgotten' then
    M.refresh()
  end
  redraw()
  tell(event)
end

---@return memoryd.Client
local function connected()
  if client then
    return client
  end
  client = Client.new({
    locate = M.socket,
    on_open = function(opened)
      opened:request('events/subscribe', { kinds = EVENTS })
      M.refresh()
    end,
    on_close = function()
      -- A dream does not survive its daemon.
      M.state = progress.new()
      redraw()
    end,
    on_event = on_event,
  })
  local group = vim.api.nvim_create_augroup('memoryd', { clear = true })
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = group,
    callback = M.close,
  })
  vim.api.nvim_create_autocmd('DirChanged', { group = group, callback = M.refresh })
  return client
end

---Connects, and connects again whenever the daemon comes back.
function M.follow()
  if not client then
    connected():follow()
  end
end

---@param method string
---@param params table
---@param callback memoryd.Callback
function M.request(method, params, callback)
  M.follow()
  if is_in_an_agent() then
    params = vim.tbl_extend('force', params, { by = 'agent' })
  end
  connected():request(method, params, callback)
end

---@return boolean
function M.is_open()
  return client ~= nil and client:is_open()
end

---Calls a function for each event from now on.
---@param listener fun(event: memoryd.Event)
function M.listen(listener)
  listeners[#listeners + 1] = listener
end

function M.close()
  if client then
    client:close()
    client = nil
  end
end

return M
