local M = {}

---@class memoryd.Config
---@field socket? string the daemon's socket; found as the `memoryd` command finds it if unset
---@field open string the command that opens a memory's file
---@field border string|string[] the border of floating windows
---@field type memoryd.Type what `:Memory remember` saves a text as

---@type memoryd.Config
local defaults = {
  socket = nil,
  open = 'edit',
  border = 'rounded',
  type = 'feedback',
}

---@type memoryd.Config
M.current = vim.deepcopy(defaults)

M.types = { 'user', 'feedback', 'project', 'reference' }
M.scopes = { 'project', 'group', 'user', 'team' }

---@param name string
---@param is_valid boolean
---@param wanted string
local function check(name, is_valid, wanted)
  if not is_valid then
    error(('memoryd: setup(): `%s` must be %s'):format(name, wanted), 0)
  end
end

---@param opts? memoryd.Config
function M.set(opts)
  opts = opts or {}
  check('opts', type(opts) == 'table', 'a table')
  for name in pairs(opts) do
    if defaults[name] == nil and name ~= 'socket' then
      local known = 'socket, open, border, type'
      error(('memoryd: setup(): unknown option `%s`; there are: %s'):format(name, known), 0)
    end
  end
  local merged = vim.tbl_extend('force', defaults, opts)
  check('socket', merged.socket == nil or type(merged.socket) == 'string', 'a path')
  check('open', type(merged.open) == 'string', 'a command such as edit, split or tabedit')
  check('border', vim.tbl_contains({ 'string', 'table' }, type(merged.border)), 'a border')
  check('type', vim.tbl_contains(M.types, merged.type), 'one of ' .. table.concat(M.types, ', '))
  M.current = merged
end

return M
