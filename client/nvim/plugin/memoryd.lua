if vim.g.loaded_memoryd then
  return
end
vim.g.loaded_memoryd = true

if vim.fn.has('nvim-0.7') == 0 then
  vim.cmd('echoerr "memoryd: needs Neovim 0.7 or newer"')
  return
end

vim.api.nvim_create_user_command('Memory', function(invocation)
  require('memoryd.command').run(invocation)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Recall, list, remember and forget what memoryd knows of this project',
  complete = function(lead, line, cursor)
    return require('memoryd.command').complete(lead, line, cursor)
  end,
})

vim.keymap.set('n', '<Plug>(memoryd-recall)', function()
  require('memoryd').recall()
end, { desc = 'memoryd: recall' })

vim.keymap.set('n', '<Plug>(memoryd-list)', function()
  require('memoryd').list()
end, { desc = 'memoryd: list' })

vim.keymap.set('n', '<Plug>(memoryd-inbox)', function()
  require('memoryd').inbox()
end, { desc = 'memoryd: inbox' })

-- With the colon, the marks of the selection are set before the command reads them.
vim.keymap.set('x', '<Plug>(memoryd-remember)', ':Memory remember<CR>', {
  silent = true,
  desc = 'memoryd: remember the selection',
})
