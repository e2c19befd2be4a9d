"""The other libraries' mechanisms, each as a client and a server that take the same calls.

A way is used as its library's own examples use it, one call a person and one call for all reports, and what
the library does not have is not made up for: where it has no estimator, the textbook inverse stands in by name.

What is measured: measure. halftruth: own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

SEED_BYTES = 8
"""Of a hash function, in the reports of local hashing: both libraries draw 63 bits."""


def bits_for(outputs: int) -> int:
    """Bits that tell so many outputs apart."""
    return (outputs - 1).bit_length()


def bytes_for(bits: int) -> int:
    """Whole bytes of so many bits."""
    return -(-bits // 8)


class Way:
    """A mechanism of one library for k values at eps nats.

    Attributes:
        mechanism: what the table calls it.
        wire: bytes of one report, packed as tightly as its kind allows, without who sent it and for what.
        report_memory: bytes that one report takes in the library's own form.
    """

    mechanism: str
    report_memory = 100

    def __init__(self, k: int, eps: float) -> None:
        self.k, self.eps = k, eps

    @property
    def wire(self) -> int:
        return bytes_for(bits_for(self.k))

    def client(self, x: int) -> Any:
        """The report of somebody who holds ``x``, 0 .. k - 1."""
        raise NotImplementedError

    def server(self, reports: Sequence[Any]) -> dict[str, Any]:
        """Each estimate of the k shares that the library makes, by the name of how it is made."""
        raise NotImplementedError


class PureLdp(Way):
    """Of pure-LDP: values count from 1, reports are added one by one, estimates are of numbers of people."""

    def server(self, reports: Sequence[Any]) -> dict[str, Any]:
        server = self.new_server()
        server.aggregate_all(reports)
        everything = range(1, self.k + 1)
        raw = server.estimate_all(everything, suppress_warnings=True)
        near = server.estimate_all(everything, suppress_warnings=True, normalization=2)
        return {"unbiased": raw / len(reports), "simplex projection": near / len(reports)}

    def client(self, x: int) -> Any:
        return self.clients.privatise(x + 1)

    clients: Any

    def new_server(self) -> Any:
        raise NotImplementedError


class PureDirect(PureLdp):
    mechanism = "randomised response"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from pure_ldp.frequency_oracles import DEClient, DEServer

        self.clients, self.new_server = DEClient(eps, k), lambda: DEServer(eps, k)


class PureUnary(PureLdp):
    mechanism = "OUE"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from pure_ldp.frequency_oracles import UEClient, UEServer

        self.clients, self.new_server = UEClient(eps, k, True), lambda: UEServer(eps, k, True)
        self.report_memory = 8 * k

    @property
    def wire(self) -> int:
        return bytes_for(self.k)


class PureHashing(PureLdp):
    mechanism = "OLH"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from pure_ldp.frequency_oracles import LHClient, LHServer

        self.clients, self.new_server = LHClient(eps, k, use_olh=True), lambda: LHServer(eps, k, use_olh=True)

    @property
    def wire(self) -> int:
        return SEED_BYTES + bytes_for(bits_for(self.clients.g))


class PureFewHashes(PureLdp):
    mechanism = "OLH, 500 hashes"
    HASHES = 500

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from pure_ldp.frequency_oracles import FastLHClient, FastLHServer

        self.clients = FastLHClient(eps, k, self.HASHES, use_olh=True)
        table = FastLHServer(eps, k, self.HASHES, use_olh=True).hash_matrix  # made once for all surveys
        self.new_server = lambda: FastLHServer(eps, k, self.HASHES, use_olh=True, hash_matrix=table)

    @property
    def wire(self) -> int:
        return bytes_for(bits_for(self.HASHES) + bits_for(self.clients.g))


class PureHadamard(PureLdp):
    mechanism = "Hadamard response"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from pure_ldp.frequency_oracles import HadamardResponseClient, HadamardResponseServer

        server = HadamardResponseServer(eps, k)
        self.clients = HadamardResponseClient(eps, k, server.get_hash_funcs())
        self.outputs = server.hr.outsz

        def again() -> Any:
            server.reset()
            return server

        self.new_server = again  # the clients share its permutation

    @property
    def wire(self) -> int:
        return bytes_for(bits_for(self.outputs))


class MultiFreq(Way):
    """Of multi-freq-ldpy: functions of k and eps, compiled when first called; only a clipped estimate is given."""

    estimate = "clipped and rescaled"


class MultiDirect(MultiFreq):
    mechanism = "randomised response"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from multi_freq_ldpy.pure_frequency_oracles import GRR

        self.client = lambda x: GRR.GRR_Client(x, k, eps)
        self.server = lambda reports: {self.estimate: GRR.GRR_Aggregator_MI(reports, k, eps)}


class MultiUnary(MultiFreq):
    mechanism = "OUE"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from multi_freq_ldpy.pure_frequency_oracles import UE

        self.client = lambda x: UE.UE_Client(x, k, eps)
        self.server = lambda reports: {self.estimate: UE.UE_Aggregator_MI(reports, eps)}
        self.report_memory = 8 * k

    @property
    def wire(self) -> int:
        return bytes_for(self.k)


class MultiHashing(MultiFreq):
    mechanism = "OLH"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from multi_freq_ldpy.pure_frequency_oracles import LH

        self.client = lambda x: LH.LH_Client(x, k, eps)
        self.server = lambda reports: {self.estimate: LH.LH_Aggregator_MI(reports, k, eps)}

    @property
    def wire(self) -> int:
        return SEED_BYTES + bytes_for(bits_for(round(math.exp(self.eps)) + 1))


class MultiSubset(MultiFreq):
    mechanism = "subset selection"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        from multi_freq_ldpy.pure_frequency_oracles import SS

        self.client = lambda x: SS.SS_Client(x, k, eps)
        self.server = lambda reports: {self.estimate: SS.SS_Aggregator_MI(reports, k, eps)}
        self.size = max(1, round(k / (math.exp(eps) + 1)))
        self.report_memory = 8 * self.size + 100

    @property
    def wire(self) -> int:
        return bytes_for(min(self.k, self.size * bits_for(self.k)))


class OpenDpResponse(Way):
    """OpenDP has this mechanism and no estimator for it."""

    mechanism = "randomised response"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        import opendp.prelude as dp

        dp.enable_features("contrib")
        self.p = math.exp(eps) / (math.exp(eps) + k - 1)
        self.client = dp.m.make_randomized_response(list(range(k)), self.p)

    def server(self, reports: Sequence[Any]) -> dict[str, Any]:
        q = (1 - self.p) / (self.k - 1)
        share = np.bincount(reports, minlength=self.k) / len(reports)
        return {"unbiased, not the library's": (share - q) / (self.p - q)}


class OpenDpBits(Way):
    """A bit for each value; the estimator is the library's."""

    mechanism = "basic RAPPOR"

    def __init__(self, k: int, eps: float) -> None:
        super().__init__(k, eps)
        import opendp.prelude as dp

        dp.enable_features("contrib")
        self.f = 2 / (math.exp(eps / 2) + 1)
        self.respond = dp.m.make_randomized_response_bitvec(
            dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=self.f
        )
        self.debias = dp.m.debias_randomized_response_bitvec

    @property
    def wire(self) -> int:
        return bytes_for(self.k)

    def client(self, x: int) -> Any:
        held = bytearray(self.wire)
        held[x >> 3] = 1 << (x & 7)
        return self.respond(bytes(held))

    def server(self, reports: Sequence[Any]) -> dict[str, Any]:
        counts = np.array(self.debias(reports, self.f))[: self.k]
        return {"unbiased": counts / len(reports)}


LIBRARIES: dict[str, tuple[type[Way], ...]] = {
    "pure-ldp": (PureDirect, PureUnary, PureHashing, PureFewHashes, PureHadamard),
    "multi-freq-ldpy": (MultiDirect, MultiUnary, MultiHashing, MultiSubset),
    "opendp": (OpenDpResponse, OpenDpBits),
}


def ways(library: str) -> Iterator[type[Way]]:
    """The kinds of ways of a library."""
    yield from LIBRARIES[library]
