"""The embedded debate hall: a hash-chained ledger of debates and the rules by which they move.

The core takes values and returns values: ids, times and salts come from the caller. It knows no model, no recipe and
no network but the store's own. Read it in this order: terms, canonical, entries, debate, inputs, structure, verdict,
cognition, rules, ledger, store, folder, sqlite, commit, results, octave, export, exported, importing, hall.
"""
