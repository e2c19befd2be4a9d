"""From upload files to verified, deduplicated rows.

In reading order: ``rejects`` (what can be wrong), ``files`` (what is read), ``framing`` (where envelopes begin and
end), ``columns`` (what they say), ``signatures`` (who said it), ``tables`` (how rows are committed), ``registry``
(which keys may speak), ``enrolments`` (how keys come in) and ``ingest``, which runs them.
"""
