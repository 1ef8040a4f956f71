import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** A HashMap whose keys go on changing: `java Keys.java | gzip -9n > hash_map.jsonl.gz`. */
public class Keys {
    private static final double[] VALUES = {0.0, -0.0, 50, 60, 70, Double.NaN};
    private static int made = 0;

    /** Equal by what it holds, as BundleData is from Pulsar 4.0.0 on. */
    private static class Key {
        final int number = made++;
        double value;

        @Override
        public int hashCode() {
            return Double.hashCode(value);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && Double.compare(((Key) other).value, value) == 0;
        }
    }

    public static void main(String[] arguments) {
        Random random = new Random(11);
        for (int i = 0; i < 600; i++) {
            Map<String, Key> known = new TreeMap<>();
            Map<Key, String> plans = new HashMap<>();
            List<String> steps = new ArrayList<>();
            for (int k = 5 + random.nextInt(40); k > 0; k--) {
                steps.add(step(random, steps.isEmpty() ? 0 : random.nextInt(10), known, plans));
            }
            System.out.println("[" + String.join(", ", steps) + "]");
        }
    }

    private static String step(Random random, int kind, Map<String, Key> known, Map<Key, String> plans) {
        if (kind < 3 || known.isEmpty()) {
            for (String bundle : "abcdef".split("")) {
                change(random.nextInt(10), VALUES[random.nextInt(VALUES.length)], bundle, known);
            }
            List<String> averages = new ArrayList<>();
            known.forEach((bundle, key) ->
                    averages.add("\"" + bundle + "\": [" + key.number + ", " + key.value + "]"));
            return "{\"averages\": {" + String.join(", ", averages) + "}}";
        }
        String bundle = new ArrayList<>(known.keySet()).get(random.nextInt(known.size()));
        String broker = "b" + random.nextInt(3);
        if (kind < 6) {
            plans.put(known.get(bundle), broker);
            return "{\"put\": \"" + bundle + "\", \"broker\": \"" + broker + "\"}";
        }
        String found = plans.get(known.get(bundle));
        return "{\"get\": \"" + bundle + "\", \"broker\": " + (found == null ? null : "\"" + found + "\"") + "}";
    }

    private static void change(int chance, double value, String bundle, Map<String, Key> known) {
        if (chance == 0) {
            known.remove(bundle);
        } else if (chance < 6) {
            known.computeIfAbsent(bundle, name -> new Key()).value = value;
        }
    }
}
