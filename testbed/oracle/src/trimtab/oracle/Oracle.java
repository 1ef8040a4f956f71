package trimtab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.pulsar.broker.ServiceConfiguration;

/**
 * Asks Pulsar's own strategy classes: a sequence of rounds a line on stdin, the same line with
 * what the class answered on stdout. Nothing is kept from one line to the next.
 *
 * <p>Usage: {@code java trimtab.oracle.Oracle RELEASE}, or {@code ... RELEASE defaults} for the
 * load-balancing defaults of the release. The form of a line stands in the README of this folder.
 */
public final class Oracle {
    /** Strategies of the extensible load manager; the placer's name is taken by the modular one. */
    private static final Set<String> EXTENSIBLE =
            Set.of("TransferShedder", "ExtensionsLeastResourceUsageWithWeight");

    private final String release;
    private final LogLines log = new LogLines();

    private Oracle(String release) {
        this.release = release;
    }

    public static void main(String[] arguments) throws Exception {
        // Whatever a library prints by itself must not get between the lines of the answer.
        PrintStream answers =
                new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        System.setOut(System.err);
        Oracle oracle = new Oracle(arguments[0]);
        if (arguments.length > 1 && arguments[1].equals("defaults")) {
            answers.println(Json.pretty(Settings.loadBalancingDefaults()));
        } else {
            oracle.answerAll(answers);
        }
        answers.flush();
        // Some of Pulsar's classes start threads as they are loaded.
        System.exit(answers.checkError() ? 1 : 0);
    }

    private void answerAll(PrintStream answers) throws IOException {
        BufferedReader lines = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode sequence = Json.read(line);
            try {
                answer(sequence);
            } catch (ReflectiveOperationException | RuntimeException error) {
                // A fault of the question or of this program; what a strategy throws is an answer.
                throw new IllegalStateException("sequence " + sequence.path("id"), error);
            }
            answers.println(Json.write(sequence));
            if (!lines.ready()) {
                answers.flush();
            }
        }
    }

    private void answer(ObjectNode sequence) throws ReflectiveOperationException {
        Settings settings = new Settings(sequence.path("conf"));
        sequence.put("version", release);
        if (!settings.ignored().isEmpty()) {
            sequence.set("conf_ignored", Json.strings(settings.ignored()));
        }
        String name = sequence.get("strategy").textValue();
        if (EXTENSIBLE.contains(name)) {
            answerExtensible(sequence, settings);
            return;
        }
        Strategy strategy = new Strategy(name, settings.conf());
        Leader leader = new Leader();
        boolean isLogged = sequence.path("want_logs").asBoolean(false);
        ArrayNode answers = Json.array();
        for (JsonNode round : sequence.get("rounds")) {
            ObjectNode answer = leader.update(round);
            if (round.has("active_brokers")) {
                strategy.forget(Json.set(round.get("active_brokers")));
            }
            List<String> unloaded = new ArrayList<>();
            if (round.path("shed").asBoolean(false)) {
                log.listen(isLogged);
                leader.tellBundleOrder(answer);
                strategy.shed(leader, answer, unloaded);
                log.tell(answer);
                strategy.tellMemory(leader, answer);
            }
            expandSelections((ObjectNode) round, unloaded, leader);
            if (round.has("select")) {
                answer.set("select", select(strategy, leader, round.get("select"), isLogged));
            }
            answers.add(answer);
        }
        sequence.set("expect", answers);
    }

    /** Asks classes of the extensible load manager, which releases before 3.0 do not have. */
    private static void answerExtensible(ObjectNode sequence, Settings settings)
            throws ReflectiveOperationException {
        Constructor<?> make = Class.forName("trimtab.oracle.Extensible")
                .getDeclaredConstructor(ServiceConfiguration.class);
        Rounds life = (Rounds) make.newInstance(settings.conf());
        ArrayNode answers = Json.array();
        for (JsonNode round : sequence.get("rounds")) {
            answers.add(life.answer((ObjectNode) round));
        }
        sequence.set("expect", answers);
    }

    /** Turns {@code select_unloaded} into a selection for every bundle that was just unloaded. */
    private static void expandSelections(ObjectNode round, List<String> unloaded, Leader leader) {
        JsonNode wanted = round.remove("select_unloaded");
        if (wanted == null) {
            return;
        }
        ArrayNode selections = Json.array();
        for (String bundle : unloaded) {
            if (leader.hasAverages(bundle)) {
                selections.addObject().put("bundle", bundle)
                        .set("candidates", wanted.get("candidates"));
            }
        }
        if (!selections.isEmpty()) {
            round.set("select", selections);
        }
    }

    private ArrayNode select(Strategy strategy, Leader leader, JsonNode selections, boolean isLogged) {
        ArrayNode answers = Json.array();
        for (JsonNode selection : selections) {
            ObjectNode answer = answers.addObject();
            Set<String> candidates = new HashSet<>();
            List<String> given = new ArrayList<>();
            for (JsonNode candidate : selection.get("candidates")) {
                candidates.add(candidate.textValue());
                given.add(candidate.textValue());
            }
            List<String> walked = new ArrayList<>(candidates);
            if (!walked.equals(given)) {
                answer.set("candidate_order", Json.strings(walked));
            }
            log.listen(isLogged);
            strategy.select(leader, selection.get("bundle").textValue(), candidates, answer);
            log.tell(answer);
        }
        return answers;
    }
}
