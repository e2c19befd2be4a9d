"""The sentences of privacy promises, in every language; no other module contains such texts.

A key is a notion's name, that name with a suffix for a further sentence ("geo.less"), or the name of a further sentence
("class", "ball", "everybody", "bundle"). A bound is stated with "at most" or "up to", and "as likely as". A pair of
texts is the singular and the plural; ``count`` chooses.

The module ``promise`` chooses the sentences and their numbers.
"""

from __future__ import annotations

MARKS = {"en": (".", ","), "de": (",", ".")}
"""The decimal point and the mark between thousands, by language."""

SENTENCES: dict[str, dict[str, str | tuple[str, str]]] = {
    "en": {
        "class": "Your report shows openly which group of people you belong to.",
        "classes": "Your report shows openly which group of people you belong to. Each group has its own promise, "
        "which you see after you have agreed.",
        "ldp": "A report is at most {factor} times as likely with your answer as with any other.",
        "high-low": (
            "If your answer is the sensitive one, a report is at most {factor} times as likely with it as with any "
            "other.",
            "If your answer is one of the {count} sensitive ones, a report is at most {factor} times as likely with it "
            "as with any other.",
        ),
        "high-low.less": "Answers that are not sensitive are not protected in this way: a report may be up to "
        "{overall} times as likely with such an answer as with another. So a report may show that your answer is not "
        "sensitive, and which answer it is.",
        "high-low.none": "Answers that are not sensitive are not protected: a report may show for certain that your "
        "answer is not sensitive, and which answer it is.",
        "block": "Within a group of answers, a report is at most {factor} times as likely with your answer as with "
        "another answer of the group.",
        "block.less": "Between two groups of answers, a report may be up to {overall} times as likely with an answer "
        "of one as with an answer of the other. So a report may give a hint of the group that your answer is in.",
        "block.none": "A report may reveal the group of your answer for certain.",
        "pairwise": "How well two answers are protected from each other depends on the pair: for the best protected "
        "pair, a report is at most {least} times as likely with one answer as with the other; for the least protected "
        "pair, at most {factor} times.",
        "pairwise.less": "These figures are for the protected pairs. Some pairs of answers are not protected, or only "
        "in one direction: a report may be up to {overall} times as likely with one answer of such a pair as with the "
        "other.",
        "pairwise.none": "These figures are for the protected pairs. Some pairs of answers are not protected, or only "
        "in one direction: a report may show for certain which answer of such a pair is yours.",
        "geo": "Answers near yours (in a list, the ones next to it) hide your answer best: of two answers at the "
        "smallest distance, a report is at most {least} times as likely with one as with the other; at "
        "twice this distance, at most {factor} times.",
        "geo.less": "Between answers farther apart, a report may be up to {overall} times as likely with one as with "
        "the other. So a report may reveal that your answer is far from another answer.",
        "minid": "How well two answers are protected from each other depends on the pair: for the best protected "
        "pair, a report is at most {least} times as likely with one answer as with the other; for the least protected "
        "pair, at most {factor} times. A pair has the protection of its better protected answer.",
        "avgid": "How well two answers are protected from each other depends on the pair: for the best protected "
        "pair, a report is at most {least} times as likely with one answer as with the other; for the least protected "
        "pair, at most {factor} times. A pair has the mean of the protection of its two answers.",
        "lip": "To an observer who expects the answers in the shares that this survey assumes, a report makes any "
        "answer at most {factor} times as likely as before, or divides its probability by at most {factor}. The survey "
        "publishes these shares.",
        "ball": "To an observer who expects other shares, which differ from these in the answers of at most {people} "
        "of 100 people, a report makes any answer at most {ball} times as likely as before, or divides its probability "
        "by at most {ball}.",
        "own-lip": "You state publicly how likely each answer is for you. To an observer who believes your statement, "
        "a report makes any answer at most {factor} times as likely as before, or divides its probability by at most "
        "{factor}.",
        "transcript-lip": "Each report takes your earlier reports in this survey into account. The survey publishes "
        "what it assumes about answers and about how often they change. To an observer who assumes the same, each "
        "report makes any answer at most {factor} times as likely as just before, or divides its probability by at "
        "most {factor}. Somebody who sees your reports in this survey and in another one of this kind with the "
        "same question may learn more.",
        "everybody": "Whatever an observer expects, a report is at most {overall} times as likely with one answer as "
        "with another.",
        "mutual-information": "If people answer in the shares that this survey assumes, a report makes the true answer "
        "at most {factor} times as likely as before, on average over all people and reports, to an observer who "
        "expects these shares. The survey publishes them. The average is the geometric mean: of the two factors 4 and "
        "1 it is 2, the square root of 4 times 1. A single report may reveal more: this is not a promise to each "
        "person.",
        "mutual-information.none": "A report may rule some answers out for certain, and may reveal even your answer.",
        "bundle": "A report can contain up to {outputs} of your answers, each changed at random; every limit stated "
        "here is for one of them.",
    },
    "de": {
        "class": "Ihr Bericht zeigt offen, zu welcher Gruppe von Menschen Sie gehören.",
        "classes": "Ihr Bericht zeigt offen, zu welcher Gruppe von Menschen Sie gehören. Jede Gruppe hat ihr eigenes "
        "Versprechen; Sie sehen das Ihrer Gruppe, nachdem Sie zugestimmt haben.",
        "ldp": "Ein Bericht ist mit Ihrer Antwort höchstens {factor}-mal so wahrscheinlich wie mit jeder anderen.",
        "high-low": (
            "Ist Ihre Antwort die heikle, so ist ein Bericht mit ihr höchstens {factor}-mal so wahrscheinlich wie mit "
            "jeder anderen.",
            "Ist Ihre Antwort eine der {count} heiklen, so ist ein Bericht mit ihr höchstens {factor}-mal so "
            "wahrscheinlich wie mit jeder anderen.",
        ),
        "high-low.less": "Antworten, die nicht heikel sind, sind so nicht geschützt: Ein Bericht kann mit einer "
        "solchen Antwort bis zu {overall}-mal so wahrscheinlich sein wie mit einer anderen. Er kann also zeigen, dass "
        "Ihre Antwort nicht heikel ist, und welche Antwort es ist.",
        "high-low.none": "Antworten, die nicht heikel sind, sind nicht geschützt: Ein Bericht kann mit Sicherheit "
        "zeigen, dass Ihre Antwort nicht heikel ist, und welche Antwort es ist.",
        "block": "Innerhalb einer Gruppe von Antworten ist ein Bericht mit Ihrer Antwort höchstens {factor}-mal so "
        "wahrscheinlich wie mit einer anderen Antwort der Gruppe.",
        "block.less": "Zwischen zwei Gruppen von Antworten kann ein Bericht mit einer Antwort der einen bis zu "
        "{overall}-mal so wahrscheinlich sein wie mit einer Antwort der anderen. Er kann also einen Hinweis auf die "
        "Gruppe Ihrer Antwort geben.",
        "block.none": "Ein Bericht kann die Gruppe Ihrer Antwort mit Sicherheit verraten.",
        "pairwise": "Wie gut zwei Antworten voreinander geschützt sind, hängt vom Paar ab: Beim am besten "
        "geschützten Paar ist ein Bericht mit einer Antwort höchstens {least}-mal so wahrscheinlich wie mit der "
        "anderen; beim am schwächsten geschützten höchstens {factor}-mal.",
        "pairwise.less": "Diese Zahlen gelten für die geschützten Paare. Manche Paare von Antworten sind nicht oder "
        "nur in einer Richtung geschützt: Ein Bericht kann mit einer Antwort eines solchen Paars bis zu "
        "{overall}-mal so wahrscheinlich sein wie mit der anderen.",
        "pairwise.none": "Diese Zahlen gelten für die geschützten Paare. Manche Paare von Antworten sind nicht oder "
        "nur in einer Richtung geschützt: Ein Bericht kann mit Sicherheit zeigen, welche Antwort eines solchen Paars "
        "Ihre ist.",
        "geo": "Antworten nahe bei Ihrer (in einer Liste die benachbarten) verbergen Ihre Antwort am besten: Ein "
        "Bericht ist mit einer von zwei Antworten im kleinsten Abstand höchstens {least}-mal so "
        "wahrscheinlich wie mit der anderen; im doppelten Abstand höchstens {factor}-mal.",
        "geo.less": "Zwischen weiter entfernten Antworten kann ein Bericht mit einer bis zu {overall}-mal so "
        "wahrscheinlich sein wie mit der anderen. Er kann also verraten, dass Ihre Antwort von einer "
        "anderen weit entfernt ist.",
        "minid": "Wie gut zwei Antworten voreinander geschützt sind, hängt vom Paar ab: Beim am besten geschützten "
        "Paar ist ein Bericht mit einer Antwort höchstens {least}-mal so wahrscheinlich wie mit der anderen; beim am "
        "schwächsten geschützten höchstens {factor}-mal. Für ein Paar gilt der Schutz der besser geschützten Antwort.",
        "avgid": "Wie gut zwei Antworten voreinander geschützt sind, hängt vom Paar ab: Beim am besten geschützten "
        "Paar ist ein Bericht mit einer Antwort höchstens {least}-mal so wahrscheinlich wie mit der anderen; beim am "
        "schwächsten geschützten höchstens {factor}-mal. Für ein Paar gilt das Mittel aus dem Schutz beider Antworten.",
        "lip": "Für jemanden, der die Antworten in den Anteilen erwartet, die diese Umfrage annimmt, macht ein Bericht "
        "jede Antwort höchstens {factor}-mal so wahrscheinlich wie zuvor, oder er teilt ihre Wahrscheinlichkeit durch "
        "höchstens {factor}. Die Umfrage veröffentlicht diese Anteile.",
        "ball": "Erwartet jemand andere Anteile, die sich von diesen in den Antworten von höchstens {people} von 100 "
        "Menschen unterscheiden, so macht ein Bericht für ihn jede Antwort höchstens {ball}-mal so wahrscheinlich wie "
        "zuvor, oder er teilt ihre Wahrscheinlichkeit durch höchstens {ball}.",
        "own-lip": "Sie geben öffentlich an, wie wahrscheinlich jede Antwort für Sie ist. Für jemanden, der Ihrer "
        "Angabe glaubt, macht ein Bericht jede Antwort höchstens {factor}-mal so wahrscheinlich wie zuvor, oder er "
        "teilt ihre Wahrscheinlichkeit durch höchstens {factor}.",
        "transcript-lip": "Jeder Bericht berücksichtigt Ihre früheren Berichte in dieser Umfrage. Die Umfrage "
        "veröffentlicht, was sie über Antworten und darüber annimmt, wie oft sie sich ändern. Für jemanden, der "
        "dasselbe annimmt, macht jeder Bericht jede Antwort höchstens {factor}-mal so wahrscheinlich wie gerade zuvor, "
        "oder er teilt ihre Wahrscheinlichkeit durch höchstens {factor}. Wer Ihre Berichte in dieser und in "
        "einer anderen Umfrage dieser Art mit derselben Frage sieht, kann mehr erfahren.",
        "everybody": "Was auch immer jemand erwartet: Ein Bericht ist mit einer Antwort höchstens {overall}-mal so "
        "wahrscheinlich wie mit einer anderen.",
        "mutual-information": "Wenn die Menschen in den Anteilen antworten, die diese Umfrage annimmt, macht ein "
        "Bericht im Mittel über alle Menschen und Berichte die wahre Antwort höchstens {factor}-mal so wahrscheinlich "
        "wie zuvor für jemanden, der diese Anteile erwartet. Die Umfrage veröffentlicht sie. Gemeint ist das "
        "geometrische Mittel: Für die zwei Faktoren 4 und 1 ist es 2, die Quadratwurzel aus 4 mal 1. Ein einzelner "
        "Bericht kann mehr verraten: Das ist kein Versprechen an jeden Einzelnen.",
        "mutual-information.none": "Ein Bericht kann manche Antworten mit Sicherheit ausschließen und "
        "sogar Ihre Antwort verraten.",
        "bundle": "Ein Bericht kann bis zu {outputs} Ihrer Antworten enthalten, jede zufällig verändert; jede hier "
        "genannte Grenze gilt für eine davon.",
    },
}
"""The sentences, by language and key."""
