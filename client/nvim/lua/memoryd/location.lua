---Where the daemon of this user listens. The rules are those of the `memoryd` command, byte for
---byte; `found` reads the world through what it is given and is otherwise pure.
local M = {}

local PATH_BYTES = 4096
local USUAL_RUNTIME = '/run/user'

---@class memoryd.User
---@field uid integer
---@field homedir string from the user database, not from HOME

---The normalised folder that a variable names; nil unless it is an absolute path.
---@param environ table<string, string>
---@param name string
---@return string?
local function folder_in(environ, name)
  local value = environ[name] or ''
  if value:sub(1, 1) ~= '/' or #value > PATH_BYTES then
    return nil
  end
  local parts = {}
  for part in value:gmatch('[^/]+') do
    if part ~= '.' then
      parts[#parts + 1] = part
    end
  end
  return '/' .. table.concat(parts, '/')
end

local function within(folder, name)
  return folder:gsub('/+$', '') .. '/' .. name
end

local function state_folder(environ, user, platform)
  local usual = platform == 'darwin' and 'Library/Application Support' or '.local/state'
  local home = folder_in(environ, 'HOME') or user.homedir
  return within(folder_in(environ, 'XDG_STATE_HOME') or within(home, usual), 'memoryd')
end

---@param environ table<string, string>
---@param user memoryd.User
---@param platform 'linux'|'darwin'
---@return string? path
---@return string? problem
function M.socket_path(environ, user, platform)
  local limit = platform == 'linux' and 107 or 103
  local asked = environ.MEMORYD_SOCKET or ''
  if asked ~= '' then
    if asked:sub(1, 1) ~= '/' or #asked > limit then
      return nil, ('MEMORYD_SOCKET must be a full path of at most %d bytes'):format(limit)
    end
    return asked
  end
  local folder = folder_in(environ, 'XDG_RUNTIME_DIR') or state_folder(environ, user, platform)
  local path = within(folder, 'memoryd.sock')
  if #path <= limit then
    return path
  end
  return ('/tmp/memoryd-%d-%s/memoryd.sock'):format(user.uid, vim.fn.sha256(path):sub(1, 12))
end

---Where the daemon really listens: it may have been started with other variables.
---@param environ table<string, string>
---@param user memoryd.User
---@param platform 'linux'|'darwin'
---@param is_there fun(path: string): boolean
---@return string? path
---@return string? problem
function M.found(environ, user, platform, is_there)
  local path, problem = M.socket_path(environ, user, platform)
  if not path or (environ.MEMORYD_SOCKET or '') ~= '' or is_there(path) then
    return path, problem
  end
  if folder_in(environ, 'XDG_RUNTIME_DIR') then
    local other = within(state_folder(environ, user, platform), 'memoryd.sock')
    return is_there(other) and other or path
  end
  local other = ('%s/%d/memoryd.sock'):format(USUAL_RUNTIME, user.uid)
  local is_own_home = (folder_in(environ, 'HOME') or user.homedir) == user.homedir
  return is_there(other) and is_own_home and other or path
end

return M
