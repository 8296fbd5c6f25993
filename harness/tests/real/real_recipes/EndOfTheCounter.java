import java.io.File;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/**
 * Writes a snapshot of a stopped server's data in which these znodes have counted so many creates.
 * Arguments: the data directory, the count, the paths.
 */
public class EndOfTheCounter {
    public static void main(String[] args) throws Exception {
        File data = new File(args[0]);
        int count = Integer.parseInt(args[1]);
        FileTxnSnapLog log = new FileTxnSnapLog(data, data);
        DataTree tree = new DataTree();
        ConcurrentHashMap<Long, Integer> sessions = new ConcurrentHashMap<>();
        long zxid = log.restore(tree, sessions, (header, txn, digest) -> { });
        for (int at = 2; at < args.length; at++) {
            tree.setCversionPzxid(args[at], count, zxid);
        }
        log.save(tree, sessions, true);
        log.close();
    }
}
