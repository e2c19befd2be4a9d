"""The app's interface to the system: links, light or dark, the margins of bars, screen lock, calendar.

On a phone each module calls Android through pyjnius; elsewhere it uses the desktop's means. The modules use Android's
documented methods and are tested with objects in memory that have the same methods; they have not run on a phone yet.
"""
