package trimtab.oracle;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** JSON as Python's json has it: NaN, Infinity and -Infinity stand bare. */
final class Json {
    private static final ObjectMapper MAPPER = JsonMapper.builder()
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .disable(JsonWriteFeature.WRITE_NAN_AS_STRINGS)
            .build();

    private Json() {
    }

    static ObjectNode read(String line) throws JsonProcessingException {
        return (ObjectNode) MAPPER.readTree(line);
    }

    static String write(JsonNode node) throws JsonProcessingException {
        return MAPPER.writeValueAsString(node);
    }

    static String pretty(Object value) throws JsonProcessingException {
        return MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(value);
    }

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static ArrayNode array() {
        return MAPPER.createArrayNode();
    }

    /** Lists texts in the order in which the collection is walked. */
    static ArrayNode strings(Collection<?> texts) {
        ArrayNode array = array();
        texts.forEach(text -> array.add(String.valueOf(text)));
        return array;
    }

    static Set<String> set(JsonNode array) {
        Set<String> texts = new HashSet<>();
        array.forEach(text -> texts.add(text.textValue()));
        return texts;
    }

    /** Writes a map of doubles or of counts, in the order in which the map is walked. */
    static ObjectNode numbers(Map<?, ?> map) {
        ObjectNode object = object();
        map.forEach((key, value) -> {
            if (value instanceof Double) {
                object.put(key.toString(), (Double) value);
            } else {
                object.put(key.toString(), ((Number) value).longValue());
            }
        });
        return object;
    }
}
