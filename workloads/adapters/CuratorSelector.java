import com.fasterxml.jackson.databind.JsonNode;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/** Curator's LeaderSelector as it is documented: it leads within takeLeadership, which is interrupted when in doubt, and queues again. */
public final class CuratorSelector extends HustingsCandidate.Slot {
    private static final int GIVES_BACK_WITHIN_S = 4;

    private final CuratorFramework client;
    private LeaderSelector selector;
    private ExecutorService thread;

    private CuratorSelector(JsonNode order) {
        super(order);
        client = CuratorClient.started(order);
    }

    @Override
    synchronized void stand() {
        thread = Executors.newSingleThreadExecutor();
        selector = new LeaderSelector(client, order.get("group").asText(), thread, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework unused) throws Exception {
                grant(HustingsCandidate.now(), null, null, null);
                try {
                    Thread.currentThread().join();
                } finally {
                    finish("interrupted");
                }
            }
        });
        selector.autoRequeue();
        selector.start();
    }

    @Override
    void resign() throws Exception {
        synchronized (this) {
            selector.close();
        }
        // Its thread deletes the znode once takeLeadership has returned, which needs the lock of this slot.
        thread.shutdown();
        thread.awaitTermination(GIVES_BACK_WITHIN_S, TimeUnit.SECONDS);
    }

    @Override
    void close() {
        client.close();
    }

    public static void main(String[] args) throws Exception {
        String version = System.getenv("HUSTINGS_LIBRARY_VERSION");
        HustingsCandidate.run("Curator LeaderSelector", version, new String[] {"report", "resign", "many"}, CuratorSelector::new);
    }
}
