---Recall, list, remember, forget.
local config = require('memoryd.config')
local naming = require('memoryd.naming')
local session = require('memoryd.session')
local ui = require('memoryd.ui')

local M = {}

---@param text string
---@return string[]
local function lines_of(text)
  return vim.split(vim.trim(text), '\n', { plain = true })
end

---The text of a memory's file without its header.
---@param content string
---@return string
local function body_of(content)
  local body = content:match('^%-%-%-\n.-\n%-%-%-\n(.*)$')
  return body or content
end

---Shows a whole memory in a floating window, from which its file can be opened.
---@param path string
---@param cwd string
function M.preview(path, cwd)
  session.request(
    'memory/get',
    { cwd = cwd, path = path },
    ui.reporting(function(memory)
      local age = memory.stale and memory.age .. ', check it' or memory.age
      local facts = ('*%s, %s, %s*'):format(memory.type, memory.scope, age)
      local lines = { facts, '' }
      vim.list_extend(lines, lines_of(body_of(memory.content)))
      ui.float(memory.name ~= '' and memory.name or memory.file, lines, {
        {
          key = '<CR>',
          label = 'open',
          run = function()
            ui.open(memory.path, cwd)
          end,
        },
        {
          key = 'd',
          label = 'forget',
          run = function()
            M.forget(memory.path, cwd)
          end,
        },
      })
    end)
  )
end

---@param memories memoryd.Memory[]
---@param prompt string
---@param cwd string
local function choose(memories, prompt, cwd)
  ui.select(memories, prompt, ui.line_for, function(memory)
    M.preview(memory.path, cwd)
  end)
end

---@param query? string asked for if there is none
function M.recall(query)
  if not query or vim.trim(query) == '' then
    ui.input('Recall: ', '', M.recall)
    return
  end
  local cwd = session.cwd()
  session.request(
    'recall',
    { query = query, cwd = cwd },
    ui.reporting(function(answer)
      if #answer.memories == 0 then
        ui.notify('nothing is remembered about that; save it with :Memory remember')
      else
        choose(answer.memories, 'Recalled:', cwd)
      end
    end)
  )
end

---@param filter? { type?: memoryd.Type, scope?: memoryd.Scope }
function M.list(filter)
  local cwd = session.cwd()
  session.request(
    'memory/list',
    vim.tbl_extend('force', { cwd = cwd }, filter or {}),
    ui.reporting(function(answer)
      if #answer.memories == 0 then
        ui.notify('there are no memories here yet; save one with :Memory remember')
      else
        choose(answer.memories, 'Memories:', cwd)
      end
    end)
  )
end

---@class memoryd.RememberOptions
---@field type? memoryd.Type
---@field scope? memoryd.Scope where it holds, if unset
---@field anyway? boolean save what the daemon would refuse

---@param text? string asked for if there is none
---@param options? memoryd.RememberOptions
function M.remember(text, options)
  if not text or vim.trim(text) == '' then
    ui.input('Remember: ', '', function(typed)
      M.remember(typed, options)
    end)
    return
  end
  options = options or {}
  text = vim.trim(text)
  local params = {
    cwd = session.cwd(),
    name = naming.name_for(text),
    description = naming.description_for(text),
    type = options.type or config.current.type,
    scope = options.scope or 'auto',
    body = text,
    anyway = options.anyway or nil,
  }
  session.request(
    'memory/save',
    params,
    ui.reporting(function(saved)
      ui.notify('remembered in ' .. vim.fn.fnamemodify(saved.path, ':t'))
    end)
  )
end

---@param path string
---@param cwd string
local function forget_now(path, cwd)
  session.request(
    'memory/forget',
    { cwd = cwd, path = path },
    ui.reporting(function(forgotten)
      local file = vim.fn.fnamemodify(forgotten.path, ':t')
      ui.notify(('%s is forgotten; bring it back with: memoryd restore %s'):format(file, file))
    end)
  )
end

---@param path? string a memory's file; the buffer's own, or one of the list, if there is none
---@param cwd? string
function M.forget(path, cwd)
  if path then
    forget_now(path, cwd or session.cwd())
    return
  elseif vim.b.memoryd_cwd then
    forget_now(vim.api.nvim_buf_get_name(0), vim.b.memoryd_cwd)
    return
  end
  local folder = session.cwd()
  session.request(
    'memory/list',
    { cwd = folder },
    ui.reporting(function(answer)
      ui.select(answer.memories, 'Forget:', ui.line_for, function(memory)
        forget_now(memory.path, folder)
      end)
    end)
  )
end

return M
