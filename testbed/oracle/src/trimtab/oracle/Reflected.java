package trimtab.oracle;

import java.lang.reflect.Field;

/** Gets at private fields: what a strategy remembers is not part of its interface. */
final class Reflected {
    private Reflected() {
    }

    /** Finds a field of a class or of what it extends; null if there is none. */
    static Field field(Class<?> type, String name) {
        for (Class<?> here = type; here != null; here = here.getSuperclass()) {
            try {
                Field field = here.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException goOn) {
                continue;
            }
        }
        return null;
    }

    /** Reads a field by name; null if the class has none of that name. */
    static Object read(Object object, String name) {
        Field field = field(object.getClass(), name);
        try {
            return field == null ? null : field.get(object);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(name, error);
        }
    }

    /** Writes a field that there must be. */
    static void write(Object object, String name, Object value) {
        try {
            field(object.getClass(), name).set(object, value);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(name, error);
        }
    }
}
