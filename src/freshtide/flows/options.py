"""The options that Spark has for files of each format: it leaves out others without a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from freshtide.core.errors import choices

_OF_ALL_FILES = frozenset(
    {
        "pathGlobFilter",
        "recursiveFileLookup",
        "modifiedBefore",
        "modifiedAfter",
        "ignoreCorruptFiles",
        "ignoreMissingFiles",
        "basePath",
        "maxRecordsPerFile",
    }
)
FORMAT_OPTIONS: Mapping[str, frozenset[str]] = {
    "csv": _OF_ALL_FILES
    | {
        "charset",
        "charToEscapeQuoteEscaping",
        "codec",
        "columnNameOfCorruptRecord",
        "columnPruning",
        "comment",
        "compression",
        "dateFormat",
        "delimiter",
        "emptyValue",
        "enableDateTimeParsingFallback",
        "encoding",
        "enforceSchema",
        "escape",
        "escapeQuotes",
        "extension",
        "header",
        "ignoreLeadingWhiteSpace",
        "ignoreTrailingWhiteSpace",
        "inferSchema",
        "inputBufferSize",
        "lineSep",
        "locale",
        "maxCharsPerColumn",
        "maxColumns",
        "mode",
        "multiLine",
        "nanValue",
        "negativeInf",
        "nullValue",
        "positiveInf",
        "preferDate",
        "quote",
        "quoteAll",
        "samplingRatio",
        "sep",
        "singleVariantColumn",
        "timeFormat",
        "timestampFormat",
        "timestampNTZFormat",
        "timeZone",
        "unescapedQuoteHandling",
    },
    "json": _OF_ALL_FILES
    | {
        "allowBackslashEscapingAnyCharacter",
        "allowComments",
        "allowNonNumericNumbers",
        "allowNumericLeadingZeros",
        "allowSingleQuotes",
        "allowUnquotedControlChars",
        "allowUnquotedFieldNames",
        "charset",
        "columnNameOfCorruptRecord",
        "compression",
        "dateFormat",
        "dropFieldIfAllNull",
        "enableDateTimeParsingFallback",
        "encoding",
        "explodeEmbeddedArray",
        "ignoreNullFields",
        "inferTimestamp",
        "lineSep",
        "locale",
        "mode",
        "multiLine",
        "prefersDecimal",
        "pretty",
        "primitivesAsString",
        "samplingRatio",
        "singleVariantColumn",
        "sortKeys",
        "timeFormat",
        "timestampFormat",
        "timestampNTZFormat",
        "timeZone",
        "useUnsafeRow",
        "writeNonAsciiCharacterAsCodePoint",
    },
    "parquet": _OF_ALL_FILES
    | {
        "compression",
        "datetimeRebaseMode",
        "int96RebaseMode",
        "mergeSchema",
        "parquet.compression",
    },
}
"""By format. Their case does not matter."""
_OF_THE_LIBRARY = {"parquet": "parquet."}
"""What options of the library behind a format begin with: those are not Spark's to list."""


def unknown_options(format_name: str, options: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Those that the format does not have, each with the way out."""
    known = {name.lower() for name in FORMAT_OPTIONS[format_name]}
    for option in options:
        is_passed_on = format_name in _OF_THE_LIBRARY and option.startswith(_OF_THE_LIBRARY[format_name])
        if option.lower() not in known and not is_passed_on:
            yield option, choices(option, FORMAT_OPTIONS[format_name])
