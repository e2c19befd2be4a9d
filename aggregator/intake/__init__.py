"""From upload files to verified, deduplicated rows.

In reading order: ``rejects`` (what can be wrong), ``files`` (what is read), ``framing`` (where envelopes begin and
end), ``chunk`` (what is worked on together), ``columns`` (what payloads say), ``signatures`` (who said it), ``tables``
(how rows are committed), ``registry`` (which keys may speak), ``enrolments`` (how keys come in), ``deduplicate``
(which slots are free), ``judge`` (the checks, in order) and ``ingest``, which runs them.
"""
