package trimtab.oracle;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import sun.misc.Unsafe;

/** Objects made without their constructors, which would ask for a running broker. */
final class Bare {
    private static final Unsafe UNSAFE = unsafe();

    private Bare() {
    }

    static <T> T of(Class<T> type) throws ReflectiveOperationException {
        return type.cast(UNSAFE.allocateInstance(type));
    }

    /** Sets a field of any class that the object is of, final or not. */
    static void set(Object object, String name, Object value) throws ReflectiveOperationException {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    field.set(object, value);
                    return;
                }
            }
        }
        throw new NoSuchFieldException(name);
    }

    /** Calls a method that takes nothing, however private. */
    static Object call(Object object, String name) throws ReflectiveOperationException {
        Method method = object.getClass().getDeclaredMethod(name);
        method.setAccessible(true);
        return method.invoke(object);
    }

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
