"""How Spark reads files: for each format of `feeds.formats` a module of the same name, with a line in `_FORMATS`.

A format says how rows come out of its files, and what is to be told of values that do not. What is the same for all of
them is in `spark`, and what is found out before Spark sees a file in `feeds/formats`.
"""

from freshtide.core.feeds import Feed
from freshtide.spark.formats.avro import AvroReading
from freshtide.spark.formats.csv import CsvReading
from freshtide.spark.formats.format import Layout, NoFiles, SparkFormat
from freshtide.spark.formats.json import JsonReading
from freshtide.spark.formats.orc import OrcReading
from freshtide.spark.formats.parquet import ParquetReading

_FORMATS: tuple[SparkFormat, ...] = (
    CsvReading(),
    JsonReading(),
    ParquetReading(),
    OrcReading(),
    AvroReading(),
)
_BY_OPTIONS = {each.options: each for each in _FORMATS}


def spark_format(feed: Feed) -> SparkFormat:
    return _BY_OPTIONS[type(feed.format)]


__all__ = ["Layout", "NoFiles", "SparkFormat", "spark_format"]
