"""python -m rankscope: the command."""
from _rankscope_program import main

main()
