"""The screens, one module each: widgets filled with what the model returned.

    studies    the joined campaigns, the budget in a line, what waits          first
    add        the study's address, what it offers, a campaign's file
    authors    whose campaigns are let in
    terms      who asks what, why, how long, what is promised and what it costs
    consent    what agreeing means, and the person's class or statement where the study asks for one
    declaration  how likely each answer is for the person, typed
    selection  which questions of a form this phone is asked, and why not the others
    question   the questions, one a page, and the widget that suits the domain of each
    leaving    what will leave this phone: the chances before, the bytes after
    delivered  what became of an attempt to send
    history    what was answered, whether it was counted, the ledger; forgetting
    exposure   what all reports about the same question reveal together
    outbox     what waits, and sending it
    budget     the gauge, and caps to lower
    settings   language, look, address, and forgetting everything
    device     what the store can and cannot promise
    trouble    a store that was restored, copied or damaged

A screen asks the app to have something done and receives the result; it never touches the device itself.
"""
