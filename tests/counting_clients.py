"""Clients that number their messages, and tell at the end which of them have arrived.

    python tests/counting_clients.py ADDRESSES TOPIC...

Sends to each topic ten messages a second, and takes them off a subscription, until
SIGTERM; then waits for what is still on its way, and prints a line of JSON a topic.
A message is as long as its number, or as COUNTED_BYTES in the environment has it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

import pulsar

RATE = 10.0
BYTES = int(os.environ.get("COUNTED_BYTES", "0"))
LAST_S = 60.0


class Counted:
    """One topic's messages by number."""

    def __init__(self, client: pulsar.Client, name: str) -> None:
        self.name = name
        self.sent = 0
        self.acknowledged: set[int] = set()
        self.received: set[int] = set()
        self.lock = threading.Lock()
        # Of this process alone: what another has left behind is not among ours.
        client.subscribe(
            name,
            f"counting-{os.getpid()}",
            consumer_type=pulsar.ConsumerType.Shared,
            message_listener=self.take,
        )
        self.producer = client.create_producer(
            name, send_timeout_millis=60_000, batching_enabled=False, block_if_queue_full=True
        )

    def take(self, consumer: pulsar.Consumer, message: pulsar.Message) -> None:
        consumer.acknowledge(message)
        with self.lock:
            self.received.add(int(message.data()))

    def send(self) -> None:
        number = self.sent
        self.sent += 1

        def answered(result: pulsar.Result, _: pulsar.MessageId) -> None:
            if result == pulsar.Result.Ok:
                with self.lock:
                    self.acknowledged.add(number)

        self.producer.send_async(str(number).encode().ljust(BYTES), answered)

    @property
    def is_whole(self) -> bool:
        with self.lock:
            return len(self.acknowledged) == self.sent == len(self.received)


def main(addresses: str, *topics: str) -> None:
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ending.set())
    # What is printed is for the test alone.
    quiet = pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull)
    client = pulsar.Client(addresses, operation_timeout_seconds=60, logger=quiet)
    counted = [Counted(client, name) for name in topics]
    sys.stdout.write("sending\n")
    sys.stdout.flush()
    while not ending.wait(1.0 / RATE):
        for each in counted:
            each.send()
    last = time.monotonic() + LAST_S
    while time.monotonic() < last and not all(each.is_whole for each in counted):
        time.sleep(0.1)
    for each in counted:
        told = {"topic": each.name, "sent": each.sent, "acknowledged": len(each.acknowledged)}
        told |= {"received": len(each.received)}
        sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    # The client's threads still call back into an interpreter that is being taken down.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
