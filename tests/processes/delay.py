"""delay.py SECONDS NAMESPACE…: a switch that holds every frame for SECONDS, for kernels without netem. Makes a TAP
device for each namespace, moves it there as eth0, prints "ready", and forwards until it is killed."""
import collections
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
BROADCAST = b"\xff" * 6


def open_device(index: int, namespace: str) -> int:
    """A TAP device that is eth0 of the namespace; what its file has is what the host sends."""
    name = f"tap{index}"
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    for words in (["link", "set", name, "netns", namespace],
                  ["-n", namespace, "link", "set", name, "name", "eth0"]):
        subprocess.run(["ip", *words], check=True)
    return device


def deliver(frame: bytes, source: int, devices: list, places: dict) -> None:
    """To the device of the address, or to all but the one it came from."""
    target = places.get(frame[:6])
    for device in devices if target is None else [target]:
        if device != source:
            try:
                os.write(device, frame)
            except OSError:
                pass  # its queue is full, or the device is down: the frame is lost


def main() -> None:
    seconds = float(sys.argv[1])
    devices = [open_device(index, name) for index, name in enumerate(sys.argv[2:])]
    print("ready", flush=True)
    places: dict = {}
    held: collections.deque = collections.deque()  # (when to deliver, frame, device): in order of time
    while True:
        wait = max(0.0, held[0][0] - time.monotonic()) if held else None
        readable, _, _ = select.select(devices, [], [], wait)
        now = time.monotonic()
        for device in readable:
            for _ in range(64):
                try:
                    frame = os.read(device, 65536)
                except OSError:
                    break
                if frame[6:12] != BROADCAST:
                    places[frame[6:12]] = device
                held.append((now + seconds, frame, device))
        while held and held[0][0] <= now:
            _, frame, source = held.popleft()
            deliver(frame, source, devices, places)


main()
