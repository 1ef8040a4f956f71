package trimtab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.pulsar.broker.ServiceConfiguration;

/** A release's settings with some of them set by their name in broker.conf. */
final class Settings {
    private final ServiceConfiguration conf = new ServiceConfiguration();
    private final List<String> ignored = new ArrayList<>();

    Settings(JsonNode given) throws ReflectiveOperationException {
        for (Iterator<String> names = given.fieldNames(); names.hasNext();) {
            String name = names.next();
            Field field = field(name, given);
            if (field == null) {
                ignored.add(name);
            } else {
                set(field, given.get(name));
            }
        }
    }

    ServiceConfiguration conf() {
        return conf;
    }

    /** Names the settings that the release does not have. */
    List<String> ignored() {
        return ignored;
    }

    static Map<String, Object> loadBalancingDefaults() throws ReflectiveOperationException {
        ServiceConfiguration conf = new ServiceConfiguration();
        Map<String, Object> defaults = new TreeMap<>();
        for (Field field : ServiceConfiguration.class.getDeclaredFields()) {
            String name = field.getName().toLowerCase();
            boolean isAboutLoad =
                    name.contains("loadbalan") || name.contains("shedd") || name.contains("unload");
            if (!Modifier.isStatic(field.getModifiers()) && isAboutLoad) {
                field.setAccessible(true);
                Object value = field.get(conf);
                boolean isPlain = value instanceof Number || value instanceof Boolean;
                defaults.put(field.getName(), isPlain ? value : String.valueOf(value));
            }
        }
        return defaults;
    }

    /** Finds a setting; in older releases "Bandwidth" lacks its second d. */
    private static Field field(String name, JsonNode given) {
        Field field = Reflected.field(ServiceConfiguration.class, name);
        String misspelt = name.replace("dwidth", "dwith");
        boolean isFree = field == null && !given.has(misspelt);
        return isFree ? Reflected.field(ServiceConfiguration.class, misspelt) : field;
    }

    private void set(Field field, JsonNode value) throws IllegalAccessException {
        Class<?> type = field.getType();
        if (type == int.class) {
            field.setInt(conf, value.intValue());
        } else if (type == long.class) {
            field.setLong(conf, value.longValue());
        } else if (type == double.class) {
            field.setDouble(conf, value.doubleValue());
        } else if (type == boolean.class) {
            field.setBoolean(conf, value.booleanValue());
        } else if (type == Set.class) {
            field.set(conf, new HashSet<>(List.of(value.textValue().split(","))));
        } else {
            throw new IllegalArgumentException(
                    field.getName() + " is a " + type + ": expected a number, a boolean or a list");
        }
    }
}
