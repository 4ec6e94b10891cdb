"""Questions to computations and functions: what they read and write, when they run, what is legal."""

from __future__ import annotations

import pickle

import pytest

import tilewright as tw

N = tw.param("N")
T = tw.param("T", "T >= 1")
i, j, k, t = tw.iters("i j k t")


@pytest.fixture
def matmul() -> tw.Function:
    A = tw.input("A", [N, N], tw.float32)
    B = tw.input("B", [N, N], tw.float32)
    C = tw.computation("C", {i: N, j: N}, tw.sum(A[i, k] * B[k, j], over={k: N}))
    return tw.function("matmul", outputs=[C], default_schedule=False)


@pytest.fixture
def heat() -> tw.Function:
    start = tw.input("start", [N], tw.float64)
    H = tw.computation(
        "H",
        {t: T, i: N},
        lambda H: [
            ((t == 0) | (i == 0) | (i == N - 1), start[i]),
            ((t > 0) & (i > 0) & (i < N - 1), H[t - 1, i - 1] + H[t - 1, i + 1]),
        ],
        dtype=tw.float64,
    )
    last = tw.computation("last", {i: N}, H[T - 1, i])
    return tw.function("heat", outputs=[last], default_schedule=False)


def test_the_relations_of_a_product(matmul):
    C = matmul["C"]
    cube = "0 <= i, j, k < N"
    assert C.instances == tw.Set(f"{{ C[i, j, k] : {cube}; C_init[i, j] : 0 <= i, j < N }}")
    assert C.reads == tw.Map(
        f"{{ C[i, j, k] -> A[i, k] : {cube}; C[i, j, k] -> B[k, j] : {cube} }}"
    )
    assert C.writes == tw.Map(
        f"{{ C[i, j, k] -> C[i, j] : {cube}; C_init[i, j] -> C[i, j] : 0 <= i, j < N }}"
    )
    assert C.schedule_map.domain == C.instances and C.schedule_map.is_injective
    assert (matmul.instances, matmul.reads) == (C.instances, C.reads)
    assert (matmul.writes, matmul.schedule_map) == (C.writes, C.schedule_map)


def test_the_schedule_map_follows_the_schedule(matmul):
    C = matmul["C"]
    before = C.schedule_map
    C.interchange("i", "j")
    assert C.schedule_map != before
    turned = tw.Map("{ [a, i, b, j, c, k, d] -> [a, j, b, i, c, k, d] }")
    own = tw.Set("{ C[i, j, k] }")
    assert C.schedule_map.intersect_domain(own) == before.intersect_domain(own).then(turned)


def test_the_index_set_is_a_value():
    C = tw.computation("C", {i: N, j: (1, i + 1)}, i + j)
    assert C.domain == tw.Set("{ C[i, j] : 0 <= i < N and 1 <= j <= i }")
    assert str(C.domain) == "[N] -> { C[i, j] : 0 <= i < N and 0 < j <= i }"
    assert tw.input("A", [N, 3], tw.float32).domain.count(N=5) == 15


def test_a_computation_of_no_function():
    alone = tw.computation("alone", {i: N}, i)
    for name in ("reads", "writes", "instances", "schedule_map"):
        with pytest.raises(tw.ScheduleError, match="does not belong to a function yet"):
            getattr(alone, name)
    with pytest.raises(tw.ScheduleError, match="does not belong to a function yet"):
        alone.can("reverse", i)


def test_flow_dependences(heat):
    found = heat.dependences
    assert found.flow == tw.Map(
        """[T, N] -> { H_1[t, i] -> H_1[t + 1, j] : t >= 1 and t + 1 < T and 1 <= i, j < N - 1
                         and (j = i - 1 or j = i + 1);
                     H_0[t, i] -> H_1[t + 1, j] : 0 <= t and t + 1 < T and 1 <= j < N - 1 and
                         (t = 0 or i = 0 or i = N - 1) and 0 <= i < N and (j = i - 1 or j = i + 1);
                     H_1[t, i] -> last[i] : t = T - 1 and t >= 1 and 1 <= i < N - 1;
                     H_0[t, i] -> last[i] : t = T - 1 and t >= 0 and 0 <= i < N and
                         (t = 0 or i = 0 or i = N - 1) }"""
    )
    assert all(row.map <= found.flow and row.relation for row in found)
    # The order of the loops respects them: that is what legality is.
    times = heat.schedule_map
    in_time = found.flow.apply_domain(times).apply_range(times)
    assert in_time <= times.range.before(times.range)
    inside = found.flow & tw.Map("{ H_1[t, i] -> H_1[u, j] }")
    assert inside.deltas() <= tw.Set("{ H_1[1, -1]; H_1[1, 1] }")
    assert pickle.loads(pickle.dumps(found)).flow == found.flow


def test_storage_causes_the_others(heat):
    assert heat.dependences.anti.is_empty and heat.dependences.output.is_empty
    heat["H"].storage_fold(t, 2)
    found = heat.dependences
    assert set(found.storage) == {"H", "start"}
    assert found.anti == found.storage["H"].anti and found.output == found.storage["H"].output
    assert found.storage["start"].anti.is_empty
    assert found.input == found.storage["H"].input | found.storage["start"].input
    # By brute force, from the relations.
    sizes = {"T": 5, "N": 4}
    time = dict(heat.schedule_map.pairs(sizes))
    reads, writes = heat.reads.pairs(sizes), heat.writes.pairs(sizes)

    def shared(first, second):
        return {(x, y) for x, a in first for y, b in second if a == b and time[x] < time[y]}

    for kind, first, second in (
        ("anti", reads, writes),
        ("output", writes, writes),
        ("input", reads, reads),
    ):
        assert set(getattr(found, kind).pairs(sizes)) == shared(first, second)


def test_dependences_stay_those_of_their_schedule(heat):
    found = heat.dependences
    heat["H"].storage_fold(t, 2)
    assert found.output.is_empty and not heat.dependences.output.is_empty


def test_can_changes_nothing(matmul):
    C = matmul["C"]
    assert C.can("tile", i, j, 8, 8) and C.can("cache", "A", "i", name="kept")
    assert not C.can("parallelize", k)
    assert len(matmul.schedule) == 0 and matmul.computations == ["C"]
    C.tile(i, j, 8, 8)
    assert C.can("parallelize", "i0") and not C.can("parallelize", "k")
    assert len(matmul.schedule) == 1


def test_a_verdict(matmul):
    verdict = matmul["C"].can("parallelize", k)
    assert not verdict and isinstance(verdict, tw.Verdict)
    assert str(verdict.witness) == "C[0,0,0] -> C[0,0,1] at element C[0,0] with N = 2"
    assert verdict.witness == tw.Witness("C[0,0,0]", "C[0,0,1]", "C[0,0]", "N = 2")
    assert isinstance(verdict.error, tw.IllegalScheduleError)
    assert verdict.error.function is matmul
    assert str(verdict) == repr(verdict) == str(verdict.error)
    assert verdict.reason in str(verdict) and "parallelize" in verdict._repr_html_()
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        matmul["C"].parallelize(k)
    assert refusal.value.message == verdict.reason
    legal = matmul["C"].can("parallelize", i)
    assert legal and (str(legal), legal.reason, legal.witness, legal.error) == (
        "legal",
        "",
        None,
        None,
    )
    assert "legal" in legal._repr_html_()
    again = pickle.loads(pickle.dumps(verdict))
    assert again.witness == verdict.witness and not again


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        (lambda f: f["C"].can("paralellize", i), tw.ScheduleError, "did you mean 'parallelize'"),
        (lambda f: f["C"].can("define", i), tw.ScheduleError, "there is no command 'define'"),
        (lambda f: f["C"].can("can", i), tw.ScheduleError, "there is no command 'can'"),
        (lambda f: f["C"].can(3), tw.ScheduleTypeError, "the name of a command"),
        (lambda f: f["C"].can("split", "z", 4), tw.ScheduleError, "z"),
        (lambda f: f["C"].can("split", i), TypeError, "missing"),
        (lambda f: f.legal("C.reverse()"), tw.ScheduleTypeError, "takes a tw.Schedule"),
        (lambda f: f.legal(None), tw.ScheduleTypeError, "takes a tw.Schedule"),
        (lambda f: tw.Verdict("legal"), tw.ScheduleTypeError, "C.can and f.legal"),
    ],
)
def test_questions_that_make_no_sense(matmul, ask, kind, message):
    with pytest.raises(kind, match=message):
        ask(matmul)


def test_names_that_are_awkward():
    """A computation called as a part of another one is."""
    x = tw.input("x", [N], tw.float32)
    C_init = tw.computation("C_init", {i: N}, x[i] + 1)
    C = tw.computation("C", {i: N}, tw.sum(C_init[k], over={k: (0, i + 1)}))
    f = tw.function("f", outputs=[C], default_schedule=False)
    assert f.instances.count(N=3) == 3 + 3 + 6
    assert C.reads.range.count(N=3) == 3 and C_init.writes.count(N=4) == 4
    flow = f.dependences.flow
    assert flow == tw.Map("{ C_init[i] -> C[j, i] : 0 <= i <= j < N }")


def test_domain_of_a_handle():
    """f["C"] has the index set of the declaration, also of partial results that a command makes."""
    x = tw.input("x", [N, N], tw.float64)
    C = tw.computation("C", {i: (1, N)}, tw.sum(x[i, k], over={k: N}))
    f = tw.function("f", outputs=[C])
    assert f["C"].domain == C.domain == tw.Set("[N] -> { C[i] : 0 < i < N }")
    C.split("k", 4).rfactor("k1", "parts")
    assert f["parts"].domain.intersect_params(tw.Set("[N] -> { : N = 4 }")) == tw.Set(
        "[N] -> { parts[i, p] : N = 4 and 0 < i < N and 0 <= p < 4 }"
    )
