"""From upload files to verified, deduplicated rows.

In reading order: ``rejects`` (what can be wrong), ``files`` (what is read), ``framing`` (where envelopes begin and
end), ``chunk`` (what is worked on together), ``columns`` (what payloads say), ``signatures`` (who said it) and
``verified`` (what is known of that), ``tables`` (how rows are committed), ``registry`` (which keys may speak),
``enrolments`` (how keys come in), ``slots`` and ``deduplicate`` (which slots are free), ``judge`` (the checks, in
order) and ``ingest``, which runs them. ``ranges`` and ``shards`` cut the bytes and the rows for many workers; what runs
there: aggregator.engines.
"""
