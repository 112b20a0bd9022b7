"""The command line: each command one call to `Memory`, its result as short lines or as JSON.

    app.py        the commands in order, and the options of all of them
    program.py    how every command behaves: options anywhere, errors to exit codes
    verbs.py      add, resume, retry, learn, search, ask, explain, forget
    views.py      facts, turns, history, status, stats, config
    rules.py      rules: list, approve, disable, import, export
    models.py     models: list, fetch, verify
    doctor.py     what works here, what does not, and what to do about it
    probes.py     what the models can do, for doctor
    demo.py       the whole pipeline on the example conversation
    session.py    what the options say; opens the memory
    arguments.py  dates and ids as they are typed
    render.py     records -> lines and columns
    as_json.py    records -> JSON
    screen.py     the one place that prints
    progress.py   bars on a terminal, plain lines elsewhere

Exit codes: 0 done; 1 an error, a failed check, or work that is left; 2 the command makes no
sense; 3 not answerable; 130 stopped by Ctrl-C.
"""

from rulemem.cli.app import main

__all__ = ["main"]
