import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** hustings-candidate/1 for Java programs: reads orders, says what slots do, and writes for those that lead. */
final class HustingsCandidate {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Whoever else prints must not end up among the messages. */
    private static final PrintStream OUT = System.out;
    /** The resource is on this machine, whatever proxies the JVM was given. */
    private static final HttpClient HTTP = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY)
            .build();
    private static final ExecutorService THREADS = Executors.newCachedThreadPool(HustingsCandidate::daemon);
    private static final ScheduledExecutorService WORK = Executors.newScheduledThreadPool(2, HustingsCandidate::daemon);

    private HustingsCandidate() {}

    private static Thread daemon(Runnable run) {
        Thread thread = new Thread(run);
        thread.setDaemon(true);
        return thread;
    }

    static long now() {
        return System.nanoTime();
    }

    /** Keys and values in turn; those without a value are left out. */
    static void say(String message, Object... keys) {
        ObjectNode line = JSON.createObjectNode().put("m", message);
        for (int at = 0; at < keys.length; at += 2) {
            if (keys[at + 1] != null) {
                line.set((String) keys[at], JSON.valueToTree(keys[at + 1]));
            }
        }
        synchronized (OUT) {
            OUT.println(line);
            OUT.flush();
        }
    }

    /** A slot. Its methods are called by threads of their own, and may take their time. */
    abstract static class Slot {
        final JsonNode order;
        final int number;
        private int term;
        private ScheduledFuture<?> work;
        private Future<?> writing;
        private volatile boolean stopped;
        private boolean leaves;

        Slot(JsonNode order) {
            this.order = order;
            this.number = order.get("slot").asInt();
        }

        abstract void stand() throws Exception;

        /** Gives the lead or the place back; unless it is to stop, the slot stands again after {@code rejoin_after_ms}. */
        abstract void resign() throws Exception;

        /** Ends what the slot was connected by. No slot of the program stands any more. */
        abstract void close();

        /** It leads from here on, unless it is to leave instead. */
        synchronized void grant(long t0, String node, Long token, Long session) {
            if (leaves || work != null) {
                return;
            }
            term += 1;
            say("grant", "slot", number, "term", term, "t0", t0, "t1", now(), "node", node, "token", token, "session", session);
            int of = term;
            long every = order.get("write_every_ms").asLong();
            work = WORK.scheduleAtFixedRate(() -> write(of, token), 0, every, TimeUnit.MILLISECONDS);
        }

        /** It believes no more: nothing is begun after this, whoever says it first. */
        synchronized void revoke(String reason) {
            if (work == null) {
                return;
            }
            long t0 = now();
            work.cancel(false);
            work = null;
            say("revoke", "slot", number, "term", term, "t0", t0, "t1", now(), "reason", reason);
        }

        /** One at a time: while the resource does not answer, no other one is sent. */
        private synchronized void write(int of, Long token) {
            if (work == null || term != of || writing != null && !writing.isDone()) {
                return;
            }
            ObjectNode body = JSON.createObjectNode().put("term", of).put("token", token).put("t", now());
            HttpRequest request = HttpRequest.newBuilder(URI.create(order.get("resource").asText()))
                    .timeout(Duration.ofSeconds(120))
                    .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
                    .build();
            writing = HTTP.sendAsync(request, HttpResponse.BodyHandlers.discarding());
        }

        /**
         * The same before it gives its znode back. Waits for the answer to the last write: what is under way when a znode is given
         * back may come after its successor's.
         */
        void finish(String reason) throws Exception {
            Future<?> last;
            synchronized (this) {
                revoke(reason);
                last = writing;
            }
            if (last != null) {
                last.get(10, TimeUnit.SECONDS);
            }
        }

        /** It is to give its place back: it leads no more, and will not before it has. */
        private void leave(String reason) throws Exception {
            synchronized (this) {
                leaves = true;
            }
            finish(reason);
        }

        private synchronized boolean standsAgain() {
            leaves = stopped;
            return !stopped;
        }

        private void ordered(String what, Integer fault) {
            try {
                long t0 = now();
                switch (what) {
                    case "start" -> stand();
                    case "resign" -> {
                        leave("resigned");
                        t0 = now();
                        resign();
                        say("resigned", "slot", number, "fault", fault, "t0", t0, "t1", now());
                        Thread.sleep(order.get("rejoin_after_ms").asLong());
                        if (standsAgain()) {
                            stand();
                        }
                    }
                    default -> {
                        stopped = true;
                        leave("stopped");
                        resign();
                    }
                }
            } catch (Exception error) {
                System.err.println("slot " + number + ", " + what + ": " + error);
            }
        }
    }

    /** Obeys orders until the input ends or says stop. */
    static void run(String name, String version, String[] can, Function<JsonNode, Slot> slot) throws Exception {
        System.setOut(System.err);
        say("hello", "protocol", 1, "name", name, "version", version, "can", can);
        Map<Integer, Slot> slots = new ConcurrentHashMap<>();
        // As a deployment ends a program: it gives everything up, and goes.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(slots)));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode order = JSON.readTree(line);
            String what = order.get("m").asText();
            if (what.equals("sync")) {
                say("sync", "n", order.get("n").asLong(), "t", now(), "wall", System.currentTimeMillis() * 1_000_000);
            } else if (what.equals("start")) {
                Slot made = slot.apply(order);
                slots.put(made.number, made);
                THREADS.execute(() -> made.ordered(what, null));
            } else if (what.equals("resign")) {
                Slot resigns = slots.get(order.get("slot").asInt());
                THREADS.execute(() -> resigns.ordered(what, order.get("fault").asInt()));
            } else if (what.equals("stop")) {
                end(slots);
                say("bye");
                break;
            }
        }
        System.exit(0);
    }

    /** Has every slot give up, each at most once, and then closes their clients, in bounded time. */
    private static void end(Map<Integer, Slot> slots) {
        List<Slot> ended = slots.keySet().stream().map(slots::remove).filter(Objects::nonNull).toList();
        // Five seconds are what an order to stop leaves.
        long until = now() + 4_500_000_000L;
        // No longer than so: one that hangs keeps no other from what comes next.
        within(1_000_000_000L, ended.stream().map(slot -> THREADS.submit(() -> slot.ordered("stop", null))).toList());
        // ZooKeeper's client sleeps 100 ms when it closes, with a lock that all others of the JVM need to send anything. Where many
        // close at once some wait until they have lost their connections, and what should have closed their sessions with them.
        List<Future<?>> closing = new ArrayList<>();
        for (Slot slot : ended) {
            closing.add(THREADS.submit(slot::close));
            within(Math.min(200_000_000L, until - now()), List.of(closing.get(closing.size() - 1)));
        }
        // One that takes longer, on a machine with too much to do, has all the time that is left.
        within(until - now(), closing);
    }

    /** Waits until all are done, and no longer than so many nanoseconds. */
    private static void within(long most, List<? extends Future<?>> acts) {
        long until = now() + most;
        for (Future<?> act : acts) {
            try {
                act.get(Math.max(0, until - now()), TimeUnit.NANOSECONDS);
            } catch (TimeoutException | ExecutionException error) {
                System.err.println("at the end: " + error);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
