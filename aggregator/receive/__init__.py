"""From devices to the study's inbox, over HTTP.

In reading order: ``fingerprints`` and ``view`` (the study's public information, in memory), ``receipts`` (what an
upload is, and what a device is told of it), ``inbox`` (how it is kept), ``limits`` (how much one client may ask),
``app`` (the requests) and ``server`` (sockets, deadlines, signals).
"""
