"""Where what feeds bring comes from: files of a folder, JSON lines over TCP, or what a Python function yields.

Each kind is a module, and stands behind `Source`: what it hands over has a position, which is acknowledged once it is
kept elsewhere. A file is kept once the catalog has it, a single row once the tables that read it have it, or what a run
leaves behind.

A folder is polled. A stream has a thread of its own. It reads each row by the schema of its feed and hands it to a
`RowReceiver`, or what is wrong with it: bad rows are told and never stop the others. Another kind of stream is one more
class with the interface of `Stream`, and a line in `open_stream`. When a row arrived is for the receiver to say.
"""

from freshtide.feeds.sources.generator import GeneratorStream
from freshtide.feeds.sources.rows import RejectedRow, RowReader, StreamRow
from freshtide.feeds.sources.socket import SocketStream, StreamAddressError
from freshtide.feeds.sources.source import RowReceiver, Stream
from freshtide.feeds.sources.streamset import StreamSet, open_stream

__all__ = [
    "GeneratorStream",
    "RejectedRow",
    "RowReader",
    "RowReceiver",
    "SocketStream",
    "Stream",
    "StreamAddressError",
    "StreamRow",
    "StreamSet",
    "open_stream",
]
