-- A day with the plugin: no daemon, a daemon, a restart, and none again.
local s = dofile(os.getenv('MEMORYD_TEST_SCRIPTS') .. '/nvim_script.lua')

local function loaded()
  return vim.tbl_filter(function(name)
    return vim.startswith(name, 'memoryd')
  end, vim.tbl_keys(package.loaded))
end

local function names_in_globals()
  return vim.tbl_filter(function(name)
    return name:lower():find('memor') ~= nil
  end, vim.tbl_keys(_G))
end

s.result('loaded_at_start', loaded())
s.result('completed', vim.fn.getcompletion('Memory ', 'cmdline'))

-- Without a daemon.
s.result(
  'absent',
  s.said_after(function()
    vim.cmd('Memory recall deploys')
  end)
)
s.result('absent_statusline', require('memoryd').statusline())

-- The daemon starts: nobody has to do anything.
local session = require('memoryd.session')
session.listen(function(event)
  s.events[#s.events + 1] = event
end)
s.wish('start')
s.wait('a connection', session.is_open)

-- A visual selection.
vim.api.nvim_buf_set_lines(0, 0, -1, false, {
  'Minutes: We deploy on Thursdays, after the review, with make ship. Then lunch.',
})
vim.cmd('normal! 0fWvf.')
s.press('<Esc>')
s.result(
  'remembered',
  s.said_after(function()
    vim.cmd("'<,'>Memory remember")
  end)
)
s.wait('the event', function()
  return #s.events > 0
end)
s.result('event', s.events[1])
s.result(
  'remembered_words',
  s.said_after(function()
    vim.cmd('Memory remember Use tabs in Makefiles, never spaces.')
  end)
)
s.result(
  'refused',
  s.said_after(function()
    vim.cmd('Memory remember The function foo is in file bar.py line 3')
  end)
)
s.result(
  'insisted',
  s.said_after(function()
    vim.cmd('Memory! remember The function foo is in file bar.py line 3')
  end)
)

-- Recall, the preview, and the file itself.
s.result(
  'recalled',
  s.offered_after(function()
    vim.cmd('Memory recall when do we deploy?')
  end)
)
s.result('preview', s.wait_for_float())
s.result('preview_filetype', vim.bo.filetype)
s.press('<CR>')
s.result('opened', { name = vim.api.nvim_buf_get_name(0), kind = vim.bo.buftype })
local opened = vim.api.nvim_buf_get_name(0)
vim.fn.append(vim.fn.line('$'), 'Never on a Friday.')
vim.cmd('silent write')
local waiting
s.wait('trust', function()
  if waiting == nil then
    waiting = false
    require('memoryd').request('memory/trust', {}, function(_, answer)
      waiting = #answer.waiting > 0 and nil or answer
    end)
  end
  return waiting
end)
s.result('still_of_unknown_origin', waiting.waiting)
vim.cmd('enew!')

-- List and completion.
s.result(
  'listed',
  s.offered_after(function()
    vim.cmd('Memory list type=feedback')
  end)
)
s.wait_for_float()
s.press('q')
s.result('window_closed', vim.api.nvim_win_get_config(0).relative == '')
s.result(
  'bad_filter',
  s.said_after(function()
    vim.cmd('Memory list type=nonsense')
  end)
)
s.wait('the names', function()
  return #session.files >= 3
end)
s.result('completed_files', vim.fn.getcompletion('Memory forget ', 'cmdline'))

-- A dream, in the statusline.
local lines = {}
session.listen(function()
  lines[#lines + 1] = require('memoryd').statusline()
end)
local before = #s.said
vim.cmd('Memory dream')
s.wait('the end of the dream', function()
  return #s.said >= before + 2
end)
s.result('dream', { unpack(s.said, before + 1) })
s.result('dream_lines', lines)

s.result(
  'dream_status',
  s.said_after(function()
    vim.cmd('Memory dream status')
  end)
)
s.result(
  'dream_undone',
  s.said_after(function()
    vim.cmd('Memory dream undo')
  end)
)
s.result(
  'no_such_dream',
  s.said_after(function()
    vim.cmd('Memory dream sideways')
  end)
)
s.result(
  'no_such_command',
  s.said_after(function()
    vim.cmd('Memory lose')
  end)
)
s.result(
  'nothing_recalled',
  s.said_after(function()
    vim.cmd('Memory recall zebra crossings in Antarctica')
  end)
)

-- The inbox.
s.wish('say')
s.wait('the inbox in the statusline', function()
  return require('memoryd').statusline() ~= ''
end)
s.result('inbox_line', require('memoryd').statusline())
s.result(
  'inbox',
  s.offered_after(function()
    vim.cmd('Memory inbox')
  end)
)
s.result('inbox_window', s.wait_for_float())
s.result(
  'accepted',
  s.said_after(function()
    s.press('a')
  end)
)
s.wait('an empty inbox', function()
  return require('memoryd').statusline() == ''
end)

-- A daemon that does not answer holds nothing up.
s.wish('freeze')
local choices = #s.choices
vim.cmd('Memory recall when do we deploy?')
local ticks = 0
s.wait('the editor to go on', function()
  ticks = ticks + 1
  return ticks > 10
end)
s.result('answered_while_frozen', #s.choices - choices)
s.wish('thaw')
s.wait('the answer', function()
  return #s.choices > choices
end)
s.wait_for_float()
s.press('q')

-- A restart in the middle.
s.wish('restart')
s.result(
  'recalled_after_restart',
  s.offered_after(function()
    s.wait('a new connection', session.is_open)
    vim.cmd('Memory recall when do we deploy?')
  end)
)
s.wait_for_float()
s.press('q')
s.events = {}
s.said_after(function()
  vim.cmd('Memory remember Lunch is at noon on weekdays.')
end)
s.wait('an event of the new connection', function()
  return #s.events > 0
end)
s.result('event_after_restart', s.events[1])

s.result(
  'forgotten',
  s.said_after(function()
    vim.cmd('Memory forget ' .. vim.fn.fnamemodify(opened, ':t'))
  end)
)

vim.cmd('checkhealth memoryd')
s.result('health', vim.api.nvim_buf_get_lines(0, 0, -1, false))
vim.cmd('bwipeout!')

-- Lines, and a block.
local function body_of_saved(command)
  s.events = {}
  vim.cmd(command)
  local content
  s.wait('a saved memory', function()
    return s.events[1] ~= nil
  end)
  require('memoryd').request('memory/get', { path = s.events[1].path }, function(_, memory)
    content = memory.content
  end)
  s.wait('its text', function()
    return content
  end)
  return content
end
vim.api.nvim_buf_set_lines(0, 0, -1, false, {
  'Standup is at nine, in the kitchen.',
  'Bring coffee to it, black.',
})
s.result('lines', body_of_saved('1,2Memory remember'))
vim.api.nvim_buf_set_lines(
  0,
  0,
  -1,
  false,
  { 'xx Friday is pizza day xx', 'xx in the large room  xx' }
)
vim.cmd('normal! gg03l')
s.press('<C-v>j18l<Esc>')
s.result('block', body_of_saved("'<,'>Memory remember"))

-- What an agent runs is not a person's.
vim.env.CLAUDECODE = '1'
s.events = {}
s.said_after(function()
  vim.cmd('Memory remember Retries of the importer wait for a minute.')
end)
s.wait('the event of an agent', function()
  return s.events[1] ~= nil
end)
s.result('agents_event', s.events[1])
vim.env.CLAUDECODE = nil

-- A socket of somebody else.
s.wish('stranger')
session.close()
require('memoryd').setup({ socket = os.getenv('MEMORYD_TEST_FOLDER') .. '/stranger.sock' })
s.result(
  'stranger',
  s.said_after(function()
    vim.cmd('Memory recall deploys')
  end)
)

-- Something else answers on the socket.
s.wish('impostor')
session.close()
require('memoryd').setup({ socket = os.getenv('MEMORYD_TEST_FOLDER') .. '/impostor.sock' })
s.result(
  'impostor',
  s.said_after(function()
    vim.cmd('Memory recall deploys')
  end)
)
session.close()
require('memoryd').setup()
s.result('bad_option', { pcall(require('memoryd').setup, { borders = 'none' }) })

-- And no daemon again.
s.wish('stop')
s.result(
  'absent_again',
  s.said_after(function()
    vim.cmd('Memory list')
  end)
)
s.result('globals', names_in_globals())
s.finish()
