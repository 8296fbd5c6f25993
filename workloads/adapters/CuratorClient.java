import com.fasterxml.jackson.databind.JsonNode;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.SessionConnectionStateErrorPolicy;
import org.apache.curator.framework.state.StandardConnectionStateErrorPolicy;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.client.ZKClientConfig;

/**
 * A client as a slot is told: {@code config.policy} "session" takes a lost connection for no reason to give a lead up, and
 * {@code config.socket} "netty" lets many clients of one JVM close at once, which those with ZooKeeper's own sockets cannot.
 */
final class CuratorClient {
    private CuratorClient() {}

    static CuratorFramework started(JsonNode order) {
        int timeout = order.get("timeout_ms").asInt();
        JsonNode config = order.path("config");
        String socket = config.path("socket").asText("nio").equals("netty") ? "Netty" : "NIO";
        ZKClientConfig sockets = new ZKClientConfig();
        sockets.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocket" + socket);
        boolean session = config.path("policy").asText("standard").equals("session");
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(order.get("connect").asText())
                .ensembleTracker(false) // The servers' own addresses would lead past the links.
                .sessionTimeoutMs(timeout)
                .connectionTimeoutMs(timeout)
                .connectionStateErrorPolicy(session ? new SessionConnectionStateErrorPolicy() : new StandardConnectionStateErrorPolicy())
                .zkClientConfig(sockets)
                .retryPolicy(new RetryNTimes(Integer.MAX_VALUE, config.path("retry_ms").asInt(100)))
                .build();
        client.start();
        return client;
    }
}
