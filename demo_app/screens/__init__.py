"""The screens, one module each: widgets filled with the content from the model.

    campaigns  the first screen: joined campaigns, the budget in a line, the number of waiting envelopes
    add        a link, a study's address and its campaigns, a campaign's file
    authors    the authors whose campaigns are accepted
    terms      organisation, question, purpose, schedule, promise and cost of a campaign
    consent    the consequences of consent, and the person's class or statement if the campaign asks for one
    declaration  the typed statement on how likely each answer is for the person
    selection  the questions of a form that this device is asked, and the reason for the selection
    question   the questions, one a page, with the widget for the domain of each
    review     the envelopes for an answer: the probabilities before, the bytes after
    delivered  the result of an attempt to send
    history    the answers given, their counting by the study, the ledger; forgetting
    exposure   the joint exposure by all reports about the same values
    outbox     the waiting envelopes, and sending them
    budget     the gauge, and caps to lower
    settings   language, palette, screen lock, and forgetting everything
    device     the guarantees and limits of the store
    locked     the app while it is locked
    trouble    a store that was restored, copied or damaged

A screen passes a task to the app and receives the result; it never uses the device itself.
"""
