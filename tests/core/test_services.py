"""Constructor injection, nested scopes, and how scopes end."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import attrs
import pytest

import toolcrib
from toolcrib.errors import ServiceError
from toolcrib.services import Lazy, Scope


class Clock:
    pass


class Store:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock


class Tool:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock


@attrs.define
class Declared:
    clock: Clock
    size: int = 3


class Egg:
    def __init__(self, hen: Hen) -> None: ...


class Hen:
    def __init__(self, egg: Egg) -> None: ...


class Narcissus:
    def __init__(self, self_: Narcissus) -> None: ...


class LateEgg:
    def __init__(self, hen: Lazy[LateHen]) -> None:
        self.hen = hen


class LateHen:
    def __init__(self, egg: LateEgg) -> None:
        self.egg = egg


class Eager:
    """Calls for a service in its constructor, which needs it."""

    def __init__(self, hen: Lazy[EagerHen]) -> None:
        self.hen = hen()


class EagerHen:
    def __init__(self, eager: Eager) -> None: ...


class Unannotated:
    def __init__(self, thing) -> None:  # type: ignore[no-untyped-def]
        ...


class Misspelt:
    def __init__(self, clock: Clcok) -> None:  # type: ignore[name-defined] # noqa: F821
        ...


@pytest.fixture
def scope() -> Scope:
    return Scope("crib")


class TestInjection:
    def test_parameters_are_filled_by_their_annotations(self, scope: Scope) -> None:
        """The annotations of this module are strings; they are read all the same."""
        clock = Clock()
        scope.add_value(Clock, clock)
        scope.add_factory(Store, Store)
        tool = scope.construct(Tool)
        assert tool.clock is tool.store.clock is clock
        assert tool.store is scope.get(Store)

    def test_attrs_classes_and_functions_are_factories_too(self, scope: Scope) -> None:
        scope.add_value(Clock, Clock())

        def make(clock: Clock) -> list[Clock]:
            return [clock]

        async def later(clock: Clock) -> Clock:
            return clock

        assert scope.construct(Declared).size == 3
        assert scope.construct(make) == [scope.get(Clock)]
        assert asyncio.run(scope.construct(later)) is scope.get(Clock)

    def test_other_callables_are_factories_too(self, scope: Scope) -> None:
        class Factory:
            def __call__(self, clock: Clock) -> Clock:
                return clock

            def method(self, clock: Clock) -> Clock:
                return clock

        def sized(size: int, clock: Clock) -> tuple[int, Clock]:
            return size, clock

        clock = Clock()
        scope.add_value(Clock, clock)
        assert scope.construct(Factory()) is clock
        assert scope.construct(Factory().method) is clock
        assert scope.construct(functools.partial(sized, 3)) == (3, clock)

    def test_a_factory_without_parameters_needs_none(self, scope: Scope) -> None:
        assert isinstance(scope.construct(Clock), Clock)
        assert scope.construct(lambda: 5) == 5
        assert scope.construct(lambda *args, **kwargs: (args, kwargs)) == ((), {})

    def test_a_default_stays_when_nobody_offers_the_type(self, scope: Scope) -> None:
        default = Clock()

        def make(clock: Clock = default, size: int = 3, free=None) -> Any:  # type: ignore[no-untyped-def]
            return clock, size, free

        assert scope.construct(make) == (default, 3, None)
        scope.add_value(Clock, Clock())
        assert scope.construct(make) == (scope.get(Clock), 3, None)

    def test_a_service_may_be_wished_for(self, scope: Scope) -> None:
        def make(clock: Clock | None = None) -> Clock | None:
            return clock

        assert scope.construct(make) is None
        scope.add_value(Clock, Clock())
        assert scope.construct(make) is scope.get(Clock)

    def test_a_class_of_settings_is_made_from_its_table(self, scope: Scope) -> None:
        @toolcrib.settings("dice")
        @attrs.frozen
        class DiceSettings:
            sides: int = 6

        asked: list[type] = []

        def build(cls: type) -> Any:
            asked.append(cls)
            return cls(sides=20)

        def make(settings: DiceSettings) -> int:
            return settings.sides

        with pytest.raises(ServiceError):
            scope.get(DiceSettings)
        scope.use_settings(build)
        below = Scope("agent", Scope("session", scope))
        make.__annotations__["settings"] = DiceSettings
        assert below.construct(make) == 20
        assert below.offers(DiceSettings) and not below.offers(Clock)
        assert asked == [DiceSettings]


class TestLazy:
    """A service that is made when it is first called for."""

    def test_it_is_made_at_the_first_call_and_once(self, scope: Scope) -> None:
        made: list[Clock] = []

        def make_clock() -> Clock:
            made.append(Clock())
            return made[-1]

        def make(clock: Lazy[Clock], same: Lazy[Clock]) -> list[Lazy[Clock]]:
            return [clock, same]

        scope.add_factory(Clock, make_clock)
        first, second = Scope("agent", scope).construct(make)
        assert made == []
        assert first() is first() is second() is scope.get(Clock)
        assert len(made) == 1

    def test_it_comes_from_the_scope_that_constructs(self, scope: Scope) -> None:
        scope.add_value(Clock, Clock())
        inner = Scope("agent", scope)
        inner.add_value(Clock, Clock())

        def make(clock: Lazy[Clock]) -> Clock:
            return clock()

        assert inner.construct(make) is inner.get(Clock)
        assert scope.construct(make) is scope.get(Clock)

    def test_a_missing_one_is_told_at_once(self, scope: Scope) -> None:
        """Not at the first call for it, which may be much later."""

        def make(clock: Lazy[Clock]) -> None: ...

        with pytest.raises(ServiceError) as caught:
            scope.construct(make)
        assert "'clock'" in str(caught.value) and "Clock" in str(caught.value)

    def test_one_that_may_be_missing_is(self, scope: Scope) -> None:
        def make(clock: Lazy[Clock] | None = None) -> Lazy[Clock] | None:
            return clock

        assert scope.construct(make) is None
        scope.add_value(Clock, Clock())
        lazy = scope.construct(make)
        assert lazy is not None and lazy() is scope.get(Clock)

    def test_one_of_no_service_in_particular_cannot_be_had(self, scope: Scope) -> None:
        def make(anything: Lazy) -> None: ...  # type: ignore[type-arg]

        with pytest.raises(ServiceError):
            scope.construct(make)

    def test_settings_are_lazy_too(self, scope: Scope) -> None:
        @toolcrib.settings("dice")
        @attrs.frozen
        class DiceSettings:
            sides: int = 6

        def make(settings: Any) -> Any:
            return settings()

        make.__annotations__["settings"] = Lazy[DiceSettings]
        scope.use_settings(lambda cls: cls(sides=20))
        assert scope.construct(make).sides == 20

    def test_services_may_need_each_other_when_one_is_lazy(self, scope: Scope) -> None:
        scope.add_factory(LateEgg, LateEgg)
        scope.add_factory(LateHen, LateHen)
        egg = scope.get(LateEgg)
        assert egg.hen().egg is egg

    def test_calling_too_early_is_told_as_a_circle(self, scope: Scope) -> None:
        scope.add_factory(Eager, Eager)
        scope.add_factory(EagerHen, EagerHen)
        with pytest.raises(ServiceError, match="Eager -> EagerHen -> Eager"):
            scope.get(Eager)

    def test_one_whose_factory_failed_may_work_later(self, scope: Scope) -> None:
        scope.add_factory(Store, Store)

        def make(store: Lazy[Store]) -> Lazy[Store]:
            return store

        store = scope.construct(make)
        with pytest.raises(ServiceError):
            store()
        scope.add_value(Clock, Clock())
        assert store().clock is scope.get(Clock)

    async def test_the_last_that_was_called_for_is_closed_first(self, scope: Scope) -> None:
        closed: list[object] = []
        scope.add_factory(Clock, Clock, closed.append)
        scope.add_factory(LateEgg, LateEgg, closed.append)
        scope.add_factory(LateHen, LateHen, closed.append)
        egg = scope.get(LateEgg)
        clock = scope.get(Clock)
        hen = egg.hen()
        await scope.aclose()
        assert closed == [hen, clock, egg]

    async def test_one_that_is_first_called_for_at_the_end_is_closed_as_well(
        self, scope: Scope
    ) -> None:
        closed: list[object] = []
        scope.add_factory(LateHen, LateHen, closed.append)
        scope.add_factory(LateEgg, LateEgg, lambda egg: closed.append(egg.hen()))
        egg = scope.get(LateEgg)
        await scope.aclose()
        assert closed == [egg.hen(), egg.hen()]

    async def test_after_the_end_nothing_is_made_that_nobody_would_close(
        self, scope: Scope
    ) -> None:
        closed: list[object] = []
        scope.add_factory(Clock, Clock)
        scope.add_factory(LateHen, LateHen, closed.append)
        scope.add_factory(LateEgg, LateEgg, closed.append)
        egg = scope.get(LateEgg)
        await scope.aclose()
        with pytest.raises(ServiceError, match="LateHen"):
            egg.hen()
        assert scope.get(LateEgg) is egg
        assert isinstance(scope.get(Clock), Clock)
        assert closed == [egg]


class TestWhatIsMissing:
    def test_a_missing_service_names_parameter_type_and_what_there_is(self, scope: Scope) -> None:
        scope.add_value(Store, None)
        with pytest.raises(ServiceError) as caught:
            Scope("agent", scope).construct(Tool)
        for word in ("Tool", "'clock'", "Clock", "agent", "Store"):
            assert word in str(caught.value)

    def test_a_missing_service_is_told_when_it_is_asked_for(self, scope: Scope) -> None:
        with pytest.raises(ServiceError) as caught:
            scope.get(Clock)
        assert "Clock" in str(caught.value)

    def test_a_parameter_without_annotation_is_named(self, scope: Scope) -> None:
        with pytest.raises(ServiceError) as caught:
            scope.construct(Unannotated)
        assert "'thing'" in str(caught.value) and "annotate" in str(caught.value)

    def test_an_annotation_that_cannot_be_read_is_named(self, scope: Scope) -> None:
        with pytest.raises(ServiceError) as caught:
            scope.construct(Misspelt)
        assert "Misspelt" in str(caught.value) and "Clcok" in str(caught.value)


class TestCycles:
    def test_the_whole_chain_is_told(self, scope: Scope) -> None:
        scope.add_factory(Egg, Egg)
        scope.add_factory(Hen, Hen)
        with pytest.raises(ServiceError) as caught:
            scope.get(Egg)
        assert "Egg -> Hen -> Egg" in str(caught.value)

    def test_a_service_that_needs_itself_is_told(self, scope: Scope) -> None:
        scope.add_factory(Narcissus, Narcissus)
        with pytest.raises(ServiceError) as caught:
            scope.get(Narcissus)
        assert "Narcissus -> Narcissus" in str(caught.value)

    def test_after_a_cycle_the_scope_is_as_good_as_before(self, scope: Scope) -> None:
        scope.add_factory(Egg, Egg)
        scope.add_factory(Hen, Hen)
        scope.add_factory(Clock, Clock)
        for _ in range(2):
            with pytest.raises(ServiceError, match="Hen -> Egg -> Hen"):
                scope.get(Hen)
        assert isinstance(scope.get(Clock), Clock)


class TestScopes:
    def test_a_factory_runs_once_a_scope_and_not_before_it_is_needed(self, scope: Scope) -> None:
        made: list[Clock] = []

        def make() -> Clock:
            made.append(Clock())
            return made[-1]

        scope.add_factory(Clock, make)
        assert scope.offers(Clock) and not made
        assert scope.get(Clock) is scope.get(Clock) is Scope("agent", scope).get(Clock)
        assert len(made) == 1

    def test_each_scope_has_its_own(self, scope: Scope) -> None:
        sessions = [Scope("session", scope) for _ in range(2)]
        for session in sessions:
            session.add_factory(Clock, Clock)
        assert sessions[0].get(Clock) is not sessions[1].get(Clock)
        with pytest.raises(ServiceError):
            scope.get(Clock)

    def test_the_nearest_scope_wins(self, scope: Scope) -> None:
        scope.add_value(Clock, Clock())
        inner = Scope("session", scope)
        inner.add_factory(Clock, Clock)
        assert inner.get(Clock) is not scope.get(Clock)
        assert Scope("agent", inner).get(Clock) is inner.get(Clock)

    def test_a_service_sees_its_own_scope_and_those_around_it(self, scope: Scope) -> None:
        scope.add_factory(Store, Store)
        inner = Scope("session", scope)
        inner.add_value(Clock, Clock())
        with pytest.raises(ServiceError):
            inner.get(Store)
        inner.add_factory(Store, Store)
        assert inner.get(Store).clock is inner.get(Clock)

    def test_a_factory_that_failed_may_work_later(self, scope: Scope) -> None:
        scope.add_factory(Store, Store)
        with pytest.raises(ServiceError):
            scope.get(Store)
        scope.add_value(Clock, Clock())
        assert scope.get(Store).clock is scope.get(Clock)


def _closing(scope: Scope, *names: str, on_close: Callable[[str], Any]) -> None:
    """Services that are strings, made in this order."""
    for name in names:
        key = type(name, (), {})
        scope.add_factory(key, lambda name=name: name, on_close)
        scope.get(key)


class TestClosing:
    async def test_the_last_made_is_closed_first(self, scope: Scope) -> None:
        closed: list[str] = []
        _closing(scope, "a", "b", "c", on_close=closed.append)
        await scope.aclose()
        assert closed == ["c", "b", "a"]

    async def test_dependencies_outlive_what_needs_them(self, scope: Scope) -> None:
        closed: list[object] = []
        scope.add_factory(Clock, Clock, closed.append)
        scope.add_factory(Store, Store, closed.append)
        store = scope.get(Store)
        await scope.aclose()
        assert closed == [store, store.clock]

    async def test_what_was_never_made_is_not_closed(self, scope: Scope) -> None:
        closed: list[object] = []
        scope.add_factory(Clock, Clock, closed.append)
        scope.add_value(Store, object())
        await scope.aclose()
        assert closed == []

    async def test_closing_again_does_nothing(self, scope: Scope) -> None:
        closed: list[str] = []
        _closing(scope, "a", on_close=closed.append)
        await scope.aclose()
        await scope.aclose()
        assert closed == ["a"]

    async def test_a_coroutine_is_waited_for_before_the_next(self, scope: Scope) -> None:
        closed: list[str] = []

        async def close(name: str) -> None:
            await asyncio.sleep(0)
            closed.append(name)

        _closing(scope, "a", "b", on_close=close)
        await scope.aclose()
        assert closed == ["b", "a"]

    async def test_failures_come_together_after_everything_is_closed(self, scope: Scope) -> None:
        closed: list[str] = []

        def close(name: str) -> None:
            closed.append(name)
            if name != "b":
                raise RuntimeError(name)

        _closing(scope, "a", "b", "c", on_close=close)
        with pytest.raises(ExceptionGroup) as caught:
            await scope.aclose()
        assert closed == ["c", "b", "a"]
        assert [str(error) for error in caught.value.exceptions] == ["c", "a"]

    async def test_a_scope_closes_only_its_own(self, scope: Scope) -> None:
        closed: list[str] = []
        _closing(scope, "outer", on_close=closed.append)
        inner = Scope("session", scope)
        _closing(inner, "inner", on_close=closed.append)
        await inner.aclose()
        assert closed == ["inner"]
