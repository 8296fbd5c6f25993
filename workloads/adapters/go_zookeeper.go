// go-zookeeper's Lock, over a connection a turn: whoever loses it ends the work, and stands again.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

// release gives the lock back; without a connection the session's end does.
func release(slot *Slot, lock *zk.Lock) {
	done := make(chan bool)
	go func() {
		lock.Unlock()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(slot.Timeout()):
	}
}

func stand(slot *Slot) {
	servers, root := slot.Servers()
	conn, events, err := zk.Connect(servers, slot.Timeout(), zk.WithLogInfo(false))
	if err != nil {
		fmt.Fprintln(os.Stderr, "no connection:", err)
		return
	}
	defer conn.Close()
	lock, locked := zk.NewLock(conn, root+slot.Group, zk.WorldACL(zk.PermAll)), make(chan error, 1)
	go func() { locked <- lock.Lock() }()
	for holds := false; ; {
		select {
		case err := <-locked:
			if holds = err == nil; !holds || conn.State() != zk.StateHasSession || !slot.Grant(Now()) {
				return
			}
		case event := <-events:
			if holds && event.Type == zk.EventSession && event.State != zk.StateHasSession {
				slot.Finish(strings.ToLower(strings.TrimPrefix(event.State.String(), "State")))
				release(slot, lock)
				return
			}
		case <-slot.Leaving():
			if holds {
				release(slot, lock)
			}
			return
		}
	}
}

func main() {
	Run("go-zookeeper Lock", os.Getenv("HUSTINGS_LIBRARY_VERSION"), []string{"report", "resign", "many"}, stand)
}
