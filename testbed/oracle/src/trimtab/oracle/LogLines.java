package trimtab.oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;

/** What the load-balancing classes log at INFO and above during a call; nothing is printed. */
final class LogLines {
    private static final String PACKAGE = "org.apache.pulsar.broker.loadbalance";

    // An object without a name is printed with its address, which no two runs share.
    private static final Pattern ADDRESS = Pattern.compile("(?<=BundleData@)[0-9a-f]+");

    private final List<String> lines = new ArrayList<>();
    private final LoggerContext context = (LoggerContext) LogManager.getContext(false);
    private final LoggerConfig logger = new LoggerConfig(PACKAGE, Level.OFF, false);
    private boolean isListening;

    LogLines() {
        AbstractAppender keeper =
                new AbstractAppender("keeper", null, null, false, Property.EMPTY_ARRAY) {
                    @Override
                    public void append(LogEvent event) {
                        String text = event.getMessage().getFormattedMessage();
                        lines.add(event.getLevel() + " " + ADDRESS.matcher(text).replaceAll("0"));
                    }
                };
        keeper.start();
        context.getConfiguration().getRootLogger().setLevel(Level.OFF);
        logger.addAppender(keeper, Level.INFO, null);
        context.getConfiguration().addLogger(PACKAGE, logger);
        context.updateLoggers();
    }

    /** Begins anew. */
    void listen(boolean isWanted) {
        lines.clear();
        if (isListening != isWanted) {
            isListening = isWanted;
            logger.setLevel(isWanted ? Level.INFO : Level.OFF);
            context.updateLoggers();
        }
    }

    /** Puts what was logged since into an answer. */
    void tell(ObjectNode answer) {
        if (isListening) {
            answer.set("logs", Json.strings(lines));
        }
    }
}
