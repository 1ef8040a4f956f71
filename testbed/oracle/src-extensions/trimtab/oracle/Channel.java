package trimtab.oracle;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Asks what the channel of the extensible load manager makes of one record behind another.
 *
 * <p>A line is where they are kept, the record before and the one behind it, by blanks; `-` is no
 * record.  A record is `state,dstBroker,sourceBroker,force,versionId`.  The answer is 1 where the
 * one before is kept.
 */
final class Channel {
    private static final String PACKAGE =
            "org.apache.pulsar.broker.loadbalance.extensions.channel.";

    private final Class<?> data = Class.forName(PACKAGE + "ServiceUnitStateData");
    private final Class<?> state = Class.forName(PACKAGE + "ServiceUnitState");
    private final Class<?> resolver;
    private final Constructor<?> maker;
    private final Method keepsLeft;

    private Channel() throws ReflectiveOperationException {
        resolver = resolver();
        Class<?>[] types = new Class<?>[data.getRecordComponents().length];
        for (int i = 0; i < types.length; i++) {
            types[i] = data.getRecordComponents()[i].getType();
        }
        maker = data.getDeclaredConstructor(types);
        keepsLeft = resolver.getMethod("shouldKeepLeft", data, data);
    }

    public static void main(String[] arguments) throws Exception {
        Channel channel = new Channel();
        BufferedReader questions =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder answers = new StringBuilder();
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] parts = line.split(" ");
            Object asked = channel.ofStore(parts[0]);
            Object kept = channel.keepsLeft.invoke(
                    asked, channel.record(parts[1]), channel.record(parts[2]));
            answers.append((Boolean) kept ? "1\n" : "0\n");
        }
        System.out.print(answers);
    }

    /** Finds what decides: it has another name since 4.0. */
    private static Class<?> resolver() throws ClassNotFoundException {
        try {
            return Class.forName(PACKAGE + "ServiceUnitStateDataConflictResolver");
        } catch (ClassNotFoundException e) {
            return Class.forName(PACKAGE + "ServiceUnitStateCompactionStrategy");
        }
    }

    /** Makes what decides without its constructor, which wants a client for the topic's schema. */
    private Object ofStore(String store) throws ReflectiveOperationException {
        Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Object made = ((sun.misc.Unsafe) field.get(null)).allocateInstance(resolver);
        set(made, "checkBrokers", true);
        if (has("storageType")) {
            Class<?> kinds = Class.forName(PACKAGE + "ServiceUnitState$StorageType");
            String name = store.equals("topic") ? "SystemTopic" : "MetadataStore";
            set(made, "storageType", constant(kinds, name));
        } else if (!store.equals("topic")) {
            throw new IllegalArgumentException("this release keeps records in a topic alone");
        }
        return made;
    }

    private boolean has(String field) {
        for (Field each : resolver.getDeclaredFields()) {
            if (each.getName().equals(field)) {
                return true;
            }
        }
        return false;
    }

    private void set(Object object, String name, Object value)
            throws ReflectiveOperationException {
        Field field = resolver.getDeclaredField(name);
        field.setAccessible(true);
        field.set(object, value);
    }

    private Object record(String text) throws ReflectiveOperationException {
        if (text.equals("-")) {
            return null;
        }
        String[] values = text.split(",");
        RecordComponent[] components = data.getRecordComponents();
        Object[] given = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            given[i] = switch (components[i].getName()) {
                case "state" -> constant(state, values[0]);
                case "dstBroker" -> values[1].equals("-") ? null : values[1];
                case "sourceBroker" -> values[2].equals("-") ? null : values[2];
                case "splitServiceUnitToDestBroker" -> Map.of();
                case "force" -> values[3].equals("1");
                case "timestamp" -> 1L;
                case "versionId" -> Long.parseLong(values[4]);
                default -> throw new IllegalArgumentException(components[i].getName());
            };
        }
        return maker.newInstance(given);
    }

    private static Object constant(Class<?> kind, String name) {
        for (Object each : kind.getEnumConstants()) {
            if (each.toString().equals(name)) {
                return each;
            }
        }
        throw new IllegalArgumentException(kind + " has no " + name);
    }
}
