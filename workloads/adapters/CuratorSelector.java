import com.fasterxml.jackson.databind.JsonNode;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/** Curator's LeaderSelector as it is documented: it leads within takeLeadership, which is interrupted when in doubt, and queues again. */
public final class CuratorSelector extends HustingsCandidate.Seat {
    private final CuratorFramework client;
    private LeaderSelector selector;

    private CuratorSelector(JsonNode order) {
        super(order);
        client = CuratorClient.started(order);
    }

    @Override
    synchronized void stand() {
        selector = new LeaderSelector(client, order.get("group").asText(), new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework unused) throws InterruptedException {
                grant(HustingsCandidate.now(), null, null, null);
                try {
                    Thread.currentThread().join();
                } finally {
                    revoke("interrupted");
                }
            }
        });
        selector.autoRequeue();
        selector.start();
    }

    @Override
    synchronized void resign() {
        selector.close();
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
