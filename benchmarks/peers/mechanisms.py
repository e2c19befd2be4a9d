"""The other libraries' mechanisms, each as a client and a server with the same interface.

A mechanism is used as in its library's own examples: one call for each person and one call for all reports. A missing
feature is not replaced, with one exception: for a library without an estimator, the textbook inverse is used, and the
table says so.

``measure`` runs both kinds of mechanisms, and ``own`` has those of halftruth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SEED_BITS = 64
"""Bits of a hash function's seed in a report of local hashing; both libraries draw 63 bits."""
HASHES = 500
"""Number of hash functions that people share in the variant whose server is fast enough."""


@dataclass(frozen=True)
class LibraryMechanism:
    """A mechanism of one library for k values at some level.

    Attributes:
        k: number of values.
        client: function that returns the report of a person with a value, 0 .. k - 1.
        server: function that returns all of the library's estimates of the k shares from all reports, by the name of
            the method.
        wire: bytes of one report, packed as tightly as possible, without the ids of sender and survey.
        report_memory: bytes of one report in the library's own form.
    """

    k: int
    client: Callable[[int], Any]
    server: Callable[[Sequence[Any]], dict[str, Any]]
    wire: int
    report_memory: int = 100


def bits_for(output_count: int) -> int:
    """Return the number of bits needed to distinguish the outputs."""
    return (output_count - 1).bit_length()


def bytes_for(bits: int) -> int:
    """Return the number of whole bytes needed for the bits."""
    return -(-bits // 8)


# In pure-LDP, values count from 1, reports are added one by one, and estimates are numbers of people.


def _pure(k: int, client: Any, new_server: Callable[[], Any], bits: int, report_memory: int = 100) -> LibraryMechanism:
    def estimated(reports: Sequence[Any]) -> dict[str, Any]:
        server = new_server()
        server.aggregate_all(reports)
        everything = range(1, k + 1)
        raw = server.estimate_all(everything, suppress_warnings=True)
        near = server.estimate_all(everything, suppress_warnings=True, normalization=2)
        return {"unbiased": raw / len(reports), "simplex projection": near / len(reports)}

    return LibraryMechanism(k, lambda x: client.privatise(x + 1), estimated, bytes_for(bits), report_memory)


def _pure_direct(k: int, eps: float) -> LibraryMechanism:
    from pure_ldp.frequency_oracles import DEClient, DEServer

    return _pure(k, DEClient(eps, k), lambda: DEServer(eps, k), bits_for(k))


def _pure_unary(k: int, eps: float) -> LibraryMechanism:
    from pure_ldp.frequency_oracles import UEClient, UEServer

    return _pure(k, UEClient(eps, k, True), lambda: UEServer(eps, k, True), k, 8 * k)


def _pure_hashing(k: int, eps: float) -> LibraryMechanism:
    from pure_ldp.frequency_oracles import LHClient, LHServer

    client = LHClient(eps, k, use_olh=True)
    return _pure(k, client, lambda: LHServer(eps, k, use_olh=True), SEED_BITS + bits_for(client.g))


def _pure_few_hashes(k: int, eps: float) -> LibraryMechanism:
    from pure_ldp.frequency_oracles import FastLHClient, FastLHServer

    client = FastLHClient(eps, k, HASHES, use_olh=True)
    table = FastLHServer(eps, k, HASHES, use_olh=True).hash_matrix  # computed once for all surveys
    bits = bits_for(HASHES) + bits_for(client.g)
    return _pure(k, client, lambda: FastLHServer(eps, k, HASHES, use_olh=True, hash_matrix=table), bits)


def _pure_hadamard(k: int, eps: float) -> LibraryMechanism:
    from pure_ldp.frequency_oracles import HadamardResponseClient, HadamardResponseServer

    server = HadamardResponseServer(eps, k)

    def reset_server() -> Any:
        server.reset()  # a new server would have another permutation than the clients
        return server

    return _pure(k, HadamardResponseClient(eps, k, server.get_hash_funcs()), reset_server, bits_for(server.hr.outsz))


# In multi-freq-ldpy, functions depend on k and eps and are compiled at their first call; only a clipped estimate
# exists.


def _multi(
    k: int, client: Callable[[int], Any], shares: Callable[[Any], Any], bits: int, memory: int = 100
) -> LibraryMechanism:
    return LibraryMechanism(
        k, client, lambda reports: {"clipped and rescaled": shares(reports)}, bytes_for(bits), memory
    )


def _multi_direct(k: int, eps: float) -> LibraryMechanism:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    return _multi(k, lambda x: GRR_Client(x, k, eps), lambda reports: GRR_Aggregator_MI(reports, k, eps), bits_for(k))


def _multi_unary(k: int, eps: float) -> LibraryMechanism:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return _multi(k, lambda x: UE_Client(x, k, eps), lambda reports: UE_Aggregator_MI(reports, eps), k, 8 * k)


def _multi_hashing(k: int, eps: float) -> LibraryMechanism:
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    bits = SEED_BITS + bits_for(round(math.exp(eps)) + 1)
    return _multi(k, lambda x: LH_Client(x, k, eps), lambda reports: LH_Aggregator_MI(reports, k, eps), bits)


def _multi_subset(k: int, eps: float) -> LibraryMechanism:
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

    size = max(1, round(k / (math.exp(eps) + 1)))
    bits, memory = min(k, size * bits_for(k)), 8 * size + 100
    return _multi(k, lambda x: SS_Client(x, k, eps), lambda reports: SS_Aggregator_MI(reports, k, eps), bits, memory)


# OpenDP has an estimator only for bit vectors.


def _opendp_response(k: int, eps: float) -> LibraryMechanism:
    """Return OpenDP's randomised response, for which OpenDP has no estimator."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    p = math.exp(eps) / (math.exp(eps) + k - 1)
    q = (1 - p) / (k - 1)

    def estimated(reports: Sequence[Any]) -> dict[str, Any]:
        share = np.bincount(reports, minlength=k) / len(reports)
        return {"unbiased, not the library's": (share - q) / (p - q)}

    return LibraryMechanism(k, dp.m.make_randomized_response(list(range(k)), p), estimated, bytes_for(bits_for(k)))


def _opendp_bits(k: int, eps: float) -> LibraryMechanism:
    """Return OpenDP's mechanism with a bit for each value, and its own estimator."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    f, wire = 2 / (math.exp(eps / 2) + 1), bytes_for(k)
    respond = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=f)

    def client(x: int) -> Any:
        vector = bytearray(wire)
        vector[x >> 3] = 1 << (x & 7)
        return respond(bytes(vector))

    def estimated(reports: Sequence[Any]) -> dict[str, Any]:
        return {"unbiased": np.array(dp.m.debias_randomized_response_bitvec(reports, f))[:k] / len(reports)}

    return LibraryMechanism(k, client, estimated, wire)


LIBRARIES: dict[str, dict[str, Callable[[int, float], LibraryMechanism]]] = {
    "pure-ldp": {
        "randomised response": _pure_direct,
        "OUE": _pure_unary,
        "OLH": _pure_hashing,
        f"OLH, {HASHES} hashes": _pure_few_hashes,
        "Hadamard response": _pure_hadamard,
    },
    "multi-freq-ldpy": {
        "randomised response": _multi_direct,
        "OUE": _multi_unary,
        "OLH": _multi_hashing,
        "subset selection": _multi_subset,
    },
    "opendp": {"randomised response": _opendp_response, "basic RAPPOR": _opendp_bits},
}
"""Makers of each library's mechanisms, from k and eps, by the mechanism's name in the table."""
