# bash completion for attend
