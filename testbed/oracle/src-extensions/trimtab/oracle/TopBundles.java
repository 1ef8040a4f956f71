package trimtab.oracle;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.loadbalance.extensions.models.TopKBundles;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;

/**
 * Asks which bundles a broker of the extensible load manager publishes.
 *
 * <p>A line is how many are published at most, and behind it a word for each bundle:
 * `name,throughputIn,throughputOut,rateIn,rateOut,topics,consumers,producers`.  The answer is their
 * names in the order published, by blanks.
 */
final class TopBundles {
    private TopBundles() {
    }

    public static void main(String[] arguments) throws Exception {
        Method sort = TopKBundles.class.getDeclaredMethod("partitionSort", List.class, int.class);
        sort.setAccessible(true);
        BufferedReader lines = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            Map<String, NamespaceBundleStats> stats = new ConcurrentHashMap<>();
            for (int i = 1; i < words.length; i++) {
                String[] parts = words[i].split(",");
                stats.put(parts[0], stats(parts));
            }
            List<Map.Entry<String, ?>> entries = new ArrayList<>(stats.entrySet());
            int count = Math.min(Integer.parseInt(words[0]), entries.size());
            if (count > 0) {
                sort.invoke(null, entries, count);
            }
            List<String> names = new ArrayList<>();
            for (int i = count - 1; i >= 0; i--) {
                names.add(entries.get(i).getKey());
            }
            System.out.println(String.join(" ", names));
        }
    }

    private static NamespaceBundleStats stats(String[] parts) {
        NamespaceBundleStats stats = new NamespaceBundleStats();
        stats.msgThroughputIn = Double.parseDouble(parts[1]);
        stats.msgThroughputOut = Double.parseDouble(parts[2]);
        stats.msgRateIn = Double.parseDouble(parts[3]);
        stats.msgRateOut = Double.parseDouble(parts[4]);
        stats.topics = Long.parseLong(parts[5]);
        stats.consumerCount = Integer.parseInt(parts[6]);
        stats.producerCount = Integer.parseInt(parts[7]);
        return stats;
    }
}
