// hustings-candidate/1 for Go programs: reads orders, says what seats do, and writes for those that lead.
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
	Seat          int             `json:"seat"`
	Fault         int64           `json:"fault"`
	Group         string          `json:"group"`
	Connect       string          `json:"connect"`
	Resource      string          `json:"resource"`
	TimeoutMs     int             `json:"timeout_ms"`
	WriteEveryMs  int             `json:"write_every_ms"`
	RejoinAfterMs int             `json:"rejoin_after_ms"`
	Config        json.RawMessage `json:"config"`
}

// Seat is one seat. It stands in turns, until its place is lost or given back.
type Seat struct {
	Order
	term          int
	leads, leaves bool
	stopped       bool
	lock, writing sync.Mutex
	// Closed when this turn is to end, and when it has.
	leaving, over chan bool
}

// Leaving is closed when the seat is to give its place back.
func (seat *Seat) Leaving() <-chan bool { return seat.leaving }

// Timeout is that of its session.
func (seat *Seat) Timeout() time.Duration { return time.Duration(seat.TimeoutMs) * time.Millisecond }

// Servers are the addresses, and the root below which everything is.
func (seat *Seat) Servers() ([]string, string) {
	servers, root := seat.Connect, ""
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
func (seat *Seat) Grant(t0 int64) bool {
	seat.lock.Lock()
	defer seat.lock.Unlock()
	if seat.leaves {
		return false
	}
	seat.term++
	say(map[string]interface{}{"m": "grant", "seat": seat.Seat, "term": seat.term, "t0": t0, "t1": Now()})
	seat.leads = true
	go seat.work(seat.term)
	return true
}

// Revoke says that it believes no more: nothing is begun after this, whoever says it first.
func (seat *Seat) Revoke(reason string) {
	t0 := Now()
	seat.lock.Lock()
	defer seat.lock.Unlock()
	if seat.leads {
		seat.leads = false
		say(map[string]interface{}{"m": "revoke", "seat": seat.Seat, "term": seat.term, "t0": t0, "t1": Now(), "reason": reason})
	}
}

func (seat *Seat) leadsIn(term int) bool {
	seat.lock.Lock()
	defer seat.lock.Unlock()
	return seat.leads && seat.term == term
}

func (seat *Seat) work(term int) {
	every := time.NewTicker(time.Duration(seat.WriteEveryMs) * time.Millisecond)
	defer every.Stop()
	for ; seat.leadsIn(term); <-every.C {
		seat.writing.Lock()
		// Before it looks, since it may be revoked right after.
		sent := Now()
		if seat.leadsIn(term) {
			body, _ := json.Marshal(map[string]int64{"term": int64(term), "t": sent})
			// Whatever became of it, the next one is due.
			if answer, err := client.Post(seat.Resource, "application/json", bytes.NewReader(body)); err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}
		seat.writing.Unlock()
	}
}

// begin begins a turn, unless there is to be none.
func (seat *Seat) begin() bool {
	seat.lock.Lock()
	defer seat.lock.Unlock()
	seat.leaves, seat.leaving, seat.over = false, make(chan bool), make(chan bool)
	if seat.stopped {
		close(seat.over)
	}
	return !seat.stopped
}

// stand has it take turn after turn.
func (seat *Seat) stand(turn func(*Seat)) {
	for more := true; more; more = seat.begin() {
		turn(seat)
		seat.Revoke("over")
		seat.lock.Lock()
		rest := 100 * time.Millisecond
		if seat.leaves {
			rest = time.Duration(seat.RejoinAfterMs) * time.Millisecond
		}
		close(seat.over)
		seat.lock.Unlock()
		time.Sleep(rest)
	}
}

// Finish is Revoke before it gives its lock back. Gives the time from which nothing was under way any more: what is, may come
// after its successor's.
func (seat *Seat) Finish(reason string) int64 {
	seat.Revoke(reason)
	seat.writing.Lock()
	defer seat.writing.Unlock()
	return Now()
}

// leave ends a turn, and gives the time from which the place was given back.
func (seat *Seat) leave(reason string) int64 {
	seat.lock.Lock()
	seat.leaves = true
	leaving, over := seat.leaving, seat.over
	seat.lock.Unlock()
	t0 := seat.Finish(reason)
	seat.lock.Lock()
	select {
	case <-leaving:
	default:
		close(leaving)
	}
	seat.lock.Unlock()
	<-over
	return t0
}

func (seat *Seat) resign(fault int64) {
	t0 := seat.leave("resigned")
	say(map[string]interface{}{"m": "resigned", "seat": seat.Seat, "fault": fault, "t0": t0, "t1": Now()})
}

func (seat *Seat) end() {
	seat.lock.Lock()
	seat.stopped = true
	seat.lock.Unlock()
	seat.leave("stopped")
}

// end has every seat give up, in bounded time.
func end(seats map[int]*Seat) {
	var all sync.WaitGroup
	for _, seat := range seats {
		all.Add(1)
		go func(seat *Seat) {
			defer all.Done()
			seat.end()
		}(seat)
	}
	done := make(chan bool)
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(4 * time.Second):
	}
}

// Run obeys orders until the input ends or says stop, or the process is sent SIGTERM. A seat stands by `turn`, over and over, which
// returns when its place is lost, or once it is given back by order.
func Run(name, version string, can []string, turn func(*Seat)) {
	seats := map[int]*Seat{}
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
			end(seats)
			return
		case order, more := <-orders:
			switch {
			case !more || order.M == "stop":
				end(seats)
				say(map[string]interface{}{"m": "bye"})
				return
			case order.M == "sync":
				say(map[string]interface{}{"m": "sync", "n": order.N, "t": Now(), "wall": time.Now().UnixNano()})
			case order.M == "start":
				seat := &Seat{Order: order}
				seat.begin()
				seats[order.Seat] = seat
				go seat.stand(turn)
			case order.M == "resign" && seats[order.Seat] != nil:
				go seats[order.Seat].resign(order.Fault)
			}
		}
	}
}
