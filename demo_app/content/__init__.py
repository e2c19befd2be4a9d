"""The content of each screen, read from the device.

    budget   the gauge
    study    a campaign in a list, its terms, its question; a class that the phone can choose
    answer   what will leave for an answer, and what was answered
    exposure what all reports about the same question reveal together
    post     what waits to leave, and what became of sending it

A screen shows one frozen dataclass of numbers, bytes and keys of texts, never sentences, and each says itself
how it is read (``of``). Nothing here draws, spends or decides; that is the model's.
"""
