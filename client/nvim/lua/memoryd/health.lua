---`:checkhealth memoryd`
local M = {}

local WAIT_MS = 2000

local reports = vim.health or require('health')
local start = reports.start or reports.report_start
local ok = reports.ok or reports.report_ok
local warn = reports.warn or reports.report_warn
local fail = reports.error or reports.report_error

local function check_neovim()
  if vim.fn.has('nvim-0.10') == 1 then
    ok('Neovim 0.10 or newer')
  elseif vim.fn.has('nvim-0.7') == 1 then
    ok('Neovim 0.7 or newer; titles and footers of floating windows come with 0.10')
  else
    fail('Neovim is older than 0.7')
  end
end

---@return boolean
local function check_socket()
  local path, problem = require('memoryd.session').socket()
  if not path then
    fail(problem or '', { 'choose another path, or unset MEMORYD_SOCKET' })
    return false
  end
  ok('socket: ' .. path)
  return true
end

-- A health check has to answer at once, so this one place waits. Everything else goes on meanwhile.
local function check_daemon()
  local session = require('memoryd.session')
  local failure, result
  session.request('ping', {}, function(said, answer)
    failure, result = said, answer
  end)
  vim.wait(WAIT_MS, function()
    return failure ~= nil or result ~= nil
  end, 20)
  if result then
    ok(('memoryd %s answers (process %d)'):format(result.version, result.pid))
    for _, problem in ipairs(result.problems or {}) do
      warn(type(problem) == 'string' and problem or vim.inspect(problem), { 'memoryd doctor' })
    end
  elseif failure then
    fail(failure.message, { failure.hint })
  else
    fail('the daemon did not answer in time', { 'type: memoryd doctor' })
  end
end

local function check_command()
  if vim.fn.executable('memoryd') == 1 then
    ok('the command memoryd is on PATH')
  else
    warn('the command memoryd is not on PATH', { 'hints of this plugin name it; see the README' })
  end
end

function M.check()
  start('memoryd')
  check_neovim()
  check_command()
  if check_socket() then
    check_daemon()
  end
end

return M
