"""A cell put in order: its window, candidates, terms, faults, writes and owners."""

from collections import defaultdict

from . import losses, ownership, servers, spans, injections
from .kinds import ALWAYS_COSTS, ENDS_PROCESSES, HALTS_SERVERS, HITS_CANDIDATES, LASTS_UNTIL_HEALED, is_on_servers

MS = 1_000_000
# The czxid of a token that nobody knows.
UNKNOWN = -1


# What candidates and their clients do or are told.
DEEDS = {"session", "state", "incarnation", "created", "joined", "left", "notified", "settled"}


class Term:
    """One belief. `sure` is from after the grant to before the revoke, `at_most` from before the grant to after the revoke."""

    def __init__(self, event, segment, group):
        self.cand, self.session, self.number = event["cand"], event["session"], event["term"]
        self.czxid, self.node, self.group = event["czxid"], event["node"], group
        self.host, self.life = segment.host, segment.life
        self.asked, self.begun = event["t"], None
        self.leaving = self.left = None
        self.reason, self.killed = None, False

    @property
    def life_id(self):
        return (self.cand, self.session)

    @property
    def key(self):
        return (self.group, self.cand, self.session, self.czxid)

    @property
    def sure(self):
        return (self.begun, self.leaving)

    @property
    def at_most(self):
        return (self.asked, self.left)


class Fault:
    """A fault with its proofs; `injected` and `healed` are verifications."""

    def __init__(self, event):
        self.id, self.kind, self.event = event["id"], event["kind"], event
        self.cands = set(event["cands"])
        self.injected = self.healed = None
        # What is recorded beside the verifications says otherwise.
        self.unfounded = False
        # Where no heal is recorded: when each of its hosts or servers first did what it cannot do under it.
        self.recovered = {}

    @property
    def is_seen_to_act(self):
        return bool(self.injected and self.injected["verified"] and not self.unfounded)

    @property
    def verified(self):
        """Verified to have taken effect, and to have ended where it lasts."""
        lasts = self.kind in LASTS_UNTIL_HEALED and self.event["for_ms"] is not None
        return self.is_seen_to_act and bool(not lasts or (self.healed and self.healed["verified"]))

    @property
    def took_effect(self):
        return self.injected["from"]

    @property
    def effective(self):
        """Between which times it took effect: from the order on, where no verification tells."""
        return (self.injected["from"], self.injected["to"]) if self.injected else (self.event["t"], self.event["t"])

    def ended(self, host, at, end):
        """When it ended for this host: `at` of its heal ("from" or "to"), else when the host recovered, else the given end."""
        return self.healed[at] if self.healed else self.recovered.get(host, end)

    def recovered_by(self, targets):
        """When all of these had recovered; None: not all did."""
        times = [self.recovered.get(target) for target in targets]
        return max(times) if times and None not in times else None

    @property
    def over(self):
        """When it acts no longer, and was seen to be healed."""
        return max([self.acts_until, self.healed["to"] if self.healed else 0])

    @property
    def always_costs(self):
        return self.kind in ALWAYS_COSTS


def reconnects(states):
    """When a connection was found again."""
    pairs = zip(states, states[1:])
    return [b["t"] for a, b in pairs if (a["state"], b["state"]) == ("disconnected", "connected")]


class Cell:
    def __init__(self, segments):
        self.segments = segments
        self.by_kind = defaultdict(list)
        for segment in segments:
            for event in segment.events:
                # What links saw of candidates, hosts tell as well.
                if segment.host is not None or event["e"] not in DEEDS:
                    self.by_kind[event["e"]].append((segment, event))
        self.info = self.events("cell")[0]["info"]
        times = [moment(event) for segment in segments for event in segment.events if event["e"] != "server_log"]
        self.first, self.last = min(time for time in times if time), max(times)
        self.groups = self.info["groups"]
        self.phases = {event["phase"]: event["t"] for event in self.events("phase")}
        self.group_of = {event["cand"]: event["group"] for event in self.events("candidate")}
        self.members = defaultdict(list)
        for cand, group in self.group_of.items():
            self.members[group].append(cand)
        self.host_of = {event["cand"]: segment.host for segment, event in self.by_kind["candidate"]}
        # When each session was established, as somebody reports.
        self.established = {}
        for event in self.events("session"):
            self.established[event["session"]] = min(event["t"], self.established.get(event["session"], event["t"]))
        # Not every connection of these could be decoded.
        self.undecoded = {segment.host for segment, event in self.by_kind["unwitnessed"] if event["unsound"]}
        self.t_ns = max((event["timeout_ms"] for event in self.events("session")), default=0) * MS
        # Of a limit: where nobody got a session, what was asked for.
        self.timeout_ns = self.t_ns or self.info["timeout_asked_ms"] * MS
        self.long_stall_ns = self.timeout_ns // 10
        self.tick_ns = self.info["tick_ms"] * MS
        self.window = self._window()
        self.was_measured = "measure" in self.phases and "tear-down" in self.phases
        self.faults = self._faults()
        for fault in self.faults:
            fault.recovered = self._recoveries(fault)
        hosts = range(len(self.info["hosts"]))
        self.stopped = defaultdict(list, {host: self._stops(host, "from", self.window[1]) for host in hosts})
        self.surely_stopped = defaultdict(list, {host: self._stops(host, "to", self.window[1], "from") for host in hosts})
        self.hangs = [f for f in self.faults if f.kind == "hang"]
        self.sent = defaultdict(list)
        for write in self.events("write"):
            if write.get("sent") is not None:
                self.sent[write["host"]].append(write["sent"])
        self.deaths = self._deaths()
        self.znodes, self.named = self._znodes()
        self.terms = self._terms()
        self.owners = ownership.owners(self)
        for fault in self.faults:
            fault.unfounded = fault.kind == "resign" and not self._a_leader_resigned(fault)
        self.writes = sorted(self.events("write"), key=lambda write: write["seq"])
        self.resource_order = [e for e in self._coordinator() if e["e"] in ("write", "fence")]
        self.clock_fuzz = max(segment.clock_ns for segment in segments)
        self.by_group = defaultdict(list)
        for term in self.terms:
            self.by_group[term.group].append(term)
        self.notices = defaultdict(list)
        for notice in self.events("notified"):
            if notice["kind"] == "deleted":
                self.notices[self.group_of[notice["cand"]], notice["node"]].append(notice)
        self.writes_of = defaultdict(list)
        for write in self.writes:
            self.writes_of[write["group"], write["cand"], write["session"], write["czxid"]].append(write)
        self.deletions = self._deletions()
        self.own_stalls, self.long_stalls, self.stall_spans = [], defaultdict(list), []
        # A host of ours beside a program of somebody else's goes on when that is stopped.
        beside = {segment.host for segment, _ in self.by_kind["program"]}
        stops = {host: self._stops(host, "from", self.last) for host in hosts}
        self._find_stalls(stops, {host: [] if host in beside else parts for host, parts in stops.items()})
        self.by_token = {term.key: term for term in self.terms}
        self.settled = defaultdict(list)
        for event in self.events("settled"):
            self.settled[event["cand"], event["session"]].append(event)
        self.joined, self.left = defaultdict(list), defaultdict(list)
        for event in self.events("joined"):
            self.joined[event["cand"]].append(event)
        for event in self.events("left"):
            self.left[event["cand"]].append(event)
        self.incarnations = defaultdict(list)
        for event in self.events("incarnation"):
            self.incarnations[event["cand"]].append(event)
        self._forget_own_notices()
        self.states = defaultdict(list)
        for event in sorted(self.events("state"), key=lambda event: event["t"]):
            self.states[event["session"]].append(event)
        self.terms_by_cand, self.granted = defaultdict(list), defaultdict(list)
        for term in self.terms:
            self.terms_by_cand[term.cand].append(term)
        for term in sorted((term for term in self.terms if term.begun), key=lambda term: term.begun):
            self.granted[term.group].append(term)
        self.outages = servers.without_quorum(self)
        for fault in self.faults:
            self._reach(fault, self.outages)
        self.losses = losses.find(self)
        self.handovers = injections.find(self)

    def _forget_own_notices(self):
        """The first notice of its own lock's name since a leader's term began, until half a second after it or until the leader
        left, and before it stands anew, is of its own."""
        known = set()
        for term in sorted(self.terms, key=lambda term: term.asked, reverse=True):
            if term.key not in known:
                known.add(term.key)
                notices = self.notices[term.group, term.node]
                notices.sort(key=lambda notice: notice["t"])
                resigned = term.reason == "resigned"
                left = min((e["t"] for e in self.left[term.cand] if resigned and e["t"] >= term.leaving), default=0)
                again = min((e["t"] for e in self.joined[term.cand] if e["t"] > term.asked), default=float("inf"))
                until = min(max(term.left + 500 * MS, left), again - 1)
                own = [n for n in notices if n["cand"] == term.cand and n["session"] == term.session and term.asked <= n["t"] <= until]
                if own:
                    notices.remove(own[0])

    def events(self, kind):
        return [event for _, event in self.by_kind[kind]]

    def _window(self):
        """The measured window: from the phase *measure* to the end of the drain; all of a cell that never got there."""
        first = min(segment.events[0]["t"] for segment in self.segments)
        return self.phases.get("measure", first), self.phases.get("tear-down", self.last)

    def measures(self, moment):
        """Whether it is in the measured window, which does not hold its own end."""
        return self.window[0] <= moment < self.window[1]

    def _faults(self):
        faults = {event["id"]: Fault(event) for event in self.events("fault")}
        for verification in self.events("receipt"):
            setattr(faults[verification["id"]], verification["stage"], verification)
        for fault in faults.values():
            if fault.kind == "parent-delete":
                fault.cands = {other for cand in fault.cands for other in self.members[self.group_of[cand]]}
        return sorted(faults.values(), key=lambda fault: fault.id)

    def _recoveries(self, fault):
        """By host or server, of a fault that was looked at and of which no end is recorded: when it first did, after that, what it
        cannot do under the fault. A stopped process stamps nothing; that beside a program runs on, and the program itself stamps its
        writes and the terms that it reports. A resource that takes none of a host's writes takes none. A server that is down or
        stopped does not say that it serves."""
        if fault.healed or not fault.injected:
            return {}
        hosts, seen = fault.event["hosts"], []
        if fault.kind == "pause":
            seen = [(host, t) for host in hosts for t in self._stamps(host)]
        elif fault.kind == "hang":
            seen = [(write["host"], write["t"]) for write in self.events("write") if write["host"] in hosts]
        elif fault.kind in HALTS_SERVERS:
            seen = [(e["server"], e["to"]) for e in self.events("server_state") if e["state"] in servers.SERVING]
        first = {}
        for target, t in seen:
            if t > fault.injected["to"]:
                first[target] = min(t, first.get(target, t))
        return first

    def _stamps(self, host):
        """Times that the processes of a host, or the programs there, stamped themselves."""
        mine = [segment for segment in self.segments if segment.host == host]
        has_program = any(segment.host == host for segment, _ in self.by_kind["program"])
        times = [write["sent"] for write in self.events("write") if write["host"] == host and write.get("sent") is not None]
        for segment in mine:
            reports = any(e["e"] == "program" and e["belief"] == "report" for e in segment.events)
            of_terms = [e for e in segment.events if reports and e["e"] in ("grant", "granted", "revoke")]
            times += [moment(event) for event in (of_terms if has_program else segment.events)]
        return times

    def _a_leader_resigned(self, fault):
        """Whether a candidate that was to, believed between the order and the proof, under the session that then left, and no znode
        that it gave up still stands. One that is aimed at no group's leader is a follower's."""
        if not fault.injected or not fault.event["groups"]:
            return True
        given_up = []
        for cand in fault.cands:
            mine = [e for e in self.events("left") if e["cand"] == cand and e["t"] >= fault.event["t"]]
            left = min(mine, key=lambda e: e["t"], default=None)
            held = [
                term for term in self.terms
                if term.cand == cand and (left is None or term.session == left["session"])
                and term.asked <= fault.injected["to"] and term.left >= fault.event["t"]
            ]
            if held:
                given_up.append((max(held, key=lambda term: term.asked), answer(left, fault.injected["to"])))
        return bool(given_up) and not any(self._stands(term, answered) for term, answered in given_up)

    def _stands(self, term, answered):
        """Whether the znode of a lead was named as the owner T after its deletion was answered, with no question left open meanwhile;
        or all servers list it, in a queue and by a name that it alone had, when the drain has ended."""
        late = answered + self.timeout_ns
        open_since = [event["t"] for event in self.events("observer_missed") if event["t"] <= late]
        for owner in self.owners[term.group]:
            is_it = (owner.session, owner.czxid) == (term.session, term.czxid)
            if is_it and owner.surely[0] <= late <= owner.surely[1] and not any(t >= owner.surely[0] for t in open_since):
                return True
        lists = [event for event in self.events("holdings") if event["at"] == "end"]
        enrolled = [e for e in self.events("joined") if e["cand"] == term.cand and e["node"] == term.node]
        again = any(e["t"] > answered and e["czxid"] != term.czxid for e in enrolled)
        if len(lists) != 1 or not enrolled or again or term.node is None or lists[0]["from"] <= answered:
            return False
        return lists[0]["holds"]["ephemerals"].get(f"/election/{self.groups[term.group]}/{term.node}") == term.session

    def _znodes(self):
        """Session and name of the znodes that the observer, or connections that somebody read, tell of, by czxid; and the czxids by
        session and name."""
        made = [e for segment in self.segments for e in segment.events if e["e"] in ("created", "owner")]
        znodes = {}
        for event in made:
            if event["czxid"] not in (None, UNKNOWN) and event["session"] is not None and event["node"] is not None:
                znodes.setdefault(event["czxid"], (event["session"], event["node"]))
        named = defaultdict(set)
        for czxid, of in znodes.items():
            named[of].add(czxid)
        return znodes, named

    def token_of(self, event):
        """The czxid of a grant; one that was not known then is that of the only znode of its name and session."""
        known = self.named.get((event["session"], event["node"]), set())
        return next(iter(known)) if event["czxid"] == UNKNOWN and len(known) == 1 else event["czxid"]

    def _terms(self):
        terms = {}
        for segment in self.segments:
            mine = {}
            for event in segment.events:
                key = (event.get("cand"), event.get("session"), event.get("term"))
                if event["e"] == "grant":
                    mine[key] = terms[key] = Term(event | {"czxid": self.token_of(event)}, segment, self.group_of[event["cand"]])
                elif event["e"] == "granted":
                    mine[key].begun = event["t"]
                elif event["e"] == "revoke":
                    term = mine[key]
                    term.leaving, term.left, term.reason = event["from"], event["to"], event["reason"]
            self._end_open(segment, [term for term in mine.values() if term.left is None])
        # Whoever sends a write believes then.
        of_cand = defaultdict(list)
        for term in sorted(terms.values(), key=lambda term: term.asked):
            of_cand[term.cand].append(term)
        for write in self.events("write"):
            held = [term for term in of_cand[write["cand"]] if write.get("sent") and term.asked <= write["sent"]][-1:]
            for term in held:
                if term.session == write["session"] and write["sent"] <= term.left:
                    term.leaving = max(term.leaving, write["sent"])
        return sorted(terms.values(), key=lambda term: (term.asked, term.cand))

    def _end_open(self, segment, terms):
        """Beliefs that nobody revoked end with the process."""
        last = max(moment(event) for event in segment.events)
        died = self.deaths.get((segment.host, segment.life))
        for term in terms:
            term.killed = died is not None
            term.leaving, term.left = died or (last, last)
            term.leaving = max(term.leaving, term.asked)

    def _deaths(self):
        """By host and life of the processes that did not end in order: between which times they died."""
        gone = {}
        for ended in self.events("host_ended"):
            gone.setdefault((ended["host"], ended["life"]), ended["t"])
        cut = ((segment, gone.get((segment.host, segment.life))) for segment in self.segments if segment.cut)
        deaths = {(segment.host, segment.life): self._death(segment, at) for segment, at in cut if segment.host is not None}
        return {life: death for life, death in deaths.items() if death}

    def _death(self, segment, gone):
        """Of a crash: surely there until the kill was sent, at most until it was verified. Of any other death: surely there until
        its last event, until it last sent a write or was last seen to be stopped, at most until somebody saw that it was gone."""
        times = [moment(event) for event in segment.events]
        first, last = min(times), max(times)
        for fault in self.faults:
            proof = fault.injected
            if fault.kind in ENDS_PROCESSES and fault.is_seen_to_act and segment.host in fault.event["hosts"]:
                if proof["to"] >= first and (gone is None or proof["from"] <= gone):
                    return proof["from"], proof["to"]
        if gone is None:
            return None
        stops = [begin for begin, _ in self.surely_stopped[segment.host]]
        seen = [t for t in stops + self.sent[segment.host] if first <= t <= gone]
        return min(max([last] + seen), gone), gone

    def _reach(self, fault, outages):
        """Until when a fault acts, and until when it explains lost leads: its victims' sessions can have expired by then."""
        over = fault.injected["to"] if fault.injected else fault.event["t"]
        if fault.kind in LASTS_UNTIL_HEALED:
            named = fault.event.get("servers") or range(1, self.info["servers"] + 1)
            recovered = fault.recovered_by(named if is_on_servers(fault.kind) else fault.event["hosts"])
            over = fault.healed["to"] if fault.healed else self.last if recovered is None else recovered
        allowance = self.info["poll_interval_ms"] * MS + 1000 * MS
        if fault.kind in HITS_CANDIDATES:
            fault.explains_until = over + self.t_ns // 2 + allowance
        else:
            expiry = self.t_ns + self.tick_ns * 3 // 2 + allowance
            fault.explains_until = over + expiry
            for begin, end in outages:
                # A leader that is cut off is missed by nobody before syncLimit is over.
                if begin <= fault.explains_until + self.t_ns // 2 and not is_on_servers(fault.kind):
                    fault.explains_until = max(fault.explains_until, end + expiry)
        fault.acts_until = max(over, fault.event["t"])

    def _coordinator(self):
        return next(s.events for s in self.segments if s.writer == "coordinator")

    def _stops(self, host, since, until, over="to"):
        """When a host's process was stopped by order: since that time of the proof that it was, to that of the proof that it goes
        on, or until it was seen to run, or its end."""
        ended = [event["t"] for event in self.events("host_ended") if event["host"] == host]
        stops = (f for f in self.faults if f.kind == "pause" and host in f.event["hosts"])
        stops = [f for f in stops if since == "from" or f.is_seen_to_act]
        ends = ((f, [t for t in ended if t >= f.effective[0]]) for f in stops)
        times = ((f.effective[since == "to"], min([f.ended(host, over, until)] + gone)) for f, gone in ends)
        return spans.union([(begin, end) for begin, end in times if begin < end])

    def told_on_reconnect(self, session, at):
        """Whether a server may have answered old watches of this session then: for 250 ms after it came back, and for one more by
        each session that came back within 2 s of that."""
        back = [t for t in reconnects(self.states[session]) if t <= at]
        if not back:
            return False
        every = [t for states in self.states.values() for t in reconnects(states)]
        beside = sum(back[-1] - 2_000_000_000 < t <= back[-1] + 2_000_000_000 for t in every)
        return at <= back[-1] + 250_000_000 + beside * 1_000_000

    def did_not_run(self, hosts, begin, end, until):
        """For how long from `begin` to `until` (None: to its end) at most, in one stall of its own that has begun by `end`, a process of
        these hosts, or one of no host, did not run."""
        theirs = zip(self.own_stalls, self.stall_spans, strict=True)
        touching = (own for own, (_, span) in theirs if span[0] <= end and span[1] >= begin)
        mine = ((parts, waited) for host, parts, waited in touching if host is None or host in hosts)
        until = float("inf") if until is None else until
        return max((min(spans.total(spans.clip(parts, begin, until)), waited) for parts, waited in mine), default=0)

    def _find_stalls(self, of_programs, ordered):
        """What of each stall the harness did not order, and for how long of that the process did not run; when long ones were."""
        for segment, event in self.by_kind["stall"]:
            stops = of_programs if event.get("program") else ordered
            own = spans.minus([(event["from"], event["to"])], stops.get(segment.host, []))
            length = spans.total(own)
            self.own_stalls.append((segment.host, own, max(0, length - event.get("ran_ns", 0))))
            self.stall_spans.append((segment.host, (event["from"], event["to"])))
            if segment.host is not None and length > self.long_stall_ns:
                self.long_stalls[segment.host].append((event["from"], event["to"]))
        told = {(segment.writer, e["from"], e["to"]) for segment, e in self.by_kind["stall"] if not e.get("program")}
        for who, parts in self._outages().items():
            for begin, end in parts:
                if not any(w == who and is_told(a, b, begin, end) for w, a, b in told):
                    self.own_stalls.append((None, [(begin, end)], end - begin))
                    self.stall_spans.append((None, (begin, end)))

    def _outages(self):
        """When processes that are no hosts were seen not to run, by name."""
        seen = defaultdict(list)
        for _, event in self.by_kind["outage"]:
            end = self.last if event["to"] is None else event["to"]
            seen[event["who"]].append((event["from"], max(event["from"], end)))
        return {who: spans.union(parts) for who, parts in seen.items()}

    def terms_of(self, group):
        return self.by_group[group]

    def term_of(self, write):
        return self.by_token.get((write["group"], write["cand"], write["session"], write["czxid"]))

    def accepts(self, write):
        """Whether the resource took the write: without a fence it takes all."""
        return self.info["fencing"] == "unfenced" or not write["fenced_rejected"]

    def _deletions(self):
        """By term: when a resigner's deletion was sent and answered, as it said when it next left."""
        deletions, left = {}, defaultdict(list)
        for event in self.events("left"):
            left[event["cand"], event["session"]].append(event)
        for term in (term for term in self.terms if term.reason == "resigned"):
            after = [event for event in left[term.life_id] if event["t"] >= term.left]
            how = min(after, key=lambda event: event["t"])["how"] if after else None
            if isinstance(how, dict) and how.get("resigned", {}).get("delete"):
                deletions[term.cand, term.session, term.number] = how["resigned"]["delete"]
        return deletions


def answer(left, otherwise):
    """When a resigner's deletion was answered, as it said when it left, and not before its order was."""
    how = left["how"] if left and isinstance(left["how"], dict) else {}
    delete = how.get("resigned", {}).get("delete")
    return max(delete[1], otherwise) if delete else otherwise


def is_told(a, b, begin, end):
    """Whether a stall that a process tells of from `a` to `b` is the one that was seen from `begin` to `end`."""
    return a <= end and begin <= b and (end <= b or 2 * (b - max(a, begin)) >= end - begin)


def moment(event):
    """The last time that an event speaks of; 0: of none."""
    if event["e"] == "outage":
        return event["from"] if event["to"] is None else event["to"]
    return event.get("t", event.get("to", event.get("listed", 0)))
