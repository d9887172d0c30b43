---The inbox: statements that may be worth keeping wait there until somebody decides.
local naming = require('memoryd.naming')
local session = require('memoryd.session')
local ui = require('memoryd.ui')

local M = {}

---Why a statement waits.
local reasons = {
  ['may-last'] = 'it may hold beyond the task it was said in',
  secret = 'it says little without the secret in it, which is never saved',
  ['long-message'] = 'the message is long or shows another voice: it may not be your own words',
  review = 'everything waits for review here',
  contradicts = 'it may contradict what is remembered',
  agent = 'the agent concluded it',
  imported = 'it came with an archive',
  team = 'its author is new to this machine; to accept it takes over all that they share',
}

---@param item memoryd.Candidate
---@return string[]
local function lines_for(item)
  local lines = vim.split(vim.trim(item.text), '\n', { plain = true })
  local why = reasons[item.reason] or item.reason
  local facts = { '', ('*%s; waits because %s*'):format(item.type, why) }
  for _, old in ipairs(item.against) do
    facts[#facts + 1] = naming.one_line(('*contradicts %s: %s*'):format(old.file, old.text))
  end
  if item.retires then
    facts[#facts + 1] = '*to accept it retires that memory*'
  end
  vim.list_extend(lines, facts)
  local around = vim.trim(item.around)
  if around ~= '' and around ~= vim.trim(item.text) then
    lines[#lines + 1] = ''
    for line in vim.gsplit(around, '\n', { plain = true }) do
      lines[#lines + 1] = '> ' .. line
    end
  end
  return lines
end

---@param method string
---@param params table
local function decide(method, params)
  session.request(
    method,
    params,
    ui.reporting(function(answer)
      for _, kept in ipairs(answer.kept or {}) do
        local words = kept.is_retired and 'retired to ' or 'remembered in '
        ui.notify(words .. vim.fn.fnamemodify(kept.path, ':t'))
      end
      for _, refused in ipairs(answer.refused or {}) do
        ui.report({ kind = 'refused', message = refused.reason, hint = refused.hint })
      end
      session.refresh()
      M.inbox({ is_next = true })
    end)
  )
end

---@param item memoryd.Candidate
local function show(item)
  local ids = { item.id }
  ui.float('inbox', lines_for(item), {
    {
      key = 'a',
      label = 'accept',
      run = function()
        decide('inbox/accept', { ids = ids })
      end,
    },
    {
      key = 'e',
      label = 'edit',
      run = function()
        ui.input('Keep as: ', naming.one_line(item.text), function(text)
          decide('inbox/edit', { ids = ids, text = text })
        end)
      end,
    },
    {
      key = 'r',
      label = 'reject',
      run = function()
        decide('inbox/reject', { ids = ids })
      end,
    },
  })
end

---@param options? { is_next?: boolean } after a decision, an empty inbox needs no message
function M.inbox(options)
  session.request(
    'inbox/list',
    { cwd = session.cwd() },
    ui.reporting(function(answer)
      if #answer.items > 0 then
        ui.select(answer.items, 'Inbox:', function(item)
          return naming.one_line(('%s  (%s)'):format(item.text, item.type))
        end, show)
      elseif not (options and options.is_next) then
        ui.notify('the inbox is empty')
      end
    end)
  )
end

return M
