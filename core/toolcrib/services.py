"""Scopes and the services in them: constructors say what they need, by annotation."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, cast

from toolcrib.contract.settings import section_of
from toolcrib.errors import ServiceError

if TYPE_CHECKING:
    import svcs

T = TypeVar("T")
ScopeKind = Literal["crib", "session", "agent"]


class Lazy(Generic[T]):
    """A service that is made when it is first called for.

    A constructor that annotates a parameter with `Lazy[Service]` costs nothing of the service
    while the tool is only listed: `self._service().method()`.
    """

    def __init__(self, get: Callable[[], T], made: Callable[[], bool]) -> None:
        self._get = get
        self._made = made

    def __call__(self) -> T:
        """The service; raises ServiceError when it cannot be made."""
        return self._get()

    def peek(self) -> T | None:
        """The service if its scope has made it already, for who must not cause anything."""
        return self._get() if self._made() else None


class ServiceRegistrar(Protocol):
    """What `contribute_service` hooks are given: a scope that is being made."""

    @property
    def kind(self) -> ScopeKind: ...

    def add_value(self, key: Any, value: object) -> None: ...

    def add_factory(
        self, key: type[T], factory: Callable[..., T], on_close: Callable[[T], Any] | None = None
    ) -> None: ...

    def construct(self, factory: Callable[..., T]) -> T: ...


class Scope:
    """One level of services: `crib` holds those of the process, `session` and `agent` nest in it.

    Values that exist already live in a plain mapping; what has to be made is made at its first
    use by a factory and kept in an svcs container until the scope ends. svcs is imported with the
    first factory, since a listing of the builtin tools needs none. `providers` are the plugins
    that were asked for services already.
    """

    def __init__(self, kind: ScopeKind, parent: Scope | None = None) -> None:
        self.kind: ScopeKind = kind
        self.parent = parent
        self.providers: list[object] = []
        self._values: dict[Any, Any] = {}
        self._settings: Callable[[type], Any] | None = None
        self._container: svcs.Container | None = None
        self._factories: dict[Any, Callable[[], Any]] = {}
        self._closers: list[Callable[[], Any]] = []
        self._ended = False
        self._making: list[Any] = parent._making if parent is not None else []

    def add_value(self, key: Any, value: object) -> None:
        """Offer something that exists already; whoever made it closes it."""
        self._values[key] = value

    def add_factory(
        self, key: type[T], factory: Callable[..., T], on_close: Callable[[T], Any] | None = None
    ) -> None:
        """Offer something that is made at its first use.

        `factory` is a class or function whose annotated parameters are services themselves.
        `on_close` gets the service when the scope ends; it may be a coroutine function. Nothing
        that needs closing is made after the end.
        """

        def make() -> T:
            if self._ended and on_close is not None:
                raise ServiceError(f"the scope {self.kind!r} has ended: no {_name(key)} any more")
            service = self.construct(factory)
            if on_close is not None:
                self._closers.append(lambda: on_close(service))
            return service

        self._factories[key] = make
        if self._container is not None:
            self._container.registry.register_factory(key, make, enter=False)

    def use_settings(self, build: Callable[[type], Any]) -> None:
        """How to make an instance of a class that describes a table of the configuration."""
        self._settings = build

    def get(self, key: type[T]) -> T:
        """The service of a type, from this scope or one around it.

        Raises ServiceError when nobody offers it, or when it needs itself.
        """
        scope: Scope | None = self
        while scope is not None:
            if key in scope._values:
                return cast("T", scope._values[key])
            if key in scope._factories:
                return scope._make(key)
            if scope._settings is not None and section_of(key) is not None:
                return cast("T", scope._settings(key))
            scope = scope.parent
        raise ServiceError(
            f"no service {_name(key)} in the scope {self.kind!r}; "
            f"offered: {', '.join(sorted(self._offered())) or 'none'}"
        )

    def offers(self, key: object) -> bool:
        """Whether `get` would find the type."""
        scope: Scope | None = self
        while scope is not None:
            known = key in scope._values or key in scope._factories
            if known or (scope._settings is not None and section_of(key) is not None):
                return True
            scope = scope.parent
        return False

    def made(self, key: type) -> bool:
        """Whether the factory of a type was called in this scope."""
        return self._container is not None and key in self._container

    def construct(self, factory: Callable[..., T]) -> T:
        """Call a class or function with the services that its parameters are annotated with.

        A parameter with a default keeps it when nobody offers its type. Raises ServiceError when
        a parameter without one cannot be filled.
        """
        return factory(**self._arguments(factory))

    async def aclose(self) -> None:
        """Close what this scope made, last made first.

        A service that fails to close does not keep the others from it; the failures are raised
        together at the end as an ExceptionGroup.
        """
        errors: list[Exception] = []
        while self._closers:
            try:
                answer = self._closers.pop()()
                if inspect.isawaitable(answer):
                    await answer
            except Exception as error:
                errors.append(error)
        self._ended = True
        if errors:
            raise ExceptionGroup(f"closing the services of scope {self.kind!r}", errors)

    def _make(self, key: type[T]) -> T:
        if key in self._making:
            chain = [*self._making[self._making.index(key) :], key]
            raise ServiceError(f"services need each other: {' -> '.join(map(_name, chain))}")
        self._making.append(key)
        try:
            return self._made_in().get(key)
        finally:
            self._making.pop()

    def _made_in(self) -> svcs.Container:
        """What keeps the services that were made."""
        if self._container is None:
            import svcs

            registry = svcs.Registry()
            for key, make in self._factories.items():
                registry.register_factory(key, make, enter=False)
            self._container = svcs.Container(registry)
        return self._container

    def _arguments(self, factory: Callable[..., Any]) -> dict[str, Any]:
        if factory is object or (
            isinstance(factory, type) and factory.__init__ is object.__init__  # type: ignore[misc]
        ):
            return {}
        try:
            hints = typing.get_type_hints(_annotated(factory))
        except Exception as error:
            raise ServiceError(f"{_name(factory)}: an annotation cannot be read: {error}") from None
        arguments: dict[str, Any] = {}
        for parameter in inspect.signature(factory).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            optional = parameter.default is not parameter.empty
            wanted = _without_none(hints.get(parameter.name))
            lazy = typing.get_origin(wanted) is Lazy
            if lazy:
                (wanted,) = typing.get_args(wanted)
            if wanted is not None and self.offers(wanted):
                get, made = (functools.partial(f, wanted) for f in (self.get, self.made))
                arguments[parameter.name] = Lazy(get, made) if lazy else get()
            elif not optional:
                raise ServiceError(
                    f"{_name(factory)} needs {parameter.name!r}"
                    f"{f' of type {_name(wanted)}' if wanted else ' but does not annotate it'}, "
                    f"which no service in the scope {self.kind!r} offers; "
                    f"offered: {', '.join(sorted(self._offered())) or 'none'}"
                )
        return arguments

    def _offered(self) -> set[str]:
        names = {_name(key) for key in (*self._values, *self._factories)}
        return names | (self.parent._offered() if self.parent is not None else set())


def _annotated(factory: Callable[..., Any]) -> Callable[..., Any]:
    """The function that has the annotations of a factory's parameters."""
    if isinstance(factory, functools.partial):
        return _annotated(factory.func)
    if isinstance(factory, type):
        return factory.__init__  # type: ignore[misc, no-any-return]
    return factory if hasattr(factory, "__annotations__") else type(factory).__call__


def _without_none(wanted: Any) -> Any:
    """The service that an annotation names; `Clock | None` wants a `Clock` if there is one."""
    members = [member for member in typing.get_args(wanted) if member is not type(None)]
    is_union = typing.get_origin(wanted) in (typing.Union, types.UnionType)
    return members[0] if is_union and len(members) == 1 else wanted


def _name(key: object) -> str:
    return getattr(key, "__qualname__", None) or str(key)
