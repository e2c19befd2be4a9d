"""Turn upload files into verified, deduplicated rows.

``ingest`` runs these modules, in this order:

    files        lists the files and reads them
    framing      finds the envelopes in their bytes
    chunk        joins envelopes that are verified together
    columns      decodes payloads
    enrolments   registers the keys that enrolments introduce, in ``registry``
    validate     makes the checks; ``refusals`` has the reasons for a refusal
    signatures   verifies signatures; ``verified`` stores the digests of those that verified
    views        finds the view of each report
    deduplicate  finds the reports whose slots are free; ``slots`` keeps the filled ones in memory

``ranges`` and ``shards`` divide bytes and rows among the workers of ``aggregator.engines``, ``compact`` merges the
files of the tables, and ``aggregator.rebuild`` repairs a damaged study.
"""
