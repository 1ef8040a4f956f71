import java.util.Arrays;
import java.util.Random;

/** Sorts by differences cut to whole numbers: `java Sorts.java | gzip -9n > tim_sort.jsonl.gz`. */
public class Sorts {
    public static void main(String[] arguments) {
        Random random = new Random(7);
        int[] sizes = {0, 1, 2, 5, 10, 31, 32, 33, 64, 65, 100, 200, 333};
        for (int i = 0; i < 400; i++) {
            double[] values = values(random, sizes[random.nextInt(sizes.length)]);
            Integer[] order = new Integer[values.length];
            Arrays.setAll(order, k -> k);
            String sorted;
            try {
                Arrays.sort(order, (one, other) -> (int) (values[one] - values[other]));
                sorted = Arrays.toString(order);
            } catch (IllegalArgumentException error) {
                sorted = "\"" + error.getMessage() + "\"";
            }
            System.out.println("{\"values\": " + Arrays.toString(values) + ", \"sorted\": " + sorted + "}");
        }
    }

    private static double[] values(Random random, int size) {
        double span = new double[] {3, 10, 20, 60}[random.nextInt(4)];
        int kind = random.nextInt(4);
        double[] values = new double[size];
        for (int k = 0; k < size; k++) {
            double value = 20 + span * random.nextDouble();
            switch (kind) {
                case 1: value = 20 + span * k / size + 2 * random.nextDouble(); break;
                case 2: value = 20 + span - span * k / size + random.nextDouble(); break;
                case 3: value = random.nextInt(50) == 0 ? Double.NEGATIVE_INFINITY : value; break;
                default: break;
            }
            values[k] = Math.round(value * 16) / 16.0 + (value == Double.NEGATIVE_INFINITY ? value : 0);
        }
        return values;
    }
}
