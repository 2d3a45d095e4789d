"""A link between a gateway and the provider that can be cut."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine

from programs import free_port


class Forwarder:
    """Passes connections on to an address on this machine, in a thread of its own."""

    def __init__(self, url: str):
        self.target = int(url.rpartition(":")[2])
        self.port = free_port()
        self.loop = asyncio.new_event_loop()
        self.writers: set[asyncio.StreamWriter] = set()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.run(self.open())

    @property
    def url(self) -> str:
        """The address that stands for the target."""
        return f"http://127.0.0.1:{self.port}"

    def run(self, work: Coroutine) -> None:
        """Runs a coroutine in the thread, and waits for it."""
        asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def cut(self, *, silently: bool) -> None:
        """Cuts the link. Silently, what is sent stays on its way until the link is healed. Otherwise connections break."""
        self.run(self.stall() if silently else self.reset())

    def heal(self) -> None:
        """Heals the link."""
        self.run(self.resume())

    def close(self) -> None:
        """Ends the thread."""
        self.run(self.reset())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def open(self) -> None:
        self.flows = asyncio.Event()
        self.flows.set()
        await self.listen()

    async def listen(self) -> None:
        self.server = await asyncio.start_server(self.connect, "127.0.0.1", self.port)

    async def stall(self) -> None:
        self.flows.clear()

    async def reset(self) -> None:
        if self.server is None:
            return
        self.server.close()
        self.server = None
        for writer in self.writers:
            writer.transport.abort()

    async def resume(self) -> None:
        self.flows.set()
        if self.server is None:
            await self.listen()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.flows.wait()
        try:
            there = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self.copy(reader, there[1]), self.copy(there[0], writer))

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 18):
                await self.flows.wait()
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
        self.writers.discard(writer)
