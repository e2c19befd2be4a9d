"""The service that stores uploads from devices in the study's inbox, over HTTP.

server            sockets, deadlines and signals
limits            the rate limit of each client
origins           the paths that web pages of other origins may use
app               the answers to requests
acknowledgements  the responses to devices
codes             single-use codes that admit a device's key
inbox             stores uploads until they are ingested
snapshot          the study's public information, in memory
output_hashes     hashes of the counted outputs, in memory; they answer queries of counted reports
pages             the campaigns' pages, in memory
"""
