//! The steps of a seed: writes to objects, and trouble for processes, the lease, caches and requests.

use std::time::Duration;

use informer_testkit::{Fault, Status};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::chaos::Outage;
use super::plan::pick;
use super::process::Process;
use super::world::{LOOK, World};
use super::{LEASE, NAMESPACE};
use crate::trace::note;

impl World {
    pub(super) async fn step(&mut self) {
        let slot = self.rng.usize(..self.plan.replicas);
        match self.rng.u32(..16) {
            0..6 => self.write(),
            6 | 7 if self.plan.freezes => self.freeze(slot).await,
            8 if self.plan.crashes => self.crash(slot),
            9 if self.plan.crashes => self.stop(slot),
            10 | 11 if self.plan.tampers => self.tamper(),
            12 if self.plan.lags => self.lag(slot),
            13 if self.plan.outages => self.outage(slot),
            14 => {
                self.count("watches cut");
                self.kit.server.drop_watches();
            }
            15 => {
                self.count("clock jumps");
                let by = SignedDuration::from_secs(self.rng.i64(-4000..4000));
                self.clocks[slot].jump(by);
            }
            _ => {}
        }
        for slot in 0..self.plan.replicas {
            if self.processes[slot].is_none() && self.rng.u32(..4) == 0 {
                self.start(slot);
            }
        }
    }

    fn write(&mut self) {
        let name = format!("w{}", self.rng.usize(..self.plan.names));
        let value = self.rng.u32(..5).to_string();
        let server = &self.kit.server;
        let known = server.get("widgets", NAMESPACE, &name);
        let (what, done) = match known {
            Err(_) => {
                let widget = json!({"metadata": {"namespace": NAMESPACE, "name": name}, "data": {"value": value}});
                ("created", server.create("widgets", widget))
            }
            Ok(_) if self.rng.u32(..3) == 0 => {
                ("deleted", server.delete("widgets", NAMESPACE, &name))
            }
            Ok(_) => {
                let change = json!({"data": {"value": value}});
                (
                    "changed",
                    server.merge_patch("widgets", NAMESPACE, &name, change),
                )
            }
        };
        note!(self.trace, "{what} {name} {value}: {}", done.is_ok());
        if done.is_ok() {
            self.count(what);
        }
    }

    /// Freezes a process, the leader more often, with a change that is just reconciled.
    async fn freeze(&mut self, slot: usize) {
        self.write();
        self.pass(LOOK).await;
        let leads = |process: &Option<Process>| process.as_ref().is_some_and(Process::is_leader);
        let leader = self.processes.iter().position(leads);
        let slot = leader.filter(|_| self.rng.bool()).unwrap_or(slot);
        let beyond = self.rng.bool();
        let lease = self.plan.lease;
        let time = match beyond {
            true => lease + Duration::from_secs(self.rng.u64(1..40)),
            false => lease.mul_f64(self.rng.f64() * 0.8),
        };
        let Some(process) = &self.processes[slot] else {
            return;
        };
        if process.freeze.is_frozen() {
            return;
        }
        if process.is_leader() {
            self.count("leader frozen");
        }
        note!(self.trace, "FREEZE {} for {time:?}", process.name);
        process.freeze.freeze();
        self.thaw.insert(slot, Instant::now() + time);
        self.count(if beyond {
            "freeze beyond the lease"
        } else {
            "freeze within the lease"
        });
    }

    fn crash(&mut self, slot: usize) {
        let Some(process) = self.processes[slot].take() else {
            return;
        };
        if process.is_leader() {
            self.count("leader crashed");
        }
        note!(self.trace, "CRASH {}", process.name);
        self.count("crash");
        self.thaw.remove(&slot);
        process.crash(&self.kit);
    }

    /// Asks a process to stop; another is started once it has ended.
    fn stop(&self, slot: usize) {
        if let Some(process) = &self.processes[slot] {
            note!(self.trace, "STOP {}", process.name);
            self.count("stop and start");
            process.stop.cancel();
        }
    }

    fn tamper(&mut self) {
        let server = &self.kit.server;
        let patch = |change: Value| server.merge_patch("leases", NAMESPACE, LEASE, change);
        let (what, done) = match self.rng.u32(..4) {
            0 => ("lease deleted", server.delete("leases", NAMESPACE, LEASE)),
            1 => (
                "lease emptied",
                patch(json!({"spec": {"holderIdentity": ""}})),
            ),
            2 => {
                let number = self.rng.u32(..1000);
                let spec = json!({"holderIdentity": format!("intruder-{number}"), "leaseDurationSeconds": self.plan.lease.as_secs()});
                ("lease stolen", patch(json!({"spec": spec})))
            }
            _ => {
                let number = self.rng.u32(..1000).to_string();
                (
                    "lease touched",
                    patch(json!({"metadata": {"annotations": {"seen": number}}})),
                )
            }
        };
        if done.is_ok() {
            note!(self.trace, "TAMPER {what}");
            self.count(what);
            if what != "lease touched" {
                self.kit.ledger.tampered();
            }
        }
    }

    /// The watches of a process go to a replica of the server that is behind, until the end of it.
    fn lag(&mut self, slot: usize) {
        let server = &self.kit.server;
        if self.rng.bool() {
            server.release_replica(1);
            return;
        }
        let Some(process) = &self.processes[slot] else {
            return;
        };
        note!(self.trace, "LAG {}", process.name);
        server.route_client(&process.name, 1);
        server.hold_replica(1, server.resource_version());
        self.count("cache behind");
    }

    fn outage(&mut self, slot: usize) {
        let Some(process) = &self.processes[slot] else {
            return;
        };
        let faults = [
            Fault::HoldOpen,
            Fault::Refuse,
            Fault::Disconnect,
            Status::failure(500, "InternalError", "on purpose").into(),
            Status::failure(403, "Forbidden", "on purpose").into(),
        ];
        let now = Instant::now();
        let outage = Outage {
            process: process.name.clone(),
            since: now,
            until: now + self.plan.lease + Duration::from_secs(self.rng.u64(1..40)),
            fault: pick(&mut self.rng, &faults).clone(),
            lease_only: self.rng.bool(),
        };
        note!(self.trace, "OUTAGE {} {:?}", process.name, outage.fault);
        self.kit.chaos.begin_outage(outage);
    }
}
