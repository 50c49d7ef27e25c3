"""How the rows of files are written: a module for each format, with a line in `FORMATS`.

A format says how its files are called, which options a feed has for them, what is in a file, in one pass on its
arrival, and what can be wrong with its columns. How Spark reads its files is in `spark/formats`, under the same name.
"""

from freshtide.core.feeds import Feed
from freshtide.feeds.formats.avro import AvroFiles, AvroFormat
from freshtide.feeds.formats.csv import CsvFiles, CsvFormat
from freshtide.feeds.formats.format import FileFormat, OptionError
from freshtide.feeds.formats.json import JsonFiles, JsonFormat
from freshtide.feeds.formats.orc import OrcFiles, OrcFormat
from freshtide.feeds.formats.parquet import ParquetFiles, ParquetFormat

FORMATS: tuple[FileFormat, ...] = (
    CsvFiles(),
    JsonFiles(),
    ParquetFiles(),
    OrcFiles(),
    AvroFiles(),
)
_BY_OPTIONS = {each.options: each for each in FORMATS}


def format_of(feed: Feed) -> FileFormat:
    return _BY_OPTIONS[type(feed.format)]


__all__ = [
    "FORMATS",
    "AvroFormat",
    "CsvFormat",
    "FileFormat",
    "JsonFormat",
    "OptionError",
    "OrcFormat",
    "ParquetFormat",
    "format_of",
]
