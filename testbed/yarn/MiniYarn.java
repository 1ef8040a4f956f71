import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** Runs a resource manager and two nodes; ends with its standard input. */
public class MiniYarn {
  public static void main(String[] arguments) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    // A disk that others fill is no reason to fail, nor what Java reserves and does not use.
    conf.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
    conf.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
    conf.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
    conf.setInt("yarn.nodemanager.resource.memory-mb", 4096);
    conf.setInt("yarn.nodemanager.resource.cpu-vcores", 4);
    conf.setInt("yarn.scheduler.minimum-allocation-mb", 128);
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.9");
    MiniYARNCluster cluster = new MiniYARNCluster("trimtab", 2, 1, 1);
    cluster.init(conf);
    cluster.start();
    if (!cluster.waitForNodeManagersToConnect(60_000)) {
      throw new IllegalStateException("the nodes do not connect");
    }
    try (OutputStream file = new FileOutputStream(new File(arguments[0], "yarn-site.xml"))) {
      cluster.getConfig().writeXml(file);
    }
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }
}
