" Settings for Whamm scripts.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal comments=s1:/*,mb:*,ex:*/,:// commentstring=//\ %s
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal formatoptions-=t formatoptions+=croql
setlocal suffixesadd=.whamm include=^\\s*\\%(include\\\|use\\)\\> includeexpr=substitute(v:fname,'\\.\\(whamm$\\)\\@!','/','g')
let b:undo_ftplugin = 'setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< formatoptions< suffixesadd<'
      \ . ' include< includeexpr<'

" :make shows the messages of `whammc check` in the quickfix list.
if executable('whammc')
  compiler whammc
endif
