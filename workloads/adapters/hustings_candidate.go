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
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Order is what the program is told.
type Order struct {
	M              string          `json:"m"`
	N              int64           `json:"n"`
	Seat           int             `json:"seat"`
	Fault          int64           `json:"fault"`
	Group          string          `json:"group"`
	Connect        string          `json:"connect"`
	Resource       string          `json:"resource"`
	TimeoutMs      int             `json:"timeout_ms"`
	WriteEveryMs   int             `json:"write_every_ms"`
	RejoinAfterMs  int             `json:"rejoin_after_ms"`
	Config         json.RawMessage `json:"config"`
}

// Stander is what an adapter makes of a seat: it stands in a goroutine of its own, and leaves by order.
type Stander interface {
	Stand()
	Leave()
	End()
}

// Seat is one seat. Leading tells whether it leads.
type Seat struct {
	Order
	own     Stander
	term    int
	leading bool
	lock    sync.Mutex
	writing sync.Mutex
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

// Grant says that it leads, then has it write until it is revoked.
func (seat *Seat) Grant(t0 int64) {
	seat.lock.Lock()
	defer seat.lock.Unlock()
	seat.term++
	say(map[string]interface{}{"m": "grant", "seat": seat.Seat, "term": seat.term, "t0": t0, "t1": Now()})
	seat.leading = true
	go seat.work(seat.term)
}

// Revoke says that it believes no more: nothing is begun after this, whoever says it first.
func (seat *Seat) Revoke(reason string) {
	t0 := Now()
	seat.lock.Lock()
	defer seat.lock.Unlock()
	if seat.leading {
		seat.leading = false
		say(map[string]interface{}{"m": "revoke", "seat": seat.Seat, "term": seat.term, "t0": t0, "t1": Now(), "reason": reason})
	}
}

func (seat *Seat) leads(term int) bool {
	seat.lock.Lock()
	defer seat.lock.Unlock()
	return seat.leading && seat.term == term
}

func (seat *Seat) work(term int) {
	every := time.Duration(seat.WriteEveryMs) * time.Millisecond
	for ; seat.leads(term); time.Sleep(every) {
		seat.writing.Lock()
		if seat.leads(term) {
			body, _ := json.Marshal(map[string]int64{"term": int64(term), "t": Now()})
			// Whatever became of it, the next one is due.
			if answer, err := client.Post(seat.Resource, "application/json", bytes.NewReader(body)); err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}
		seat.writing.Unlock()
	}
}

// settle waits for the answer to the last write: what is under way when a znode is given back may come after its successor's.
func (seat *Seat) settle() {
	seat.writing.Lock()
	seat.writing.Unlock()
}

func (seat *Seat) resign(fault int64) {
	seat.Revoke("resigned")
	seat.settle()
	t0 := Now()
	seat.own.Leave()
	say(map[string]interface{}{"m": "resigned", "seat": seat.Seat, "fault": fault, "t0": t0, "t1": Now()})
}

// end has every seat give up, in bounded time.
func end(seats map[int]*Seat) {
	var all sync.WaitGroup
	for _, seat := range seats {
		all.Add(1)
		go func(seat *Seat) {
			defer all.Done()
			seat.Revoke("stopped")
			seat.settle()
			seat.own.End()
		}(seat)
	}
	done := make(chan bool)
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(4 * time.Second):
	}
}

// Run obeys orders until the input ends or says stop, or the process is sent SIGTERM.
func Run(name, version string, can []string, make_ func(*Seat) Stander) {
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
				seat.own = make_(seat)
				seats[order.Seat] = seat
				go seat.own.Stand()
			case order.M == "resign" && seats[order.Seat] != nil:
				go seats[order.Seat].resign(order.Fault)
			}
		}
	}
}
