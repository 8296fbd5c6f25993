import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/**
 * Curator's recipes, on ZooKeeper's own Java client, against the servers named by the only argument.
 *
 * <p>Prints one line for each thing that holds and ends with status 0, or fails by an exception. Before the last one it says
 * "kill", and goes on when a line comes from standard input: the servers' leader has been killed then.
 */
public final class CuratorRecipes {
    private static final long AT_MOST_MS = 20_000;
    private static final int TIMEOUT_MS = 4_000;
    private static String servers;

    private interface Holds {
        boolean holds() throws Exception;
    }

    private interface Check {
        void run() throws Exception;
    }

    private static CuratorFramework client() throws Exception {
        CuratorFramework made = CuratorFrameworkFactory.builder()
                .connectString(servers)
                .namespace("curator")
                .sessionTimeoutMs(TIMEOUT_MS)
                .connectionTimeoutMs(TIMEOUT_MS)
                .retryPolicy(new RetryNTimes(100, 100))
                .build();
        made.start();
        that("a connection", made.blockUntilConnected((int) AT_MOST_MS, TimeUnit.MILLISECONDS));
        return made;
    }

    private static void that(String what, boolean holds) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static void until(String what, Holds condition) throws Exception {
        long end = System.nanoTime() + AT_MOST_MS * 1_000_000;
        while (!condition.holds()) {
            that("not in time: " + what, System.nanoTime() < end);
            Thread.sleep(10);
        }
    }

    private static void basics(CuratorFramework one) throws Exception {
        one.create().creatingParentContainersIfNeeded().forPath("/basics/a", "1".getBytes());
        Stat stat = new Stat();
        that("its data", new String(one.getData().storingStatIn(stat).forPath("/basics/a")).equals("1"));
        that("its version", stat.getVersion() == 0 && stat.getDataLength() == 1);
        String node = one.create().withProtection().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath("/basics/e-");
        that("a protected name: " + node, node.startsWith("/basics/_c_") && node.endsWith("-e-0000000001"));
        long session = one.getZookeeperClient().getZooKeeper().getSessionId();
        that("its owner", one.checkExists().forPath(node).getEphemeralOwner() == session);
        that("a new version", one.setData().withVersion(0).forPath("/basics/a", "22".getBytes()).getVersion() == 1);
        try {
            one.setData().withVersion(0).forPath("/basics/a", "3".getBytes());
            throw new AssertionError("an old version is taken");
        } catch (KeeperException.BadVersionException expected) {
            // As it must be.
        }
        that("no such znode", one.checkExists().forPath("/basics/none") == null);
        that("its children", one.getChildren().forPath("/basics").size() == 2);
        one.sync().forPath("/basics");
    }

    private static void transactions(CuratorFramework one) throws Exception {
        List<CuratorTransactionResult> done = one.transaction().forOperations(
                one.transactionOp().create().forPath("/basics/t", "x".getBytes()),
                one.transactionOp().setData().forPath("/basics/t", "y".getBytes()),
                one.transactionOp().check().withVersion(1).forPath("/basics/t"),
                one.transactionOp().delete().withVersion(1).forPath("/basics/t"));
        that("four results", done.size() == 4 && done.stream().allMatch(result -> result.getError() == 0));
        try {
            one.transaction().forOperations(
                    one.transactionOp().create().forPath("/basics/u", "x".getBytes()),
                    one.transactionOp().check().withVersion(99).forPath("/basics/a"));
            throw new AssertionError("a transaction with a wrong version is taken");
        } catch (KeeperException.BadVersionException expected) {
            // As it must be.
        }
        that("nothing of it", one.checkExists().forPath("/basics/u") == null);
    }

    /** A persistent recursive watch. */
    private static void cache(CuratorFramework one) throws Exception {
        CuratorFramework other = client();
        Set<String> seen = ConcurrentHashMap.newKeySet();
        CuratorCache cache = CuratorCache.build(one, "/cached");
        cache.listenable().addListener((type, before, after) ->
                seen.add(type + " " + (after == null ? before : after).getPath()));
        other.create().forPath("/cached");
        cache.start();
        until("the root", () -> seen.contains("NODE_CREATED /cached"));
        other.create().creatingParentsIfNeeded().forPath("/cached/a/b", "1".getBytes());
        until("a grandchild", () -> seen.contains("NODE_CREATED /cached/a/b"));
        other.setData().forPath("/cached/a/b", "2".getBytes());
        until("its change", () -> seen.contains("NODE_CHANGED /cached/a/b"));
        other.delete().forPath("/cached/a/b");
        until("its end", () -> seen.contains("NODE_DELETED /cached/a/b"));
        other.create().withMode(CreateMode.EPHEMERAL).forPath("/cached/e");
        // It tells of no end that it did not know the beginning of.
        until("an ephemeral znode", () -> seen.contains("NODE_CREATED /cached/e"));
        other.close();
        until("the end of a session", () -> seen.contains("NODE_DELETED /cached/e"));
        cache.close();
    }

    private static void mutex() throws Exception {
        AtomicInteger holders = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger turns = new AtomicInteger();
        inThreads(6, number -> {
            CuratorFramework mine = client();
            InterProcessMutex lock = new InterProcessMutex(mine, "/mutex");
            for (int turn = 0; turn < 5; turn++) {
                that("the lock", lock.acquire(AT_MOST_MS, TimeUnit.MILLISECONDS));
                most.accumulateAndGet(holders.incrementAndGet(), Math::max);
                Thread.sleep(5);
                holders.decrementAndGet();
                turns.incrementAndGet();
                lock.release();
            }
            mine.close();
        });
        that("one at a time: " + most, most.get() == 1 && turns.get() == 30);
    }

    private interface Numbered {
        void run(int number) throws Exception;
    }

    private static void inThreads(int count, Numbered body) throws Exception {
        ConcurrentLinkedQueue<Throwable> failed = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            int mine = number;
            Thread thread = new Thread(() -> {
                try {
                    body.run(mine);
                } catch (Throwable why) {
                    failed.add(why);
                }
            });
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join(2 * AT_MOST_MS);
            that("a thread ends", !thread.isAlive());
        }
        if (!failed.isEmpty()) {
            throw new AssertionError("in a thread", failed.peek());
        }
    }

    private static long leading(List<LeaderLatch> latches) {
        return latches.stream().filter(LeaderLatch::hasLeadership).count();
    }

    private static void latch() throws Exception {
        List<CuratorFramework> clients = new ArrayList<>();
        List<LeaderLatch> latches = new ArrayList<>();
        for (int number = 0; number < 3; number++) {
            clients.add(client());
            latches.add(new LeaderLatch(clients.get(number), "/latch", "candidate-" + number));
            latches.get(number).start();
        }
        until("all stand", () -> latches.get(0).getParticipants().size() == 3);
        while (!latches.isEmpty()) {
            until("one leads", () -> leading(latches) == 1);
            Thread.sleep(100);
            that("no more than one leads", leading(latches) == 1);
            LeaderLatch leader = latches.stream().filter(LeaderLatch::hasLeadership).findAny().orElseThrow();
            that("the servers say so too", leader.getLeader().getId().equals(leader.getId()));
            latches.remove(leader);
            leader.close();
        }
        clients.forEach(CuratorFramework::close);
    }

    private static void selector() throws Exception {
        AtomicInteger leaders = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<Integer> terms = Collections.synchronizedList(new ArrayList<>());
        List<CuratorFramework> clients = new ArrayList<>();
        List<LeaderSelector> selectors = new ArrayList<>();
        for (int number = 0; number < 3; number++) {
            int mine = number;
            clients.add(client());
            selectors.add(new LeaderSelector(clients.get(number), "/selector", new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) throws Exception {
                    most.accumulateAndGet(leaders.incrementAndGet(), Math::max);
                    terms.add(mine);
                    try {
                        // A close interrupts it.
                        Thread.sleep(5);
                    } finally {
                        leaders.decrementAndGet();
                    }
                }
            }));
            selectors.get(number).autoRequeue();
            selectors.get(number).start();
        }
        until("everybody led three times", () -> {
            synchronized (terms) {
                return List.of(0, 1, 2).stream().allMatch(number -> Collections.frequency(terms, number) >= 3);
            }
        });
        selectors.forEach(LeaderSelector::close);
        clients.forEach(CuratorFramework::close);
        that("one at a time: " + most, most.get() == 1);
    }

    private static void failover(CuratorFramework one) throws Exception {
        long session = one.getZookeeperClient().getZooKeeper().getSessionId();
        LeaderLatch latch = new LeaderLatch(one, "/survives");
        latch.start();
        until("it leads", latch::hasLeadership);
        System.out.println("kill");
        that("an answer", new BufferedReader(new InputStreamReader(System.in)).readLine() != null);
        until("a write after the servers' election", () -> {
            try {
                return one.create().orSetData().forPath("/after", new byte[0]) != null;
            } catch (KeeperException lost) {
                return false;
            }
        });
        until("it leads again", latch::hasLeadership);
        that("the session", one.getZookeeperClient().getZooKeeper().getSessionId() == session);
        latch.close();
    }

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        CuratorFramework one = client();
        String[] names = {"basics", "transactions", "cache", "mutex", "latch", "selector", "failover"};
        Check[] checks = {
            () -> basics(one), () -> transactions(one), () -> cache(one), CuratorRecipes::mutex, CuratorRecipes::latch,
            CuratorRecipes::selector,
            () -> failover(one),
        };
        for (int place = 0; place < checks.length; place++) {
            checks[place].run();
            System.out.println(names[place]);
        }
        one.close();
    }
}
