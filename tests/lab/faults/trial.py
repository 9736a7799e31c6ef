"""One case on one host: reach the boundary, break something, wait, and compare."""

from __future__ import annotations

import json
import signal
import time
import traceback

from tests.lab.faults.bench import LEASE
from tests.lab.faults.breaking import HOLD, ROOM, Breaking
from tests.lab.faults.cases import DISK, STAGE, Fault
from tests.lab.faults.results import Result
from tests.lab.rig import clock
from tests.lab.rig.machine import STATE
from tests.lab.rig.nspawn import until

SECOND = 10**9


class Trial(Breaking):
    """A case under way."""

    def run(self) -> Result:
        """All of it; a case that goes wrong in any way is `broken`, with words."""
        try:
            self.reach()
            began = time.monotonic()
            self.inject()
            if self.case.boundary == STAGE[0]:
                time.sleep(1.5)  # nothing is open there yet, and may be in a moment
            if self.unarmed():  # nothing was changed and no leg laid: the next run must find the host free
                self.bench.stager("cleanup", self.bench.stage())
            self.bench.wait_free(LEASE + HOLD + ROOM)
            seconds = time.monotonic() - began
            self.recover()
            trouble = self.compare()
            times = self.times()
        except Exception as error:  # noqa: BLE001 - the other cases go on
            words = self.controller.words() if self.controller else ""
            log = (*traceback.format_exc().splitlines()[-6:], *self.log())
            trouble = [f"{type(error).__name__}: {error}"]
            return Result(self.case.name, "broken", 0.0, tuple(trouble), words=words[-3000:], log=log)
        finally:
            self.tidy()
        changed = any(r["kind"] == "intent" and r.get("undo") for r in self.bench.journal(self.run_id))
        outcome = "broken" if trouble else "restored" if changed else "refused"
        log = tuple(self.log()) if trouble else ()
        return Result(self.case.name, outcome, round(seconds, 2), tuple(trouble), words=self.controller.words()[-2000:]
                      if trouble and self.controller else "", log=log, **times)  # fmt: skip

    # -- before ---------------------------------------------------------------------------------------------------

    def reach(self) -> None:
        """Bring the run to the boundary; the process that wrote its record stands still there."""
        bench, boundary = self.bench, self.case.boundary
        if boundary.verb == "upload":
            bench.machine.sh("rm", "-rf", f"{STATE}/trees")
        elif not bench.has_release():
            bench.stager("cleanup", bench.stage())  # the case before broke its upload off
        known = set(bench.runs())
        if boundary.verb in ("stage", "upload"):
            bench.arm(seq=boundary.place)
            self.controller = bench.start("stage", str(bench.desk.playbook), "--hold", f"{HOLD:g}s")
        elif boundary.verb == "verify":
            self.run_id = bench.stage("30s" if self.case.fault is Fault.POWER_CUT else f"{HOLD:g}s")
            self.controller = bench.start("verify", self.run_id, "--probe", "overlap")
            until(self.generating, "the probe to have the candidate generate", 20)
        else:
            self.run_id = bench.stage("10s")
            bench.arm(seq=len(bench.journal(self.run_id)) + boundary.place)
            words = ("extend", self.run_id, "3s") if boundary.verb == "extend" else ("cleanup", self.run_id)
            self.controller = bench.start(*words)
        if boundary.verb != "verify":
            self.hit = bench.wait_hit(self.controller)
            seen = f"{self.record()} {self.hit['step']}"
            if seen != boundary.record:
                raise RuntimeError(f"the boundary is {boundary.record}, the journal has {seen} there")
        self.run_id = self.run_id or next(iter(set(bench.runs()) - known), "")

    def record(self) -> str:
        """The kind of the record that was hit."""
        newest = self.run_id or self.bench.runs()[-1]
        return str(self.bench.journal(newest)[int(self.hit["seq"])]["kind"])

    def generating(self) -> bool:
        """Whether the candidate works on something now."""
        if self.controller and self.controller.over():
            raise RuntimeError(f"verify ended by itself: {self.controller.words()}")
        script = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:18080/health').read().decode())"
        return '"active": 0' not in (
            self.bench.machine.sh("python3", "-c", script, check=False).stdout or '"active": 0'
        )

    # -- after ----------------------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Mend what the fault broke, as far as it has no part in what is compared."""
        bench, machine = self.bench, self.bench.machine
        if self.reloads:
            bench.kill(signal.SIGKILL, *bench.pids_of("systemctl daemon-reload; sleep"))
            self.reloads.wait(10)
        if self.case.fault is Fault.NETWORK_CUT:
            self.controller_signal(signal.SIGKILL)  # its end of the channel goes with it once the network is back
        machine.network.mend()
        if self.case.fault in DISK:
            trouble = bench.differences()
            if trouble:
                raise RuntimeError("before the disk was mended: " + "; ".join(trouble))
        if self.case.fault is Fault.DISK_FULL:
            machine.path("/var/lib/stager/.full").unlink()
        if self.case.fault is Fault.READ_ONLY:
            machine.cut_power()
            assert machine.state
            machine.state.repair()
            machine.boot()
            self.rebooted = True
        if self.case.fault in (Fault.CLOCK_BACK, Fault.CLOCK_FORWARD):
            clock.step(machine, 0)

    def compare(self) -> list[str]:
        """Everything that is not as it must be."""
        bench = self.bench
        trouble = bench.after_reboot() if self.rebooted else bench.differences()
        if not self.rebooted and bench.bystander and bench.bystander.poll() is not None:
            trouble.append("the bystander is gone")
        last = next((r for r in reversed(bench.journal(self.run_id)) if r["kind"] == "verdict"), None)
        if last and last["code"] != 0:
            trouble.append(f"verdict {last['step']}: {last.get('trouble')} {last.get('left')}")
        folder = bench.machine.path(f"/var/lib/stager/runs/{self.run_id}")
        left = [name for name in ("ballast", "secrets", "candidate.json", "home") if (folder / name).exists()]
        if self.case.fault is Fault.READ_ONLY:
            left = []  # nothing could be removed there
        return trouble + [f"run file {name} is left" for name in left]

    def times(self) -> dict[str, float | None]:
        """The promise's three times, where the case has them."""
        records = self.bench.journal(self.run_id)
        note = next((r for r in records if r["kind"] == "note" and r["step"] == "restore"), None)
        found: dict[str, float | None] = {}
        if not note:
            return found
        if note["by"] == "boot":
            found["boot_leg"] = round((note["boottime_ns"] - self.bench.booted_ns()) / SECOND, 3)
            return found
        told = next((r for r in records if r["kind"] == "intent" and r["step"] == "candidate.stop"), None)
        if told and note["reason"] == "lease over":
            lease = self.lease()
            over = min(lease["cap"], max(lease["hold_until"], lease["last"] + lease["lease"]))
            found["lease_to_signal"] = round((told["boottime_ns"] - over) / SECOND, 3)
        gone = next((r for r in records if r["kind"] == "done" and r["step"] == "candidate.stop"), None)
        if gone and not self.rebooted and self.case.boundary.verb != "cleanup":
            found["gone_to_start"] = round((self.bench.production_started_ns() - gone["boottime_ns"]) / SECOND, 3)
        return found

    def lease(self) -> dict[str, int]:
        """The run's lease as it stood last."""
        line = self.bench.machine.read(f"{STATE}/runs/{self.run_id}/lease")
        return dict(json.loads(line.partition(" ")[2]))

    def log(self) -> list[str]:
        """What the journal says, for a case that went wrong."""
        try:
            return [f"{r['seq']} {r['kind']} {r['step']} f{r['fence']} {r['boottime_ns'] // 10**6} "
                    + " ".join(str(r.get(k, "")) for k in ("reason", "by", "unit", "what", "result", "why"))
                    for r in self.bench.journal(self.run_id)]  # fmt: skip
        except (OSError, RuntimeError, KeyError) as error:
            return [f"no journal: {error}"]

    def tidy(self) -> None:
        """Leave nothing of this case behind for the next."""
        if self.controller:
            self.controller.signal(signal.SIGCONT)
            self.controller.signal(signal.SIGKILL)
            self.controller.wait(10)
        if self.reloads and self.reloads.poll() is None:
            self.reloads.kill()
