import java.io.File;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** Lets a real ZooKeeper write a log and two snapshots: java Store.java FOLDER. */
public class Store {
    static final String BUNDLE = "/namespace/shop/orders/0x00000000_0x80000000";

    public static void main(String[] arguments) throws Exception {
        File folder = new File(arguments[0]);
        ZooKeeperServer server = new ZooKeeperServer(folder, folder, 2000);
        NIOServerCnxnFactory factory = new NIOServerCnxnFactory();
        factory.configure(new java.net.InetSocketAddress("127.0.0.1", 0), 10);
        factory.startup(server);
        String address = "127.0.0.1:" + factory.getLocalPort();
        ZooKeeper one = connected(address);
        ZooKeeper two = connected(address);
        for (String path : List.of("/loadbalance", "/loadbalance/brokers", "/loadbalancer",
                "/namespace", "/namespace/shop", "/namespace/shop/orders", "/ledgers")) {
            create(one, path, "", CreateMode.PERSISTENT);
        }
        create(one, "/loadbalance/leader", "{\"brokerId\":\"one:8080\"}", CreateMode.EPHEMERAL);
        create(one, "/loadbalance/brokers/one:8080", "{\"n\":0}", CreateMode.EPHEMERAL);
        create(two, "/loadbalance/brokers/two:8080", "{\"n\":0}", CreateMode.EPHEMERAL);
        create(two, BUNDLE, "{\"httpUrl\":\"http://two:8080\"}", CreateMode.EPHEMERAL);
        create(one, "/loadbalance/container", "", CreateMode.CONTAINER);
        one.create("/loadbalance/timed", new byte[0], Ids.OPEN_ACL_UNSAFE,
                CreateMode.PERSISTENT_WITH_TTL, new Stat(), 3_600_000);
        for (int n = 1; n <= 3; n++) {
            set(one, "/loadbalance/brokers/one:8080", "{\"n\":" + n + "}");
            set(two, "/loadbalance/brokers/two:8080", "{\"n\":" + n + "}");
            create(one, "/ledgers/" + n, "x".repeat(300), CreateMode.PERSISTENT);
        }
        server.takeSnapshot();
        one.multi(List.of(
                Op.setData("/loadbalance/brokers/one:8080", "{\"n\":4}".getBytes(), 3),
                Op.check("/loadbalance/leader", 0),
                Op.create("/loadbalance/one", "1".getBytes(), Ids.OPEN_ACL_UNSAFE,
                        CreateMode.EPHEMERAL),
                Op.delete("/ledgers/1", -1)));
        try {
            one.multi(List.of(
                    Op.create("/loadbalance/never", null, Ids.OPEN_ACL_UNSAFE,
                            CreateMode.PERSISTENT),
                    Op.setData("/loadbalance/brokers/one:8080", "{\"n\":-1}".getBytes(), 77)));
            throw new IllegalStateException("that version is wrong");
        } catch (KeeperException.BadVersionException expected) {
            // A transaction that changes nothing is logged all the same.
        }
        create(one, "/loadbalance/gone", "", CreateMode.PERSISTENT);
        one.delete("/loadbalance/gone", 0);
        two.close();
        set(one, "/loadbalance/leader", "{\"brokerId\":\"one:8080\",\"again\":true}");
        server.takeSnapshot();
        one.close();
        factory.shutdown();
        System.exit(0);
    }

    static ZooKeeper connected(String address) throws Exception {
        ZooKeeper client = new ZooKeeper(address, 30_000, event -> {});
        while (client.getState() != ZooKeeper.States.CONNECTED) {
            Thread.sleep(10);
        }
        return client;
    }

    static void create(ZooKeeper client, String path, String value, CreateMode mode)
            throws Exception {
        client.create(path, value.getBytes(), Ids.OPEN_ACL_UNSAFE, mode);
    }

    static void set(ZooKeeper client, String path, String value) throws Exception {
        client.setData(path, value.getBytes(), -1);
    }
}
