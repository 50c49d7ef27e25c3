"""What must survive a restart: arrivals, loads, updates, table states, outages, requests; a database behind SQLAlchemy.

The Delta logs are the truth about tables. The catalog can be rebuilt from them; it exists so that questions are
answered without reading logs, and so that other processes can look on and ask for things. No rows of tables are kept
here, and nothing here decides what is updated next.
"""

from freshtide.catalog.arrivals import ArrivalLedger
from freshtide.catalog.catalog import Catalog
from freshtide.catalog.latest import LatestStreamRow, LatestStreams
from freshtide.catalog.leases import Holder, RunLease, RunLock, WarehouseBusyError, lease_folder
from freshtide.catalog.outages import OutageLog
from freshtide.catalog.requests import Request, RequestKind, RequestQueue
from freshtide.catalog.tables import TableRow, TableStates
from freshtide.catalog.updates import RebuildProgress, UpdateEnd, UpdateLog, UpdateRow, UpdateStatus
from freshtide.catalog.urls import folder_of, hide_secrets, parse_url, url_within, without_password

__all__ = [
    "ArrivalLedger",
    "Catalog",
    "Holder",
    "LatestStreamRow",
    "LatestStreams",
    "OutageLog",
    "RebuildProgress",
    "Request",
    "RequestKind",
    "RequestQueue",
    "RunLease",
    "RunLock",
    "TableRow",
    "TableStates",
    "UpdateEnd",
    "UpdateLog",
    "UpdateRow",
    "UpdateStatus",
    "WarehouseBusyError",
    "folder_of",
    "hide_secrets",
    "lease_folder",
    "parse_url",
    "url_within",
    "without_password",
]
