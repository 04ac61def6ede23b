"""The end of input waits for the answers that are still owed.

The library drops whatever is under way when its input ends. A client that writes its requests and closes the pipe would
never read the answers, and a write would have happened that nobody was told about.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId

Received = SessionMessage | Exception

LONGEST_WAIT = 10.0  # seconds; a client that is gone must not leave a server behind


class Owed:
    """The requests that have no answer yet."""

    def __init__(self) -> None:
        self._requests: set[RequestId] = set()
        self._settled = anyio.Event()

    def received(self, item: Received) -> None:
        if not isinstance(item, SessionMessage):
            return
        match item.message:
            case JSONRPCRequest(id=request):
                self._requests.add(request)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": request}):
                self._settle(request)  # a cancelled request is never answered

    def sent(self, item: SessionMessage) -> None:
        match item.message:
            case JSONRPCResponse(id=request) | JSONRPCError(id=request):
                self._settle(request)

    def _settle(self, request: RequestId | None) -> None:
        self._requests.discard(request)
        self._settled.set()

    async def all_answered(self) -> None:
        with anyio.move_on_after(LONGEST_WAIT):
            while self._requests:
                self._settled = anyio.Event()
                await self._settled.wait()


@asynccontextmanager
async def answering_to_the_end(
    read: ObjectReceiveStream[Received], write: ObjectSendStream[SessionMessage]
) -> AsyncIterator[tuple[ObjectReceiveStream[Received], ObjectSendStream[SessionMessage]]]:
    """The same two streams, where the first ends only when everything asked on it has been answered."""
    owed = Owed()
    to_server, inbox = anyio.create_memory_object_stream[Received]()
    outbox, from_server = anyio.create_memory_object_stream[SessionMessage]()

    async def relay_in() -> None:
        async with to_server:
            async for item in read:
                owed.received(item)
                await to_server.send(item)
            await owed.all_answered()

    async def relay_out() -> None:
        async with write:
            async for item in from_server:
                await write.send(item)
                owed.sent(item)

    async with anyio.create_task_group() as relays:
        relays.start_soon(relay_in)
        relays.start_soon(relay_out)
        yield inbox, outbox
