"""Ask one person one question on this device, and write the report that may leave it.

    python ask_one_question.py town/commute.campaign town/author.pub phone bicycle

Without an answer on the command line, the program asks the person for it.
"""

import sys
from pathlib import Path

from edge_sdk import BudgetPolicy, Device
from protocol import HalftruthError, public_from_line

if len(sys.argv) not in (4, 5):
    sys.exit("usage: python ask_one_question.py CAMPAIGN AUTHOR.pub STORE [ANSWER]")
campaign, author, store, *said = sys.argv[1:]
trusted = public_from_line(Path(author).read_text())

with Device.open(store, trust=[trusted], budget=BudgetPolicy(lifetime=4.0)) as device:
    try:
        terms = device.join(Path(campaign).read_bytes())  # verified and audited
        print(f"{terms.organisation} asks: {terms.question}\n{terms.promise.text()}")
        if not device.consented(terms.campaign_id):
            print(f"consent reserves, in nats: {terms.worst_case:g} of {device.budget.remaining:g}")
        value = said[0] if said else input(f"{', '.join(terms.values)}? ")
        device.consent(terms.campaign_id)
        receipt = device.answer(terms.campaign_id, value)
    except HalftruthError as error:
        sys.exit(f"not answered: {error}")  # the text never repeats the value
    print(f"cost of this answer, in nats: {receipt.cost:g}; left: {device.budget.remaining:g}")
    if len(device.outbox):
        upload = Path(store) / f"report-{receipt.period}.htr"
        device.outbox.export(upload)
        print(f"written: {upload}; device.outbox.send() would have sent it to the study")
