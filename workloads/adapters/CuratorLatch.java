import com.fasterxml.jackson.databind.JsonNode;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;

/** Curator's LeaderLatch as it is documented: it leads between isLeader and notLeader. */
public final class CuratorLatch extends HustingsCandidate.Slot implements LeaderLatchListener {
    private final CuratorFramework client;
    private LeaderLatch latch;

    private CuratorLatch(JsonNode order) {
        super(order);
        client = CuratorClient.started(order);
    }

    @Override
    synchronized void stand() throws Exception {
        latch = new LeaderLatch(client, order.get("group").asText(), String.valueOf(number));
        latch.addListener(this);
        latch.start();
    }

    @Override
    public void isLeader() {
        long t0 = HustingsCandidate.now();
        String path = latch.getOurPath();
        grant(t0, path == null ? null : path.substring(path.lastIndexOf('/') + 1), null, null);
    }

    @Override
    public void notLeader() {
        revoke("notLeader");
    }

    @Override
    synchronized void resign() throws Exception {
        latch.close();
        // It deletes its znode in the background. Answers come in order: this one comes after the deletion's.
        client.checkExists().forPath(order.get("group").asText());
    }

    @Override
    void close() {
        client.close();
    }

    public static void main(String[] args) throws Exception {
        String version = System.getenv("HUSTINGS_LIBRARY_VERSION");
        HustingsCandidate.run("Curator LeaderLatch", version, new String[] {"report", "resign", "many"}, CuratorLatch::new);
    }
}
