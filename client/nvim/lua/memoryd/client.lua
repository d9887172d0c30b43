---One connection to the daemon: JSON-RPC, one object per line, over a pipe.
---
---- Nothing waits: a callback gets the answer or the failure, always on the main loop.
---- A request connects if there is no connection. A connection that breaks is made again, first
---  soon, then less and less often.
---- A socket of another user is never used.
local uv = vim.uv or vim.loop

local FIRST_RETRY_MS = 200
local LAST_RETRY_MS = 30000
local ANSWER_MS = 60000
local ANSWER_BYTES = 64 * 1024 * 1024
local START_HINT = 'type: memoryd serve, or for good: memoryd install --service'
local DOCTOR_HINT = 'type: memoryd doctor'

---@class memoryd.Client
---@field private locate fun(): string?, string?
---@field private on_open fun(client: memoryd.Client)
---@field private on_close fun()
---@field private on_event fun(event: memoryd.Event)
---@field private pipe? userdata
---@field private state 'closed'|'connecting'|'open'
---@field private pending table<integer, memoryd.Callback>
---@field private queue string[]
---@field private parts string[]
---@field private size integer
---@field private number integer
---@field private retry_ms integer
---@field private retry? userdata
---@field private follows boolean
local Client = {}
Client.__index = Client

---@class memoryd.ClientOptions
---@field locate fun(): string?, string? the socket's path, or nil and why there is none
---@field on_open fun(client: memoryd.Client) called on each new connection
---@field on_close fun() called when a connection is over
---@field on_event fun(event: memoryd.Event)

---@param options memoryd.ClientOptions
---@return memoryd.Client
function Client.new(options)
  return setmetatable({
    locate = options.locate,
    on_open = options.on_open,
    on_close = options.on_close,
    on_event = options.on_event,
    state = 'closed',
    pending = {},
    queue = {},
    parts = {},
    size = 0,
    number = 0,
    retry_ms = FIRST_RETRY_MS,
    follows = false,
  }, Client)
end

---@param kind string
---@param message string
---@param hint string
---@return memoryd.Failure
local function failure(kind, message, hint)
  return { kind = kind, message = message, hint = hint }
end

---@param problem string as libuv says it: the name of the error first
---@param path string
---@return memoryd.Failure
local function connect_failure(problem, path)
  local name = problem:match('^[A-Z]+') or problem
  if name == 'ENOENT' or name == 'ECONNREFUSED' or name == 'ENOTDIR' then
    return failure('not-running', 'the daemon is not running', START_HINT)
  elseif name == 'EACCES' or name == 'EPERM' then
    return failure('denied', 'this user may not open ' .. path, DOCTOR_HINT)
  end
  return failure('broken', ('cannot connect to %s: %s'):format(path, problem), DOCTOR_HINT)
end

---Why the socket at a path must not be used; nil if it is this user's.
---@param path string
---@return memoryd.Failure?
local function owner_failure(path)
  local socket, problem = uv.fs_stat(path)
  local folder = uv.fs_stat(vim.fn.fnamemodify(path, ':h'))
  if not socket or not folder then
    return connect_failure(problem or 'ENOENT', path)
  end
  local uid = uv.getuid()
  if socket.uid ~= uid or (folder.uid ~= uid and folder.uid ~= 0) then
    return failure('denied', path .. ' belongs to another user', DOCTOR_HINT)
  end
end

---@return boolean
function Client:is_open()
  return self.state == 'open'
end

---Asks the daemon; connects first if need be.
---@param method string
---@param params? table
---@param callback? memoryd.Callback
function Client:request(method, params, callback)
  self.number = self.number + 1
  local id = self.number
  -- An empty table would be encoded as a list.
  params = params and next(params) and params or nil
  local request = { jsonrpc = '2.0', id = id, method = method, params = params }
  self.pending[id] = callback or function() end
  vim.defer_fn(function()
    self:answer(id, failure('timed-out', 'the daemon did not answer in time', DOCTOR_HINT))
  end, ANSWER_MS)
  local line = vim.json.encode(request) .. '\n'
  if self.state == 'open' then
    self.pipe:write(line)
    return
  end
  self.queue[#self.queue + 1] = line
  self:connect()
end

---Stays connected from now on, whatever happens to the daemon.
function Client:follow()
  self.follows = true
  self:connect()
end

---Ends the connection and does not make it again by itself.
function Client:close()
  self.follows = false
  self:stop_retry()
  self:drop(failure('broken', 'the connection was closed', DOCTOR_HINT))
end

---@private
function Client:connect()
  if self.state ~= 'closed' then
    return
  end
  self:stop_retry()
  self.state = 'connecting'
  local path, problem = self.locate()
  if not path then
    self:drop(failure('config', problem or '', 'choose another path, or unset MEMORYD_SOCKET'))
    return
  end
  local refusal = owner_failure(path)
  if refusal then
    self:drop(refusal)
    return
  end
  local pipe = uv.new_pipe(false)
  self.pipe = pipe
  pipe:connect(path, function(broken)
    vim.schedule(function()
      if self.pipe ~= pipe then
        return
      elseif broken then
        self:drop(connect_failure(broken, path))
      else
        self:opened(pipe)
      end
    end)
  end)
end

---@private
function Client:opened(pipe)
  self.state = 'open'
  pipe:read_start(function(broken, chunk)
    -- One handler for each chunk, in order: the main loop keeps the order of what is scheduled.
    vim.schedule(function()
      if self.pipe ~= pipe then
        return
      elseif broken or not chunk then
        self:drop(failure('broken', 'the connection to the daemon broke', 'try again'))
      else
        self:read(chunk)
      end
    end)
  end)
  local waiting = self.queue
  self.queue = {}
  self.on_open(self)
  for _, line in ipairs(waiting) do
    pipe:write(line)
  end
end

---@private
function Client:read(chunk)
  local pipe = self.pipe
  local from = 1
  for at in chunk:gmatch('()\n') do
    self.parts[#self.parts + 1] = chunk:sub(from, at - 1)
    local line = table.concat(self.parts)
    self.parts, self.size, from = {}, 0, at + 1
    self:receive(line)
    if self.pipe ~= pipe then
      return
    end
  end
  self.parts[#self.parts + 1] = chunk:sub(from)
  self.size = self.size + #chunk
  if self.size > ANSWER_BYTES then
    self:drop(failure('broken', 'the answer is too long', DOCTOR_HINT))
  end
end

---@private
function Client:receive(line)
  local is_json, message =
    pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
  if not is_json or type(message) ~= 'table' then
    self:drop(failure('broken', 'what answers on the socket is not memoryd', DOCTOR_HINT))
  elseif message.method == 'event' and type(message.params) == 'table' then
    if type(message.params.kind) == 'string' then
      self.on_event(message.params)
    end
  elseif type(message.error) == 'table' then
    local data = type(message.error.data) == 'table' and message.error.data or {}
    local said = failure(data.kind or '', tostring(message.error.message), data.hint or '')
    self:answer(message.id, said)
  elseif message.id then
    -- Only now is it known to be a daemon: try again soon if it goes.
    self.retry_ms = FIRST_RETRY_MS
    self:answer(message.id, nil, message.result)
  end
end

---@private
---@param id integer
---@param said? memoryd.Failure
---@param result? any
function Client:answer(id, said, result)
  local callback = self.pending[id]
  self.pending[id] = nil
  if not callback then
    return
  end
  if not said and type(result) ~= 'table' then
    said = failure('broken', 'the answer makes no sense', DOCTOR_HINT)
  end
  callback(said, not said and result or nil)
end

---Fails whatever waits, and connects again later if the client follows the daemon.
---@private
---@param said memoryd.Failure
function Client:drop(said)
  local was_open = self.state == 'open'
  if self.pipe and not self.pipe:is_closing() then
    self.pipe:close()
  end
  local pending = self.pending
  self.pipe, self.state, self.pending, self.queue = nil, 'closed', {}, {}
  self.parts, self.size = {}, 0
  if was_open then
    self.on_close()
  end
  if self.follows then
    self:connect_later()
  end
  for _, callback in pairs(pending) do
    vim.schedule(function()
      callback(said, nil)
    end)
  end
end

---@private
function Client:connect_later()
  self:stop_retry()
  local timer = uv.new_timer()
  self.retry = timer
  timer:start(self.retry_ms, 0, function()
    vim.schedule(function()
      if self.retry == timer then
        self:connect()
      end
    end)
  end)
  self.retry_ms = math.min(self.retry_ms * 2, LAST_RETRY_MS)
end

---@private
function Client:stop_retry()
  if self.retry then
    self.retry:stop()
    self.retry:close()
    self.retry = nil
  end
end

return Client
