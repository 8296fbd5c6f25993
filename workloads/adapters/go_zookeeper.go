// go-zookeeper's Lock, with a listener that ends the work when the connection is lost.
package main

import (
	"strings"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

type lockSeat struct {
	*Seat
	conn *zk.Conn
	lock *zk.Lock
	over chan bool
	left chan bool
	away time.Time
}

func (seat *lockSeat) changed(event zk.Event) {
	if event.Type == zk.EventSession && event.State != zk.StateHasSession {
		seat.Revoke(strings.ToLower(event.State.String()))
		seat.finish()
	}
}

// finish ends the work of whoever holds the lock now; it stands for it again.
func (seat *lockSeat) finish() {
	select {
	case seat.over <- true:
	default:
	}
}

func (seat *lockSeat) Stand() {
	servers, root := seat.Connect, ""
	if at := strings.Index(servers, "/"); at >= 0 {
		servers, root = servers[:at], servers[at:]
	}
	timeout := time.Duration(seat.TimeoutMs) * time.Millisecond
	seat.conn, _, _ = zk.Connect(strings.Split(servers, ","), timeout, zk.WithLogInfo(false), zk.WithEventCallback(seat.changed))
	for {
		seat.lock = zk.NewLock(seat.conn, root+seat.Group, zk.WorldACL(zk.PermAll))
		if err := seat.lock.Lock(); err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if seat.conn.State() == zk.StateHasSession {
			seat.Grant(Now())
			<-seat.over
		}
		seat.Revoke("over")
		seat.lock.Unlock()
		seat.left <- true
		time.Sleep(time.Until(seat.away))
	}
}

func (seat *lockSeat) Leave() {
	seat.away = time.Now().Add(time.Duration(seat.RejoinAfterMs) * time.Millisecond)
	seat.finish()
	<-seat.left
}

func (seat *lockSeat) End() { seat.conn.Close() }

func main() {
	Run("go-zookeeper Lock", "samuel", []string{"report", "resign", "many"}, func(seat *Seat) Stander {
		return &lockSeat{Seat: seat, over: make(chan bool, 1), left: make(chan bool, 1)}
	})
}
