"""The content of the screens, read from the device.

    authors  the trusted authors, and the content of a link
    budget   the privacy budget
    campaign a campaign in a list, its terms, its question; a class or statement that the device can choose
    declaration  the public statement on how likely each answer is for the person
    answer   the envelopes for an answer, the earlier answers, and the ledger
    exposure the information that all reports about the same values reveal together
    post     the waiting envelopes, and the result of sending them

A screen shows one frozen dataclass of numbers, bytes and keys of texts. The only sentences in a dataclass come from the
campaign or the SDK. The dataclass's method ``of`` reads its content from the device. This package draws, spends and
decides nothing; the model does.
"""
