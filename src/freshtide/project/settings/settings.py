"""Settings of a project: freshtide.yml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from freshtide.catalog import hide_secrets, parse_url
from freshtide.core.errors import Origin, ProjectError, choices
from freshtide.core.secrets import hide, is_secret_name
from freshtide.flows import POLICIES
from freshtide.flows.policies import MIXED
from freshtide.project.notation.sizes import parse_size
from freshtide.project.notation.validation import (
    Duration,
    LocalPath,
    Place,
    PositiveDuration,
    Written,
    check,
    chosen,
    plain,
    understood,
    wrong,
)
from freshtide.project.notation.yamlfile import KeyPath, YamlFile
from freshtide.project.settings.schedulers import read_policy
from freshtide.scheduling import TARGET_LAGS, Policy

SPARK_NAMES = {
    "master": "spark.master",
    "app_name": "spark.app.name",
    "driver_memory": "spark.driver.memory",
    "executor_memory": "spark.executor.memory",
    "executors": "spark.executor.instances",
    "packages": "spark.jars.packages",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a failed update is tried, and how long to wait in between (doubling from `backoff`)."""

    attempts: int = 4
    backoff: float = 1.0
    longest: float = 60.0


def _somewhere(_: KeyPath) -> Origin:
    return Origin(file="freshtide.yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a project says about itself as a whole. Durations are seconds, sizes are bytes."""

    name: str
    tracks: int = 2
    policy: Policy = TARGET_LAGS
    """How updates are scheduled."""
    spark: Mapping[str, str] = field(default_factory=dict)
    """Spark configuration under Spark's own names."""
    storage: str = "warehouse"
    """Where the tables are kept: a path, absolute or relative to the project."""
    catalog: str | None = None
    """A SQLAlchemy URL; None for a SQLite file within the project."""
    retry: Retry = Retry()
    poll: float = 0.1
    """How often the folders of the feeds are looked at."""
    large_update: int = 64_000_000
    """From this many bytes on, Spark writes the files of an update itself."""
    update_memory: int = 512_000_000
    """How much the rows may take that wait for update tables."""
    retention: float = 86_400.0
    """How long old versions of the tables are kept."""
    min_free: int | None = None
    """How much must be free on the disks for work to go on; None: 1 GB, or 2 % of a disk that is small."""
    flow_policy: str = MIXED
    """By which policy flows run that load tables."""
    place: Place = field(default=_somewhere, compare=False, repr=False)
    """Where a key was written: what it says may only turn out wrong beside the tables."""


def read_settings(file: YamlFile, *, default_name: str) -> Settings:
    """The settings in freshtide.yml; an empty file leaves everything at its default."""
    values = {} if file.value is None else file.value
    written, problems = check(_WrittenSettings, values, file.origin)
    policy, more = read_policy(values.get("scheduler") if isinstance(values, Mapping) else None, file.origin)
    if written is None or policy is None:
        raise ProjectError(problems + more)
    return Settings(
        name=written.name or default_name,
        tracks=written.tracks,
        policy=policy,
        spark=written.spark,
        storage=written.storage,
        catalog=written.catalog,
        retry=Retry(
            attempts=written.retry.attempts,
            backoff=written.retry.backoff,
            longest=written.retry.longest,
        ),
        poll=written.poll,
        large_update=written.large_update,
        update_memory=written.update_memory,
        retention=written.retention,
        min_free=written.min_free,
        flow_policy=written.flows.policy,
        place=file.origin,
    )


def settings_from(values: Mapping[str, object]) -> Settings:
    """Settings given in Python, under the keys of freshtide.yml."""
    return read_settings(YamlFile(file="<python>", value=dict(values), lines={}), default_name="warehouse")


def _size(value: object) -> Any:
    return understood(parse_size, plain(value, "a size"))


def _size_or_default(value: object) -> Any:
    return None if value is None else _size(value)


def _catalog(value: object) -> object:
    if isinstance(value, str):
        hide_secrets(understood(parse_url, value))
    return value


def _spark(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong("Spark's configuration is keys and values.", way_out="Write it like {spark.driver.memory: 4g}.")
    settings = {SPARK_NAMES.get(key, key): text for key, text in _flattened(value, "")}
    for name, text in settings.items():
        _check_spark(name, text)
        if is_secret_name(name):
            hide(text)
    return settings


def _check_spark(name: str, text: str) -> None:
    """Spark leaves out what it does not know without a word, unless it begins with its name."""
    is_connect = name in ("remote", "spark.remote") or (name == "spark.api.mode" and text.lower() == "connect")
    if is_connect or (name == "spark.master" and text.startswith("sc://")):
        raise wrong(
            "Spark Connect is not supported: Freshtide starts Spark's driver in its own process.",
            way_out="Name a cluster by its `master`, like spark://host:7077, or leave it out for this machine.",
        )
    if not name.startswith("spark."):
        raise wrong(
            f"Spark has no setting '{name}'.",
            way_out=f"Its own begin with `spark.`, like spark.{name}. {choices(name, SPARK_NAMES)}",
        )


def _flattened(values: Mapping[Any, object], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{name}.")
        elif value is None:
            raise wrong(f"Spark's '{name}' has no value.", way_out='Write "" for an empty one.')
        elif isinstance(value, list):
            yield name, ",".join(_spark_text(item) for item in value)
        else:
            yield name, _spark_text(value)


def _spark_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class WrittenRetry(Written):
    attempts: int = Field(default=4, ge=1)
    backoff: Duration = 1.0
    longest: Duration = 60.0


def _policy_of_flows(value: object) -> object:
    return chosen(value, (*POLICIES, MIXED), "a policy of flows")


class _WrittenFlows(Written):
    policy: Annotated[str, BeforeValidator(_policy_of_flows)] = MIXED


class _WrittenSettings(Written):
    name: str | None = None
    tracks: int = Field(default=2, ge=1)
    # Read apart, because its keys depend on its values.
    scheduler: Any = None
    spark: Annotated[dict[str, str], BeforeValidator(_spark)] = Field(default_factory=dict)
    storage: LocalPath = "warehouse"
    catalog: Annotated[str | None, BeforeValidator(_catalog)] = None
    retry: WrittenRetry = WrittenRetry()
    poll: PositiveDuration = 0.1
    large_update: Annotated[int, BeforeValidator(_size)] = 64_000_000
    update_memory: Annotated[int, BeforeValidator(_size)] = 512_000_000
    retention: Duration = 86_400.0
    min_free: Annotated[int | None, BeforeValidator(_size_or_default)] = None
    flows: _WrittenFlows = _WrittenFlows()
