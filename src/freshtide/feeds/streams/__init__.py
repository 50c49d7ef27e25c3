"""Data arriving as single rows: JSON lines over TCP, or what a Python function yields.

A stream has a thread of its own. It reads each row by the schema of its feed and hands it to a `RowReceiver`, or what
is wrong with it: bad rows are told and never stop the others. Another kind of source is one more class with the
interface of `Stream`, and a line in `open_stream`. When a row arrived is for the receiver to say.
"""

from freshtide.feeds.streams.generators import GeneratorStream
from freshtide.feeds.streams.opening import StreamSet, open_stream
from freshtide.feeds.streams.rows import RejectedRow, RowReader, StreamRow
from freshtide.feeds.streams.sockets import SocketStream, StreamAddressError
from freshtide.feeds.streams.stream import RowReceiver, Stream

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
