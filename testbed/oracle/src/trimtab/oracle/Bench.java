package trimtab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.Multimap;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
// Whole packages, since BundleData moved from the one to the other after 2.10.
import org.apache.pulsar.broker.*;
import org.apache.pulsar.broker.loadbalance.LoadSheddingStrategy;
import org.apache.pulsar.policies.data.loadbalancer.*;

/**
 * Measures Pulsar's own strategy classes: a question a line on stdin, times and answers on stdout.
 *
 * <p>A line is {@code {"load": ROUND}}, which replaces the cluster, or a class to be measured on
 * it: {@code {"strategy", "conf", "rounds", "seconds"}}, and {@code "select"} with
 * {@code {"candidates", "bundles"}} for placements after the rounds; {@code {}} asks which Java this
 * is. Rounds are asked of one strategy object until there are as many, or the seconds are used up.
 * Nothing but the call of the class is measured.
 */
public final class Bench {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Leader leader;

    private Bench() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers =
                new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        System.setOut(System.err);
        new LogLines(); // which silences the classes
        new Bench().answerAll(answers);
        System.exit(answers.checkError() ? 1 : 0);
    }

    private void answerAll(PrintStream answers) throws IOException, ReflectiveOperationException {
        BufferedReader lines = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode question = Json.read(line);
            ObjectNode answer = Json.object();
            if (question.has("load")) {
                leader = new Leader();
                leader.update(question.get("load"));
                System.gc(); // what the cluster before left behind is nobody's fault
            } else if (question.has("strategy")) {
                measure(question, answer);
            } else {
                answer.put("java", System.getProperty("java.vm.name") + " "
                        + System.getProperty("java.version"));
            }
            answers.println(Json.write(answer));
            answers.flush();
        }
    }

    private void measure(ObjectNode question, ObjectNode answer)
            throws ReflectiveOperationException {
        ServiceConfiguration conf = new Settings(question.path("conf")).conf();
        String name = question.get("strategy").textValue();
        Object strategy = Reflected.read(new Strategy(name, conf), "strategy");
        if (question.path("rounds").asInt(0) > 0) {
            shed((LoadSheddingStrategy) strategy, conf, question, answer.putObject("shed"));
        }
        if (question.has("select")) {
            place(strategy, conf, question.get("select"), answer.putObject("select"));
        }
    }

    // ------------------------------------------------------------------ shedding

    private void shed(
            LoadSheddingStrategy strategy,
            ServiceConfiguration conf,
            ObjectNode question,
            ObjectNode answer) {
        Times times = new Times(answer);
        ArrayNode unloads = answer.putArray("unloads");
        long end = System.nanoTime() + (long) (question.get("seconds").doubleValue() * 1e9);
        int count = question.get("rounds").intValue();
        for (int i = 0; i < count && (i == 0 || System.nanoTime() < end); i++) {
            times.begin();
            Multimap<String, String> found = strategy.findBundlesForUnloading(leader.known(), conf);
            times.end();
            ArrayNode round = unloads.addArray();
            for (Map.Entry<String, String> entry : found.entries()) {
                round.addArray().add(entry.getKey()).add(entry.getValue())
                        .add(planned(strategy, entry.getValue()));
            }
        }
    }

    /** Reads the destination that AvgShedder planned; null of a class that plans nothing. */
    private String planned(Object strategy, String bundle) {
        Map<?, ?> plan = (Map<?, ?>) Reflected.read(strategy, "bundleBrokerMap");
        return plan == null ? null : (String) plan.get(leader.averages(bundle));
    }

    // ----------------------------------------------------------------- placement

    private void place(
            Object strategy, ServiceConfiguration conf, JsonNode asked, ObjectNode answer)
            throws ReflectiveOperationException {
        Method select = selectBroker(strategy);
        Set<String> candidates = new HashSet<>();
        asked.get("candidates").forEach(name -> candidates.add(name.textValue()));
        Times times = new Times(answer);
        ArrayNode best = answer.putArray("best");
        for (JsonNode bundle : asked.get("bundles")) {
            BundleData averages = leader.averages(bundle.textValue());
            times.begin();
            Object chosen = select.invoke(strategy, candidates, averages, leader.known(), conf);
            times.end();
            Collection<?> drawnFrom = (Collection<?>) Reflected.read(strategy, "bestBrokers");
            best.add(digest(drawnFrom == null
                    ? List.of(((Optional<?>) chosen).orElseThrow())
                    : drawnFrom));
        }
    }

    private static Method selectBroker(Object strategy) {
        for (Method method : strategy.getClass().getMethods()) {
            if (method.getName().equals("selectBroker") && !method.isBridge()) {
                return method;
            }
        }
        throw new IllegalArgumentException(strategy.getClass() + " places nothing");
    }

    /** Makes one number of names in their order. */
    private static long digest(Collection<?> names) {
        long sum = 0;
        long rank = 0;
        for (Object name : names) {
            sum += ++rank * name.hashCode();
        }
        return sum;
    }

    /** Wall and processor time of one call after the other, in nanoseconds. */
    private static final class Times {
        private final ArrayNode wall;
        private final ArrayNode processor;
        private long wallBefore;
        private long processorBefore;

        Times(ObjectNode answer) {
            wall = answer.putArray("wall_ns");
            processor = answer.putArray("cpu_ns");
        }

        void begin() {
            processorBefore = THREADS.getCurrentThreadCpuTime();
            wallBefore = System.nanoTime();
        }

        void end() {
            wall.add(System.nanoTime() - wallBefore);
            processor.add(THREADS.getCurrentThreadCpuTime() - processorBefore);
        }
    }
}
