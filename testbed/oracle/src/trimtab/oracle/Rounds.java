package trimtab.oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** One strategy object's life, asked round by round. */
interface Rounds {
    /** Applies what happened before a round, asks what it asks, and answers. */
    ObjectNode answer(ObjectNode round) throws ReflectiveOperationException;
}
