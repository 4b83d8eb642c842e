" Indentation of Whamm scripts: four blanks for each block, and for the rest of a statement or rule.
if exists('b:did_indent')
  finish
endif
let b:did_indent = 1

setlocal indentexpr=GetWhammIndent(v:lnum) indentkeys=0{,0},0),!^F,o,O autoindent
let b:undo_indent = 'setlocal indentexpr< indentkeys< autoindent<'

if exists('*GetWhammIndent')
  finish
endif

" The group of the syntax at the start of a line; it says whether the line begins in a string or comment.
function! s:StartsInside(lnum) abort
  if a:lnum == 1
    return 0
  endif
  let groups = map(synstack(a:lnum - 1, max([1, len(getline(a:lnum - 1))])), 'synIDattr(v:val, "name")')
  let groups = filter(groups, 'v:val =~# "^whamm\\%(BlockComment\\|String\\|Text\\)$"')
  let here = map(synstack(a:lnum, 1), 'synIDattr(v:val, "name")')
  return !empty(groups) && index(here, groups[-1]) >= 0
endfunction

" A line without strings, comments and the blanks around it.
function! s:Code(lnum) abort
  let code = substitute(getline(a:lnum), '"\%(\\.\|[^"\\]\)*"', '""', 'g')
  let code = substitute(code, '/\*.\{-}\*/', '', 'g')
  return trim(substitute(code, '//.*\|/\*.*', '', ''))
endfunction

" The last line with code before this one, or 0.
function! s:Before(lnum) abort
  let lnum = prevnonblank(a:lnum - 1)
  while lnum > 0 && (s:Code(lnum) ==# '' || s:StartsInside(lnum))
    let lnum = prevnonblank(lnum - 1)
  endwhile
  return lnum
endfunction

function! GetWhammIndent(lnum) abort
  if s:StartsInside(a:lnum)
    return -1
  endif
  let last = s:Before(a:lnum)
  if last == 0
    return 0
  endif
  " The first line of the statement that `last` belongs to.
  let [first, before, code] = [last, s:Before(last), s:Code(last)]
  let ends = code =~# '[;{}]$'
  while before > 0 && s:Code(before) !~# '[;{}]$'
    let [first, before] = [before, s:Before(before)]
    let code = s:Code(first) . code
  endwhile
  let own = s:Code(a:lnum)
  if !ends
    return indent(first) + (own =~# '^[{})]' ? 0 : shiftwidth())
  endif
  let code = substitute(code, '^}', '', '')
  let depth = count(code, '{') - count(code, '}') - (own =~# '^}')
  return max([0, indent(first) + depth * shiftwidth()])
endfunction
