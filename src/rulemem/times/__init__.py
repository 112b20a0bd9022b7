"""How times are read, piece by piece; `rulemem.dates` is the way in.

spans      calendar intervals: no words
words      the English vocabulary of time and the tense of a sentence: no dates
stamps     written dates and timestamps, and all use of the library
written    readers of dates that are written out
relative   readers of times relative to the speaker
rules      the table: pattern and reader of each kind of expression
operators  what widens, narrows or joins expressions
"""
