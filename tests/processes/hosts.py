"""Hosts on one machine: network namespaces with a switch between them, whose links have a bandwidth and a
delay, and which can be cut. Needs root and iproute2. All names begin with "attend-" and the number of this process;
remove() deletes them.

    with Hosts(4) as hosts:
        hosts.shape(megabits=1000, milliseconds=0)
        process = hosts.launch("mpich", 4, ["attend", "train", ...], env)
        hosts.cut(2)
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OWN_RANK = 0  # the host on which the launcher runs


def call(*words, check=True):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done


def missing():
    """Why this machine cannot have hosts; None: it can."""
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("ip", "tc", "unshare"):
        if not shutil.which(tool):
            return f"{tool} is missing"
    name = f"attend-{os.getpid()}-try"
    try:
        call("ip", "netns", "add", name)
        call("ip", "-n", name, "link", "add", "name", "a", "type", "veth", "peer", "name", "b")
        call("ip", "-n", name, "link", "add", "name", "bridge", "type", "bridge")
        call("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "a", "root", "tbf", "rate", "100mbit",
             "burst", "64kb", "latency", "50ms")
    except OSError as error:
        return f"network namespaces are not permitted ({error})"
    finally:
        call("ip", "netns", "del", name, check=False)
    return None


class Hosts:
    """Host i has the address 10.77.0.(i + 1) on eth0, in a namespace of its own."""

    def __init__(self, count):
        self.count = count
        self.prefix = f"attend-{os.getpid()}-"
        self.switch = self.prefix + "switch"
        self.delay = None  # the process that delays frames
        self.folder = tempfile.mkdtemp(prefix="attend-hosts-")
        try:
            self.make_veths()
            self.write_agent()
        except OSError:
            self.remove()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def name(self, host):
        return f"{self.prefix}{host}"

    def address(self, host):
        return f"10.77.0.{host + 1}"

    def inside(self, namespace, *words, check=True):
        return call("ip", "netns", "exec", namespace, *words, check=check)

    def make_veths(self):
        call("ip", "netns", "add", self.switch)
        self.inside(self.switch, "ip", "link", "add", "name", "bridge", "type", "bridge")
        self.inside(self.switch, "ip", "link", "set", "bridge", "up")
        for host in range(self.count):
            name = self.name(host)
            call("ip", "netns", "add", name)
            call("ip", "-n", self.switch, "link", "add", "name", f"port{host}", "type", "veth", "peer", "name", "eth0", "netns", name)
            self.inside(self.switch, "ip", "link", "set", f"port{host}", "master", "bridge", "up")
            self.configure(host)

    def configure(self, host):
        name = self.name(host)
        self.inside(name, "ip", "link", "set", "lo", "up")
        self.inside(name, "ip", "address", "add", f"{self.address(host)}/24", "dev", "eth0")
        self.inside(name, "ip", "link", "set", "eth0", "up")
        # Seconds, not a quarter of an hour, until the kernel gives up a connection to a host that is gone.
        self.inside(name, "sysctl", "-q", "-w", "net.ipv4.tcp_retries2=5")

    def write_agent(self):
        """What a launcher calls instead of ssh: AGENT HOST COMMAND…. The command sees the name of the host."""
        self.agent = os.path.join(self.folder, "agent")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n# HOST COMMAND...: runs a command on a host of the test\n"
                       "while [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
                       "host=$1\nshift\n"
                       f"exec ip netns exec {self.prefix}$((${{host##*.}} - 1)) "
                       "unshare --uts sh -c \"hostname host${host##*.}; $*\"\n")
        os.chmod(self.agent, os.stat(self.agent).st_mode | stat.S_IXUSR)

    def shape(self, megabits, milliseconds=0):
        """The bandwidth of every link in both directions, and the delay from one host to another."""
        if milliseconds and not self.has_netem():
            self.replace_by_delay(milliseconds)
        for host in range(self.count):
            self.shape_device(self.name(host), "eth0", megabits, milliseconds if not self.delay else 0)
            if not self.delay:
                self.shape_device(self.switch, f"port{host}", megabits, 0)

    def shape_device(self, namespace, device, megabits, milliseconds):
        self.inside(namespace, "tc", "qdisc", "del", "dev", device, "root", check=False)
        if milliseconds:
            self.inside(namespace, "tc", "qdisc", "add", "dev", device, "root", "netem", "rate", f"{megabits}mbit",
                        "delay", f"{milliseconds}ms", "limit", "100000")
        else:
            self.inside(namespace, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{megabits}mbit",
                        "burst", "128kb", "latency", "100ms")

    def has_netem(self):
        words = "tc qdisc add dev bridge root netem delay 1ms".split()
        found = self.inside(self.switch, *words, check=False).returncode == 0
        self.inside(self.switch, "tc", "qdisc", "del", "dev", "bridge", "root", check=False)
        return found

    def replace_by_delay(self, milliseconds):
        """Where the kernel has no netem: a switch in a process (delay.py) that holds every frame for a while."""
        for host in range(self.count):
            call("ip", "-n", self.switch, "link", "del", f"port{host}")
        words = ["ip", "netns", "exec", self.switch, sys.executable, os.path.join(HERE, "delay.py"),
                 str(milliseconds / 1000), *(self.name(host) for host in range(self.count))]
        self.delay = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.delay.stdout.readline().strip() != "ready":
            raise OSError("delay.py: no devices")
        for host in range(self.count):
            self.configure(host)

    def cut(self, host):
        """The cable of a host is pulled: frames vanish, and nobody is told."""
        if self.delay:
            self.inside(self.name(host), "ip", "link", "set", "eth0", "down")
        else:
            self.inside(self.switch, "ip", "link", "set", f"port{host}", "down")

    def join(self, host):
        self.inside(self.switch, "ip", "link", "set", f"port{host}", "up")

    def command(self, mpi, ranks, words):
        """The command of a run, process r on host r modulo their number, by the launcher of an MPI."""
        addresses = [self.address(rank % self.count) for rank in range(min(ranks, self.count))]
        each = -(-ranks // self.count)
        if mpi == "mpich":
            launcher = ["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", self.agent, "-iface", "eth0",
                        "-hosts", ",".join(f"{address}:{each}" for address in addresses)]
        else:
            launcher = ["mpirun.openmpi", "--allow-run-as-root", "-q", "--mca", "plm_rsh_agent", self.agent,
                        "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0",
                        "--mca", "oob_tcp_if_include", "eth0", "--mca", "plm_rsh_no_tree_spawn", "1",
                        "--bind-to", "none",
                        "--host", ",".join(f"{address}:{each}" for address in addresses)]
        return ["ip", "netns", "exec", self.name(OWN_RANK), "unshare", "--uts", "sh", "-c",
                'hostname host1; exec "$@"', "sh", *launcher, "-n", str(ranks), *words]

    def launch(self, mpi, ranks, words, env, **options):
        return subprocess.Popen(self.command(mpi, ranks, words), env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options)

    def processes(self):
        """The processes that are left in the namespaces."""
        names = [self.name(host) for host in range(self.count)]
        return [int(pid) for name in names for pid in call("ip", "netns", "pids", name, check=False).stdout.split()]

    def remove(self):
        if self.delay:
            self.delay.kill()
            self.delay.wait()
            self.delay = None
        for pid in self.processes():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
        for name in (*(self.name(host) for host in range(self.count)), self.switch):
            call("ip", "netns", "del", name, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
