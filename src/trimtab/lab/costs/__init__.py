"""What brokers used beside what they carried → what traffic costs, and what a move will do.

`learned` takes a look at a cluster into what is known, `predicted` says what moves will do and
how sure that is, `priced` what a message, a topic and a broker at rest cost.  Everything between
two looks is in one `Knowledge`, which is bounded: about 4.5 kB a broker and 100 B a bundle.
"""

from trimtab.lab.costs.knowledge import Knowledge, nothing_known
from trimtab.lab.costs.learn import learned
from trimtab.lab.costs.look import Look, Windows
from trimtab.lab.costs.predict import Predictions, predicted, relief
from trimtab.lab.costs.prices import Prices, priced

__all__ = [
    "Knowledge",
    "Look",
    "Predictions",
    "Prices",
    "Windows",
    "learned",
    "nothing_known",
    "predicted",
    "priced",
    "relief",
]
