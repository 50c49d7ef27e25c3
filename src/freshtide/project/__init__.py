"""What users write, turned into the words of the core.

A project is a folder: freshtide.yml with its settings, feeds/*.yml, tables in SQL and Python under tables/, and flows
in YAML and Python under flows/.
`load_project` reads all of it and gives a `Project`, with every table's way of being maintained, or one
`ProjectError` with every problem in it, each with its file, line and way out. Everything flows into
`Declarations` first, whatever it was written in, and `assemble` makes the project of them. `create_starter`
writes the project that `freshtide init` begins with. `read_scenario` reads what is to be simulated.

Only what is written is looked at: texts of queries are understood in `sql`, columns are resolved by Spark, and what
became of tables in earlier runs is in the catalog.
"""

from freshtide.project.assembly import Project, assemble
from freshtide.project.changes import Change, Changes, Subject, What, changes_between, digest_of
from freshtide.project.declarations import Declarations, DeclaredTable
from freshtide.project.feeds.feedfile import read_feed
from freshtide.project.loading import PROJECT_FILE, find_project, load_project, project_files
from freshtide.project.notation.sizes import SizeError, parse_size
from freshtide.project.notation.yamlfile import read_yaml
from freshtide.project.scenarios.scenario import Scenario, read_scenario
from freshtide.project.settings.adaptive import not_to_be_kept
from freshtide.project.settings.schedulers import parse_scheduler, too_few_tracks
from freshtide.project.settings.settings import Retry, Settings, read_settings, settings_from
from freshtide.project.starter import StarterError, create_starter
from freshtide.project.tables.decorators import (
    NoProjectError,
    collecting,
    declared_function,
    feed,
    materialized_view,
    table,
)
from freshtide.project.tables.properties import Properties
from freshtide.project.tables.sqlfile import declare_sql

__all__ = [
    "PROJECT_FILE",
    "Change",
    "Changes",
    "Declarations",
    "DeclaredTable",
    "NoProjectError",
    "Project",
    "Properties",
    "Retry",
    "Scenario",
    "Settings",
    "SizeError",
    "StarterError",
    "Subject",
    "What",
    "assemble",
    "changes_between",
    "collecting",
    "create_starter",
    "declare_sql",
    "declared_function",
    "digest_of",
    "feed",
    "find_project",
    "load_project",
    "materialized_view",
    "not_to_be_kept",
    "parse_scheduler",
    "parse_size",
    "project_files",
    "read_feed",
    "read_scenario",
    "read_settings",
    "read_yaml",
    "settings_from",
    "table",
    "too_few_tracks",
]
