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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** hustings-candidate/1 for Java programs: reads orders, says what seats do, and writes for those that lead. */
final class HustingsCandidate {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Whoever else prints must not end up among the messages. */
    private static final PrintStream OUT = System.out;
    private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
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

    /** A seat. Its methods are called by threads of their own, and may take their time. */
    abstract static class Seat {
        final JsonNode order;
        final int number;
        private int term;
        private ScheduledFuture<?> work;

        Seat(JsonNode order) {
            this.order = order;
            this.number = order.get("seat").asInt();
        }

        abstract void stand() throws Exception;

        /** Gives the lead or the place back; the seat stands again after {@code rejoin_after_ms}. */
        abstract void resign() throws Exception;

        abstract void stop() throws Exception;

        synchronized void grant(long t0, String node, Long token, Long session) {
            if (work != null) {
                return;
            }
            term += 1;
            say("grant", "seat", number, "term", term, "t0", t0, "t1", now(), "node", node, "token", token, "session", session);
            String body = JSON.createObjectNode().put("term", term).put("token", token).toString();
            long every = order.get("write_every_ms").asLong();
            work = WORK.scheduleAtFixedRate(() -> write(body), 0, every, TimeUnit.MILLISECONDS);
        }

        /** It believes no more: nothing is begun after this, whoever says it first. */
        synchronized void revoke(String reason) {
            if (work == null) {
                return;
            }
            long t0 = now();
            work.cancel(false);
            work = null;
            say("revoke", "seat", number, "term", term, "t0", t0, "t1", now(), "reason", reason);
        }

        private synchronized void write(String body) {
            if (work == null) {
                return;
            }
            HttpRequest request = HttpRequest.newBuilder(URI.create(order.get("resource").asText()))
                    .timeout(Duration.ofSeconds(5))
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build();
            HTTP.sendAsync(request, HttpResponse.BodyHandlers.discarding());
        }

        private void ordered(String what, Integer fault) {
            try {
                long t0 = now();
                switch (what) {
                    case "start" -> stand();
                    case "resign" -> {
                        revoke("resigned");
                        t0 = now();
                        resign();
                        say("resigned", "seat", number, "fault", fault, "t0", t0, "t1", now());
                        Thread.sleep(order.get("rejoin_after_ms").asLong());
                        stand();
                    }
                    default -> {
                        revoke("stopped");
                        stop();
                    }
                }
            } catch (Exception error) {
                System.err.println("seat " + number + ", " + what + ": " + error);
            }
        }
    }

    /** Obeys orders until the input ends or says stop. */
    static void run(String name, String version, String[] can, Function<JsonNode, Seat> seat) throws Exception {
        System.setOut(System.err);
        say("hello", "protocol", 1, "name", name, "version", version, "can", can);
        Map<Integer, Seat> seats = new ConcurrentHashMap<>();
        ExecutorService threads = Executors.newCachedThreadPool(HustingsCandidate::daemon);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode order = JSON.readTree(line);
            String what = order.get("m").asText();
            if (what.equals("sync")) {
                say("sync", "n", order.get("n").asLong(), "t", now());
            } else if (what.equals("start")) {
                Seat made = seat.apply(order);
                seats.put(made.number, made);
                threads.execute(() -> made.ordered(what, null));
            } else if (what.equals("resign")) {
                Seat resigns = seats.get(order.get("seat").asInt());
                threads.execute(() -> resigns.ordered(what, order.get("fault").asInt()));
            } else if (what.equals("stop")) {
                Future<?>[] ends = seats.values().stream()
                        .map(each -> threads.submit(() -> each.ordered(what, null)))
                        .toArray(Future<?>[]::new);
                for (Future<?> end : ends) {
                    end.get(4, TimeUnit.SECONDS);
                }
                say("bye");
                break;
            }
        }
        System.exit(0);
    }
}
