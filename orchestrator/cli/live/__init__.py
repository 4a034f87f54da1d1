"""The live view of a run in a terminal, in the order in which it is best read:

state.py     what a run's events come to: frozen values
folding.py   an event and a state become the next state
picture.py   a state at a width and a height becomes lines
story.py     what stays in the terminal above them: the words of each turn, and what went wrong
region.py    the lines at the bottom of a terminal, drawn again in place
display.py   all of it together, beside the run
"""
