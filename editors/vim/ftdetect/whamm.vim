autocmd BufNewFile,BufRead *.whamm setfiletype whamm
