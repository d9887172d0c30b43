---A client for memoryd, the daemon that gives coding agents a memory.
---Everything here is loaded when it is first used; `setup` is optional.
local M = {}

---@param opts? memoryd.Config
function M.setup(opts)
  require('memoryd.config').set(opts)
end

---Searches this project's memories and shows one of those found.
---@param query? string asked for if there is none
function M.recall(query)
  require('memoryd.memories').recall(query)
end

---@param filter? { type?: memoryd.Type, scope?: memoryd.Scope }
function M.list(filter)
  require('memoryd.memories').list(filter)
end

---@param text? string asked for if there is none
---@param options? memoryd.RememberOptions
function M.remember(text, options)
  require('memoryd.memories').remember(text, options)
end

---@param path? string a memory's file, as the list shows it
function M.forget(path)
  require('memoryd.memories').forget(path)
end

---@param action? 'start'|'status'|'stop'|'undo'
function M.dream(action)
  require('memoryd.dream').dream(action)
end

function M.inbox()
  require('memoryd.inbox').inbox()
end

---Asks the daemon anything that docs/socket.md lists. `cwd` is added unless it is there.
---@param method string
---@param params? table
---@param callback memoryd.Callback
function M.request(method, params, callback)
  local session = require('memoryd.session')
  session.request(method, vim.tbl_extend('keep', params or {}, { cwd = session.cwd() }), callback)
end

---A short text for the statusline; empty if there is nothing to say. The first call connects.
---@return string
function M.statusline()
  local session = require('memoryd.session')
  session.follow()
  return require('memoryd.progress').text(session.state, session.cwd())
end

return M
