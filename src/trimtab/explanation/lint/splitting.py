"""How bundles are made and split, as far as it works against shedding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trimtab.explanation.lint.conf import Conf
from trimtab.explanation.lint.rule import Finder, Match

_AUTO = "loadBalancerAutoBundleSplitEnabled"
_MAXIMUM = "loadBalancerNamespaceMaximumBundles"
_BUNDLES = "defaultNumberOfNamespaceBundles"
_ALGORITHM = "defaultNamespaceBundleSplitAlgorithm"
_SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
#: Fewer cannot be spread over a cluster of ordinary size.
_BUNDLES_MIN = 8


def _cannot_split(conf: Conf) -> Iterator[Match]:
    bundles, maximum = conf.number(_BUNDLES), conf.number(_MAXIMUM)
    if conf.is_on(_AUTO) and bundles is not None and maximum is not None and bundles >= maximum:
        yield Match(
            f"{conf.fact(_BUNDLES)}, and {conf.fact(_MAXIMUM)}: no bundle of a new namespace can "
            "ever be split",
            conf.at(_MAXIMUM, _BUNDLES),
            _MAXIMUM,
            f"{_MAXIMUM}={int(max(128, 4 * bundles))}",
        )


def _few_bundles(conf: Conf) -> Iterator[Match]:
    bundles = conf.number(_BUNDLES)
    if bundles is not None and bundles < _BUNDLES_MIN:
        yield Match(
            f"{conf.fact(_BUNDLES)}: a namespace keeps {bundles:g} brokers busy at most, and each "
            f"move carries {100 / max(1, bundles):.0f} % of it",
            conf.at(_BUNDLES),
            _BUNDLES,
        )


def _unsupported(conf: Conf) -> Iterator[Match]:
    name = conf.text(_ALGORITHM).strip()
    supported = [it.strip() for it in conf.text(_SUPPORTED).split(",")]
    if conf.is_written(_ALGORITHM) and name not in supported:
        yield Match(
            f"{conf.fact(_ALGORITHM)}: release {conf.release} supports {', '.join(supported)}"
            if not conf.is_written(_SUPPORTED)
            else f"{conf.fact(_ALGORITHM)}, but {conf.fact(_SUPPORTED)}",
            conf.at(_ALGORITHM),
            _ALGORITHM,
            f"{_ALGORITHM}=range_equally_divide, the default",
        )


#: Code → what looks for it.
FINDERS: Mapping[str, Finder] = {
    "split-impossible": _cannot_split,
    "few-bundles": _few_bundles,
    "split-algorithm-unsupported": _unsupported,
}
