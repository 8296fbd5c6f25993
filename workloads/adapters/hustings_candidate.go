// hustings-candidate/1 for Go programs: reads orders, says what slots do, and writes for those that lead.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Order is what the program is told.
type Order struct {
	M             string          `json:"m"`
	N             int64           `json:"n"`
	Slot          int             `json:"slot"`
	Fault         int64           `json:"fault"`
	Group         string          `json:"group"`
	Connect       string          `json:"connect"`
	Resource      string          `json:"resource"`
	TimeoutMs     int             `json:"timeout_ms"`
	WriteEveryMs  int             `json:"write_every_ms"`
	RejoinAfterMs int             `json:"rejoin_after_ms"`
	Config        json.RawMessage `json:"config"`
}

// Slot is one slot. It stands in turns, until its place is lost or given back.
type Slot struct {
	Order
	term          int
	leads, leaves bool
	stopped       bool
	lock, writing sync.Mutex
	// Closed when this turn is to end, and when it has.
	leaving, over chan bool
}

// Leaving is closed when the slot is to give its place back.
func (slot *Slot) Leaving() <-chan bool { return slot.leaving }

// Timeout is that of its session.
func (slot *Slot) Timeout() time.Duration { return time.Duration(slot.TimeoutMs) * time.Millisecond }

// Servers are the addresses, and the root below which everything is.
func (slot *Slot) Servers() ([]string, string) {
	servers, root := slot.Connect, ""
	if at := strings.Index(servers, "/"); at >= 0 {
		servers, root = servers[:at], servers[at:]
	}
	return strings.Split(servers, ","), root
}

var out sync.Mutex
var client = &http.Client{Timeout: 120 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4096}}

// Now is the time of CLOCK_MONOTONIC: that of time.Now counts from the start of the process.
func Now() int64 {
	var at syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

func say(message map[string]interface{}) {
	line, err := json.Marshal(message)
	if err != nil {
		return
	}
	out.Lock()
	defer out.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// Grant says that it leads, then has it write until it is revoked. False: it is to leave instead.
func (slot *Slot) Grant(t0 int64) bool {
	slot.lock.Lock()
	defer slot.lock.Unlock()
	if slot.leaves {
		return false
	}
	slot.term++
	say(map[string]interface{}{"m": "grant", "slot": slot.Slot, "term": slot.term, "t0": t0, "t1": Now()})
	slot.leads = true
	go slot.work(slot.term)
	return true
}

// Revoke says that it believes no more: nothing is begun after this, whoever says it first.
func (slot *Slot) Revoke(reason string) {
	t0 := Now()
	slot.lock.Lock()
	defer slot.lock.Unlock()
	if slot.leads {
		slot.leads = false
		say(map[string]interface{}{"m": "revoke", "slot": slot.Slot, "term": slot.term, "t0": t0, "t1": Now(), "reason": reason})
	}
}

func (slot *Slot) leadsIn(term int) bool {
	slot.lock.Lock()
	defer slot.lock.Unlock()
	return slot.leads && slot.term == term
}

func (slot *Slot) work(term int) {
	every := time.NewTicker(time.Duration(slot.WriteEveryMs) * time.Millisecond)
	defer every.Stop()
	for ; slot.leadsIn(term); <-every.C {
		slot.writing.Lock()
		// Before it looks, since it may be revoked right after.
		sent := Now()
		if slot.leadsIn(term) {
			body, _ := json.Marshal(map[string]int64{"term": int64(term), "t": sent})
			// Whatever became of it, the next one is due.
			if answer, err := client.Post(slot.Resource, "application/json", bytes.NewReader(body)); err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}
		slot.writing.Unlock()
	}
}

// begin begins a turn, unless there is to be none.
func (slot *Slot) begin() bool {
	slot.lock.Lock()
	defer slot.lock.Unlock()
	slot.leaves, slot.leaving, slot.over = false, make(chan bool), make(chan bool)
	if slot.stopped {
		close(slot.over)
	}
	return !slot.stopped
}

// stand has it take turn after turn.
func (slot *Slot) stand(turn func(*Slot)) {
	for more := true; more; more = slot.begin() {
		turn(slot)
		slot.Revoke("over")
		slot.lock.Lock()
		rest := 100 * time.Millisecond
		if slot.leaves {
			rest = time.Duration(slot.RejoinAfterMs) * time.Millisecond
		}
		close(slot.over)
		slot.lock.Unlock()
		time.Sleep(rest)
	}
}

// Finish is Revoke before it gives its lock back. Gives the time from which nothing was under way any more: what is, may come
// after its successor's.
func (slot *Slot) Finish(reason string) int64 {
	slot.Revoke(reason)
	slot.writing.Lock()
	defer slot.writing.Unlock()
	return Now()
}

// leave ends a turn, and gives the time from which the place was given back.
func (slot *Slot) leave(reason string) int64 {
	slot.lock.Lock()
	slot.leaves = true
	leaving, over := slot.leaving, slot.over
	slot.lock.Unlock()
	t0 := slot.Finish(reason)
	slot.lock.Lock()
	select {
	case <-leaving:
	default:
		close(leaving)
	}
	slot.lock.Unlock()
	<-over
	return t0
}

func (slot *Slot) resign(fault int64) {
	t0 := slot.leave("resigned")
	say(map[string]interface{}{"m": "resigned", "slot": slot.Slot, "fault": fault, "t0": t0, "t1": Now()})
}

func (slot *Slot) end() {
	slot.lock.Lock()
	slot.stopped = true
	slot.lock.Unlock()
	slot.leave("stopped")
}

// end has every slot give up, in bounded time.
func end(slots map[int]*Slot) {
	var all sync.WaitGroup
	for _, slot := range slots {
		all.Add(1)
		go func(slot *Slot) {
			defer all.Done()
			slot.end()
		}(slot)
	}
	done := make(chan bool)
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(4 * time.Second):
	}
}

// Run obeys orders until the input ends or says stop, or the process is sent SIGTERM. A slot stands by `turn`, over and over, which
// returns when its place is lost, or once it is given back by order.
func Run(name, version string, can []string, turn func(*Slot)) {
	slots := map[int]*Slot{}
	say(map[string]interface{}{"m": "hello", "protocol": 1, "name": name, "version": version, "can": can})
	orders := make(chan Order)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<16)
		for lines.Scan() {
			var order Order
			if json.Unmarshal(lines.Bytes(), &order) == nil {
				orders <- order
			}
		}
		close(orders)
	}()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	for {
		select {
		case <-terminated:
			end(slots)
			return
		case order, more := <-orders:
			switch {
			case !more || order.M == "stop":
				end(slots)
				say(map[string]interface{}{"m": "bye"})
				return
			case order.M == "sync":
				say(map[string]interface{}{"m": "sync", "n": order.N, "t": Now(), "wall": time.Now().UnixNano()})
			case order.M == "start":
				slot := &Slot{Order: order}
				slot.begin()
				slots[order.Slot] = slot
				go slot.stand(turn)
			case order.M == "resign" && slots[order.Slot] != nil:
				go slots[order.Slot].resign(order.Fault)
			}
		}
	}
}
