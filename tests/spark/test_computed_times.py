"""What Spark itself says of expressions that compute a time, should the project not have seen it in the text."""

from __future__ import annotations

import pytest

from freshtide.core.feeds import Column
from freshtide.spark import SparkSession
from freshtide.spark.computedtimes import ComputedTimeError, check_computed_time
from tests.feedsettings import feed_of


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("now()", "does not follow from the row alone"),
        ("IDENTIFIER('current_timestamp')()", "does not follow from the row alone"),
        ("timestamp_seconds(rand())", "does not follow from the row alone"),
        ("(SELECT TIMESTAMP'2026-05-01')", "it is not computed from one row"),
        ("max(CAST(day AS TIMESTAMP))", "it is not computed from one row"),
        ("explode(array(CAST(day AS TIMESTAMP)))", "it is not computed from one row"),
        ("CAST(input_file_name() AS TIMESTAMP)", "asks for the file of a row"),
        ("CAST(dai AS TIMESTAMP)", "`dai`"),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_an_expression_that_is_none_of_one_row_is_refused_by_its_plan(
    spark: SparkSession, zone: str, expression: str, told: str
) -> None:
    schema = (Column(name="day", type="string"),)
    settings = {"name": "a", "path": "a/*", "schema": schema, "time_column": "at", "time": expression}
    with pytest.raises(ComputedTimeError, match="In 'time' of the feed 'a'") as refused:
        check_computed_time(spark, feed_of({**settings, "time_zone": zone}))
    assert told in refused.value.message
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
